extension RequestError {
    /// The name of the error's kind, such as `timed_out.total` or `connection.refused`, for logs and metrics.
    ///
    /// There are few names, and later versions keep them. A name contains no values of the request.
    public var code: String { kind.name }
}

extension RequestError.Kind {
    /// The name of the kind for metrics and log records, such as `trust` or `connection.refused`.
    ///
    /// There are few names, and they contain no values of the request.
    package var name: String {
        switch self {
        case .invalidURL: "invalid_url"
        case .invalidRequest: "invalid_request"
        case .parameterEncoding: "parameter_encoding"
        case .multipartEncoding: "multipart_encoding"
        case .requestBody: "request_body"
        case .adaptation: "adaptation"
        case .retry: "retry"
        case .redirect: "redirect"
        case .cache: "cache"
        case .cookies: "cookies"
        case .authentication: "authentication"
        case .circuitOpen: "circuit_open"
        case .connection(let reason): "connection" + (Self.connectionNames[reason] ?? "")
        case .timedOut(let stage): "timed_out" + (Self.stageNames[stage] ?? "")
        case .trust: "trust"
        case .invalidResponse: "invalid_response"
        case .validation: "validation"
        case .serialization: "serialization"
        case .download: "download"
        case .eventSource: "event_source"
        case .webSocket: "web_socket"
        case .bodyAlreadyRead: "body_already_read"
        case .cancelled: "cancelled"
        case .sessionShutDown: "session_shut_down"
        case .internal: "internal"
        }
    }

    private static let connectionNames: [RequestError.ConnectionReason: String] = [
        .nameNotResolved: ".name_not_resolved", .proxyNameNotResolved: ".proxy_name_not_resolved",
        .refused: ".refused", .interface: ".interface", .lost: ".lost", .proxy: ".proxy", .http2: ".http2",
        .http3: ".http3", .failed: ".failed",
    ]

    private static let stageNames: [RequestError.TimeoutStage: String] = [
        .queue: ".queue", .pool: ".pool", .connect: ".connect", .idle: ".idle", .total: ".total",
    ]
}
