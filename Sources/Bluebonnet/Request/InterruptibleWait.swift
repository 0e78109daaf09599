/// A wait for the user's code that something else may end first.
///
/// The code runs in a task of its own, on the global pool. When the wait is interrupted that task is cancelled, and the
/// wait is over at once: code that does not heed its cancellation delays no caller.
final class InterruptibleWait<Value: Sendable>: Sendable {
    private enum State {
        case waiting(Resumption<Value?>, Task<Void, Never>?)
        case over
    }

    private let state: Locked<State>

    private init(_ continuation: Resumption<Value?>) {
        state = Locked(.waiting(continuation, nil))
    }

    /// Awaits the work or its interruption.
    ///
    /// - Parameters:
    ///   - work: The user's code.
    ///   - keep: Keeps what ends the wait, and returns whether there is to be one; the work is not begun otherwise.
    /// - Returns: The result of the work, or `nil` if the wait was interrupted.
    @inline(never)
    static func awaiting(
        _ work: @escaping @Sendable () async -> Value, keep: (@escaping @Sendable () -> Void) -> Bool
    ) async -> Value? {
        await withResumption { continuation in
            let wait = InterruptibleWait(continuation)
            guard keep({ wait.interrupt() }) else {
                wait.end(with: nil)
                return
            }
            wait.begin(work)
        }
    }

    private func begin(_ work: @escaping @Sendable () async -> Value) {
        state.withLock { state in
            guard case .waiting(let continuation, _) = state else { return }
            state = .waiting(continuation, Task { end(with: await work()) })
        }
    }

    private func interrupt() {
        end(with: nil)?.cancel()
    }

    /// Lets the first of two ends win; returns the task of the work.
    @discardableResult
    private func end(with value: Value?) -> Task<Void, Never>? {
        guard case .waiting(let continuation, let task) = state.withLock({ exchange(&$0, with: .over) }) else {
            return nil
        }
        continuation.resume(returning: value)
        return task
    }
}
