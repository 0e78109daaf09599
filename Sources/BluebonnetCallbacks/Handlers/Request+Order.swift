import Bluebonnet
import Dispatch

nonisolated extension Request {
    /// Makes a task, in the order of the handlers, and has a handler called with its response in its turn.
    func handle<Awaited: Sendable, Response: Sendable>(
        on queue: DispatchQueue, _ handler: @escaping @Sendable (Response) -> Void,
        _ begin: @escaping @Sendable () -> Awaited, _ response: @escaping @Sendable (Awaited) async -> Response
    ) -> Self {
        Task.immediate { [ticket = HandlerTicket(for: id)] in
            let task = begin()
            // What drives the request may run code of the user's, which is not for the caller's thread.
            await Task.yield()
            ticket.call(on: queue) { [response = await response(task)] in handler(response) }
        }
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
