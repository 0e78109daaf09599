/// A wait for user code that can be interrupted.
///
/// The code runs in its own task on the global executor. An interruption cancels this task and ends the wait
/// immediately. The caller therefore does not wait for code that ignores its cancellation.
final class InterruptibleWait<Value: Sendable>: Sendable {
    private enum State {
        case waiting(Resumption<Value?>, Task<Void, Never>?)
        case over
    }

    private let state: Locked<State>

    private init(_ continuation: Resumption<Value?>) {
        state = Locked(.waiting(continuation, nil))
    }

    /// Waits for the work or for an interruption.
    ///
    /// - Parameters:
    ///   - work: The user code.
    ///   - keep: A closure that stores the function for interrupting the wait. If it returns `false`, the work is not
    ///     started.
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

    /// Ends the wait unless it has already ended, and returns the task of the work.
    @discardableResult
    private func end(with value: Value?) -> Task<Void, Never>? {
        guard case .waiting(let continuation, let task) = state.withLock({ exchange(&$0, with: .over) }) else {
            return nil
        }
        continuation.resume(returning: value)
        return task
    }
}
