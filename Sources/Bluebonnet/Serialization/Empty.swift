/// The value of a response of which only its success matters: `serializingDecodable(Empty.self)`.
public struct Empty: EmptyResponse, Codable, Hashable, Sendable {
    /// The only value.
    public static let value = Empty()

    /// Creates the only value.
    public init() {}

    /// Returns the only value.
    ///
    /// - Returns: The only value.
    public static func emptyValue() -> Empty { value }
}
