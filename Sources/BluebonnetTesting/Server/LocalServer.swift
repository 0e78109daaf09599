import Bluebonnet
public import FoundationEssentials

/// An HTTP/1.1 server on 127.0.0.1 for tests, in the test's process.
///
/// A server listens on a free port. It answers with routes, which are closures, or with scripts. A script states byte
/// for byte what is sent and when, so a server can misbehave in any way. The server records the requests that it
/// receives.
///
/// ```swift
/// let server = try await LocalServer { router in
///     router.get("/users/1") { _ in .json(["name": "Ada"]) }
/// }
/// let user = try await session.request(server.url("/users/1")).serializingDecodable(User.self).value
/// let request = try await server.nextRequest()
/// ```
///
/// A server runs on one thread of its own, and routes run on the global pool; see ``Router``. A process can run any
/// number of servers. All methods can be called from any thread or task. A server stops when it is released.
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
    ///   - maximumBodyBytes: The longest accepted request body, in bytes; 1 GiB by default. A longer body is answered
    ///     with 413, as soon as its length is known to exceed the limit.
    ///   - recordedBodyBytes: How much of each request's body is recorded, in bytes; 1 MiB by default.
    ///   - script: A closure that returns the script for a new connection, given the connection's number (1 for the
    ///     first). A script replaces the routes, or precedes them if it ends with ``Script/Step/serve``. The closure is
    ///     called on the server's thread, so it must not block. By default, connections use the routes.
    ///   - routes: A closure that sets up the routes; see ``Router``.
    /// - Throws: ``Failure/system(call:code:)`` if there is no free descriptor or port, or the error of `routes`.
    public convenience init(
        maximumBodyBytes: Int = 1024 * 1024 * 1024, recordedBodyBytes: Int = 1024 * 1024,
        script: (@Sendable (_ connection: Int) -> Script)? = nil, _ routes: (inout Router) throws -> Void
    ) async throws {
        var options = Options()
        options.maximumBodyBytes = maximumBodyBytes
        options.recordedBodyBytes = recordedBodyBytes
        try await self.init(options: options, script: script, routes)
    }

    /// Starts a server with custom limits.
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
    ///   - options: The limits of the server.
    ///   - script: A closure that returns the script for a new connection, given the connection's number (1 for the
    ///     first). It is called on the server's thread, so it must not block.
    /// - Returns: The running server.
    /// - Throws: ``Failure/system(call:code:)`` if there is no free descriptor or port.
    package static func scripted(
        options: Options = Options(), _ script: @escaping @Sendable (_ connection: Int) -> Script
    ) async throws -> LocalServer {
        try await LocalServer(options: options, script: script) { _ in }
    }

    /// Starts a server that follows the same script on each connection.
    ///
    /// - Parameter steps: The steps for each connection.
    /// - Returns: The running server.
    /// - Throws: ``Failure/system(call:code:)`` if there is no free descriptor or port.
    package static func scripted(_ steps: Script.Step...) async throws -> LocalServer {
        try await scripted { [script = Script(steps)] _ in script }
    }

    /// Returns a URL on this server.
    ///
    /// - Parameter path: The path with a leading slash, optionally with a query. Characters that a URL cannot contain
    ///   are percent-encoded.
    /// - Returns: The URL; the server's root if the path cannot be converted to a URL.
    public func url(_ path: String) -> URL {
        URL(string: "http://127.0.0.1:\(port)\(path)") ?? url
    }

    /// Replaces the routes; requests that were already received are answered by the previous routes.
    ///
    /// - Parameter routes: A closure that sets up the new routes in an empty router.
    public func route(_ routes: (inout Router) throws -> Void) async rethrows {
        var router = Router()
        try routes(&router)
        await perform { [router] in $0.router = router }
    }

    // MARK: Ending

    /// Stops the server: refuses new connections, closes open connections, and cancels running routes.
    ///
    /// Returns when the sockets are closed; cancelled routes may still be running. A second call has no effect.
    public func stop() async {
        await withCheckedContinuation { continuation in
            core.stop { continuation.resume() }
        }
    }

    /// Refuses new connections from now on; open connections stay open.
    public func stopListening() async {
        await perform { $0.stopListening() }
    }

    /// Closes all open connections, including idle connections that a client keeps for reuse.
    ///
    /// - Parameter resetting: Whether to abort the connections (`RST`) instead of closing them (`FIN`); `false` by
    ///   default.
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
    /// The limits of a server.
    package struct Options: Hashable, Sendable {
        /// The longest accepted request head, in bytes; 65,536 by default.
        ///
        /// A longer head is answered with 431, or with 414 if its first line alone exceeds the limit.
        package var maximumHeadBytes = 64 * 1024

        /// The longest accepted request body, in bytes; 1 GiB by default.
        ///
        /// A longer body is answered with 413, as soon as its length is known to exceed the limit.
        package var maximumBodyBytes = 1024 * 1024 * 1024

        /// The number of latest requests that ``LocalServer/requests`` keeps; 10,000 by default.
        package var recordedRequests = 10_000

        /// How much of each request's body is recorded, in bytes; 1 MiB by default.
        package var recordedBodyBytes = 1024 * 1024

        /// How much of a body is read ahead of a route that reads it in pieces, in bytes; 256 KiB by default.
        package var bodyWindowBytes = 256 * 1024

        /// The size of the system's receive buffer of each connection, in bytes; `nil` for the system's choice.
        ///
        /// The system doubles the size for its bookkeeping. Together with the client's send buffer and
        /// ``bodyWindowBytes``, it limits the unread bytes that a client can send.
        package var receiveBufferBytes: Int?

        /// The size of the system's send buffer of each connection, in bytes; `nil` for the system's choice.
        ///
        /// The system doubles the size for its bookkeeping. Together with the client's receive buffer, it limits the
        /// bytes that can be sent to a client that does not read. By default, the system lets both buffers grow to
        /// several MiB.
        package var sendBufferBytes: Int?

        /// Creates options with the default limits.
        package init() {}
    }
}

