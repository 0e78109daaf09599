import Bluebonnet
import Dispatch

/// Waits for a completion handler of the user's code to be called.
///
/// The first call counts, and further ones do nothing. One that is dropped without having been called would leave its
/// request waiting for ever: it gives a fallback then.
final class Answer<Value: Sendable>: Sendable {
    private let continuation: Locked<CheckedContinuation<Value, Never>?>
    private let fallback: Value

    private init(_ continuation: CheckedContinuation<Value, Never>, fallback: Value) {
        self.continuation = Locked(continuation)
        self.fallback = fallback
    }

    deinit { give(fallback) }

    private func give(_ value: Value) { continuation.withLock { $0.take() }?.resume(returning: value) }

    /// Calls user code with a completion handler, and returns what that is called with.
    nonisolated(nonsending) static func wait(
        fallback: Value, _ ask: (@escaping @Sendable (Value) -> Void) -> Void
    ) async -> Value {
        await withCheckedContinuation { continuation in
            let answer = Answer(continuation, fallback: fallback)
            ask { answer.give($0) }
        }
    }
}
