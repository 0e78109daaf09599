import CCurl
import COpenSSL
import CSystem
import FoundationEssentials

/// Prevents libcurl from using connections that are unusable for a request.
///
/// The defects of libcurl are:
///
/// - Before 8.5.0, libcurl may send two requests at the same time on one HTTP/1.1 connection, so that each request may
///   receive the other's response. This happens if libcurl treats the host as multiplexing, because another connection
///   uses HTTP/2 or a status line contains HTTP/2.
/// - Before 8.0.0, and in 8.23.0, libcurl treats bytes that wait on an idle HTTP/1.1 connection as the response to the
///   next request (RFC 9112 §6.3).
/// - All tested versions, 7.88 to 8.23, use an idle HTTP/2 connection with an unread frame, even if the peer has closed
///   the connection after this frame.
/// - Libcurl 8.23.0 does not check a connection that was used a short time before. If sending fails on this connection,
///   it does not send the body again.
///
/// With every version, the system is asked whether the peer has ended a used connection, before a request is sent on it
/// that must not be sent twice.
///
/// The loop reports idle sockets that became readable, without an additional system call. If a connection is certainly
/// unusable, it is ended immediately, or libcurl is prevented from using it. With TLS, bytes on an HTTP/1.1 connection
/// may be a ticket or a new key (RFC 8446 §4.6). Such a connection is checked before the next request is sent on it.
struct IdleConnections {
    /// Whether the installed libcurl treats bytes that wait on an idle connection as a response.
    static let readsUnsolicitedBytes = Libcurl.version < 0x08_00_00 || Libcurl.version > 0x08_0e_01

    /// The protocol of a connection.
    enum Version: Equatable {
        case http1
        /// HTTP/1.1 over TLS.
        case http1Secure
        /// HTTP/2 or HTTP/3.
        case multiplexed
    }

    /// How to handle an idle connection.
    enum Action: Equatable {
        case nothing
        /// Replace the socket, so that libcurl treats the connection as closed.
        case end
        /// Check the connection before the next request is sent on it.
        case inspectBeforeUse
    }

    /// A connection that requests use or have used.
    final class Connection {
        let socket: Int32
        let ends: ConnectionEndpoints
        let version: Version
        let addresses = ConnectionAddresses()
        /// The policy that evaluated the server; set only where ``QUICConnections`` requires it.
        var policy: TrustPolicy?
        /// The transfers whose responses are paused; set only where ``ReadsDuringPause`` requires it.
        var paused: Set<ObjectIdentifier> = []
        /// The interest in the socket to set when a response continues.
        var heldInterest: Interest?
        fileprivate(set) var users = 1
        /// The exchanges on the connection that the ``ConnectionGate`` counts.
        var share = ConnectionShare()
        /// Whether the server has answered a request.
        var hasAnswered = false
        /// How long the server keeps the connection for another request, and the time at which it gives up doing so.
        var reuseTime: ReuseTime?
        fileprivate var keptUntil: Int64?
        /// The number of requests that were sent on the connection.
        fileprivate(set) var requestCount = 1
        /// Whether several requests were in progress at the same time.
        fileprivate(set) var isShared = false
        /// Whether a request on the connection has failed, so that no more requests must be sent on it; only for QUIC.
        var isLost = false
        /// The number of requests that were to use another connection, because this one had served many; only for QUIC.
        var refusals = 0
        /// Whether the requests on the connection are traced, and the latest frame of which libcurl has told them; see
        /// ``RefusedStreams``.
        var isTraced = false
        var goAway: RefusedStreams.GoAway?
        lazy var isQUIC = QUICConnections.isQUIC(socket)
        fileprivate var needsInspection = false
        fileprivate(set) var isClosed = false
        fileprivate var port: Int { Int(ends.localPort) }
        /// Whether the peer has ended the connection, so that it cannot serve another request.
        fileprivate var hasEnded: Bool { requestCount > 1 && bb_socket_has_ended(socket) != 0 }
        /// Whether the connection is open, and requests are in progress on it.
        var isInUse: Bool { users > 0 && !isClosed }

        fileprivate init(socket: Int32, ends: ConnectionEndpoints, version: Version) {
            self.socket = socket
            self.ends = ends
            self.version = version
        }
    }

