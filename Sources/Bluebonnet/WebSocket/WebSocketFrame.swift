import FoundationEssentials

/// The type of a frame (RFC 6455 §5.2).
enum WebSocketOpcode: UInt8 {
    case continuation = 0, text, binary
    case close = 8, ping, pong

    var isControl: Bool { rawValue >= 8 }
}

/// The head of a received frame (RFC 6455 §5.2).
struct WebSocketFrameHead: Equatable {
    let opcode: WebSocketOpcode
    /// Whether the frame is the last one of its message.
    let isFinal: Bool
    /// The bit that marks the first frame of a compressed message (RFC 7692 §6).
    let isCompressed: Bool
    /// The number of bytes of the payload.
    let length: Int

    /// Parses a head, and returns it with its size; returns `nil` if it is not complete.
    static func parse(_ bytes: Span<UInt8>) throws(WebSocketViolation) -> (head: WebSocketFrameHead, size: Int)? {
        guard bytes.count >= 2 else { return nil }
        let (first, second) = (bytes[0], bytes[1])
        guard first & 0x30 == 0 else { throw .protocolError("a reserved bit of a frame is set") }
        guard let opcode = WebSocketOpcode(rawValue: first & 0x0f) else {
            throw .protocolError("a frame has an unknown opcode")
        }
        guard second & 0x80 == 0 else { throw .protocolError("a frame of the server is masked") }
        let (isFinal, isCompressed) = (first & 0x80 != 0, first & 0x40 != 0)
        if opcode.isControl {
            guard isFinal else { throw .protocolError("a control frame is fragmented") }
            guard !isCompressed else { throw .protocolError("a control frame is compressed") }
            guard second <= 125 else { throw .protocolError("a control frame is longer than 125 bytes") }
        }
        let size = second < 126 ? 2 : second == 126 ? 4 : 10
        guard bytes.count >= size else { return nil }
        var length: UInt64 = size == 2 ? UInt64(second) : 0
        for index in 2..<size { length = length << 8 | UInt64(bytes[index]) }
        guard size == 2 || length > (size == 4 ? 125 : 0xffff) else {
            throw .protocolError("the length of a frame is not in its shortest form")
        }
        guard let length = Int(exactly: length) else { throw .protocolError("the length of a frame is negative") }
        return (WebSocketFrameHead(opcode: opcode, isFinal: isFinal, isCompressed: isCompressed, length: length), size)
    }
}

/// Parses the frames of a server, whose bytes arrive in any pieces.
struct WebSocketFrameParser {
    /// A piece of a frame.
    struct Part: Equatable {
        let head: WebSocketFrameHead
        /// The bytes, which are all bytes of a control frame.
        let payload: Data
        let isFirst: Bool
        let isLast: Bool
    }

    private var buffer = Data()
    /// The frame whose payload is not complete, and the number of bytes that are missing.
    private var current: (head: WebSocketFrameHead, missing: Int)?

    /// Adds received bytes.
    mutating func append(_ bytes: Data) {
        // The bytes that were parsed already are released.
        buffer = buffer.isEmpty ? bytes : Data(buffer) + bytes
    }

    /// Returns the next piece of a frame; returns `nil` if more bytes are needed.
    ///
    /// The first piece is returned when the head is complete, even if it has no bytes.
    mutating func next() throws(WebSocketViolation) -> Part? {
        let isFirst = current == nil
        if current == nil {
            guard let (head, size) = try WebSocketFrameHead.parse(buffer.span),
                !head.opcode.isControl || buffer.count >= size + head.length
            else { return nil }
            take(size)
            current = (head, head.length)
        }
        guard let (head, missing) = current, isFirst || !buffer.isEmpty else { return nil }
        let payload = take(min(missing, buffer.count))
        let isLast = payload.count == missing
        current = isLast ? nil : (head, missing - payload.count)
        return Part(head: head, payload: payload, isFirst: isFirst, isLast: isLast)
    }

    @discardableResult
    private mutating func take(_ count: Int) -> Data {
        guard count < buffer.count else { return exchange(&buffer, with: Data()) }
        let end = buffer.startIndex + count
        let taken = buffer[..<end]
        buffer = buffer[end...]
        return taken
    }
}
