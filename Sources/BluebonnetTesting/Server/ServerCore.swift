import Bluebonnet

/// Isolates the sockets of a server to an event loop.
///
/// The event loop accepts the connections of the server, and reads, parses and writes for them. Routes and conditions
/// of scripts run in their own tasks on the global executor. They submit their results to the event loop with
/// ``submit(_:)``.
actor ServerCore {
    nonisolated let loop: EventLoop
    private let context: ServerContext

    // Safety: the actor retains the event loop.
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(_ context: sending ServerContext) {
        loop = context.loop
        self.context = context
    }

    /// Starts to accept connections.
    nonisolated func start() {
        loop.attach()
        submit { [self] in $0.start(core: self) }
    }

    /// Closes all sockets, and then calls `completion` on the event loop, even if the sockets were already closed.
    nonisolated func stop(_ completion: @escaping @Sendable () -> Void = {}) {
        submit { [loop] context in
            if context.stop() { loop.detach() }
            completion()
        }
    }

    /// Runs work on the event loop.
    nonisolated func submit(_ work: @escaping @Sendable (ServerContext) -> Void) {
        loop.submit { [self] in assumeIsolated { work($0.context) } }
    }

    /// Runs work on the event loop with the connection of an exchange; the connection is `nil` if the exchange has
    /// ended.
    nonisolated func submit(to exchange: ExchangeID, _ work: @escaping @Sendable (Connection?) -> Void) {
        submit { work($0.connection(exchange)) }
    }

    /// Runs a route for one request on the global executor, and submits its response to the event loop.
    @concurrent nonisolated func answer(
        _ request: LocalServer.Request, of exchange: ExchangeID, with handler: LocalServer.Router.Handler
    ) async {
        let response: LocalServer.Response
        let sent = ByteCount()
        do {
            let answer = try await handler(request)
            if let delay = answer.delay { try await Task.sleep(for: delay) }
            response = answer
        } catch {
            response = .failure(error)
        }
        submit(to: exchange) { $0?.answer(response, counting: sent) }
        guard case .stream(_, let producer) = response.body, request.method != .head else { return }
        do {
            try await producer(LocalServer.BodyWriter(core: self, exchange: exchange, sent: sent))
            submit(to: exchange) { $0?.endBody(failed: false) }
        } catch {
            submit(to: exchange) { $0?.endBody(failed: true) }
        }
    }
}

/// The listener and the connections of a server, which are used on the event loop of a ``ServerCore``.
final class ServerContext {
    let loop = EventLoop(name: "local-server")
    let options: LocalServer.Options
    let record: ObservedState<ServerRecord>
    var router: LocalServer.Router

    /// The read buffer, which all connections share.
    var readBuffer = [UInt8](repeating: 0, count: 64 * 1024)

    /// The actor that runs work on the event loop; `nil` if the server is not running.
    private(set) var core: ServerCore?

    private var script: (@Sendable (Int) -> LocalServer.Script)?
    private var listener: Socket?
    private var connections: [Int: Connection] = [:]
    private var isStopped = false

    init(
        listener: Socket, options: LocalServer.Options, router: LocalServer.Router,
        script: (@Sendable (Int) -> LocalServer.Script)?, record: ObservedState<ServerRecord>
    ) {
        self.listener = listener
        self.options = options
        self.router = router
        self.script = script
        self.record = record
    }

    func start(core: ServerCore) {
        guard !isStopped, let listener else { return }
        self.core = core
        loop.watch(listener.descriptor, for: .readable) { [unowned self] _ in acceptConnections() }
    }

    /// Closes all sockets; returns `false` if they were already closed.
    func stop() -> Bool {
        guard !isStopped else { return false }
        isStopped = true
        stopListening()
        for connection in connections.values { connection.close() }
        core = nil
        // The routes and the script are released, because they may retain the server.
        router = LocalServer.Router()
        script = nil
        record.change { $0.isStopped = true }
        return true
    }

    /// Stops accepting connections.
    func stopListening() {
        guard let listener else { return }
        loop.unwatch(listener.descriptor)
        listener.close()
        self.listener = nil
    }

    func closeConnections(resetting: Bool) {
        for connection in connections.values { connection.close(resetting: resetting) }
    }

    // MARK: Connections

    private func acceptConnections() {
        // The number is limited, so that many new connections do not delay the existing connections.
        for _ in 0..<256 {
            guard let listener else { return }
            switch listener.accept() {
            case .done(let accepted):
                open(Socket(descriptor: Int32(accepted)))
            case .wouldBlock, .ended:
                return
            case .failed:
                // The process has no free descriptors or memory. Try again after a moment.
                loop.setInterest([], of: listener.descriptor)
                _ = loop.schedule(after: .milliseconds(20)) { [weak self] in
                    guard let self, let listener = self.listener else { return }
                    loop.setInterest(.readable, of: listener.descriptor)
                }
                return
            }
        }
    }

    private func open(_ socket: Socket) {
        let id = record.change { $0.connectionOpened() }
        let connection = Connection(id: id, socket: socket, context: self)
        connections[id] = connection
        connection.begin(script?(id))
    }

    func connectionClosed(_ id: Int) {
        connections[id] = nil
        record.change { $0.connectionClosed() }
    }

    /// Returns the connection of an exchange; `nil` if the exchange has ended.
    func connection(_ exchange: ExchangeID) -> Connection? {
        connections[exchange.connection].flatMap { $0.exchange == exchange ? $0 : nil }
    }
}