    /// The connections by their local ports; libcurl identifies the connection of a request by its endpoints.
    ///
    /// A few connections may have the same local port and different peers. The keys are `Int`; see ``TransferID``.
    private var connections: [Int: [Connection]] = [:]
    private var connectionsBySocket: [Int: Connection] = [:]
    /// The idle connections that were ended, by their sockets, until libcurl closes them.
    private var dead: [Int: ConnectionEndpoints] = [:]
    private var fresh = FreshSockets()
    private var idleCount = 0
    /// The origins that libcurl treats as multiplexing, by host and port.
    private var multiplexing: Set<String> = []
    /// The number of origins above which every origin is treated as multiplexing; a waiting request then opens a
    /// connection.
    private static let multiplexingLimit = 10_000

    /// Whether no connection is idle.
    var isEmpty: Bool { idleCount == 0 }

    /// The number of connections that were ended, and that libcurl has not closed yet.
    var endedCount: Int { dead.count }

    var idleSockets: [Int32] { connectionsBySocket.values.filter { $0.users == 0 }.map(\.socket) }

    /// Returns how to handle an idle connection that became ready.
    static func action(on version: Version, _ readiness: Readiness) -> Action {
        if !readiness.isDisjoint(with: [.peerClosed, .hangup, .error]) { return .end }
        switch version {
        case .http1: return .end
        case .http1Secure: return .inspectBeforeUse
        // Libcurl answers PING, SETTINGS and similar frames when it uses the connection.
        case .multiplexed: return .nothing
        }
    }

    mutating func opened(_ socket: Int32) {
        // Libcurl does not report that it has closed a socket whose connection failed.
        closed(socket)
        fresh.insert(socket)
    }

    mutating func closed(_ socket: Int32) {
        fresh.remove(socket)
        dead[Int(socket)] = nil
        forget(socket)
    }

    /// Called when an idle connection was ended; another connection may have the same endpoints from now on.
    mutating func cutOff(_ socket: Int32) {
        guard let connection = connection(with: socket) else { return }
        dead[Int(socket)] = connection.ends
        forget(socket)
    }

    private mutating func forget(_ socket: Int32) {
        guard let connection = connectionsBySocket.removeValue(forKey: Int(socket)) else { return }
        connections[connection.port]?.removeAll { $0 === connection }
        if connections[connection.port]?.isEmpty == true { connections[connection.port] = nil }
        connection.isClosed = true
        if connection.users == 0 { idleCount -= 1 }
    }

    mutating func becameReady(_ socket: Int32, _ readiness: Readiness) -> Action {
        // A request whose body is paused does not wait for its socket, but still uses it.
        guard let connection = connection(with: socket), connection.users == 0 else {
            return .nothing
        }
        let action = Self.action(on: connection.version, readiness)
        if action == .inspectBeforeUse { connection.needsInspection = true }
        return action
    }

    /// The state of the connection that libcurl has chosen for a request.
    enum ConnectionChoice {
        /// The connection is not known.
        case unknown
        case good(Connection)
        /// The socket must be checked first.
        case suspect(Connection)
        /// Another request is in progress on a connection that handles only one request at a time.
        case taken
        /// The connection was ended.
        case dead
    }

    /// Called when a request is about to be sent on a connection.
    ///
    /// - Parameters:
    ///   - ends: The endpoints of the connection.
    ///   - origin: Returns the host and the port of the request's URL.
    ///   - version: Returns the protocol of a new connection.
    ///   - now: The time, on the monotonic clock in nanoseconds.
    /// - Returns: The state of the connection.
    mutating func requestBegins(
        on ends: ConnectionEndpoints, to origin: () -> String, version: () -> Version, now: Int64
    ) -> ConnectionChoice {
        if let connection = connection(at: ends) {
            guard !connection.isLost, !isSpent(connection) else { return .dead }
            if let end = connection.keptUntil, end <= now { return .dead }
            // If libcurl does not treat the host as multiplexing, it has just ended the other request. The loop has not
            // checked since then whether bytes have arrived.
            let isShared = connection.users > 0 && connection.version != .multiplexed
            guard !isShared || !multiplexes(origin) else { return .taken }
            if connection.users == 0 { idleCount -= 1 }
            connection.users += 1
            connection.requestCount += 1
            if connection.users > 1 { connection.isShared = true }
            guard isShared || connection.needsInspection else { return .good(connection) }
            connection.needsInspection = false
            return .suspect(connection)
        }
        guard let socket = freshSocket(at: ends) else {
            return dead.values.contains(ends) ? .dead : .unknown
        }
        fresh.remove(socket)
        let connection = Connection(
            socket: socket, ends: ends, version: QUICConnections.isHidden(socket) ? .multiplexed : version())
        if connection.version == .multiplexed { noteMultiplexing(origin) }
        connections[connection.port, default: []].append(connection)
        connectionsBySocket[Int(socket)] = connection
        return .good(connection)
    }

