public import Bluebonnet
public import FoundationEssentials

/// Steps of a WebSocket (RFC 6455) for the script of a route.
extension LocalServer.Script.Step {
    /// Creates a step that accepts the WebSocket of a request with a 101 response.
    ///
    /// - Parameters:
    ///   - request: The request with the client's handshake.
    ///   - headers: Additional header fields, such as `Sec-WebSocket-Protocol`; none by default.
    /// - Returns: The new step.
    public static func acceptWebSocket(_ request: LocalServer.Request, headers: HTTPHeaders = [:]) -> Self {
        let fields = WebSocketScript().handshake(request.headers).headers
        return .head(101, HTTPHeaders(Array(fields) + Array(headers)))
    }

    /// Creates a step that sends a frame without a mask.
    ///
    /// - Parameters:
    ///   - first: The first byte: the final bit, the reserved bits and the opcode, such as `0x81` for a text message.
    ///   - payload: The payload.
    /// - Returns: The new step.
    public static func webSocketFrame(_ first: UInt8, _ payload: Data) -> Self {
        .bytes(WebSocketReply.frame(first, payload).bytes)
    }

    /// Creates a step that sends a message.
    ///
    /// - Parameter message: The message.
    /// - Returns: The new step.
    public static func webSocketMessage(_ message: WebSocketMessage) -> Self {
        .bytes(WebSocketReply.message(message).bytes)
    }

    /// Creates a step that sends a close frame.
    ///
    /// - Parameters:
    ///   - code: The close code.
    ///   - reason: The reason; empty by default.
    /// - Returns: The new step.
    public static func webSocketClose(_ code: WebSocketCloseCode, reason: String = "") -> Self {
        .bytes(WebSocketReply.close(code, reason: reason).bytes)
    }

    /// Creates a step that waits for an unfragmented frame with a payload of the given size, and discards the frame.
    ///
    /// - Parameter size: The size of the payload in bytes.
    /// - Returns: The new step.
    public static func waitForWebSocketFrame(ofSize size: Int) -> Self {
        .waitForBytes(2 + (size < 126 ? 0 : size < 65_536 ? 2 : 8) + 4 + size)
    }

    /// Creates a step that answers the messages of a client until the WebSocket is closed.
    ///
    /// The step checks the frames of the client, answers pings and close frames, and replies to one message after the
    /// other. While a message is answered, no more bytes are read. The step ends after the closing handshake, after a
    /// violation of the protocol by the client, and after ``WebSocketReply/disconnect``.
    ///
    /// - Parameters:
    ///   - maximumMessageBytes: The maximum size of a message of the client; 16 MiB by default. A larger message is
    ///     answered with ``Bluebonnet/WebSocketCloseCode/messageTooBig``.
    ///   - reply: A closure that returns the replies to a message; `nil`, the default, to send each message back. It
    ///     runs on the global executor, in a task of its own, which is cancelled when the client disconnects. If it
    ///     throws an error, the WebSocket is closed with ``Bluebonnet/WebSocketCloseCode/internalError``.
    /// - Returns: The new step.
    public static func answerWebSocket(
        maximumMessageBytes: Int = 16 << 20,
        reply: (@Sendable (_ message: WebSocketMessage) async throws -> [WebSocketReply])? = nil
    ) -> Self { Self(kind: .answerWebSocket(WebSocketScript(maximumMessageBytes: maximumMessageBytes, reply: reply))) }
}

extension LocalServer.Response {
    /// Creates a response that opens a WebSocket and answers its messages.
    ///
    /// The response is 101 if the request is the handshake of a WebSocket, and 426 otherwise. Messages are not
    /// compressed. When the WebSocket has ended, the server closes the connection.
    ///
    /// - Parameters:
    ///   - request: The request of the route.
    ///   - protocols: The subprotocols that the server supports, the preferred one first; none by default. The response
    ///     contains the first one that the client offers.
    ///   - maximumMessageBytes: The maximum size of a message of the client; 16 MiB by default.
    ///   - first: The replies that are sent before a message arrives; none by default.
    ///   - reply: A closure that returns the replies to a message; `nil`, the default, to send each message back. See
    ///     ``LocalServer/Script/Step/answerWebSocket(maximumMessageBytes:reply:)``.
    /// - Returns: The new response.
    public static func webSocket(
        _ request: LocalServer.Request, protocols: [String] = [], maximumMessageBytes: Int = 16 << 20,
        first: [WebSocketReply] = [],
        reply: (@Sendable (_ message: WebSocketMessage) async throws -> [WebSocketReply])? = nil
    ) -> Self {
        let script = WebSocketScript(
            protocols: protocols, maximumMessageBytes: maximumMessageBytes, first: first, reply: reply)
        let (status, headers) = script.handshake(request.headers)
        guard status == 101 else { return .status(status, headers: headers) }
        return .script(.head(101, headers), LocalServer.Script.Step(kind: .answerWebSocket(script)))
    }
}

extension LocalServer.Router {
    /// Adds a route for WebSockets.
    ///
    /// Without a closure, the route sends each message back:
    ///
    /// ```swift
    /// router.webSocket("/echo")
    /// router.webSocket("/upper") { message in
    ///     if case .text(let text) = message { [.text(text.uppercased())] } else { [.close(.unsupportedData)] }
    /// }
    /// ```
    ///
    /// If the replies depend on the request or on the connection, add a GET route that returns
    /// ``LocalServer/Response/webSocket(_:protocols:maximumMessageBytes:first:reply:)``.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash; see ``LocalServer/Router``.
    ///   - protocols: The subprotocols that the server supports, the preferred one first; none by default. The response
    ///     contains the first one that the client offers.
    ///   - maximumMessageBytes: The maximum size of a message of the client; 16 MiB by default.
    ///   - first: The replies that are sent before a message arrives; none by default.
    ///   - reply: A closure that returns the replies to a message; `nil`, the default, to send each message back. See
    ///     ``LocalServer/Script/Step/answerWebSocket(maximumMessageBytes:reply:)``.
    public mutating func webSocket(
        _ path: String, protocols: [String] = [], maximumMessageBytes: Int = 16 << 20, first: [WebSocketReply] = [],
        reply: (@Sendable (_ message: WebSocketMessage) async throws -> [WebSocketReply])? = nil
    ) {
        get(path) { request in
            .webSocket(
                request, protocols: protocols, maximumMessageBytes: maximumMessageBytes, first: first, reply: reply)
        }
    }
}
