import CCurl
import COpenSSL
import CSystem
import FoundationEssentials

/// Keeps libcurl before 8.5.0 from connections that are of no use for a request.
///
/// Until 8.5.0, libcurl has two requests use one HTTP/1.1 connection at once, so that each may get the other's answer, when
/// it takes the host for one that multiplexes: another of its connections speaks HTTP/2, or its status line says so. Until
/// 8.0.0, it takes bytes that wait on an idle HTTP/1.1 connection for the answer to the next request, although a message that
/// nobody asked for is none (RFC 9112 §6.3). Until 8.1.0, it uses an idle HTTP/2 connection on which a frame waits, even
/// though the peer has closed it behind that frame.
///
/// The loop tells of idle sockets that became readable, without a system call of its own. What is certain to be of no use
/// is ended at once, and libcurl finds it dead. With TLS, bytes on an HTTP/1.1 connection may be a ticket or a new key
/// (RFC 8446 §4.6): such a connection is looked into before the next request goes out on it.
struct IdleConnections {
    /// Whether this libcurl has the fault.
    static let areWatched = Libcurl.version < 0x08_05_00

    /// What a connection speaks.
    enum Version: Equatable {
        case http1
        /// HTTP/1.1 over TLS.
        case http1Secure
        case http2
    }

    /// What to do about an idle connection.
    enum Action: Equatable {
        case nothing
        /// Make it look dead.
        case end
        /// Look into it before the next request goes out on it.
        case lookLater
    }

    /// A request's use of a connection.
    struct Use: Equatable {
        fileprivate let socket: Int32
        fileprivate let number: Int
    }

    private struct Connection {
        let version: Version
        let port: Int32
        /// Tells it from others that have the same socket later.
        let number: Int
        var users = 1
        var isToBeLookedInto = false
    }

    private var connections: [Int32: Connection] = [:]
    /// By the port of this end, since libcurl names a connection's socket only at the cost of a search.
    private var sockets: [Int32: Int32] = [:]
    /// The sockets that were opened and have had no request yet.
    private var fresh: Set<Int32> = []
    private var idleCount = 0
    private var count = 0
    /// The origins that libcurl takes for ones that multiplex, by host and port.
    private var multiplexing: Set<String> = []

    /// Whether there are any.
    var isEmpty: Bool { idleCount == 0 }

    /// What to do about an idle connection on which something came in.
    static func action(on version: Version, _ readiness: Readiness) -> Action {
        if !readiness.isDisjoint(with: [.peerClosed, .hangup, .error]) { return .end }
        switch version {
        case .http1: return .end
        case .http1Secure: return .lookLater
        // PING, SETTINGS and their like are libcurl's to answer, when it uses the connection.
        case .http2: return .nothing
        }
    }

    mutating func opened(_ socket: Int32) {
        guard Self.areWatched else { return }
        // Libcurl does not say that it has closed a socket whose connection was not made.
        closed(socket)
        fresh.insert(socket)
    }

    mutating func closed(_ socket: Int32) {
        guard Self.areWatched else { return }
        fresh.remove(socket)
        guard let connection = connections.removeValue(forKey: socket) else { return }
        sockets[connection.port] = nil
        if connection.users == 0 { idleCount -= 1 }
    }

    mutating func becameReady(_ socket: Int32, _ readiness: Readiness) -> Action {
        // A request whose body is paused does not wait for its socket, and yet uses it.
        guard let connection = connections[socket], connection.users == 0 else { return .nothing }
        let action = Self.action(on: connection.version, readiness)
        if action == .lookLater { connections[socket]?.isToBeLookedInto = true }
        return action
    }

    /// What a request has to know about the connection that libcurl has chosen for it.
    enum Choice: Equatable {
        /// Nothing is known of the connection.
        case unknown
        case good(Use)
        /// The socket has to be looked into first.
        case suspect(Use, socket: Int32)
        /// Another request is under way on a connection that carries one at a time.
        case taken
    }

