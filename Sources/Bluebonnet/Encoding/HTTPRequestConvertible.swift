/// Can be converted to a request, such as a route of an API.
public protocol HTTPRequestConvertible: Sendable {
    /// Returns the request.
    ///
    /// Called on the global pool, or on the executor that the awaiting task prefers, when the request has been started,
    /// and again for each attempt.
    ///
    /// - Returns: The request.
    /// - Throws: Why there is none. A ``RequestError`` is reported as it is, another error as
    ///   `.invalidRequest(.conversion)` with it as the underlying one.
    func asHTTPRequest() throws -> HTTPRequest
}

extension HTTPRequest: HTTPRequestConvertible {
    /// Returns the request itself.
    ///
    /// - Returns: The request.
    public func asHTTPRequest() -> HTTPRequest { self }
}
