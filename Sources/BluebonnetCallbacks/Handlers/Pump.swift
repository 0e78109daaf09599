import Bluebonnet
import Dispatch

/// Hands the latest of a request's values to a handler, one call after the other; those that nobody took in time are
/// skipped.
final class LatestValue<Value: Sendable>: Sendable {
    private let latest = Locked<Value?>(nil)
    private let queue: DispatchQueue
    private let handler: @Sendable (Value) -> Void

    init(queue: DispatchQueue, handler: @escaping @Sendable (Value) -> Void) {
        self.queue = queue
        self.handler = handler
    }

    /// Hands on a value.
    func send(_ value: Value) {
        let isScheduled = latest.withLock { latest in
            defer { latest = value }
            return latest != nil
        }
        if isScheduled { return }
        queue.async { [self] in
            if let value = latest.withLock({ $0.take() }) { handler(value) }
        }
    }
}

extension Request {
    /// Does something with each value of a sequence that ends when the request does.
    ///
    /// All is done before a response handler that was added later is called.
    nonisolated func forEach<Value: Sendable>(
        in sequence: StreamOf<Value>, _ body: @escaping @Sendable (Value) async -> Void
    ) {
        let ticket = HandlerTicket(for: id)
        // Before this returns, so that nothing is missed; and not kept by the request, or that by it.
        Task.immediate {
            for await value in sequence { await body(value) }
            ticket.leave()
        }
    }
}
