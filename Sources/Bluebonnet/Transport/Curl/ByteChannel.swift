import FoundationEssentials

/// Carries the bytes of a body from the loop to a consumer elsewhere, in bulk and within bounds.
///
/// The producer writes on the loop and is told when to pause its transfer; the consumer takes all that is there at once
/// rather than chunk by chunk, since each hop between threads costs more than copying. One consumer at a time.
final class ByteChannel: Sendable {
    private struct State {
        var channel: ByteChannelState
        var reader: CheckedContinuation<Void, Never>?
    }

    private let state: Locked<State>
    private let onDemand: @Sendable () -> Void

    /// Creates a channel.
    ///
    /// - Parameters:
    ///   - highWatermark: From how many held bytes on the producer pauses.
    ///   - lowWatermark: At how many held bytes or fewer it goes on.
    ///   - onDemand: Called where the consumer reads, when a paused producer may go on.
    init(highWatermark: Int = 256 * 1024, lowWatermark: Int = 64 * 1024, onDemand: @escaping @Sendable () -> Void) {
        state = Locked(
            State(channel: ByteChannelState(highWatermark: highWatermark, lowWatermark: lowWatermark), reader: nil))
        self.onDemand = onDemand
    }

    /// Adds bytes; returns what the producer has to do.
    func write(_ bytes: Data) -> ByteChannelState.WriteAction {
        let (action, reader) = state.withLock { state in
            (state.channel.written(bytes), state.reader.take())
        }
        reader?.resume()
        return action
    }

    /// Ends the channel after what was written, for good or with an error.
    func finish(with error: RequestError? = nil) {
        let reader = state.withLock { state in
            state.channel.finished(with: error)
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Takes bytes, waiting for some; `nil` is the end.
    ///
    /// A task that is cancelled while it waits gets `.cancelled`; the channel stays as it is.
    func read(upTo limit: Int = .max) async throws(RequestError) -> Data? {
        while true {
            let (action, failure) = state.withLock { state in
                (state.channel.readRequested(upTo: limit), state.channel.failure)
            }
            switch action {
            case .take(let bytes, let resumesProducer):
                if resumesProducer { onDemand() }
                return bytes
            case .end:
                return nil
            case .fail(let kind):
                throw failure ?? RequestError(kind)
            case .wait:
                guard !Task.isCancelled else { throw RequestError(.cancelled) }
                await waitForChange()
            }
        }
    }

    /// Drops what is held, and has the producer stop at its next write.
    func abandon() {
        state.withLock { $0.channel.abandoned() }
        onDemand()
    }

    private func waitForChange() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    let isCancelled = Task.isCancelled
                    guard state.channel.count == 0, !state.channel.isEnded, !isCancelled else { return true }
                    precondition(state.reader == nil, "a byte channel has two readers at once")
                    state.reader = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.reader.take() }?.resume()
        }
    }
}
