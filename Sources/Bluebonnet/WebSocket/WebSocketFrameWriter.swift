import FoundationEssentials

/// Writes the frames of a client (RFC 6455 §5, RFC 7692).
struct WebSocketFrameWriter: ~Copyable {
    private let deflate: WebSocketDeflateParameters?
    private let fragmentSize: Int
    private let minimumCompressedSize: Int
    private let makeKey: @Sendable () -> UInt32
    private var deflater: Deflater?
    /// Whether the last message was not written completely.
    private(set) var isInMessage = false
    private var isCompressed = false

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - deflate: The parameters of the compression; `nil` if it was not negotiated.
    ///   - fragmentSize: The maximum number of bytes of a message in a frame, before compression.
    ///   - minimumCompressedSize: The minimum number of bytes of a message that is compressed.
    ///   - makeKey: Returns the key of a mask, which must be unpredictable (RFC 6455 §5.3).
    init(
        deflate: WebSocketDeflateParameters? = nil, fragmentSize: Int = 64 * 1024, minimumCompressedSize: Int = 128,
        makeKey: @escaping @Sendable () -> UInt32 = WebSocketMask.key
    ) {
        self.deflate = deflate
        self.fragmentSize = fragmentSize
        self.minimumCompressedSize = minimumCompressedSize
        self.makeKey = makeKey
    }

    /// Takes the next fragment from the front of a payload, and returns its frame.
    ///
    /// Control frames may be written between the fragments of a message.
    ///
    /// - Parameters:
    ///   - kind: The type of the message, which is the same for all its fragments.
    ///   - payload: The bytes of the message that are known and not written.
    ///   - isFinal: Whether the payload is the end of the message.
    /// - Returns: The bytes of the frame.
    mutating func frame(_ kind: WebSocketMessageKind, _ payload: inout Data, isFinal: Bool = true) -> Data {
        var bytes = payload
        if payload.count <= fragmentSize {
            payload = Data()
        } else {
            bytes = payload.prefix(fragmentSize)
            payload = payload.dropFirst(fragmentSize)
        }
        let isLast = isFinal && payload.isEmpty
        var first: UInt8 = isLast ? 0x80 : 0
        if !isInMessage {
            isCompressed = compresses(bytes.count, isWhole: isLast)
            first |= (kind == .text ? WebSocketOpcode.text : .binary).rawValue | (isCompressed ? 0x40 : 0)
        }
        isInMessage = !isLast
        if isCompressed, let deflater {
            bytes = deflater.compress(bytes, flushes: true)
            // A message ends without the mark; one without any data is a single byte (RFC 7692 §7.2.1, §7.2.3.6).
            if isLast { bytes = bytes.isEmpty ? Data([0]) : bytes.dropLast(WebSocketDeflateParameters.flushMark.count) }
            if isLast, deflate?.clientNoContextTakeover == true { self.deflater = nil }
        }
        return frame(first, bytes)
    }

    /// Returns a frame that the peer answers with a pong.
    ///
    /// - Parameter payload: At most 125 bytes.
    /// - Returns: The bytes of the frame.
    func ping(_ payload: Data) -> Data { control(.ping, payload) }

    /// Returns a frame that answers a ping with the same payload.
    func pong(_ payload: Data) -> Data { control(.pong, payload) }

    /// Returns a frame after which nothing more is sent.
    func close(_ close: WebSocketClose) -> Data { control(.close, close.payload) }

    private mutating func compresses(_ count: Int, isWhole: Bool) -> Bool {
        // zlib has no raw format with a window size of 8.
        guard let deflate, deflate.clientMaxWindowBits > 8, !isWhole || count >= minimumCompressedSize else {
            return false
        }
        // Messages are not compressed if there is no memory for it.
        deflater = deflater ?? Deflater(windowBits: Int32(-deflate.clientMaxWindowBits))
        return deflater != nil
    }

    private func control(_ opcode: WebSocketOpcode, _ payload: Data) -> Data {
        precondition(payload.count <= 125, "the payload of a control frame has more than 125 bytes")
        return frame(0x80 | opcode.rawValue, payload)
    }

    private func frame(_ first: UInt8, _ payload: Data) -> Data {
        WebSocketMask.frame(first, payload, key: makeKey())
    }
}
