/// A type that has a value for "there was no body".
///
/// ``DecodableResponseSerializer`` returns that value when a response has no body and may have none, by
/// ``ResponseSerializer/emptyRequestMethods`` and ``ResponseSerializer/emptyResponseCodes``. Optionals conform: their
/// value is `nil`.
public protocol EmptyResponse {
    /// Returns the value that stands for an empty body.
    ///
    /// - Returns: The value.
    static func emptyValue() -> Self
}

extension Optional: EmptyResponse {
    /// Returns `nil`.
    ///
    /// - Returns: `nil`.
    public static func emptyValue() -> Wrapped? { nil }
}
