extension RequestError {
    /// The reason why there is no WebSocket, or why a WebSocket did not end normally.
    @nonexhaustive
    public enum WebSocketReason: Hashable, Sendable, Described {
        /// The server did not accept the WebSocket, or its response is not a valid handshake (RFC 6455 §4).
        ///
        /// ``RequestError/response`` and ``RequestError/body`` are the response of the server.
        case handshake(WebSocketHandshakeFailure)
        /// The server violated the protocol, and this close code states the type of the violation.
        ///
        /// The code was sent to the server, unless the WebSocket was already closing. ``RequestError/detail`` describes
        /// the violation.
        case violation(WebSocketCloseCode)
        /// The WebSocket was closed with this code; ``RequestError/detail`` is the reason that the server sent.
        ///
        /// The code is ``WebSocketCloseCode/abnormalClosure`` if the connection ended without the server's close frame.
        case closed(WebSocketCloseCode)
        /// The server did not answer a keep-alive ping in time.
        case pingUnanswered
        /// The WebSocket cannot be closed with this code and this reason (RFC 6455 §5.5.1, §7.4).
        case invalidClose

        /// The reason in a few words.
        package var text: String {
            switch self {
            case .handshake(let failure): "there is no WebSocket: \(failure)"
            case .violation(let code): "the server broke the rules of the WebSocket protocol, close code \(code)"
            case .closed(let code): "the WebSocket was closed, code \(code)"
            case .pingUnanswered: "the server did not answer a ping"
            case .invalidClose: "the close code or its reason cannot be sent"
            }
        }
    }
}
