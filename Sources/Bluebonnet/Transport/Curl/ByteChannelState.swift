import FoundationEssentials

/// Decides what happens to bytes between one producer and one consumer, within bounds, as a value.
///
/// Above the high watermark the producer is told to pause; once the consumer has taken enough to be at or below the low
/// one, it is told to go on, once. What was written is never lost: an end or a failure comes after the last byte.
struct ByteChannelState {
    /// What the producer has to do after it wrote.
    enum WriteAction: Equatable {
        case goOn
        /// Write no more before demand is reported.
        case pause
        /// Nobody reads any more; stop.
        case stop
    }

    /// What a reader gets.
    enum ReadAction: Equatable {
        /// Bytes; with `resumesProducer`, demand has to be reported.
        case take(Data, resumesProducer: Bool)
        case wait
        case end
        case fail(RequestError.Kind)
    }

    private enum End {
        case complete
        case failed(RequestError)
    }

    private var buffer = Data()
    private var end: End?
    private var isPaused = false
    private var isAbandoned = false
    private let highWatermark: Int
    private let lowWatermark: Int

    /// How many bytes are held.
    var count: Int { buffer.count }

    /// Whether nothing more will be written.
    var isEnded: Bool { end != nil }

    /// What ended the channel, if it failed.
    var failure: RequestError? { if case .failed(let error) = end { error } else { nil } }

    init(highWatermark: Int, lowWatermark: Int) {
        self.highWatermark = max(1, highWatermark)
        self.lowWatermark = min(max(0, lowWatermark), self.highWatermark)
    }

    mutating func written(_ bytes: Data) -> WriteAction {
        guard !isAbandoned, end == nil else { return .stop }
        buffer.append(bytes)
        guard buffer.count >= highWatermark else { return .goOn }
        isPaused = true
        return .pause
    }

    /// The producer is done, for good or with an error; only the first such report counts.
    mutating func finished(with error: RequestError?) {
        guard end == nil else { return }
        end = error.map(End.failed) ?? .complete
    }

    /// The consumer wants what is there, up to a number of bytes.
    mutating func readRequested(upTo limit: Int = .max) -> ReadAction {
        guard buffer.isEmpty else { return take(max(1, limit)) }
        switch end {
        case nil: return .wait
        case .complete: return .end
        case .failed(let error): return .fail(error.kind)
        }
    }

    private mutating func take(_ limit: Int) -> ReadAction {
        let bytes: Data
        if limit >= buffer.count {
            bytes = buffer
            buffer = Data()
        } else {
            bytes = Data(buffer.prefix(limit))
            buffer = Data(buffer.dropFirst(limit))
        }
        let resumesProducer = isPaused && buffer.count <= lowWatermark
        if resumesProducer { isPaused = false }
        return .take(bytes, resumesProducer: resumesProducer && end == nil)
    }

    /// The consumer has no use for more.
    mutating func abandoned() {
        isAbandoned = true
        buffer = Data()
    }
}
