import Bluebonnet

/// A gate at which tasks wait until a test opens the gate, for example to control when a route responds.
///
/// ```swift
/// let gate = Gate()
/// let server = try await LocalServer { router in
///     router.get("/late") { _ in await gate.wait(); return .ok }
/// }
/// ```
package final class Gate: Sendable {
    private let state: ObservedState<Bool>

    /// Creates a gate.
    ///
    /// - Parameter isOpen: Whether the gate is open from the beginning; `false` by default.
    package init(isOpen: Bool = false) {
        state = ObservedState(isOpen)
    }

    /// Whether the gate is open.
    package var isOpen: Bool { state.read { $0 } }

    /// The number of waiting tasks.
    package var waiterCount: Int { state.waiterCount }

    /// Opens the gate for the waiting tasks and for all tasks that arrive later.
    package func open() {
        state.change { $0 = true }
    }

    /// Closes the gate for all tasks that arrive later.
    package func close() {
        state.change { $0 = false }
    }

    /// Waits until the gate is open or the task is cancelled.
    package func wait() async {
        try? await state.wait { $0 ? .success(()) : nil }
    }
}

/// Protects a state with a lock, and lets tasks wait until a condition on the state holds.
package final class ObservedState<State: Sendable>: Sendable {
    /// Checks whether a condition holds; if it holds, returns the action to run after the lock is released.
    private typealias Attempt = @Sendable (inout State) -> (@Sendable () -> Void)?

    private struct Waiter {
        let attempt: Attempt
        let cancel: @Sendable () -> Void
    }

    private struct Storage {
        var state: State
        /// The waiters by number, in order of arrival.
        var waiters: [Int: Waiter] = [:]
        var lastNumber = 0

        /// Removes the waiters whose conditions hold, in order of arrival, and returns their actions.
        mutating func takeSatisfied() -> [@Sendable () -> Void] {
            guard !waiters.isEmpty else { return [] }
            var actions: [@Sendable () -> Void] = []
            for (number, waiter) in waiters.sorted(by: { $0.key < $1.key }) {
                guard let action = waiter.attempt(&state) else { continue }
                waiters[number] = nil
                actions.append(action)
            }
            return actions
        }
    }

    private let storage: Locked<Storage>

    package init(_ state: State) {
        storage = Locked(Storage(state: state))
    }

    /// The number of waiting tasks.
    var waiterCount: Int { storage.withLock { $0.waiters.count } }

    /// Returns a value read from the state.
    func read<Result: Sendable>(_ body: @Sendable (State) -> Result) -> Result {
        storage.withLock { body($0.state) }
    }

    /// Changes the state, and then resumes the tasks whose conditions now hold.
    @discardableResult
    package func change<Result: Sendable>(_ body: @Sendable (inout State) -> Result) -> Result {
        let (result, actions) = storage.withLock { storage in
            let result = body(&storage.state)
            return (result, storage.takeSatisfied())
        }
        for action in actions { action() }
        return result
    }

    /// Waits until the condition returns a result, and returns the value or throws the error of this result.
    ///
    /// The condition may change the state, but must not call other code. Throws `CancellationError` when the task is
    /// cancelled.
    package func wait<Value: Sendable>(
        _ condition: @escaping @Sendable (inout State) -> Result<Value, any Error>?
    ) async throws -> Value {
        let number = storage.withLock { storage in
            storage.lastNumber += 1
            return storage.lastNumber
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let attempt: Attempt = { state in
                    guard let result = condition(&state) else { return nil }
                    return { continuation.resume(with: result) }
                }
                let cancel = { @Sendable in continuation.resume(throwing: CancellationError()) }
                let action = storage.withLock { storage -> (@Sendable () -> Void)? in
                    // If the task is cancelled later, the cancellation handler removes the waiter.
                    if Task.isCancelled { return cancel }
                    if let action = attempt(&storage.state) { return action }
                    storage.waiters[number] = Waiter(attempt: attempt, cancel: cancel)
                    return nil
                }
                action?()
            }
        } onCancel: {
            storage.withLock { $0.waiters.removeValue(forKey: number) }?.cancel()
        }
    }

    /// Waits like ``wait(_:)``, but throws `LocalServer.Failure.timedOut` after a time limit.
    func wait<Value: Sendable>(
        within limit: Duration, _ condition: @escaping @Sendable (inout State) -> Result<Value, any Error>?
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await self.wait(condition) }
            group.addTask {
                try await Task.sleep(for: limit)
                throw LocalServer.Failure.timedOut
            }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}
