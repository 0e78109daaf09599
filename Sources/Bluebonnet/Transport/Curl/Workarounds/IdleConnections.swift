import CCurl
import COpenSSL
import CSystem
import FoundationEssentials

/// Keeps libcurl from connections that are of no use for a request.
///
/// Before 8.5.0, libcurl may run two requests at once on one HTTP/1.1 connection, so that each may get the other's
/// answer. It does so when it believes that the host multiplexes: another connection speaks HTTP/2, or a status line
/// names HTTP/2. Before 8.0.0, and in 8.23.0, it reads bytes that wait on an idle HTTP/1.1 connection as the answer to
/// the next request, although no request asked for them (RFC 9112 §6.3). All versions tried, 7.88 to 8.23, use an idle
/// HTTP/2 connection on which a frame waits, even though the peer has closed it behind that frame. 8.23.0 uses a
/// connection that was used shortly before without a look at it, and does not send a body again when it cannot send.
///
/// The loop reports idle sockets that became readable, without a system call of its own. A connection that is certain
/// to be of no use is ended at once, and libcurl finds it dead, or is kept from it. With TLS, bytes on an HTTP/1.1
/// connection may be a ticket or a new key (RFC 8446 §4.6): such a connection is looked into before the next request
/// goes out on it.
struct IdleConnections {
    /// Whether this libcurl reads bytes that wait on an idle connection as an answer.
    static let readsUnsolicitedBytes = Libcurl.version < 0x08_00_00 || Libcurl.version > 0x08_0e_01

    /// The protocol of a connection.
    enum Version: Equatable {
        case http1
        /// HTTP/1.1 over TLS.
        case http1Secure
        case http2
    }

    /// The treatment of an idle connection.
    enum Action: Equatable {
        case nothing
        /// Make it look dead.
        case end
        /// Look into it before the next request goes out on it.
        case inspectBeforeUse
    }

    /// A connection that requests use, or have used.
    final class Connection {
        let socket: Int32
        let version: Version
        fileprivate var users = 1
        fileprivate var needsInspection = false
        fileprivate var isClosed = false

        fileprivate init(socket: Int32, version: Version) {
            self.socket = socket
            self.version = version
        }
    }

    /// By their ends, which is how libcurl names one to a request.
    private var connections: [ConnectionEndpoints: Connection] = [:]
    private var endsBySocket: [Int32: ConnectionEndpoints] = [:]
    /// The idle connections that were ended, by their sockets, as long as libcurl has them.
    private var dead: [Int32: ConnectionEndpoints] = [:]
    /// The sockets that were opened and have had no request yet.
    private var fresh: Set<Int32> = []
    private var idleCount = 0
    /// The origins that libcurl takes for ones that multiplex, by host and port.
    private var multiplexing: Set<String> = []
    /// Beyond that, every origin is treated as multiplexing: a request that waits costs a connection then.
    private static let multiplexingLimit = 10_000

    /// Whether no connection is idle.
    var isEmpty: Bool { idleCount == 0 }

    /// The treatment of an idle connection on which bytes came in.
    static func action(on version: Version, _ readiness: Readiness) -> Action {
        if !readiness.isDisjoint(with: [.peerClosed, .hangup, .error]) { return .end }
        switch version {
        case .http1: return .end
        case .http1Secure: return .inspectBeforeUse
        // PING, SETTINGS and their like are libcurl's to answer, when it uses the connection.
        case .http2: return .nothing
        }
    }

    mutating func opened(_ socket: Int32) {
        // Libcurl does not report that it has closed a socket whose connection was not made.
        closed(socket)
        fresh.insert(socket)
    }

    mutating func closed(_ socket: Int32) {
        fresh.remove(socket)
        dead[socket] = nil
        forget(socket)
    }

    /// An idle connection was ended; another may have its ends from now on.
    mutating func cutOff(_ socket: Int32) {
        dead[socket] = endsBySocket[socket]
        forget(socket)
    }

    private mutating func forget(_ socket: Int32) {
        guard let ends = endsBySocket.removeValue(forKey: socket),
            let connection = connections.removeValue(forKey: ends)
        else { return }
        connection.isClosed = true
        if connection.users == 0 { idleCount -= 1 }
    }

