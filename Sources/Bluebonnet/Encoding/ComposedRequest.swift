import FoundationEssentials

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

extension HTTPRequestConvertible {
    /// Whether converting runs code of the user's, such as an encoder, which may take its time.
    var runsUserCode: Bool {
        switch self {
        case let composed as ComposedRequest: composed.runsUserCode
        // Opening a file or a sequence may take its time, too.
        case let request as HTTPRequest: request.body.map { $0.data == nil } ?? false
        default: true
        }
    }
}