extension LocalServer {
    /// The received requests, the oldest first; at most the latest 10,000.
    ///
    /// Usually a request is recorded when its body is complete. There are two exceptions: a script can record a request
    /// when its head is complete, and a route that reads the body itself (``Router/streaming(_:method:continue:_:)``)
    /// also records a request whose body stays incomplete.
    public var requests: [Request] { record.read { $0.requests.elements } }

    /// The total number of requests received.
    public var requestCount: Int { record.read { $0.requests.count } }

    /// The total number of connections accepted.
    public var connectionCount: Int { record.read { $0.connectionCount } }

    /// The number of open connections.
    public var openConnectionCount: Int { record.read { $0.openConnectionCount } }

    /// Removes the recorded requests; the counts stay.
    package func forgetRequests() {
        record.change { $0.forgetRequests() }
    }

    /// Waits for the next request, and returns it.
    ///
    /// Each call returns the request after the one that the previous call returned, beginning with the server's first.
    ///
    /// - Returns: The first recorded request that this method has not returned yet.
    /// - Throws: `CancellationError` when the task is cancelled, and ``Failure/stopped`` when the server is stopped.
    public func nextRequest() async throws -> Request {
        try await record.wait { $0.nextRequest() }
    }

    /// Waits for the request with a certain number, and returns it.
    ///
    /// - Parameter number: The number of the request in the order of receipt; 1 for the first.
    /// - Returns: The request with this number.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is stopped, and
    ///   ``Failure/notRecorded`` if the request is no longer recorded.
    public func request(_ number: Int) async throws -> Request {
        try await record.wait { $0.request(number) }
    }

    /// Waits until at most a certain number of connections are open.
    ///
    /// - Parameter count: The maximum number of open connections.
    /// - Throws: `CancellationError` when the task is cancelled, and ``Failure/stopped`` when the server is stopped.
    public func waitForOpenConnections(atMost count: Int) async throws {
        try await record.wait { $0.once($0.openConnectionCount <= count) }
    }

    /// Waits until a certain total number of connections were accepted.
    ///
    /// - Parameter count: The minimum number of accepted connections.
    /// - Throws: `CancellationError` when the task is cancelled, and ``Failure/stopped`` when the server is stopped.
    package func waitForConnections(atLeast count: Int) async throws {
        try await record.wait { $0.once($0.connectionCount >= count) }
    }
}

extension LocalServer {
    /// The number of bytes transferred over all connections of a server, including heads and framing.
    package struct Traffic: Hashable, Sendable {
        /// The number of bytes that the system has accepted from the server.
        ///
        /// The client may not have received all of them: unread bytes fill the system's buffers first, including the
        /// send buffer.
        package internal(set) var bytesSent = 0

        /// The number of bytes that the server has read.
        package internal(set) var bytesReceived = 0
    }

    /// The number of bytes sent and received so far.
    package var traffic: Traffic { record.read { $0.traffic } }

    /// Waits until at least a certain number of bytes were sent, over all connections.
    ///
    /// - Parameter count: The minimum number of bytes.
    /// - Throws: `CancellationError` when the task is cancelled, and ``Failure/stopped`` when the server is stopped.
    package func waitForBytesSent(atLeast count: Int) async throws {
        try await record.wait { $0.once(!$0.isStopped && $0.traffic.bytesSent >= count) }
    }

    /// Waits until at least a certain number of bytes were received, over all connections.
    ///
    /// - Parameter count: The minimum number of bytes.
    /// - Throws: `CancellationError` when the task is cancelled, and ``Failure/stopped`` when the server is stopped.
    package func waitForBytesReceived(atLeast count: Int) async throws {
        try await record.wait { $0.once(!$0.isStopped && $0.traffic.bytesReceived >= count) }
    }

    /// Waits until nothing has been sent or received for a while, for example because one side holds the other back.
    ///
    /// There is also no traffic before the first byte, and while the machine is busy. Therefore, first wait for the
    /// bytes that are transferred in any case. Traffic after this method returns means that it returned too early, not
    /// that too much was sent.
    ///
    /// - Parameter duration: How long there must be no traffic; 250 milliseconds by default.
    /// - Returns: The number of bytes sent and received so far.
    /// - Throws: `CancellationError` when the task is cancelled, and ``Failure/stopped`` when the server is stopped.
    @discardableResult
    package func waitForQuiet(of duration: Duration = .milliseconds(250)) async throws -> Traffic {
        var last = traffic
        while true {
            try await Task.sleep(for: duration)
            // Throws if the server was stopped.
            try await record.wait { $0.once(!$0.isStopped) }
            let now = traffic
            if now == last { return now }
            last = now
        }
    }
}

extension LocalServer {
    /// The reasons why an operation of a server failed.
    @nonexhaustive
    public enum Failure: Error, Hashable, Sendable {
        /// A system call failed with an `errno`, for example because the process has no free descriptors.
        case system(call: String, code: Int32)
        /// The server was stopped.
        case stopped
        /// The client disconnected, or the server closed the connection.
        case connectionClosed
        /// The request was received, but is no longer recorded; see ``LocalServer/requests``.
        case notRecorded
        /// A route wrote a longer body than the announced length, which is in bytes.
        case bodyTooLong(promised: Int)
        /// A request body is malformed or too long; `status` is the status code of the answer.
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
