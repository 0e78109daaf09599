import Bluebonnet
public import FoundationEssentials

/// Serves HTTP/1.1 on 127.0.0.1, within the process, for tests.
///
/// A server listens on a free port and answers with routes, which are closures, or with scripts, which say byte for byte
/// what is sent and when, so that it can misbehave in every way. It records what it receives.
///
/// ```swift
/// let server = try await LocalServer { router in
///     router.get("/users/1") { _ in .json(["name": "Ada"]) }
/// }
/// let user = try await session.request(server.url("/users/1")).serializingDecodable(User.self).value
/// let request = try await server.nextRequest()
/// ```
///
/// A server works on one thread of its own, and routes run on the global pool; see ``Router``. Any number of servers can
/// run in a process. All methods may be called from anywhere. A server that goes out of scope stops.
public final class LocalServer: Sendable {
    /// The server's root: `http://127.0.0.1:PORT`.
    public let url: URL

    /// The port that the server listens on.
    public let port: Int

    private let record: ObservedState<ServerRecord>
    private let core: ServerCore

    /// Starts a server that answers with routes.
    ///
    /// - Parameters:
    ///   - maximumBodyBytes: The longest body of a request that is accepted, in bytes; 1 GiB by default. A longer one is
    ///     answered with 413, as soon as its length is known to be too much.
    ///   - recordedBodyBytes: How much is kept of a recorded request's body, in bytes; 1 MiB by default.
    ///   - script: Returns what to do on a new connection, given its number (1 for the first), before or instead of
    ///     answering with routes (``Script/Step/serve``). Called on the server's thread: it must not block.
    ///   - routes: Sets the routes up; see ``Router``.
    /// - Throws: ``Failure/system(call:code:)`` when there is no descriptor or port left; what `routes` throws.
    public convenience init(
        maximumBodyBytes: Int = 1024 * 1024 * 1024, recordedBodyBytes: Int = 1024 * 1024,
        script: (@Sendable (_ connection: Int) -> Script)? = nil, _ routes: (inout Router) throws -> Void
    ) async throws {
        var options = Options()
        options.maximumBodyBytes = maximumBodyBytes
        options.recordedBodyBytes = recordedBodyBytes
        try await self.init(options: options, script: script, routes)
    }

    /// Starts a server with all its limits.
    package init(
        options: Options, script: (@Sendable (_ connection: Int) -> Script)? = nil,
        _ routes: (inout Router) throws -> Void
    ) async throws {
        var router = Router()
        try routes(&router)
        let listener = try Socket.bound()
        listener.setBuffers(receive: options.receiveBufferBytes, send: options.sendBufferBytes)
        do {
            try listener.listen()
            let port = Int(listener.port)
            guard let url = URL(string: "http://127.0.0.1:\(port)") else {
                throw Failure.system(call: "getsockname", code: 0)
            }
            self.port = port
            self.url = url
        } catch {
            listener.close()
            throw error
        }
        record = ObservedState(ServerRecord(options))
        core = ServerCore(
            ServerContext(listener: listener, options: options, router: router, script: script, record: record))
        core.start()
    }

    deinit {
        core.stop()
    }

    /// Starts a server that follows a script on each connection.
    ///
    /// - Parameters:
    ///   - options: The limits.
    ///   - script: Returns what to do on a new connection, given its number (1 for the first). Called on the server's
    ///     thread: it must not block.
    /// - Returns: The server.
    /// - Throws: ``Failure/system(call:code:)`` when there is no descriptor or port left.
    package static func scripted(
        options: Options = Options(), _ script: @escaping @Sendable (_ connection: Int) -> Script
    ) async throws -> LocalServer {
        try await LocalServer(options: options, script: script) { _ in }
    }

    /// Starts a server that does the same on each connection.
    ///
    /// - Parameter steps: What to do on each connection.
    /// - Returns: The server.
    /// - Throws: ``Failure/system(call:code:)`` when there is no descriptor or port left.
    package static func scripted(_ steps: Script.Step...) async throws -> LocalServer {
        try await scripted { [script = Script(steps)] _ in script }
    }

