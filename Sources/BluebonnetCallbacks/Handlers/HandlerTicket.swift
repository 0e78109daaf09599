import Bluebonnet
import Dispatch

/// The place of one handler among those of its request.
///
/// Anything may be done with it from any thread. The handlers of a request that are still to be called are known by the
/// request's id; nothing is kept of a request that has none, and neither request nor session is kept by this.
struct HandlerTicket: Sendable {
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
