import FoundationEssentials

/// The frames of a WebSocket that wait to be sent.
///
/// This is a value type without I/O and without a clock.
struct WebSocketOutbox: ~Copyable {
    private let control = WebSocketFrameWriter()
    private var frames = TinyArray<Data>()
    /// Whether a thread passes frames to the exchange.
    private var isDelivering = false
    /// Whether a message is being sent, after which the next one may begin.
    private var isTaken = false
    private var enqueuedBytes: Int64 = 0
    private(set) var sentBytes: Int64 = 0
    /// The number of pongs that are not sent yet, and the value of ``sentBytes`` when the last of them is sent.
    private var queuedPongs = (count: 0, end: Int64(0))
    /// The payload of the last ping that was not answered.
    private var latePong: Data?
    /// The number of bytes of messages after the last ping that was sent within or behind them.
    private var bytesSincePing = 0
    /// Whether a silent peer ends the connection.
    private let isKeptAlive: Bool
    private let (high, low): (Int, Int)

    /// If a peer sends more pings before it reads, only the last of them is answered (RFC 6455 §5.5.3).
    private static let pongLimit = 64
    /// The number of bytes after which such a ping is sent.
    ///
    /// Megabytes may wait in the buffers of both systems, and look taken. The pongs show that the peer reads them.
    private static let bytesPerPing = 256 * 1024

    init(high: Int, low: Int, isKeptAlive: Bool) { (self.high, self.low, self.isKeptAlive) = (high, low, isKeptAlive) }

    /// Whether bytes wait to be sent.
    var hasUnsentBytes: Bool { enqueuedBytes > sentBytes }

    /// Whether there is room for more bytes; one that waits is woken later, when there is more room.
    func hasRoom(isWaiting: Bool) -> Bool { enqueuedBytes - sentBytes < Int64(isWaiting ? max(1, low) : high) }

    /// Begins a message; returns whether the earlier message has ended and there is room.
    mutating func takesTurn(isWaiting: Bool) -> Bool {
        guard !isTaken, hasRoom(isWaiting: isWaiting) else { return false }
        isTaken = true
        return true
    }

    mutating func turnEnds() { isTaken = false }

    /// Adds a frame of the message whose turn it is.
    mutating func add(_ frame: Data) {
        append(frame)
        bytesSincePing += frame.count
        guard isKeptAlive, bytesSincePing >= Self.bytesPerPing else { return }
        bytesSincePing = 0
        append(control.ping(Data()))
    }

    mutating func addPing(_ id: UInt64) { append(control.ping(WebSocketState.payload(ofPing: id))) }

    mutating func addClose(_ close: WebSocketClose) { append(control.close(close)) }

    mutating func addPong(_ payload: Data) {
        if sentBytes >= queuedPongs.end { queuedPongs.count = 0 }
        guard queuedPongs.count < Self.pongLimit else { return latePong = payload }
        append(control.pong(payload))
        queuedPongs = (queuedPongs.count + 1, enqueuedBytes)
    }

    private mutating func append(_ frame: Data) {
        frames.append(frame)
        enqueuedBytes += Int64(frame.count)
    }

    /// Called with the number of bytes that were sent so far.
    mutating func sent(_ count: Int64) {
        sentBytes = count
        guard let payload = latePong, count >= queuedPongs.end else { return }
        latePong = nil
        addPong(payload)
    }

    /// Returns the frames that the caller passes to the exchange; it then calls ``takeMore()`` until there are none.
    mutating func take() -> TinyArray<Data>? {
        guard !isDelivering, !frames.isEmpty else { return nil }
        return takeMore()
    }

    /// Returns the frames that were added while earlier ones were passed on.
    mutating func takeMore() -> TinyArray<Data> {
        isDelivering = !frames.isEmpty
        return frames.takeAll()
    }

    mutating func removeAll() { frames = TinyArray() }
}
