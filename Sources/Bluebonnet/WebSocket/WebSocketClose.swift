import FoundationEssentials

/// The contents of a close frame (RFC 6455 §5.5.1).
struct WebSocketClose: Hashable, Sendable {
    /// The code; `nil` if the frame has no contents.
    let code: WebSocketCloseCode?
    let reason: String

    /// Creates the contents; returns `nil` if a frame cannot have this code, or a reason of this length.
    init?(code: WebSocketCloseCode?, reason: String = "") {
        guard code?.isValidInFrame ?? reason.isEmpty, reason.utf8.count <= 123 else { return nil }
        self.init(valid: code, reason: reason)
    }

    /// Creates contents that are known to be valid.
    init(valid code: WebSocketCloseCode?, reason: String = "") {
        self.code = code
        self.reason = reason
    }

    /// Parses the contents of a received frame.
    init(payload: Data) throws(WebSocketViolation) {
        let bytes = payload.span
        guard bytes.count != 1 else { throw .protocolError("a close frame has a code of one byte") }
        code = bytes.isEmpty ? nil : WebSocketCloseCode(rawValue: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
        guard code?.isValidInFrame != false else { throw .protocolError("a close frame has an invalid code") }
        guard let reason = String(validating: payload.dropFirst(2), as: UTF8.self) else {
            throw .invalidPayload("the reason of a close frame is not UTF-8")
        }
        self.reason = reason
    }

    /// The bytes of the contents.
    var payload: Data {
        guard let code else { return Data() }
        return Data([UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xff)] + reason.utf8)
    }
}

/// A violation of the protocol by the peer, which ends the connection (RFC 6455 §7.1.7).
struct WebSocketViolation: Error, Hashable {
    /// The code to send.
    let code: WebSocketCloseCode
    /// The reason to send, which is shorter than 124 bytes.
    let reason: String

    static func protocolError(_ reason: String) -> Self { Self(code: .protocolError, reason: reason) }
    static func invalidPayload(_ reason: String) -> Self { Self(code: .invalidPayload, reason: reason) }
}

/// The end of a connection.
struct WebSocketClosure: Hashable, Sendable {
    /// The contents of the close frame that was sent.
    var sent: WebSocketClose?
    /// The contents of the close frame that was received.
    var received: WebSocketClose?
    /// The violation that ended the connection.
    var violation: WebSocketViolation?
    /// Whether the connection was ended because pings were not answered.
    var isPingUnanswered = false

    /// Whether the server broke the protocol, or did not answer.
    var isFault: Bool { violation != nil || isPingUnanswered }

    /// Whether both close frames were exchanged (RFC 6455 §7.1.4).
    var isClean: Bool { sent != nil && received != nil }

    /// The code of the connection's end (RFC 6455 §7.1.5).
    var code: WebSocketCloseCode { received.map { $0.code ?? .noStatusReceived } ?? .abnormalClosure }

    /// The reason that was received.
    var reason: String { received?.reason ?? "" }
}
