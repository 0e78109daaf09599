import Bluebonnet

/// Isolates a server's sockets to its event loop.
///
/// Runs here: accepting, reading, parsing and writing, for all connections of one server. Never runs here: routes and
/// conditions of scripts, which have tasks of their own on the global pool and come back through ``submit(_:)``.
actor ServerCore {
    nonisolated let loop: EventLoop
    private let context: ServerContext

    // Safety: the actor keeps the loop alive.
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(
        listener: Socket, options: LocalServer.Options, router: LocalServer.Router,
        script: (@Sendable (Int) -> LocalServer.Script)?, record: ServerRecord
    ) {
        let loop = EventLoop(name: "local-server")
        self.loop = loop
        context = ServerContext(
            loop: loop, listener: listener, options: options, router: router, script: script, record: record)
    }

    /// Begins to accept connections.
    nonisolated func start() {
        loop.attach()
        submit { [self] in $0.start(core: self) }
    }

    /// Closes everything; `completion` is called on the loop when that is done, also if it was done before.
    nonisolated func stop(_ completion: @escaping @Sendable () -> Void = {}) {
        submit { [loop] context in
            if context.stop() { loop.detach() }
            completion()
        }
    }

    /// Has something done on the loop.
    nonisolated func submit(_ work: @escaping @Sendable (ServerContext) -> Void) {
        loop.submit { [self] in assumeIsolated { work($0.context) } }
    }
}
