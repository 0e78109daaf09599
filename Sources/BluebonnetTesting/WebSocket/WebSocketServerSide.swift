import Bluebonnet
import FoundationEssentials

/// The server's side of an open WebSocket (RFC 6455 §5), without compression; a value type without I/O.
///
/// The owner performs the actions until there are none, and then adds more bytes of the client.
struct WebSocketServerSide {
    /// The next action.
    enum Action: Equatable {
        case send(Data)
        /// Pass the replies to this message to ``answer(_:)``.
        case reply(WebSocketMessage)
        /// End the connection.
        case end
    }

    /// A violation of the protocol by the client.
    private struct Violation: Error {
        let close: WebSocketReply

        init(_ reason: String, _ code: WebSocketCloseCode = .protocolError) { close = .close(code, reason: reason) }
    }

    private let script: WebSocketScript
    /// The bytes of the client that were not parsed yet.
    private var input: ArraySlice<UInt8> = []
    private var replies: ArraySlice<WebSocketReply>
    /// The message whose end was not received.
    private var message: (isText: Bool, payload: [UInt8])?
    private var isClosing = false
    /// Whether nothing more is received.
    private var isEnding = false

    init(_ script: WebSocketScript) {
        self.script = script
        replies = script.first[...]
    }

    mutating func answer(_ replies: [WebSocketReply]) { self.replies += replies }

    /// Adds bytes and returns the next action; returns `nil` if more bytes are needed.
    mutating func next(adding bytes: some Collection<UInt8> = []) -> Action? {
        input.append(contentsOf: bytes)
        while true {
            if let reply = replies.popFirst() {
                if reply.effect == .closes { isClosing = true }
                if reply.effect == .disconnects { (isEnding, replies) = (true, []) }
                if !reply.bytes.isEmpty { return .send(reply.bytes) }
                continue
            }
            guard !isEnding else { return .end }
            do throws(Violation) {
                guard let (first, payload) = try takeFrame() else { return nil }
                guard let message = try received(first, payload), !isClosing else { continue }
                guard script.reply == nil else { return .reply(message) }
                replies.append(.message(message))
            } catch {
                end(with: error.close)
            }
        }
    }

    /// Sends a close frame, unless one was sent, and then ends the connection.
    private mutating func end(with close: WebSocketReply) {
        if !isClosing { replies.append(close) }
        isEnding = true
    }

    // MARK: Frames

    /// Takes the next frame without its mask; returns `nil` if it is not complete.
    private mutating func takeFrame() throws(Violation) -> (first: UInt8, payload: [UInt8])? {
        guard let first = input.first, let second = input.dropFirst().first else { return nil }
        guard first & 0x70 == 0 else { throw Violation("a reserved bit is set") }
        guard [0, 1, 2, 8, 9, 10].contains(first & 15) else { throw Violation("the opcode is unknown") }
        guard second & 0x80 != 0 else { throw Violation("a frame is not masked") }
        guard first & 8 == 0 || (first & 0x80 != 0 && second & 0x7f < 126) else {
            throw Violation("a control frame is fragmented or too long")
        }
        let size = second & 0x7f == 126 ? 2 : second & 0x7f == 127 ? 8 : 0
        guard input.count >= 2 + size else { return nil }
        let number = input.dropFirst(2).prefix(size).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let length = size == 0 ? UInt64(second & 0x7f) : number
        let room = first & 8 == 0 ? script.maximumMessageBytes - (message?.payload.count ?? 0) : 125
        guard length <= UInt64(max(0, room)) else { throw Violation("a message is too big", .messageTooBig) }
        guard input.count >= 6 + size + Int(length) else { return nil }
        let key = Array(input.dropFirst(2 + size).prefix(4))
        var payload = Array(input.dropFirst(6 + size).prefix(Int(length)))
        for index in payload.indices { payload[index] ^= key[index & 3] }
        input = input.dropFirst(6 + size + Int(length))
        return (first, payload)
    }

    /// Handles a frame; returns the message that it completes.
    private mutating func received(_ first: UInt8, _ payload: [UInt8]) throws(Violation) -> WebSocketMessage? {
        switch first & 15 {
        case 8:
            let code = WebSocketCloseCode(rawValue: payload.prefix(2).reduce(0) { $0 << 8 | UInt16($1) })
            guard payload.isEmpty || code.isValidInFrame else { throw Violation("the close code is invalid") }
            _ = try text(payload.dropFirst(2))
            end(with: .frame(0x88, Data(payload.prefix(2))))
            return nil
        case 9, 10:
            if first & 15 == 9 { replies.append(.frame(0x8a, Data(payload))) }
            return nil
        case 0:
            guard message != nil else { throw Violation("a continuation frame is not within a message") }
        default:
            guard message == nil else { throw Violation("a message begins within another message") }
            message = (first & 15 == 1, [])
        }
        message?.payload += payload
        guard first & 0x80 != 0, let complete = message.take() else { return nil }
        return try complete.isText ? .text(text(complete.payload[...])) : .binary(Data(complete.payload))
    }

    private func text(_ bytes: ArraySlice<UInt8>) throws(Violation) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Violation("a text is not UTF-8", .invalidPayload)
        }
        return text
    }
}
