public import FoundationEssentials

/// A type that can be converted to the URL of a request.
public protocol URLConvertible: Sendable {
    /// Returns the URL.
    ///
    /// Bluebonnet calls this method on the global executor, once for each attempt of the request. Each retry is a new
    /// attempt. If you call ``Request/cURLDescription(revealingSecrets:)`` or read the `debugDescription` of a
    /// ``Request`` before Bluebonnet has created the request, Bluebonnet calls this method on the calling thread.
    ///
    /// - Returns: The URL of the request.
    /// - Throws: An error if the conversion fails. Bluebonnet reports a ``RequestError`` unchanged. Any other error
    ///   becomes the underlying error of `.invalidRequest(.conversion)`.
    func asURL() throws -> URL
}

extension String: URLConvertible {
    /// Parses the text as a URL.
    ///
    /// Spaces and other characters that are invalid in a URL are percent-encoded. Existing escapes such as `%2B` do not
    /// change. White space and line breaks at both ends are removed, and so are the segments `.` and `..`, also in
    /// their encoded forms. Before the query, a backslash is a slash, as in browsers.
    ///
    /// - Returns: The parsed URL.
    /// - Throws: A ``RequestError`` with `.invalidURL` if the text is not a URL. The error contains the text without
    ///   secrets.
    public func asURL() throws(RequestError) -> URL {
        guard let url = URLText.url(self) else {
            throw RequestError.invalidURL(redactedURL(self), detail: isEmpty ? "the text is empty" : nil)
        }
        return url
    }
}

extension URL: URLConvertible {
    /// Returns the URL itself.
    ///
    /// - Returns: This URL.
    public func asURL() -> URL { self }
}

extension URLComponents: URLConvertible {
    /// Returns the URL that the components form.
    ///
    /// - Returns: The URL.
    /// - Throws: A ``RequestError`` with `.invalidURL` if the components do not form a URL.
    public func asURL() throws(RequestError) -> URL {
        guard let url else { throw RequestError.invalidURL(redactedURL(string ?? path)) }
        return url
    }
}