    mutating func becameReady(_ socket: Int32, _ readiness: Readiness) -> Action {
        // A request whose body is paused does not wait for its socket, and yet uses it.
        guard let connection = endsBySocket[socket].flatMap({ connections[$0] }), connection.users == 0 else {
            return .nothing
        }
        let action = Self.action(on: connection.version, readiness)
        if action == .inspectBeforeUse { connection.needsInspection = true }
        return action
    }

    /// The state of the connection that libcurl has chosen for a request.
    enum ConnectionChoice {
        /// Nothing is known of the connection.
        case unknown
        case good(Connection)
        /// The socket has to be looked into first.
        case suspect(Connection)
        /// Another request is under way on a connection that carries one at a time.
        case taken
        /// The connection was ended.
        case dead
    }

    /// A request is about to go out on the connection with these ends.
    ///
    /// - Parameters:
    ///   - ends: Its ends.
    ///   - origin: The host and the port of the request's URL.
    ///   - version: The protocol of a new connection.
    /// - Returns: The state of that connection.
    mutating func requestBegins(on ends: ConnectionEndpoints, to origin: () -> String, version: () -> Version)
        -> ConnectionChoice
    {
        if let connection = connections[ends] {
            // Libcurl does not believe that the host multiplexes: it has just ended the other request, and the loop has
            // not seen since whether something came in.
            let isShared = connection.users > 0 && connection.version != .http2
            guard !isShared || !multiplexes(origin) else { return .taken }
            if connection.users == 0 { idleCount -= 1 }
            connection.users += 1
            guard isShared || connection.needsInspection else { return .good(connection) }
            connection.needsInspection = false
            return .suspect(connection)
        }
        guard let socket = fresh.first(where: { ConnectionEndpoints(of: $0) == ends }) else {
            return dead.values.contains(ends) ? .dead : .unknown
        }
        fresh.remove(socket)
        let connection = Connection(socket: socket, version: version())
        if connection.version == .http2 { noteMultiplexing(origin) }
        connections[ends] = connection
        endsBySocket[socket] = ends
        return .good(connection)
    }

    /// A status line named HTTP/2.
    mutating func http2IsClaimed(on connection: Connection, to origin: () -> String) {
        if connection.version != .http2 { noteMultiplexing(origin) }
    }

    private mutating func noteMultiplexing(_ origin: () -> String) {
        if multiplexing.count < Self.multiplexingLimit { multiplexing.insert(origin()) }
    }

    private func multiplexes(_ origin: () -> String) -> Bool {
        multiplexing.count >= Self.multiplexingLimit || multiplexing.contains(origin())
    }

    /// A request does not use a connection any more; returns the socket if that is idle now.
    mutating func ended(_ connection: Connection) -> Int32? {
        guard !connection.isClosed else { return nil }
        connection.users -= 1
        guard connection.users == 0 else { return nil }
        idleCount += 1
        return connection.socket
    }
}

// Safety: OpenSSL's pointer is used within the callback in which libcurl names it.
extension Transfer {
    /// Notes that the request is about to go out on the connection with these ends; returns whether it may.
    ///
    /// If not, the connection holds bytes that would be treated as the answer, is in use, or was ended: libcurl begins
    /// again.
    func connectionIsChosen(_ ends: ConnectionEndpoints?) -> Bool {
        guard let easy, let multi else { return true }
        connectionIsLeft()
        guard let ends else {
            // All connections to a Unix domain socket look the same, so none is used twice.
            if IdleConnections.readsUnsolicitedBytes { forbidReuse() }
            return true
        }
        var suspect: Int32?
        var isDead = false
        switch multi.idleConnections.requestBegins(on: ends, to: { origin }, version: { version(of: easy) }) {
        case .unknown: break
        case .dead: isDead = true
        case .good(let chosen): connection = chosen
        case .suspect(let chosen): (connection, suspect) = (chosen, chosen.socket)
        case .taken:
            needsFreshConnection = true
            needsResend = true
            return false
        }
        guard isDead || hasUnsolicitedBytes(of: easy, on: suspect) else { return true }
        needsResend = true
        forbidReuse()
        return false
    }

