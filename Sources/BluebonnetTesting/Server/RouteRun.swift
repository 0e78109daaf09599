/// Runs a route for one request, on the global pool, and brings what it answers back to the loop.
struct RouteRun: Sendable {
    let core: ServerCore
    let exchange: ExchangeID
    let request: LocalServer.Request

    func run(_ handler: LocalServer.Router.Handler) async {
        let response: LocalServer.Response
        let sent = ByteCount()
        do {
            response = try await handler(request)
        } catch {
            response = .failure(error)
        }
        onConnection {
            $0.bodySent = sent
            $0.answer(response)
            $0.proceed()
        }
        guard case .stream(_, let producer) = response.body.storage, response.needsTask(for: request.method) else {
            return
        }
        do {
            try await producer(LocalServer.BodyWriter(core: core, exchange: exchange, sent: sent))
            onConnection { $0.endBody(failed: false) }
        } catch {
            onConnection { $0.endBody(failed: true) }
        }
    }

    private func onConnection(_ work: @escaping @Sendable (Connection) -> Void) {
        core.submit { [exchange] context in
            if let connection = context.connection(exchange) { work(connection) }
        }
    }
}
