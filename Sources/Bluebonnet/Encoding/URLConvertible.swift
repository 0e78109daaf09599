public import FoundationEssentials

/// Can be converted to a URL: what a request is made to.
public protocol URLConvertible: Sendable {
    /// Returns the URL.
    ///
    /// Called on the global pool, or on the executor that the awaiting task prefers, when the request has been started,
    /// and again for each attempt.
    ///
    /// - Returns: The URL.
    /// - Throws: Why there is none; text that is not a URL throws ``RequestError`` with `.invalidURL`. Another error is
    ///   reported as `.invalidRequest(.conversion)` with it as the underlying one.
    func asURL() throws -> URL
}

extension String: URLConvertible {
    /// Parses the text as a URL.
    ///
    /// - Returns: The URL.
    /// - Throws: `.invalidURL` with the text, redacted like a URL, when it is not one.
    public func asURL() throws(RequestError) -> URL {
        guard let url = URL(string: self) else { throw RequestError.invalidURL(redactedURL(self)) }
        return url
    }
}

extension URL: URLConvertible {
    /// Returns the URL itself.
    ///
    /// - Returns: The URL.
    public func asURL() -> URL { self }
}

extension URLComponents: URLConvertible {
    /// Assembles the components.
    ///
    /// - Returns: The URL.
    /// - Throws: `.invalidURL` when the components do not fit together.
    public func asURL() throws(RequestError) -> URL {
        guard let url else { throw RequestError.invalidURL(redactedURL(string ?? path)) }
        return url
    }
}