    func connection(at ends: ConnectionEndpoints) -> Connection? {
        connections[Int(ends.localPort)]?.first { $0.ends == ends }
    }

    func connection(with socket: Int32) -> Connection? { connectionsBySocket[Int(socket)] }

    /// The socket of a connection that has not served a request yet; `nil` if there is none.
    mutating func freshSocket(at ends: ConnectionEndpoints) -> Int32? { fresh.socket(at: ends) }

    /// Called when a status line contained HTTP/2 or HTTP/3.
    mutating func multiplexingIsClaimed(on connection: Connection, to origin: () -> String) {
        if connection.version != .multiplexed { noteMultiplexing(origin) }
    }

    private mutating func noteMultiplexing(_ origin: () -> String) {
        if multiplexing.count < Self.multiplexingLimit { multiplexing.insert(origin()) }
    }

    private func multiplexes(_ origin: () -> String) -> Bool {
        !multiplexing.isEmpty && (multiplexing.count >= Self.multiplexingLimit || multiplexing.contains(origin()))
    }

    /// Called when a request no longer uses a connection; returns the socket if the connection is idle now.
    mutating func ended(_ connection: Connection, now: Int64) -> Int32? {
        guard !connection.isClosed else { return nil }
        connection.keptUntil = connection.reuseTime.map { now + $0.nanoseconds }
        connection.users -= 1
        guard connection.users == 0 else { return nil }
        idleCount += 1
        return connection.socket
    }
}

/// The sockets that were opened and have not served a request yet.
///
/// They are found by their local ports. The system assigns the port when libcurl connects the socket, which is after
/// it was opened. The port of each socket is therefore read at the first search after that. With thousands of new
/// connections, reading all ports for each request would take most of the time.
struct FreshSockets {
    /// The sockets whose ports are not known yet.
    ///
    /// The keys are `Int`; see ``TransferID``.
    private var unbound: Set<Int> = []
    private var ports: [Int: Int] = [:]
    /// A few sockets may have the same local port and different peers.
    private var sockets: [Int: [Int32]] = [:]

    mutating func insert(_ socket: Int32) { unbound.insert(Int(socket)) }

    mutating func remove(_ socket: Int32) {
        guard unbound.remove(Int(socket)) == nil, let port = ports.removeValue(forKey: Int(socket)) else { return }
        sockets[port]?.removeAll { $0 == socket }
        if sockets[port]?.isEmpty == true { sockets[port] = nil }
    }

    /// The socket of the connection with these endpoints; `nil` if there is none.
    mutating func socket(at ends: ConnectionEndpoints) -> Int32? {
        for socket in unbound {
            let port = Int(bb_local_port(Int32(socket)))
            guard port > 0 else { continue }
            unbound.remove(socket)
            ports[socket] = port
            sockets[port, default: []].append(Int32(socket))
        }
        return sockets[Int(ends.localPort)]?.first { ConnectionEndpoints(of: $0) == ends }
    }
}

// Safety: OpenSSL's pointer is used within the callback in which libcurl provides it.
extension Transfer {
    /// Called when the request is about to be sent on the connection with these endpoints; returns whether it may be
    /// sent.
    ///
    /// It must not be sent if the connection contains bytes that would be treated as the response, is in use, or was
    /// ended. Libcurl then starts again.
    func connectionIsChosen(_ ends: ConnectionEndpoints?) -> Bool {
        guard let easy, let multi else { return true }
        connectionIsLeft()
        addresses = nil
        guard let ends else {
            // All connections to a Unix domain socket have the same endpoints, so they are not reused. A connection for
            // another protocol is never reused, and libcurl would close it before it can be used.
            if IdleConnections.readsUnsolicitedBytes, upgrade == nil { forbidReuse() }
            return true
        }
        var suspect: Int32?
        var isDead = false
        switch multi.idleConnections.requestBegins(
            on: ends, to: { origin }, version: { version(of: easy) },
            // Libcurl would forget the challenge on another connection.
            now: resends.isChallenged ? .min : turn.now)
        {
        case .unknown: break
        case .dead: isDead = true
        case .good(let chosen):
            (connection, addresses) = (chosen, chosen.addresses)
            isDead = dependsOnRefusal && chosen.hasEnded
            // The loop has not looked at the socket since the challenge. Bytes after its body are not the response to
            // the request with the credential.
            if resends.isChallenged, chosen.version != .multiplexed, chosen.requestCount > 1 {
                suspect = chosen.socket
            }
            if QUICConnections.areHidden, let policy = trust.policy { chosen.policy = policy }
        case .suspect(let chosen): (connection, addresses, suspect) = (chosen, chosen.addresses, chosen.socket)
        case .taken:
            resends.halts(needsOwnConnection: true)
            return false
        }
        receivingChanged(isPaused: false)
        // Otherwise, libcurl may choose the connection again while other requests use it.
        if isDead { resends.connectionEnds() }
        guard isDead || hasUnsolicitedBytes(of: easy, on: suspect) else { return true }
        resends.halts()
        forbidReuse()
        return false
    }

