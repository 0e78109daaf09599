public import Bluebonnet
public import FoundationNetworking

/// Can be converted to a `URLRequest`, such as a route of an API that is written in Foundation's terms.
public protocol URLRequestConvertible: HTTPRequestConvertible {
    /// Returns the request.
    ///
    /// Called on the global pool, or on the executor that the awaiting task prefers, when the request has been started,
    /// and again for each attempt.
    ///
    /// - Returns: The request.
    /// - Throws: Why there is none. A `RequestError` is reported as it is, another error as
    ///   `.invalidRequest(.conversion)` with it as the underlying one.
    func asURLRequest() throws -> URLRequest
}

extension URLRequestConvertible {
    /// The request in Foundation's terms; what could not be made is `nil`.
    public var urlRequest: URLRequest? { try? asURLRequest() }

    /// Returns the request in Bluebonnet's terms, as `HTTPRequest.init(_:)` makes it.
    ///
    /// - Returns: The request.
    /// - Throws: What ``asURLRequest()`` throws, or why its request cannot be sent.
    public func asHTTPRequest() throws -> HTTPRequest {
        try HTTPRequest(asURLRequest())
    }
}

extension URLRequest: URLRequestConvertible {
    /// Returns the request itself.
    ///
    /// - Returns: The request.
    public func asURLRequest() -> URLRequest { self }
}
