public import Bluebonnet

extension StubTransport.Response {
    /// Creates a response that opens a WebSocket, whose messages are answered without a network.
    ///
    /// ```swift
    /// transport.stub(.get, "/chat", .webSocket(first: [.text("welcome")]) { message in [.message(message)] })
    /// ```
    ///
    /// The response is 101 if the request is the handshake of a WebSocket, and 426 otherwise. The transport checks the
    /// frames of the client, answers pings and close frames, and replies to one message after the other. Messages are
    /// not compressed. The transport ignores the time limits of the WebSocket.
    ///
    /// - Parameters:
    ///   - protocols: The subprotocols that the server supports, the preferred one first; none by default. The response
    ///     contains the first of these subprotocols that the client also offers.
    ///   - maximumMessageBytes: The maximum size of a message of the client; 16 MiB by default. A larger message is
    ///     answered with ``Bluebonnet/WebSocketCloseCode/messageTooBig``.
    ///   - first: The replies that are sent before a message arrives; none by default.
    ///   - reply: A closure that returns the replies to a message; `nil`, the default, to send each message back. It
    ///     runs on the global executor, in a task of its own, which is cancelled when the WebSocket ends. If it throws
    ///     an error, the WebSocket is closed with ``Bluebonnet/WebSocketCloseCode/internalError``.
    /// - Returns: The new response.
    public static func webSocket(
        protocols: [String] = [], maximumMessageBytes: Int = 16 << 20, first: [WebSocketReply] = [],
        reply: (@Sendable (_ message: WebSocketMessage) async throws -> [WebSocketReply])? = nil
    ) -> Self {
        Self(
            storage: .webSocket(
                WebSocketScript(
                    protocols: protocols, maximumMessageBytes: maximumMessageBytes, first: first, reply: reply)))
    }
}
