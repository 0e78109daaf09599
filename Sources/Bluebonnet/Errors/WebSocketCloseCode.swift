/// The code that says why a WebSocket connection is closed (RFC 6455 §7.4).
///
/// Applications can use ``normalClosure``, ``goingAway`` and the codes from 3000 to 4999. The codes from 3000 to 3999
/// are registered with IANA; the codes from 4000 to 4999 are for private use.
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral, Described {
    /// The number.
    public let rawValue: UInt16

    /// Creates a code.
    ///
    /// - Parameter rawValue: The number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Creates a code from a literal.
    ///
    /// - Parameter value: The number.
    public init(integerLiteral value: UInt16) { rawValue = value }

    /// 1000: the purpose of the connection has been fulfilled.
    public static let normalClosure: WebSocketCloseCode = 1000
    /// 1001: the server goes down, or the client leaves.
    public static let goingAway: WebSocketCloseCode = 1001
    /// 1002: the peer has violated the protocol.
    public static let protocolError: WebSocketCloseCode = 1002
    /// 1003: the peer has sent data of a type that cannot be accepted, for example binary data instead of text.
    public static let unsupportedData: WebSocketCloseCode = 1003
    /// 1005: the peer has sent a close frame without a code; this code is never sent.
    public static let noStatusReceived: WebSocketCloseCode = 1005
    /// 1006: the connection has ended without a close frame; this code is never sent.
    public static let abnormalClosure: WebSocketCloseCode = 1006
    /// 1007: the data is not consistent with its type, for example text that is not UTF-8.
    public static let invalidPayload: WebSocketCloseCode = 1007
    /// 1008: a message violates the policy of the peer.
    public static let policyViolation: WebSocketCloseCode = 1008
    /// 1009: a message is too big.
    public static let messageTooBig: WebSocketCloseCode = 1009
    /// 1010: the client needs an extension that the server has not accepted.
    public static let missingExtension: WebSocketCloseCode = 1010
    /// 1011: the server has failed unexpectedly.
    public static let internalError: WebSocketCloseCode = 1011

    /// Whether a close frame can contain the code.
    ///
    /// These are the codes of the protocol from 1000 to 1014 except 1004, 1005 and 1006, and the codes from 3000 to
    /// 4999.
    public var isValidInFrame: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// The number in decimal.
    package var text: String { String(rawValue) }
}