    /// A request is about to go out on the connection with this port.
    ///
    /// - Parameters:
    ///   - port: The port of this end.
    ///   - origin: The host and the port of the request's URL.
    ///   - version: What a new connection speaks.
    /// - Returns: What it has to know about that connection.
    mutating func requestBegins(onPort port: Int32, to origin: () -> String, version: () -> Version) -> Choice {
        if let socket = sockets[port], let connection = connections[socket] {
            // Where there is no multiplexing, the other request is one that libcurl has just ended: the loop has not seen since
            // whether something came in.
            let isShared = connection.users > 0 && connection.version != .http2
            guard !isShared || !multiplexing.contains(origin()) else { return .taken }
            if connection.users == 0 { idleCount -= 1 }
            connections[socket]?.users += 1
            connections[socket]?.isToBeLookedInto = false
            let use = Use(socket: socket, number: connection.number)
            return isShared || connection.isToBeLookedInto ? .suspect(use, socket: socket) : .good(use)
        }
        guard let socket = fresh.first(where: { bb_local_port($0) == port }) else { return .unknown }
        fresh.remove(socket)
        sockets[port] = socket
        count += 1
        let version = version()
        if version == .http2 { multiplexing.insert(origin()) }
        connections[socket] = Connection(version: version, port: port, number: count)
        return .good(Use(socket: socket, number: count))
    }

    /// A status line said that it is of HTTP/2.
    mutating func http2IsClaimed(on use: Use, to origin: () -> String) {
        guard let connection = connections[use.socket], connection.version != .http2 else { return }
        multiplexing.insert(origin())
    }

    mutating func ended(_ use: Use) {
        guard let connection = connections[use.socket], connection.number == use.number else { return }
        connections[use.socket]?.users -= 1
        if connection.users == 1 { idleCount += 1 }
    }
}

// Safety: OpenSSL's pointer is used within the callback in which libcurl names it.
extension Transfer {
    /// Notes that the request is about to go out on the connection with this port; returns whether it may.
    ///
    /// If not, the connection holds bytes that would be taken for the answer, or is in use: libcurl begins again.
    func connectionIsChosen(port: Int32) -> Bool {
        guard IdleConnections.areWatched, let easy, let multi, port > 0 else { return true }
        connectionIsLeft()
        var suspect: Int32?
        switch multi.idleConnections.requestBegins(onPort: port, to: { origin }, version: { version(of: easy) }) {
        case .unknown: break
        case .good(let use): connectionUse = use
        case .suspect(let use, let socket): (connectionUse, suspect) = (use, socket)
        case .taken:
            needsFreshConnection = true
            isToBeSentAnew = true
            return false
        }
        guard hasSurplus(of: easy, on: suspect) else { return true }
        isToBeSentAnew = true
        easy.set(CURLOPT_FORBID_REUSE, 1)
        return false
    }

    /// Whether the connection has something that nobody asked for, or has ended; looks into the socket if there is one.
    private func hasSurplus(of easy: EasyHandle, on socket: Int32?) -> Bool {
        // Behind an HTTPS proxy, what OpenSSL reads from is not the socket.
        guard isSecure, !isProxied else { return socket.map { bb_socket_has_surplus($0) != 0 } ?? false }
        guard socket != nil || easy.long(CURLINFO_NUM_CONNECTS) == 0 else { return false }
        return easy.hasTLSSurplus(on: socket)
    }

    /// Notes that the transfer does not use its connection any more.
    func connectionIsLeft() {
        guard let use = connectionUse else { return }
        multi?.idleConnections.ended(use)
        connectionUse = nil
    }

    /// Notes that the head of a response is of HTTP/2, by what it says.
    func http2IsClaimed() {
        guard let use = connectionUse else { return }
        multi?.idleConnections.http2IsClaimed(on: use, to: { origin })
    }

    private var origin: String {
        let url = request.url
        return "\(url.host(percentEncoded: false)?.lowercased() ?? ""):\(url.port ?? (isSecure ? 443 : 80))"
    }

    private func version(of easy: EasyHandle) -> IdleConnections.Version {
        if let ssl = unsafe bb_curl_get_ssl(easy.pointer) {
            return unsafe bb_ssl_speaks_http2(OpaquePointer(ssl)) != 0 ? .http2 : .http1Secure
        }
        return request.httpVersion == .http2PriorKnowledge ? .http2 : .http1
    }
}

// Safety: as above.
extension EasyHandle {
    /// Whether the connection's TLS holds bytes that nobody asked for, or has ended; looks into the socket if there is one.
    fileprivate func hasTLSSurplus(on socket: Int32?) -> Bool {
        guard let ssl = unsafe bb_curl_get_ssl(pointer), unsafe bb_ssl_speaks_http2(OpaquePointer(ssl)) == 0 else {
            return false
        }
        return unsafe bb_ssl_has_surplus(OpaquePointer(ssl), socket ?? -1) != 0
    }
}
