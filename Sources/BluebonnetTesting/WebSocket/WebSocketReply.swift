public import Bluebonnet
public import FoundationEssentials

/// A message, another frame, or any bytes that the server side of a WebSocket sends in a test.
///
/// ``LocalServer/Router/webSocket(_:protocols:maximumMessageBytes:first:reply:)`` and
/// ``StubTransport/Response/webSocket(protocols:maximumMessageBytes:first:reply:)`` send replies as they are, even if
/// they violate the protocol.
public struct WebSocketReply: Hashable, Sendable {
    /// The effect on the connection, besides the bytes.
    enum Effect: Hashable, Sendable { case none, closes, disconnects }

    /// The bytes to send.
    let bytes: Data
    let effect: Effect

    /// Creates a message in one frame.
    ///
    /// - Parameter message: The message.
    /// - Returns: The new reply.
    public static func message(_ message: WebSocketMessage) -> Self {
        let first: UInt8 = if case .text = message { 0x81 } else { 0x82 }
        return .frame(first, message.payload)
    }

    /// Creates a text message in one frame.
    ///
    /// - Parameter text: The text.
    /// - Returns: The new reply.
    public static func text(_ text: String) -> Self { .message(.text(text)) }

    /// Creates a binary message in one frame.
    ///
    /// - Parameter data: The bytes of the message.
    /// - Returns: The new reply.
    public static func binary(_ data: Data) -> Self { .message(.binary(data)) }

    /// Creates a ping; the pong of the client is ignored.
    ///
    /// - Parameter payload: The payload of at most 125 bytes; empty by default.
    /// - Returns: The new reply.
    public static func ping(_ payload: Data = Data()) -> Self { .frame(0x89, payload) }

    /// Creates a close frame, which begins the closing handshake.
    ///
    /// The server closes the connection when the close frame of the client has arrived. It does not reply to any more
    /// messages.
    ///
    /// - Parameters:
    ///   - code: The close code.
    ///   - reason: The reason of at most 123 bytes; empty by default.
    /// - Returns: The new reply.
    public static func close(_ code: WebSocketCloseCode, reason: String = "") -> Self {
        let bytes = [UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)]
        return Self(bytes: frame(0x88, Data(bytes + reason.utf8)).bytes, effect: .closes)
    }

    /// Creates a frame without a mask.
    ///
    /// - Parameters:
    ///   - first: The first byte: the final bit, the reserved bits and the opcode (RFC 6455 §5.2). For example, `0x01`
    ///     begins a fragmented text, and `0x80` ends it.
    ///   - payload: The payload.
    /// - Returns: The new reply.
    public static func frame(_ first: UInt8, _ payload: Data) -> Self {
        let size = payload.count < 126 ? 0 : payload.count < 65_536 ? 2 : 8
        var frame = Data([first, size == 0 ? UInt8(payload.count) : size == 2 ? 126 : 127])
        for byte in (0..<size).reversed() { frame.append(UInt8(truncatingIfNeeded: payload.count >> (8 * byte))) }
        return .bytes(frame + payload)
    }

    /// Creates a reply from any bytes, such as a part of a frame.
    ///
    /// - Parameter bytes: The bytes to send.
    /// - Returns: The new reply.
    public static func bytes(_ bytes: Data) -> Self { Self(bytes: bytes, effect: .none) }

    /// The end of the connection without a close frame.
    public static let disconnect = Self(bytes: Data(), effect: .disconnects)
}

/// The behaviour of the server's side of a WebSocket.
struct WebSocketScript: Sendable {
    /// A closure that returns the replies to a message.
    typealias Handler = @Sendable (WebSocketMessage) async throws -> [WebSocketReply]

    /// The subprotocols that the server supports, in order of preference.
    var protocols: [String] = []
    var maximumMessageBytes = 16 << 20
    /// The replies that are sent before the first message arrives.
    var first: [WebSocketReply] = []
    /// The handler of messages; `nil` to send each message back.
    var reply: Handler?

    /// Returns the status code and the fields of the response to a handshake (RFC 6455 §4.2).
    func handshake(_ fields: HTTPHeaders) -> (status: Int, headers: HTTPHeaders) {
        guard let key = fields["Sec-WebSocket-Key"], fields["Sec-WebSocket-Version"] == "13",
            fields["Upgrade"]?.lowercased() == "websocket"
        else { return (426, ["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"]) }
        var headers: HTTPHeaders = [
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": WebSocketRequest.accept(for: key),
        ]
        let offered = fields.value(for: "Sec-WebSocket-Protocol")?.split { $0 == "," || $0 == " " }.map(String.init)
        if let chosen = protocols.first(where: { offered?.contains($0) == true }) {
            headers.append(name: "Sec-WebSocket-Protocol", value: chosen)
        }
        return (101, headers)
    }

    /// Returns the replies to a message; a close frame if the handler throws an error.
    func replies(to message: WebSocketMessage) async -> [WebSocketReply] {
        do {
            return try await reply?(message) ?? [.message(message)]
        } catch {
            return [.close(.internalError, reason: String(decoding: "\(error)".utf8.prefix(120), as: UTF8.self))]
        }
    }
}
