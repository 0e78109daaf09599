import Bluebonnet
import BluebonnetOtherNames
public import FoundationEssentials

/// An HTTP/1.1 server for tests, which runs in the test's process and listens on 127.0.0.1.
///
/// A server listens on a free port. Its responses come from routes or from scripts. A route is a closure that returns a
/// response, or a fixed response. A script specifies every byte that the server sends, and when the server sends the
/// byte. A test can therefore simulate any faulty server. The server records the requests that it receives.
///
/// ```swift
/// let server = try await LocalServer { router in
///     router.get("/users/1") { _ in .json(["name": "Ada"]) }
/// }
/// let user = try await session.request(server.url("/users/1")).serializingDecodable(User.self).value
/// let request = try await server.nextRequest()
/// ```
///
/// Each server has its own thread. Routes run on the global executor; see ``Router``. A process can run any number of
/// servers. A server is thread-safe. It stops when it is released.
public final class LocalServer: Sendable {
    /// The root URL of the server, `http://127.0.0.1:PORT`.
    public let url: URL

    /// The port on which the server listens.
    public let port: Int

    private let record: ObservedState<ServerRecord>
    private let core: ServerCore

    /// Starts a server with routes.
    ///
    /// - Parameters:
    ///   - maximumBodyBytes: The maximum length of a request body, in bytes; 1 GiB by default. As soon as the server
    ///     detects that a body is longer, it responds with 413.
    ///   - recordedBodyBytes: The maximum number of bytes that the server records of each request body; 1 MiB by
    ///     default.
    ///   - script: A closure that returns the script for a new connection. The closure receives the number of the
    ///     connection, which is 1 for the first connection. It runs on the server's thread, so it must not block. The
    ///     script replaces the routes. If the script ends with ``Script/Step/serve``, the routes handle the rest of the
    ///     connection. By default, there are no scripts.
    ///   - routes: A closure that adds the routes; see ``Router``.
    /// - Throws: ``Failure/system(call:code:)`` if there is no free descriptor or port. If `routes` throws an error,
    ///   the initializer throws the same error.
    public convenience init(
        maximumBodyBytes: Int = 1024 * 1024 * 1024, recordedBodyBytes: Int = 1024 * 1024,
        script: (@Sendable (_ connection: Int) -> Script)? = nil, _ routes: (inout Router) throws -> Void
    ) async throws {
        var options = Options()
        options.maximumBodyBytes = maximumBodyBytes
        options.recordedBodyBytes = recordedBodyBytes
        try await self.init(options: options, script: script, routes)
    }

    /// Starts a server that gives the responses one after the other, to any request, and then repeats the last one.
    ///
    /// ```swift
    /// let server = try await LocalServer(answering: .status(503), .json(["name": "Ada"]))
    /// ```
    ///
    /// - Parameter responses: The responses, in order; without one, the server responds with 404.
    /// - Throws: ``Failure/system(call:code:)`` if there is no free descriptor or port.
    public convenience init(answering responses: Response...) async throws {
        let rest = ObservedState(responses[...])
        try await self.init { router in
            if responses.count > 1 {
                router.fallback { _ in rest.change { $0.count > 1 ? $0.popFirst() : $0.first } ?? .ok }
            } else if let response = responses.first {
                router.fallback(response)
            }
        }
    }

    /// Starts a server that responds to all requests with a closure.
    ///
    /// - Parameter handler: A closure that returns the response. It runs on the global executor.
    /// - Throws: ``Failure/system(call:code:)`` if there is no free descriptor or port.
    public convenience init(
        answering handler: @escaping @Sendable (_ request: Request) async throws -> Response
    ) async throws {
        try await self.init { $0.fallback(handler) }
    }

    /// Not available; the initializer starts the server.
    @available(
        *, unavailable, message: "use try await LocalServer { router in router.get(…) }, or LocalServer(answering:)"
    )
    public static func start(host: String = "", port: Int = 0) async throws -> LocalServer { unavailable() }

