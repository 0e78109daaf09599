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

    let record: ServerRecord
    private let core: ServerCore

    /// Starts a server that answers with routes.
    ///
    /// - Parameters:
    ///   - options: The limits.
    ///   - script: Returns what to do on a new connection, given its number (1 for the first), before or instead of
    ///     answering with routes (``Script/Step/serve``). Called on the server's thread: it must not block.
    ///   - routes: Sets the routes up; see ``Router``.
    /// - Throws: ``Failure/system(call:code:)`` when there is no descriptor or port left; what `routes` throws.
    public init(
        options: Options = Options(), script: (@Sendable (_ connection: Int) -> Script)? = nil,
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
        record = ServerRecord(options)
        core = ServerCore(listener: listener, options: options, router: router, script: script, record: record)
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
    public static func scripted(
        options: Options = Options(), _ script: @escaping @Sendable (_ connection: Int) -> Script
    ) async throws -> LocalServer {
        try await LocalServer(options: options, script: script) { _ in }
    }

    /// Starts a server that does the same on each connection.
    ///
    /// - Parameter steps: What to do on each connection.
    /// - Returns: The server.
    /// - Throws: ``Failure/system(call:code:)`` when there is no descriptor or port left.
    public static func scripted(_ steps: Script.Step...) async throws -> LocalServer {
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