    func forbidReuse() {
        easy?.set(CURLOPT_FORBID_REUSE, 1)
        // The next request on the handle must not have this option.
        easy?.profile = nil
    }

    /// Whether the connection contains bytes that do not belong to a request, or has ended; checks the given socket.
    private func hasUnsolicitedBytes(of easy: EasyHandle, on socket: Int32?) -> Bool {
        // Without TLS, the waiting bytes are in the socket.
        if socket == nil, connection?.version == .http1 { return false }
        // Behind an HTTPS proxy, OpenSSL does not read from the socket.
        guard isSecure, !isProxied else { return socket.map { bb_socket_has_surplus($0) != 0 } ?? false }
        guard socket != nil || easy.long(CURLINFO_NUM_CONNECTS) == 0 else { return false }
        return easy.hasUnsolicitedTLSBytes(on: connection?.socket ?? -1, isReadable: socket != nil)
    }

    /// Called when the transfer no longer uses its connection.
    func connectionIsLeft() {
        guard let connection else { return }
        self.connection = nil
        multi?.connectionIsLeft(connection, now: turn.now)
        receivingEnded(on: connection)
    }

    /// Called when the status line of a response contains HTTP/2 or HTTP/3.
    func multiplexingIsClaimed() {
        guard let connection else { return }
        multi?.idleConnections.multiplexingIsClaimed(on: connection, to: { origin })
    }

    private var origin: String {
        "\(url.host(percentEncoded: false)?.lowercased() ?? ""):\(url.port ?? (isSecure ? 443 : 80))"
    }

    private func version(of easy: EasyHandle) -> IdleConnections.Version {
        if let isMultiplexed = easy.isMultiplexedOverTLS { return isMultiplexed ? .multiplexed : .http1Secure }
        // With an HTTP proxy, libcurl uses HTTP/1.1, even if the server supports HTTP/2.
        return httpVersion == .http2PriorKnowledge && !isProxied ? .multiplexed : .http1
    }
}

// Safety: OpenSSL's pointer is used within the callback in which libcurl provides it.
extension EasyHandle {
    /// Whether the TLS handshake negotiated HTTP/2 or HTTP/3 (RFC 7301); `nil` without TLS.
    var isMultiplexedOverTLS: Bool? {
        unsafe bb_curl_get_ssl(pointer).map { unsafe bb_ssl_is_multiplexed(OpaquePointer($0)) != 0 }
    }

    /// Whether a TLS connection contains bytes that do not belong to a request, or was closed by its peer.
    ///
    /// The method reads the socket only if it is readable, or if OpenSSL has read ahead.
    fileprivate func hasUnsolicitedTLSBytes(on socket: Int32, isReadable: Bool) -> Bool {
        guard let ssl = unsafe bb_curl_get_ssl(pointer), unsafe bb_ssl_is_multiplexed(OpaquePointer(ssl)) == 0 else {
            return false
        }
        return unsafe bb_ssl_has_surplus(OpaquePointer(ssl), socket, isReadable ? 1 : 0) != 0
    }
}

/// Identifies a TCP connection among all open connections; several connections may have the same local port.
// Safety: the system uses the pointers only during the call.
struct ConnectionEndpoints: Equatable {
    let localPort: UInt16
    private let remotePort: UInt16
    private let isV6: Bool
    private let high: UInt64
    private let low: UInt64

    /// The endpoints of a socket; `nil` if the socket is not connected.
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

    private init(_ ends: bb_ends) {
        localPort = ends.local_port
        remotePort = ends.remote_port
        isV6 = ends.is_v6 != 0
        (high, low) = ends.address
    }
}