    /// Not available; see ``stop()``.
    @available(*, unavailable, renamed: "stop()")
    public func shutdown() async throws {}

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
    ///   - script: A closure that returns the script for a new connection. The closure receives the number of the
    ///     connection, which is 1 for the first connection. It runs on the server's thread, so it must not block.
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
    /// - Parameter path: The path with a leading slash, and an optional query. Characters that a URL cannot contain are
    ///   percent-encoded.
    /// - Returns: The URL; the root URL if the path cannot be converted to a URL.
    public func url(_ path: String) -> URL {
        URL(string: "http://127.0.0.1:\(port)\(path)") ?? url
    }

    /// Replaces the routes.
    ///
    /// If the server has already received the head of a request, the previous routes still handle this request.
    ///
    /// - Parameter routes: A closure that adds the new routes to an empty router.
    public func route(_ routes: (inout Router) throws -> Void) async rethrows {
        var router = Router()
        try routes(&router)
        await perform { [router] in $0.router = router }
    }

    // MARK: Ending

    /// Stops the server: refuses new connections, closes open connections, and cancels running routes.
    ///
    /// This method returns when the sockets are closed. At this time, cancelled routes may still be running. A second
    /// call has no effect.
    public func stop() async {
        await withCheckedContinuation { continuation in
            core.stop { continuation.resume() }
        }
    }

    /// Stops accepting connections; open connections stay open.
    public func stopListening() async {
        await perform { $0.stopListening() }
    }

    /// Closes all open connections, including idle connections that a client keeps for reuse.
    ///
    /// - Parameter resetting: Whether the connections are reset (`RST`) instead of closed (`FIN`); `false` by default.
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
        /// The maximum length of a request head, in bytes; 65,536 by default.
        ///
        /// If a head is longer, the server responds with 431. If the request line alone is longer, the server responds
        /// with 414.
        package var maximumHeadBytes = 64 * 1024

        /// The maximum length of a request body, in bytes; 1 GiB by default.
        ///
        /// As soon as the server detects that a body is longer, it responds with 413.
        package var maximumBodyBytes = 1024 * 1024 * 1024

        /// The maximum number of recorded requests; 10,000 by default.
        package var recordedRequests = 10_000

        /// The maximum number of bytes that the server records of each request body; 1 MiB by default.
        package var recordedBodyBytes = 1024 * 1024

        /// The maximum number of unread bytes of a request body that the server buffers; 256 KiB by default.
        ///
        /// This limit applies to routes that read the body in pieces; see ``Router/streaming(_:method:continue:_:)``.
        package var bodyWindowBytes = 256 * 1024

        /// The size of the system's receive buffer of each connection, in bytes; `nil` selects the system's default.
        ///
        /// The system doubles this size for its bookkeeping. If a route does not read the body, the client can send
        /// bytes until this buffer, the client's send buffer and the ``bodyWindowBytes`` of the server are full.
        package var receiveBufferBytes: Int?

        /// The size of the system's send buffer of each connection, in bytes; `nil` selects the system's default.
        ///
        /// The system doubles this size for its bookkeeping. If the client does not read, the server can send bytes
        /// until this buffer and the client's receive buffer are full. By default, both buffers can grow to several
        /// MiB.
        package var sendBufferBytes: Int?

        /// Creates options with the default limits.
        package init() {}
    }
}

extension LocalServer {
    /// The latest 10,000 recorded requests, the oldest first.
    ///
    /// Usually, the server records a request when the body of the request is complete. There are two exceptions. First,
    /// the script step ``Script/Step/waitForHead`` records the request when its head is complete. Second, if a route
    /// reads the body in pieces (``Router/streaming(_:method:continue:_:)``), the server also records a request whose
    /// body remains incomplete.
    public var requests: [Request] { record.read { $0.requests.elements } }

    /// The total number of recorded requests, including requests that ``requests`` no longer contains.
    public var requestCount: Int { record.read { $0.requests.count } }

    /// The total number of accepted connections.
    public var connectionCount: Int { record.read { $0.connectionCount } }

    /// The number of open connections.
    public var openConnectionCount: Int { record.read { $0.openConnectionCount } }

    /// Waits for the next recorded request, and returns it.
    ///
    /// The first call returns the server's first request. Each later call returns the request after the previously
    /// returned request.
    ///
    /// - Parameter limit: The maximum time to wait; 60 seconds by default.
    /// - Returns: The first recorded request that this method has not returned yet.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is stopped, and
    ///   ``Failure/timedOut`` after the time limit.
    public func nextRequest(within limit: Duration = .seconds(60)) async throws -> Request {
        try await record.wait(within: limit) { $0.nextRequest() }
    }

