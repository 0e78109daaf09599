import BluebonnetTesting
public import FoundationEssentials

/// Binds a port of 127.0.0.1 to which no connection can be made, for tests of failed connections.
///
/// The port is kept for as long as the value lives, so that no other server can begin to listen on it.
public final class UnreachableServer: Sendable {
    /// The behavior for a connecting client.
    public enum Behavior: Sendable {
        /// The connection is refused at once.
        case refusesConnections
        /// The connection attempt receives no response.
        case ignoresConnections
    }

    /// The URL on which nothing can be reached: `http://127.0.0.1:PORT`.
    public let url: URL

    private let sockets: [Socket]

    /// Binds a port.
    ///
    /// - Parameter behavior: The behavior for a connecting client.
    /// - Throws: ``LocalServer/Failure/system(call:code:)`` when there is no descriptor or port left.
    public init(_ behavior: Behavior) throws {
        var sockets: [Socket] = []
        do {
            let bound = try Socket.bound()
            sockets.append(bound)
            if case .ignoresConnections = behavior {
                // The queue for connections holds one more than the backlog; once it is full, others are not answered.
                try bound.listen(backlog: 0)
                for _ in 0..<4 { sockets.append(try Socket.connecting(to: bound.port)) }
            }
            guard let url = URL(string: "http://127.0.0.1:\(bound.port)") else {
                throw LocalServer.Failure.system(call: "getsockname", code: 0)
            }
            self.url = url
            self.sockets = sockets
        } catch {
            for socket in sockets { socket.close() }
            throw error
        }
    }

    deinit {
        for socket in sockets { socket.close() }
    }
}
