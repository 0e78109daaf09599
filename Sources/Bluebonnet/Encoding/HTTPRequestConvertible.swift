public import FoundationEssentials

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

/// A request described by its parts.
struct ComposedRequest: HTTPRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let headers: HTTPHeaders?
    var body: RequestBody?
    let requestModifier: Session.RequestModifier?
    let encode: (@Sendable (HTTPRequest) throws -> HTTPRequest)?

    var runsUserCode: Bool {
        requestModifier != nil || encode != nil || !isURLOrText || (body != nil && body?.data == nil)
    }

    /// Whether making the URL runs no code of the user's; comparing types costs less than casting, for every request.
    private var isURLOrText: Bool {
        let type = type(of: url)
        return type == URL.self || type == String.self
    }

    func asHTTPRequest() throws -> HTTPRequest {
        var request = HTTPRequest(url: try url.asURL(), method: method, headers: headers ?? [:], body: body)
        do {
            try requestModifier?(&request)
        } catch {
            throw Self.error(from: error, .invalidRequest(.conversion), request)
        }
        guard let encode else { return request }
        do {
            return try encode(request)
        } catch {
            throw Self.error(from: error, .parameterEncoding(.encoderFailed), request)
        }
    }

    private static func error(
        from error: any Error, _ kind: RequestError.Kind, _ request: HTTPRequest
    ) -> RequestError {
        (error as? RequestError ?? RequestError(kind, underlying: error)).during(request, attempts: 0)
    }
}

/// The request that data to resume with was made for.
struct ResumedRequest: HTTPRequestConvertible {
    let resumeData: Data
    let headers: HTTPHeaders?

    func asHTTPRequest() throws -> HTTPRequest {
        var request = try ResumeData(decoding: resumeData).request
        for field in headers ?? [:] { request.headers.update(field) }
        return request
    }
}

extension HTTPRequestConvertible {
    /// Whether converting runs code of the user's, such as an encoder, which may take its time.
    var runsUserCode: Bool {
        switch self {
        case let composed as ComposedRequest: composed.runsUserCode
        case is ResumedRequest: false
        // Opening a file or a sequence may take its time, too.
        case let request as HTTPRequest: request.body.map { $0.data == nil } ?? false
        default: true
        }
    }
}