    /// Returns a URL on this server.
    ///
    /// - Parameter path: The path with a leading slash, and the query if there is one. Characters that a URL cannot have
    ///   are percent-encoded; what cannot be a URL even so gives the server's root.
    /// - Returns: The URL.
    public func url(_ path: String) -> URL {
        URL(string: "http://127.0.0.1:\(port)\(path)") ?? url
    }

    /// Replaces the routes; requests that have been received already are answered by the earlier ones.
    ///
    /// - Parameter routes: Sets the routes up, from none.
    public func route(_ routes: (inout Router) throws -> Void) async rethrows {
        var router = Router()
        try routes(&router)
        await perform { [router] in $0.router = router }
    }

    // MARK: Ending

    /// Stops the server: refuses connections, closes those that are open, and cancels routes that run.
    ///
    /// Returns when the sockets are closed; routes may still be on their way to noticing. Stopping twice is allowed.
    public func stop() async {
        await withCheckedContinuation { continuation in
            core.stop { continuation.resume() }
        }
    }

    /// Refuses connections from now on; those that are open go on.
    public func stopListening() async {
        await perform { $0.stopListening() }
    }

    /// Closes all open connections, such as the idle ones that a client keeps for later.
    ///
    /// - Parameter resetting: Whether to break them off (`RST`) instead of ending them (`FIN`).
    public func closeConnections(resetting: Bool = false) async {
        await perform { $0.closeConnections(resetting: resetting) }
    }

    private func perform(_ work: @escaping @Sendable (ServerContext) -> Void) async {
        await withCheckedContinuation { continuation in
            core.submit {
                work($0)
                continuation.resume()
            }
        }
    }
}

extension LocalServer {
    /// Sets the limits of a server.
    package struct Options: Hashable, Sendable {
        /// The longest head of a request that is accepted, in bytes; 65,536 by default.
        ///
        /// A longer one is answered with 431, or with 414 when its first line alone is longer.
        package var maximumHeadBytes = 64 * 1024

        /// The longest body of a request that is accepted, in bytes; 1 GiB by default.
        ///
        /// A longer one is answered with 413, as soon as its length is known to be too much.
        package var maximumBodyBytes = 1024 * 1024 * 1024

        /// How many requests are kept in ``LocalServer/requests``, the latest; 10,000 by default.
        package var recordedRequests = 10_000

        /// How much is kept of a recorded request's body, in bytes; 1 MiB by default.
        package var recordedBodyBytes = 1024 * 1024

        /// How much of a body is read ahead of a route that reads it piece by piece, in bytes; 256 KiB by default.
        package var bodyWindowBytes = 256 * 1024

        /// The size of the system's receive buffer of each connection, in bytes; `nil` for what the system thinks best.
        ///
        /// The system doubles it, for its own needs. This limits the unread bytes that a client can send, together with
        /// the client's send buffer and ``bodyWindowBytes``.
        package var receiveBufferBytes: Int?

        /// The size of the system's send buffer of each connection, in bytes; `nil` for what the system thinks best.
        ///
        /// The system doubles it, for its own needs. What can be sent to a client that does not read is bounded by this
        /// and its own receive buffer; left to itself, the system lets both grow to several MiB.
        package var sendBufferBytes: Int?

        /// Creates options with the default limits.
        package init() {}
    }
}

extension LocalServer {
    /// The requests that were received, the oldest first; at most the latest 10,000.
    ///
    /// A request is received when its body is complete; a script may also record one whose head is, and a route
    /// that reads the body itself (``Router/streaming(_:method:continue:_:)``) one whose body never was.
    public var requests: [Request] { record.read { $0.requests.elements } }

    /// How many requests were received, ever.
    public var requestCount: Int { record.read { $0.requests.count } }

    /// How many connections were accepted, ever.
    public var connectionCount: Int { record.read { $0.connectionCount } }

    /// How many connections are open.
    public var openConnectionCount: Int { record.read { $0.openConnectionCount } }

    /// Forgets the recorded requests; the counts go on.
    package func forgetRequests() {
        record.change { $0.forgetRequests() }
    }