    /// Waits for the recorded request with a certain number, and returns it.
    ///
    /// - Parameters:
    ///   - number: The number of the request, in the order of recording; 1 for the first request.
    ///   - limit: The maximum time to wait; 60 seconds by default.
    /// - Returns: The request with this number.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is stopped,
    ///   ``Failure/timedOut`` after the time limit, and ``Failure/notRecorded`` if the server has received the request,
    ///   but no longer keeps it.
    public func request(_ number: Int, within limit: Duration = .seconds(60)) async throws -> Request {
        try await record.wait(within: limit) { $0.request(number) }
    }

    /// Waits until the number of open connections is at most a certain number.
    ///
    /// - Parameters:
    ///   - count: The maximum number of open connections.
    ///   - limit: The maximum time to wait; 60 seconds by default.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is stopped, and
    ///   ``Failure/timedOut`` after the time limit.
    public func waitForOpenConnections(atMost count: Int, within limit: Duration = .seconds(60)) async throws {
        try await record.wait(within: limit) { $0.once($0.openConnectionCount <= count) }
    }

    /// Waits until the total number of accepted connections is at least a certain number.
    ///
    /// - Parameter count: The minimum number of accepted connections.
    /// - Throws: `CancellationError` when the task is cancelled, and ``Failure/stopped`` when the server is stopped.
    package func waitForConnections(atLeast count: Int) async throws {
        try await record.wait { $0.once($0.connectionCount >= count) }
    }
}

extension LocalServer {
    /// The numbers of bytes transferred over all connections of a server, including heads and framing.
    package struct Traffic: Hashable, Sendable {
        /// The number of bytes that the system has accepted from the server.
        ///
        /// The client may not have received all of these bytes, because some bytes can still be in the buffers of the
        /// system.
        package internal(set) var bytesSent = 0

        /// The number of bytes that the server has read.
        package internal(set) var bytesReceived = 0
    }

    /// The numbers of bytes sent and received so far.
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

    /// Waits until no bytes have been sent or received for a while, for example because one side does not read.
    ///
    /// A time without traffic can also have other causes. For example, the first byte is not sent yet, or the machine
    /// is busy. Therefore, first wait for the bytes that must be transferred; see ``waitForBytesSent(atLeast:)``.
    /// Traffic after this method has returned shows that the method returned too early.
    ///
    /// - Parameter duration: The length of the time without traffic; 250 milliseconds by default.
    /// - Returns: The numbers of bytes sent and received so far.
    /// - Throws: `CancellationError` when the task is cancelled, and ``Failure/stopped`` when the server is stopped.
    @discardableResult
    package func waitForQuiet(of duration: Duration = .milliseconds(250)) async throws -> Traffic {
        var last = traffic
        while true {
            try await Task.sleep(for: duration)
            // This call throws if the server was stopped.
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
        /// A system call failed; `code` is the `errno`.
        case system(call: String, code: Int32)
        /// The server was stopped.
        case stopped
        /// The client disconnected, or the server closed the connection.
        case connectionClosed
        /// The request was received, but is no longer recorded; see ``LocalServer/requests``.
        case notRecorded
        /// A wait took longer than its time limit.
        case timedOut
        /// A route tried to write a longer body than its response promised; `promised` is the promised length in bytes.
        case bodyTooLong(promised: Int)
        /// A request body is malformed or too long; `status` is the status code of the response.
        case malformedBody(status: Int, reason: String)
    }
}

extension LocalServer.Failure: Described {
    /// The failure in one line.
    package var text: String {
        switch self {
        case .system(let call, let code): "\(call): \(Socket.text(for: code))"
        case .stopped: "the server was stopped"
        case .notRecorded: "the request is no longer recorded"
        case .timedOut: "the time limit of the wait was exceeded"
        case .connectionClosed: "the connection is closed"
        case .bodyTooLong(let promised): "the body is longer than the promised \(promised) bytes"
        case .malformedBody(_, let reason): reason
        }
    }
}
