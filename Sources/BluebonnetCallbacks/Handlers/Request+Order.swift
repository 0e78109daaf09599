import Bluebonnet
import Dispatch

// What is done in a task of its own that nobody cancels, whatever becomes of the caller's, and drives the request.
nonisolated extension Request {
    /// Awaits a response from now on, and has a handler called with it in its turn.
    func handle<Response: Sendable>(
        on queue: DispatchQueue, _ handler: @escaping @Sendable (Response) -> Void,
        _ response: @escaping @Sendable () async -> Response
    ) -> Self {
        let ticket = HandlerTicket(for: id)
        // Asked for before this returns, so that serializers are in the order of the request's handlers.
        Task.immediate {
            let response = await response()
            ticket.call(on: queue) { handler(response) }
        }
        return self
    }

    /// Does something with each value of a sequence that ends when the request does.
    ///
    /// All is done before a response handler that was added later is called.
    func forEach<Value: Sendable>(
        in sequence: StreamOf<Value>, _ body: @escaping @Sendable (Value) async -> Void
    ) -> Self {
        let ticket = HandlerTicket(for: id)
        // Begun before this returns, so that nothing is missed; and not kept by the request, or that by it.
        Task.immediate {
            for await value in sequence { await body(value) }
            ticket.leave()
        }
        return self
    }
}
