import Bluebonnet
import Dispatch

/// The place of one handler among those of its request.
///
/// Anything may be done with it from any thread. The handlers of a request that are still to be called are known by the
/// request's id; nothing is kept of a request that has none, and neither request nor session is kept by this.
struct HandlerSlot: Sendable {
    private struct Call: Sendable {
        let queue: DispatchQueue
        let body: @Sendable () -> Void
    }

    private typealias Order = HandlerOrder<Call>
    private typealias Orders = Locked<[RequestID: Order]>

    /// The orders of the requests with handlers, in several parts so that threads seldom meet.
    private static let parts: [Orders] = (0..<16).map { _ in Orders([:]) }

    private let request: RequestID
    private let number: Int

    /// Takes the next place.
    init(for request: RequestID) {
        self.request = request
        number = Self.orders(of: request).withLock { $0[request, default: Order()].added() }
    }

    /// Has a handler called on a queue when its turn comes.
    func call(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        Self.report(of: request) { $0.answered(number, with: Call(queue: queue, body: body)) }
    }

    /// Leaves the place: there is nothing to call.
    func leave() { Self.report(of: request) { $0.answered(number, with: nil) } }

    /// Whether a request has handlers that are still to be called.
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

/// Decides when the handlers of one request are called, as a value: in the order in which they were added, each once.
///
/// Each handler has a slot. What it is called with becomes known at any time and in any order; it is called when all
/// that were added before have returned.
struct HandlerOrder<Call: Sendable>: Sendable {
    /// The action for the reporter of an event.
    enum Action: Sendable {
        case nothing
        /// Make this call, and report its return.
        case call(Call)
        /// Forget this value: there is no handler left to call.
        case end
    }

    /// The slot of the next handler that is added.
    private var nextSlot = 0
    /// The slot of the next handler that is called.
    private var turn = 0
    private var isCalling = false
    /// The calls whose turn has not come; without a call, there is nothing to be done when it comes.
    private var waiting: [Int: Call?] = [:]

    /// A handler was added; returns its slot.
    mutating func added() -> Int {
        defer { nextSlot += 1 }
        return nextSlot
    }

    /// It is known what a handler is called with, or that there is nothing to call.
    mutating func answered(_ slot: Int, with call: Call?) -> Action {
        guard slot >= turn, waiting[slot] == nil else { return .nothing }
        // The usual case, without a detour.
        if slot == turn, !isCalling {
            turn += 1
            if let call { return make(call) }
            return next()
        }
        waiting.updateValue(call, forKey: slot)
        return .nothing
    }

    /// The call that was under way has returned.
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
    /// Attaches a serializer, in the order of the handlers, and has a handler called with its response in its turn.
    func handle<Response: Sendable>(
        on queue: DispatchQueue, _ handler: @escaping @Sendable (Response) -> Void,
        _ attach: (@escaping @Sendable (Response) -> Void) -> Void
    ) -> Self {
        let slot = HandlerSlot(for: id)
        attach { response in slot.call(on: queue) { handler(response) } }
        return self
    }

    /// Does something with each value of a sequence that ends when the request does.
    ///
    /// All is done before a response handler that was added later is called.
    func forEach<Value: Sendable>(
        in sequence: StreamOf<Value>, _ body: @escaping @Sendable (Value) async -> Void
    ) -> Self {
        // Begun before this returns, so that nothing is missed; and not kept by the request, or that by it.
        Task.immediate { [slot = HandlerSlot(for: id)] in
            for await value in sequence { await body(value) }
            slot.leave()
        }
        return self
    }
}

/// Waits for a completion handler of the user's code to be called.
///
/// The first call counts, and further ones do nothing. A waiter that is dropped without a call would leave its request
/// waiting indefinitely, so it gives a fallback then.
final class CompletionWaiter<Value: Sendable>: Sendable {
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
            let answer = CompletionWaiter(continuation, fallback: fallback)
            ask { answer.give($0) }
        }
    }
}

// These turn a handler of the main actor into one that is called on the main queue, which is the same.
// Safety: called on the main queue, or else they trap.

func onMain<Argument: Sendable>(_ handler: @escaping @MainActor (Argument) -> Void) -> @Sendable (Argument) -> Void {
    { argument in MainActor.assumeIsolated { handler(argument) } }
}

/// For a handler that may throw.
func onMain<Argument: Sendable>(
    _ handler: @escaping @MainActor (Argument) throws -> Void
) -> @Sendable (Argument) throws -> Void {
    { argument in try MainActor.assumeIsolated { try handler(argument) } }
}
