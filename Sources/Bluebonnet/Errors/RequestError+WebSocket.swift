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

/// The reason why the opening handshake of a WebSocket connection failed (RFC 6455 §4.1).
///
/// The reasons do not contain subprotocols, because some applications send secrets in them.
@nonexhaustive
public enum WebSocketHandshakeFailure: Error, Hashable, Sendable, Described {
    /// An offered subprotocol is not a token, or is offered twice; nothing was sent.
    case invalidProtocol
    /// The status code of the response is not 101.
    case unacceptableStatusCode(Int)
    /// A field of the response is missing or wrong.
    ///
    /// The associated value is the name of the field. `Upgrade` must be `websocket`, `Connection` must contain
    /// `Upgrade`, and `Sec-WebSocket-Accept` must match the key of the request.
    case invalidField(String)
    /// The server has selected a subprotocol that was not offered, or more than one subprotocol.
    case unofferedProtocol
    /// The server has selected an extension that was not offered, or has selected the same extension twice.
    case unofferedExtension(String)
    /// A parameter of the extension in the response is unknown, repeated, invalid, or missing although it was required.
    case invalidExtensionParameter(String)

    /// The reason in a few words.
    package var text: String {
        switch self {
        case .invalidProtocol: "a subprotocol is not a token, or is offered twice"
        case .unacceptableStatusCode(let code): "the status code \(code) is not 101"
        case .invalidField(let name): "the field \(name) is missing or wrong"
        case .unofferedProtocol: "the server has selected a subprotocol that was not offered"
        case .unofferedExtension(let name):
            "the server has selected the extension '\(String(name.prefix(100)).onOneLine)', which was not offered"
        case .invalidExtensionParameter(let name):
            "the parameter '\(String(name.prefix(100)).onOneLine)' of the compression is invalid or missing"
        }
    }
}
