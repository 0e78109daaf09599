import FoundationEssentials

/// A type that can be converted to a request, such as a route of an API.
public protocol HTTPRequestConvertible: Sendable {
    /// Returns the request.
    ///
    /// Bluebonnet calls this method on the global executor, once for each attempt of the request. Each retry is a new
    /// attempt. If you call ``Request/cURLDescription(revealingSecrets:)`` or read the `debugDescription` of a
    /// ``Request`` before Bluebonnet has created the request, Bluebonnet calls this method on the calling thread.
    ///
    /// - Returns: The request to send.
    /// - Throws: An error if the conversion fails. Bluebonnet reports a ``RequestError`` unchanged. Any other error
    ///   becomes the underlying error of `.invalidRequest(.conversion)`.
    func asHTTPRequest() throws -> HTTPRequest
}

extension HTTPRequest: HTTPRequestConvertible {
    /// Returns the request itself.
    ///
    /// - Returns: This request.
    public func asHTTPRequest() -> HTTPRequest { self }
}

/// A request described by its components.
struct ComposedRequest: HTTPRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let headers: HTTPHeaders?
    var body: RequestBody?
    var requestModifier: Session.RequestModifier?
    var encode: (@Sendable (HTTPRequest) throws -> HTTPRequest)?

    var runsUserCode: Bool {
        requestModifier != nil || encode != nil || !Self.isURLOrText(url) || (hasBody && body?.data == nil)
    }

    /// Whether there is a body; a comparison with `nil` would copy it (150 instructions).
    private var hasBody: Bool { if case .some = body { true } else { false } }

    /// Whether creating the URL runs no user code.
    ///
    /// Comparing types is cheaper than casting, and happens for every request.
    private static func isURLOrText(_ url: any URLConvertible) -> Bool {
        let type = type(of: url)
        return type == URL.self || type == String.self
    }

    /// Converts a `URL` or a text; `nil` for another type, which may run user code, or if the text is not a URL.
    static func url(fromURLOrText url: any URLConvertible) -> URL? { isURLOrText(url) ? try? url.asURL() : nil }

    /// The URL; an empty text stands for the base URL (RFC 3986 §5.2.2).
    private var convertedURL: URL {
        get throws {
            do {
                return try url.asURL()
            } catch {
                guard let text = url as? String, text.isEmpty else { throw error }
                return .emptyReference
            }
        }
    }

    func asHTTPRequest() throws -> HTTPRequest {
        var request = HTTPRequest(url: try convertedURL, method: method, headers: headers ?? [:], body: body)
        do {
            try requestModifier?(&request)
        } catch {
            throw Self.error(from: error, .invalidRequest(.conversion), request)
        }
        do {
            return try encode?(request) ?? request
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

/// A request that is changed after its conversion.
struct ModifiedRequest: HTTPRequestConvertible {
    let convertible: any HTTPRequestConvertible
    let modify: Session.RequestModifier

    func asHTTPRequest() throws -> HTTPRequest {
        var request = try convertible.asHTTPRequest()
        try modify(&request)
        return request
    }
}

/// The original request of resume data.
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
    /// Whether the conversion runs user code, such as an encoder, which may be slow.
    var runsUserCode: Bool {
        switch self {
        case let composed as ComposedRequest: composed.runsUserCode
        case is ResumedRequest: false
        // Opening a file or a sequence may be slow, too.
        case let request as HTTPRequest: request.body.map { $0.data == nil } ?? false
        default: true
        }
    }
}
