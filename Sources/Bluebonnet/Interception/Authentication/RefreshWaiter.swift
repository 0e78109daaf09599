/// Someone who waits for the end of a refresh, or for the own cancellation, whichever comes first.
final class RefreshWaiter: Sendable {
    /// How the wait ended.
    enum Answer: Sendable {
        /// There is another credential: the refresh brought it, or it was set.
        case replaced(byRefresh: Bool)
        case failed(any Error)
        case cancelled
    }

    private enum State {
        case idle
        case waiting(Resumption<Answer>)
        case answered(Answer)
    }

    private let state = Locked(State.idle)

    /// Waits; once.
    func answer() async -> Answer {
        await withTaskCancellationHandler {
            await withResumption { continuation in
                let answer = state.withLock { state -> Answer? in
                    if case .answered(let answer) = state { return answer }
                    state = .waiting(continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            end(with: .cancelled)
        }
    }

    /// Ends the wait, unless it has ended.
    func end(with answer: Answer) {
        let waiting = state.withLock { state -> Resumption<Answer>? in
            switch state {
            case .idle:
                state = .answered(answer)
                return nil
            case .waiting(let continuation):
                state = .answered(answer)
                return continuation
            case .answered:
                return nil
            }
        }
        waiting?.resume(returning: answer)
    }
}