    private func forbidReuse() {
        easy?.set(CURLOPT_FORBID_REUSE, 1)
        // The next request on the handle is not to have that.
        easy?.profile = nil
    }

    /// Whether the connection has bytes that no request asked for, or has ended; looks into the socket if there is one.
    private func hasUnsolicitedBytes(of easy: EasyHandle, on socket: Int32?) -> Bool {
        // Without TLS, waiting bytes are in the socket.
        if socket == nil, connection?.version == .http1 { return false }
        // Behind an HTTPS proxy, OpenSSL does not read from the socket.
        guard isSecure, !isProxied else { return socket.map { bb_socket_has_surplus($0) != 0 } ?? false }
        guard socket != nil || easy.long(CURLINFO_NUM_CONNECTS) == 0 else { return false }
        return easy.hasUnsolicitedTLSBytes(on: connection?.socket ?? -1, isReadable: socket != nil)
    }

    /// Notes that the transfer does not use its connection any more.
    func connectionIsLeft() {
        guard let connection else { return }
        self.connection = nil
        multi?.connectionIsLeft(connection)
    }

    /// Notes that the head of a response is of HTTP/2, by its status line.
    func http2IsClaimed() {
        guard let connection else { return }
        multi?.idleConnections.http2IsClaimed(on: connection, to: { origin })
    }

    private var origin: String {
        let url = request.url
        return "\(url.host(percentEncoded: false)?.lowercased() ?? ""):\(url.port ?? (isSecure ? 443 : 80))"
    }

    private func version(of easy: EasyHandle) -> IdleConnections.Version {
        if let isHTTP2 = easy.speaksHTTP2OverTLS { return isHTTP2 ? .http2 : .http1Secure }
        // To an HTTP proxy libcurl speaks HTTP/1.1, whatever is known of the server.
        return httpVersion == .http2PriorKnowledge && !isProxied ? .http2 : .http1
    }
}

// Safety: as above.
extension EasyHandle {
    /// Whether the connection speaks HTTP/2, by the handshake (RFC 7301); `nil` without TLS.
    var speaksHTTP2OverTLS: Bool? {
        unsafe bb_curl_get_ssl(pointer).map { unsafe bb_ssl_speaks_http2(OpaquePointer($0)) != 0 }
    }

    /// Whether a TLS connection holds bytes that no request asked for, or was closed by its peer.
    ///
    /// Reads the socket only if it is readable, or if OpenSSL has read ahead.
    fileprivate func hasUnsolicitedTLSBytes(on socket: Int32, isReadable: Bool) -> Bool {
        guard let ssl = unsafe bb_curl_get_ssl(pointer), unsafe bb_ssl_speaks_http2(OpaquePointer(ssl)) == 0 else {
            return false
        }
        return unsafe bb_ssl_has_surplus(OpaquePointer(ssl), socket, isReadable ? 1 : 0) != 0
    }
}

/// Tells a TCP connection from all others that are open: a port of this end alone may be that of several.
// Safety: the system reads and writes within the calls.
struct ConnectionEndpoints: Hashable {
    private let localPort: UInt16
    private let remotePort: UInt16
    private let isV6: Bool
    private let high: UInt64
    private let low: UInt64

    /// Those of a socket; `nil` when it is not connected.
    init?(of socket: Int32) {
        var ends = bb_ends()
        guard unsafe bb_socket_ends(socket, &ends) != 0 else { return nil }
        self.init(ends)
    }

    /// The endpoints that libcurl reports; `nil` for a connection that does not use TCP.
    init?(localPort: Int, remotePort: Int, remoteAddress: UnsafePointer<CChar>?) {
        var ends = bb_ends()
        guard let localPort = UInt16(exactly: localPort), let remotePort = UInt16(exactly: remotePort), localPort > 0,
            unsafe bb_ends_set_address(&ends, remoteAddress) != 0
        else { return nil }
        ends.local_port = localPort
        ends.remote_port = remotePort
        self.init(ends)
    }

    /// The port alone tells nearly all of them apart.
    func hash(into hasher: inout Hasher) {
        hasher.combine(localPort)
    }

    private init(_ ends: bb_ends) {
        localPort = ends.local_port
        remotePort = ends.remote_port
        isV6 = ends.is_v6 != 0
        (high, low) = ends.address
    }
}