    /// Waits for the next request that this method has not returned yet, beginning with the server's first.
    ///
    /// - Returns: The request.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    public func nextRequest() async throws -> Request {
        try await record.wait { $0.nextRequest() }
    }

    /// Waits until a number of requests were received.
    ///
    /// - Parameter number: The number; 1 for the first.
    /// - Returns: The request with that number.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is, and
    ///   ``Failure/notRecorded`` when the request is not kept any more.
    public func request(_ number: Int) async throws -> Request {
        try await record.wait { $0.request(number) }
    }

    /// Waits until no more than a number of connections are open.
    ///
    /// - Parameter count: The number.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    public func waitForOpenConnections(atMost count: Int) async throws {
        try await record.wait { $0.once($0.openConnectionCount <= count) }
    }

    /// Waits until a number of connections were accepted, ever.
    ///
    /// - Parameter count: The number.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    package func waitForConnections(atLeast count: Int) async throws {
        try await record.wait { $0.once($0.connectionCount >= count) }
    }
}

extension LocalServer {
    /// Counts the bytes that have gone over all connections of a server, heads and framing included.
    package struct Traffic: Hashable, Sendable {
        /// How many bytes the system has accepted from the server.
        ///
        /// The client need not have them: what it does not read fills the system's buffers first; see
        /// the size of the send buffer.
        package internal(set) var bytesSent = 0

        /// How many bytes the server has read.
        package internal(set) var bytesReceived = 0
    }

    /// The bytes that were sent and received so far.
    package var traffic: Traffic { record.read { $0.traffic } }

    /// Waits until at least so many bytes were sent, over all connections.
    ///
    /// - Parameter count: The number of bytes.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    package func waitForBytesSent(atLeast count: Int) async throws {
        try await record.wait { $0.once(!$0.isStopped && $0.traffic.bytesSent >= count) }
    }

    /// Waits until at least so many bytes were received, over all connections.
    ///
    /// - Parameter count: The number of bytes.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    package func waitForBytesReceived(atLeast count: Int) async throws {
        try await record.wait { $0.once(!$0.isStopped && $0.traffic.bytesReceived >= count) }
    }

    /// Waits until nothing has been sent or received for a while, as when one side is held back by the other.
    ///
    /// It is quiet before the first byte, too, and when the machine is busy with something else: first wait for what has
    /// to move in any case. What moves later shows that it was too early, never that too much was sent.
    ///
    /// - Parameter duration: How long it has to be quiet.
    /// - Returns: The bytes that were sent and received until then.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    @discardableResult
    package func waitForQuiet(of duration: Duration = .milliseconds(250)) async throws -> Traffic {
        var last = traffic
        while true {
            try await Task.sleep(for: duration)
            // Throws when the server was stopped.
            try await record.wait { $0.once(!$0.isStopped) }
            let now = traffic
            if now == last { return now }
            last = now
        }
    }
}

extension LocalServer {
    /// Says why a server could not do what it was asked for.
    @nonexhaustive
    public enum Failure: Error, Hashable, Sendable {
        /// A system call failed, with its `errno`; such as when the process has no descriptors left.
        case system(call: String, code: Int32)
        /// The server was stopped.
        case stopped
        /// The client went away, or the server closed its connection.
        case connectionClosed
        /// The request was received, but is not kept any more; see ``LocalServer/requests``.
        case notRecorded
        /// A body was written that is longer than the length which was promised, in bytes.
        case bodyTooLong(promised: Int)
        /// The body of a request cannot be understood, or is too long; with the status to answer.
        case malformedBody(status: Int, reason: String)
    }
}

extension LocalServer.Failure: Described {
    /// The failure, in one line.
    package var text: String {
        switch self {
        case .system(let call, let code): "\(call): \(Socket.text(for: code))"
        case .stopped: "the server was stopped"
        case .notRecorded: "the request is no longer recorded"
        case .connectionClosed: "the connection is closed"
        case .bodyTooLong(let promised): "the body is longer than the promised \(promised) bytes"
        case .malformedBody(_, let reason): reason
        }
    }
}
