import Bluebonnet
import Dispatch

/// The position of one handler in the call order of its request.
///
/// Slots are thread-safe. The call order of a request is stored under the request's id until all handlers of the
/// request have returned. A slot does not retain the request or its session.
struct HandlerSlot: Sendable {
    private struct Call: Sendable {
        let queue: DispatchQueue
        let body: @Sendable () -> Void
    }

    private typealias Order = HandlerOrder<Call>
    private typealias Orders = Locked<[RequestID: Order]>

    /// The call orders of all requests with handlers, divided into parts to reduce lock contention.
    private static let parts: [Orders] = (0..<16).map { _ in Orders([:]) }

    private let request: RequestID
    private let number: Int

    /// Takes the next position in the request's call order.
    init(for request: RequestID) {
        self.request = request
        number = Self.orders(of: request).withLock { $0[request, default: Order()].added() }
    }

    /// Calls a handler on a queue after all earlier handlers have returned.
    func call(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        Self.report(of: request) { $0.answered(number, with: Call(queue: queue, body: body)) }
    }

    /// Releases the position without a call.
    func leave() { Self.report(of: request) { $0.answered(number, with: nil) } }

    /// Whether a request has handlers that have not returned yet.
    static func hasHandlers(_ request: RequestID) -> Bool { orders(of: request).withLock { $0[request] != nil } }

    private static func orders(of request: RequestID) -> Orders { parts[abs(request.hashValue % parts.count)] }

    private static func report(of request: RequestID, _ event: (inout Order) -> Order.Action) {
        let action = orders(of: request).withLock { orders -> Order.Action in
            guard var order = orders[request] else { return .nothing }
            let action = event(&order)
            if case .end = action { orders[request] = nil } else { orders[request] = order }
            return action
        }
        guard case .call(let call) = action else { return }
        call.queue.async {
            call.body()
            report(of: request) { $0.returned() }
        }
    }
}

/// Decides when the handlers of one request are called.
///
/// Each handler is called once, in the order in which the handlers were added.
///
/// Each handler has a slot number. The calls of the handlers can become ready in any order. A ready handler is called
/// when all earlier handlers have returned.
struct HandlerOrder<Call: Sendable>: Sendable {
    /// The action to perform after an event was recorded.
    enum Action: Sendable {
        case nothing
        /// Make this call, and record with ``returned()`` that it has returned.
        case call(Call)
        /// Discard this order, because no handler is left to call.
        case end
    }

    /// The slot of the next handler to be added.
    private var nextSlot = 0
    /// The slot of the next handler to be called.
    private var turn = 0
    private var isCalling = false
    /// The ready calls of later slots; `nil` for a slot that was released without a call.
    private var waiting: [Int: Call?] = [:]

    /// Records a new handler and returns its slot.
    mutating func added() -> Int {
        defer { nextSlot += 1 }
        return nextSlot
    }

    /// Records the call of a slot, or `nil` if the slot is released without a call.
    mutating func answered(_ slot: Int, with call: Call?) -> Action {
        guard slot >= turn, waiting[slot] == nil else { return .nothing }
        // In the usual case, the call is made at once and not stored.
        if slot == turn, !isCalling {
            turn += 1
            if let call { return make(call) }
            return next()
        }
        waiting.updateValue(call, forKey: slot)
        return .nothing
    }

    /// Records that the current call has returned.
    mutating func returned() -> Action {
        isCalling = false
        return next()
    }

    private mutating func next() -> Action {
        while let call = waiting.removeValue(forKey: turn) {
            turn += 1
            if let call { return make(call) }
        }
        return turn == nextSlot ? .end : .nothing
    }

    private mutating func make(_ call: Call) -> Action {
        isCalling = true
        return .call(call)
    }
}

nonisolated extension Request {
    /// Attaches a serializer, and calls a handler with its response after all earlier handlers have returned.
    package func handle<Response: Sendable>(
        on queue: DispatchQueue, _ handler: @escaping @Sendable (Response) -> Void,
        _ attach: (@escaping @Sendable (Response) -> Void) -> Void
    ) -> Self {
        let slot = HandlerSlot(for: id)
        attach { [weak self] response in
            // The request answers, so it exists. It is retained until the earlier handlers have returned, which may
            // refer to it weakly.
            let request = self
            slot.call(on: queue) { withExtendedLifetime(request) { handler(response) } }
        }
        return self
    }

    /// Runs a closure for each value of a sequence that ends when the request ends.
    ///
    /// A response handler that is added later is called after the closure has returned for the last value.
    package func forEach<Value: Sendable>(
        in sequence: StreamOf<Value>, _ body: @escaping @Sendable (Value) async -> Void
    ) -> Self {
        // The task starts before this method returns, so that no value is missed. The task does not retain the request.
        Task.immediate { [slot = HandlerSlot(for: id)] in
            for await value in sequence { await body(value) }
            slot.leave()
        }
        return self
    }
}

/// Waits until user code calls a completion handler.
///
/// Only the first call has an effect. If the handler is released without a call, the waiter returns a fallback value.
/// Without the fallback value, the request would wait indefinitely.
package final class CompletionWaiter<Value: Sendable>: Sendable {
    private let continuation: Locked<CheckedContinuation<Value, Never>?>
    private let fallback: Value

    private init(_ continuation: CheckedContinuation<Value, Never>, fallback: Value) {
        self.continuation = Locked(continuation)
        self.fallback = fallback
    }

    deinit { give(fallback) }

    private func give(_ value: Value) { continuation.withLock { $0.take() }?.resume(returning: value) }

    /// Calls user code with a completion handler, and returns the value that the handler receives.
    package nonisolated(nonsending) static func wait(
        fallback: Value, _ ask: (@escaping @Sendable (Value) -> Void) -> Void
    ) async -> Value {
        await withCheckedContinuation { continuation in
            let answer = CompletionWaiter(continuation, fallback: fallback)
            ask { answer.give($0) }
        }
    }
}

// These functions convert a handler of the main actor into a handler for the main queue. The main queue runs the code
// of the main actor. Safety: `assumeIsolated` traps if the handler is called on any other queue.

func onMain<Argument: Sendable>(_ handler: @escaping @MainActor (Argument) -> Void) -> @Sendable (Argument) -> Void {
    { argument in MainActor.assumeIsolated { handler(argument) } }
}

/// Converts a handler that may throw.
func onMain<Argument: Sendable>(
    _ handler: @escaping @MainActor (Argument) throws -> Void
) -> @Sendable (Argument) throws -> Void {
    { argument in try MainActor.assumeIsolated { try handler(argument) } }
}
