/// A place among the events of a monitor that one may wait for.
final class DeliveryMark: Sendable {
    private enum State {
        case ahead(Resumption<Void>?)
        case reached
    }

    private let state = Locked(State.ahead(nil))

    /// Lets the one who waits go on, now or when it comes; once.
    func reach() {
        let waiting = state.withLock { state in
            guard case .ahead(let waiting) = state else { return nil as Resumption<Void>? }
            state = .reached
            return waiting
        }
        waiting?.resume()
    }

    /// Waits until the mark is reached, or the task is cancelled; to be called once.
    func wait() async {
        await withTaskCancellationHandler {
            await withResumption { continuation in
                let isReached = state.withLock { state in
                    guard case .ahead = state else { return true }
                    state = .ahead(continuation)
                    return false
                }
                if isReached { continuation.resume() }
            }
        } onCancel: {
            reach()
        }
    }
}
