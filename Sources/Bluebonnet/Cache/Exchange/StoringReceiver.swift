import FoundationEssentials

/// Passes a body to its receiver, and writes it to a cache at the same time.
///
/// A task writes the pieces in order. If it is behind by more than ``limit`` bytes, the transport pauses.
final class StoringReceiver: BodyReceiver {
    private struct Flow: Sendable {
        /// The number of received bytes that are not written yet.
        var waiting = 0
        /// The number of received bytes.
        var total = 0
        var isWriterBehind = false
        var isReaderPaused = false

        var isPaused: Bool { isWriterBehind || isReaderPaused }
    }

    private let next: any BodyReceiver
    private let receiveMore: @Sendable () -> Void
    private let pieces: AsyncStream<Data>.Continuation
    private let flow = Locked(Flow())
    private let writing: Task<Bool, Never>

    /// Creates a receiver.
    ///
    /// - Parameters:
    ///   - next: The receiver of the body.
    ///   - writer: Writes the body to the cache.
    ///   - receiveMore: Makes the transport deliver more bytes after a pause.
    init(_ next: any BodyReceiver, writer: ResponseWriter, receiveMore: @escaping @Sendable () -> Void) {
        self.next = next
        self.receiveMore = receiveMore
        let (stream, pieces) = AsyncStream.makeStream(of: Data.self)
        self.pieces = pieces
        let flow = flow
        writing = Task {
            var isComplete = writer.begin()
            for await bytes in stream {
                // After a failure, the pieces are only counted.
                isComplete = isComplete && writer.append(bytes)
                let resumes = flow.withLock { flow in
                    flow.waiting -= bytes.count
                    guard flow.isWriterBehind, flow.waiting <= Self.limit / 2 else { return false }
                    flow.isWriterBehind = false
                    return !flow.isReaderPaused
                }
                if resumes { receiveMore() }
            }
            return isComplete
        }
    }

    deinit { pieces.finish() }

    /// The number of unwritten bytes from which the transport pauses.
    private static let limit = 1 << 20

    func receive(_ bytes: Data) -> ReceiveAction {
        // The reader may ask for more bytes before its answer is known here.
        let wasPaused = flow.withLock { flow in
            defer { flow.isReaderPaused = true }
            return flow.isPaused
        }
        let action = next.receive(bytes)
        guard action != .stop else { return .stop }
        let isPaused = flow.withLock { flow in
            if action == .proceed { flow.isReaderPaused = false }
            flow.waiting += bytes.count
            flow.total += bytes.count
            if flow.waiting > Self.limit { flow.isWriterBehind = true }
            return flow.isPaused
        }
        pieces.yield(bytes)
        // The writer may have caught up meanwhile, and did not know that the reader continues.
        if wasPaused, !isPaused { receiveMore() }
        return isPaused ? .pause : .proceed
    }

    /// The number of received bytes.
    var count: Int { flow.withLock { $0.total } }

    /// Records that the reader wants more bytes; returns whether the transport may deliver them now.
    func readerContinues() -> Bool {
        flow.withLock { flow in
            flow.isReaderPaused = false
            return !flow.isWriterBehind
        }
    }

    /// Waits until all received bytes are written; returns whether all of them could be written.
    func end() async -> Bool {
        pieces.finish()
        return await writing.value
    }
}
