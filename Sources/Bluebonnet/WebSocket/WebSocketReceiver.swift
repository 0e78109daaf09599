import FoundationEssentials

/// Turns the bytes of a server into pieces of messages and control frames (RFC 6455 §5, RFC 7692).
///
/// The caller adds bytes, and asks for events until there are none. The memory is then limited to the added bytes, one
/// piece, and the window of the decoder.
struct WebSocketReceiver: ~Copyable {
    /// The message whose end was not received.
    private struct Message {
        let kind: WebSocketMessageKind
        let isCompressed: Bool
        /// The number of bytes up to the end of the current frame; 0 if the message is compressed.
        var size = 0
        /// The beginning of a character at the end of the text so far.
        var incomplete = Data()
    }

    /// The size from which a piece is not copied.
    private static let keptSize = 32 * 1024

    private let pieceSize: Int
    private let deflate: WebSocketDeflateParameters?
    /// The parser; `nil` after the last event.
    private var parser: WebSocketFrameParser? = WebSocketFrameParser()
    private var message: Message?
    /// Compressed bytes that are not decoded yet, and whether they end the message.
    private var compressed: (bytes: Data, isFinal: Bool)?
    private var inflater: Inflater?
    /// Whether messages are skipped without decoding and without checks.
    private var isDiscarding = false

    /// Creates a receiver.
    ///
    /// - Parameters:
    ///   - pieceSize: The maximum number of bytes that are decoded at once.
    ///   - deflate: The parameters of the compression; `nil` if it was not negotiated.
    init(pieceSize: Int = 64 * 1024, deflate: WebSocketDeflateParameters? = nil) {
        self.pieceSize = pieceSize
        self.deflate = deflate
    }

    /// Whether a message has begun and not ended.
    var isInMessage: Bool { message != nil }

    /// The number of bytes that the unfinished message has at least, which is known when a head has arrived.
    var messageSize: Int { message?.size ?? 0 }

    /// Skips the messages that are received from now on; control frames still become events.
    mutating func discardMessages() {
        isDiscarding = true
        if compressed?.isFinal == true { message = nil }
        compressed = nil
        inflater = nil
    }

    /// Adds received bytes, which are ignored after the last event.
    mutating func append(_ bytes: Data) { parser?.append(bytes) }

    /// The number of frames without an event, such as empty ones, after which ``next()`` returns.
    private static let skippedAtOnce = 4

    /// Returns the next event; returns `nil` if more bytes are needed, or after the last event.
    mutating func next() -> WebSocketEvent? {
        do throws(WebSocketViolation) {
            var skipped = 0
            while true {
                if let event = try decoded() { return event }
                // The end of the decoded bytes is found before the next frame is read.
                guard compressed == nil else { continue }
                guard let part = try parser?.next() else { return nil }
                if let event = try received(part) { return event }
                skipped += 1
                if skipped >= Self.skippedAtOnce { return .nothing }
            }
        } catch {
            end()
            return .violation(error)
        }
    }

    private mutating func received(_ part: WebSocketFrameParser.Part) throws(WebSocketViolation) -> WebSocketEvent? {
        let head = part.head
        switch head.opcode {
        case .ping: return .ping(Data(part.payload))
        case .pong: return .pong(Data(part.payload))
        case .close:
            let close = try WebSocketClose(payload: part.payload)
            end()
            return .close(close)
        case .text, .binary:
            guard part.isFirst else { break }
            guard message == nil else { throw .protocolError("a message begins within another message") }
            guard !head.isCompressed || deflate != nil else { throw .protocolError("a reserved bit of a frame is set") }
            message = Message(kind: head.opcode == .text ? .text : .binary, isCompressed: head.isCompressed)
        case .continuation:
            guard message != nil else { throw .protocolError("a continuation frame is not within a message") }
            guard !head.isCompressed else { throw .protocolError("a continuation frame is marked as compressed") }
        }
        let isFinal = part.isLast && head.isFinal
        guard !isDiscarding else {
            if isFinal { message = nil }
            return nil
        }
        if message?.isCompressed == true {
            compressed = (isFinal ? part.payload + WebSocketDeflateParameters.flushMark : part.payload, isFinal)
            return nil
        }
        if part.isFirst, let size = message?.size { message?.size = size + min(head.length, .max - size) }
        return try delivered(part.payload, isFinal: isFinal)
    }

    /// Decodes the next piece of a compressed message.
    private mutating func decoded() throws(WebSocketViolation) -> WebSocketEvent? {
        guard var input = compressed, let deflate else { return nil }
        inflater = inflater ?? Inflater(.raw(windowBits: Int32(max(9, deflate.serverMaxWindowBits))))
        guard let inflater else {
            throw WebSocketViolation(code: .internalError, reason: "there is not enough memory")
        }
        guard let output = inflater.decode(&input.bytes, upTo: pieceSize) else {
            throw .invalidPayload("the data of a message cannot be decompressed")
        }
        let isDone = output.count < pieceSize
        compressed = isDone ? nil : input
        let isFinal = isDone && input.isFinal
        if isFinal {
            guard inflater.isBetweenBlocks else { throw .invalidPayload("the data of a message is truncated") }
            if deflate.serverNoContextTakeover { self.inflater = nil }
        }
        return try delivered(Data(output), isFinal: isFinal)
    }

    /// Returns the event for a piece of a message, unless there is nothing to tell.
    private mutating func delivered(_ bytes: Data, isFinal: Bool) throws(WebSocketViolation) -> WebSocketEvent? {
        guard isFinal || !bytes.isEmpty, var message else { return nil }
        defer { self.message = isFinal ? nil : message }
        guard message.kind == .text else {
            // A small piece must not keep all the bytes that arrived with it.
            return .piece(.binary(bytes.count < Self.keptSize ? Data(bytes) : bytes.rebased, isFinal: isFinal))
        }
        let bytes = message.incomplete.isEmpty ? bytes : message.incomplete + bytes
        let rest = isFinal ? 0 : UTF8Tail.length(of: bytes)
        guard let text = String(validating: bytes.dropLast(rest), as: UTF8.self) else {
            throw .invalidPayload("a text is not UTF-8")
        }
        message.incomplete = Data(bytes.suffix(rest))
        return text.isEmpty && !isFinal ? nil : .piece(.text(text, isFinal: isFinal))
    }

    /// Releases the memory, and ignores all later bytes.
    mutating func end() {
        parser = nil
        message = nil
        compressed = nil
        inflater = nil
    }
}
