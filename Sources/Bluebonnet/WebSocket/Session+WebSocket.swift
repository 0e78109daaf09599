extension Session {
    /// Creates a request that opens a WebSocket (RFC 6455).
    ///
    /// The request starts when you first use its ``WebSocketTask``.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type. The
    ///     scheme is `ws`, `wss`, `http` or `https`.
    ///   - protocols: The subprotocols that the server may choose from, the preferred one first; none by default.
    ///   - headers: Header fields of the handshake, which replace the session's fields of the same name.
    ///   - configuration: The settings of the WebSocket.
    ///   - interceptor: An interceptor that adapts the handshake and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request before the fields of the handshake are set. The closure
    ///     runs on the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request whose messages are sent and received with
    ///   ``WebSocketRequest/webSocketTask(automaticallyClosing:)``.
    public nonisolated func webSocket(
        _ convertible: any URLConvertible, protocols: [String] = [], headers: HTTPHeaders? = nil,
        configuration: WebSocketRequest.Configuration = WebSocketRequest.Configuration(),
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        webSocket(
            ComposedRequest(url: convertible, method: .get, headers: headers, requestModifier: requestModifier),
            protocols: protocols, configuration: configuration, interceptor: interceptor)
    }

    /// Creates a request that opens a WebSocket, from an ``HTTPRequest`` or your own request type.
    ///
    /// The method must be GET.
    ///
    /// - Parameters:
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type.
    ///   - protocols: The subprotocols that the server may choose from, the preferred one first; none by default.
    ///   - configuration: The settings of the WebSocket.
    ///   - interceptor: An interceptor that adapts the handshake and decides about retries; `nil` by default.
    /// - Returns: A request whose messages are sent and received with
    ///   ``WebSocketRequest/webSocketTask(automaticallyClosing:)``.
    public nonisolated func webSocket(
        _ convertible: any HTTPRequestConvertible, protocols: [String] = [],
        configuration: WebSocketRequest.Configuration = WebSocketRequest.Configuration(),
        interceptor: (any RequestInterceptor)? = nil
    ) -> WebSocketRequest {
        WebSocketRequest(
            convertible, protocols: protocols, configuration: configuration, context: context,
            interceptor: interceptor)
    }

    /// Creates a WebSocket that connects again when its connection is lost.
    ///
    /// The socket connects when a loop over its ``ReconnectingWebSocket/events`` begins. Each connection is a new
    /// request, like a request that ``webSocket(_:protocols:headers:configuration:interceptor:requestModifier:)``
    /// creates. Adapters therefore run again, and can renew credentials.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type. The
    ///     scheme is `ws`, `wss`, `http` or `https`.
    ///   - protocols: The subprotocols that the server may choose from, the preferred one first; none by default.
    ///   - headers: Header fields of the handshake, which replace the session's fields of the same name.
    ///   - configuration: The settings of each connection.
    ///   - reconnection: The settings that decide when and how long the socket waits before it connects again.
    ///   - interceptor: An interceptor that adapts the handshakes and decides about retries; `nil` by default.
    ///   - requestModifier: A closure that changes the request before the fields of the handshake are set. The closure
    ///     runs on the global executor, once for each attempt.
    /// - Returns: A socket whose events you read in a loop.
    public nonisolated func reconnectingWebSocket(
        _ convertible: any URLConvertible, protocols: [String] = [], headers: HTTPHeaders? = nil,
        configuration: WebSocketRequest.Configuration = WebSocketRequest.Configuration(),
        reconnection: WebSocketReconnection = WebSocketReconnection(),
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> ReconnectingWebSocket {
        reconnectingWebSocket(
            ComposedRequest(url: convertible, method: .get, headers: headers, requestModifier: requestModifier),
            protocols: protocols, configuration: configuration, reconnection: reconnection, interceptor: interceptor)
    }

    /// Creates a WebSocket that connects again when its connection is lost, from an ``HTTPRequest`` or your own request
    /// type.
    ///
    /// - Parameters:
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type, which is converted once for
    ///     each attempt.
    ///   - protocols: The subprotocols that the server may choose from, the preferred one first; none by default.
    ///   - configuration: The settings of each connection.
    ///   - reconnection: The settings that decide when and how long the socket waits before it connects again.
    ///   - interceptor: An interceptor that adapts the handshakes and decides about retries; `nil` by default.
    /// - Returns: A socket whose events you read in a loop.
    public nonisolated func reconnectingWebSocket(
        _ convertible: any HTTPRequestConvertible, protocols: [String] = [],
        configuration: WebSocketRequest.Configuration = WebSocketRequest.Configuration(),
        reconnection: WebSocketReconnection = WebSocketReconnection(), interceptor: (any RequestInterceptor)? = nil
    ) -> ReconnectingWebSocket {
        ReconnectingWebSocket(reconnection: reconnection, timing: EventSource.Timing(sleep: context.sleep)) { [self] in
            webSocket(convertible, protocols: protocols, configuration: configuration, interceptor: interceptor)
        }
    }
}
