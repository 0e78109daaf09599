import Bluebonnet

/// Owns a server's listener and connections; belongs to the loop of a ``ServerCore``.
final class ServerContext {
    let loop: EventLoop
    let options: LocalServer.Options
    let record: ServerRecord
    var router: LocalServer.Router

    /// What all connections read into, one after the other.
    var readBuffer = [UInt8](repeating: 0, count: 64 * 1024)

    /// The way back to the loop for tasks; `nil` when the server is not running.
    private(set) var core: ServerCore?

    private var script: (@Sendable (Int) -> LocalServer.Script)?
    private var listener: Socket?
    private var connections: [Int: Connection] = [:]
    private var isStopped = false

    init(
        loop: EventLoop, listener: Socket, options: LocalServer.Options, router: LocalServer.Router,
        script: (@Sendable (Int) -> LocalServer.Script)?, record: ServerRecord
    ) {
        self.loop = loop
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

    /// Closes everything; says whether there was anything to close.
    func stop() -> Bool {
        guard !isStopped else { return false }
        isStopped = true
        stopListening()
        for connection in connections.values { connection.close() }
        core = nil
        // Routes may refer to the server.
        router = LocalServer.Router()
        script = nil
        record.stopped()
        return true
    }

    /// Refuses further connections.
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
        // Others get their turn after this many.
        for _ in 0..<256 {
            guard let listener else { return }
            switch listener.accept() {
            case .done(let socket):
                open(socket)
            case .wouldBlock, .ended:
                return
            case .failed:
                // Out of descriptors or memory: try again when some may have been given back.
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
        let id = record.connectionOpened()
        let connection = Connection(id: id, socket: socket, context: self)
        connections[id] = connection
        connection.begin(script?(id))
    }

    func connectionClosed(_ id: Int) {
        connections[id] = nil
        record.connectionClosed()
    }

    /// The connection on which an exchange is still going on.
    func connection(_ exchange: ExchangeID) -> Connection? {
        guard let connection = connections[exchange.connection], connection.exchange == exchange else { return nil }
        return connection
    }
}
