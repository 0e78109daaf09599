import Bluebonnet
import Dispatch

nonisolated extension Request {
    /// Attaches a serializer, in the order of the handlers, and has a handler called with its response in its turn.
    func handle<Response: Sendable>(
        on queue: DispatchQueue, _ handler: @escaping @Sendable (Response) -> Void,
        _ attach: (@escaping @Sendable (Response) -> Void) -> Void
    ) -> Self {
        let ticket = HandlerTicket(for: id)
        attach { response in ticket.call(on: queue) { handler(response) } }
        return self
    }

    /// Does something with each value of a sequence that ends when the request does.
    ///
    /// All is done before a response handler that was added later is called.
    func forEach<Value: Sendable>(
        in sequence: StreamOf<Value>, _ body: @escaping @Sendable (Value) async -> Void
    ) -> Self {
        // Begun before this returns, so that nothing is missed; and not kept by the request, or that by it.
        Task.immediate { [ticket = HandlerTicket(for: id)] in
            for await value in sequence { await body(value) }
            ticket.leave()
        }
        return self
    }
}
