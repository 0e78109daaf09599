import BluebonnetTesting
public import FoundationEssentials

/// Takes a port of 127.0.0.1 that no connection can be made to, for tests of failing to connect.
///
/// The port is kept for as long as the value lives, so that no other server can begin to listen on it.
public final class UnreachableServer: Sendable {
    /// What happens to who connects.
    public enum Behavior: Sendable {
        /// The connection is refused at once.
        case refusesConnections
        /// Nothing happens: the connection is not answered until the client gives up.
        case ignoresConnections
    }

    /// The URL on which nothing can be reached: `http://127.0.0.1:PORT`.
    public let url: URL

    private let sockets: [Socket]

    /// Takes a port.
    ///
    /// - Parameter behavior: What happens to who connects.
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
