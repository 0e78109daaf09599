import BluebonnetLibc
import CCurl
import CSystem

/// Owns a libcurl multi handle, and registers its sockets and times with the loop.
///
/// An instance belongs to the engine and never leaves the loop's thread. Libcurl's callbacks only call the loop.
// Safety: the callbacks' context is this object, which frees its handle, and with it the callbacks, in `deinit`. Only
// the loop's thread uses the unchecked property; see ``Transfer``.
@safe
final class MultiHandle {
    private let pointer: UnsafeMutableRawPointer
    let loop: EventLoop
    private var isEnding = false
    /// The time at which libcurl must be called even if no socket is ready, in nanoseconds on the monotonic clock.
    private(set) var deadline: Int64?
    /// The open sockets of connections; other sockets that libcurl watches belong to its resolver.
    ///
    /// The elements are `Int`; see ``TransferID``.
    private var sockets: Set<Int> = []
    /// The sockets that the loop watches for this handle.
    private var watched: Set<Int> = []
    /// The unused connections, some of which libcurl must not use.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var idleConnections = IdleConnections()
    /// Prevents peers from keeping libcurl busy.
    let floods: FloodMonitor
    /// The system error for a socket that could not be opened or watched in this turn.
    private(set) var systemError: SystemError?
    /// The sockets that no longer count, because they were replaced.
    private var uncounted: Set<Int> = []
    /// The sockets on which no request was sent, with the numbers by which the system identifies them.
    ///
    /// Libcurl before 8.2.0 does not report that it closes them if it gives them up. It reports those that failed.
    private var unsettled: [Int: (identity: UInt64, owner: TransferID?)] = [:]
    /// The transfers whose sockets were closed before a request was sent; see ``NextAttempts``.
    private var endedAttempts: [TransferID] = []
    /// The unread bytes of the sockets that were closed in this turn.
    private(set) var unreadResponses = UnreadResponses()

    init?(
        loop: EventLoop, limits: Session.Configuration.ConnectionLimits, isMultiplexing: Bool,
        counts: ReceiveCounts
    ) {
        guard let pointer = unsafe InheritedDescriptors.makeMulti() else { return nil }
        unsafe self.pointer = unsafe pointer
        self.loop = loop
        floods = FloodMonitor(counts: counts)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe bb_curl_multi_set_callbacks(
            pointer,
            { _, socket, what, context, _ in
                unsafe MultiHandle.from(context)?.interestChanged(socket: socket, what: what)
                return 0
            },
            { _, milliseconds, context in
                unsafe MultiHandle.from(context)?.timeoutChanged(milliseconds: milliseconds)
                return 0
            }, context)
        set(CURLMOPT_PIPELINING, isMultiplexing ? Int(CURLPIPE_MULTIPLEX) : 0)
        set(CURLMOPT_MAX_HOST_CONNECTIONS, limits.perHost ?? 0)
        set(CURLMOPT_MAX_TOTAL_CONNECTIONS, limits.total ?? 0)
        // The server determines the number of streams per HTTP/2 connection. Libcurl's default limit is 100.
        set(CURLMOPT_MAX_CONCURRENT_STREAMS, Int(Int32.max))
        unsafe BlockingLookups.avoid(on: pointer)
        // Libcurl's default limit, four connections per transfer in progress, closes good connections after many
        // requests.
        set(CURLMOPT_MAXCONNECTS, max(1, limits.idle))
    }

    deinit {
        isEnding = true
        // Closes the kept connections, which calls `close(_:)`.
        unsafe curl_multi_cleanup(pointer)
        for socket in sockets { forget(socket) }
        for socket in watched.map(Int32.init) where isWatching(socket) { loop.unwatch(socket) }
    }

    // MARK: Calls from the engine

    func add(_ easy: EasyHandle) -> CURLMcode {
        if easy.socketOwner != ObjectIdentifier(self) { setSocketCallbacks(on: easy) }
        return unsafe curl_multi_add_handle(pointer, easy.pointer)
    }

    /// Sets the callbacks that open and close sockets.
    ///
    /// Connections outlive transfers, but not this handle.
    private func setSocketCallbacks(on easy: EasyHandle) {
        easy.socketOwner = ObjectIdentifier(self)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let isOpening = unsafe bb_curl_set_opensocket_callback(
            easy.pointer,
            { context, _, address in
                guard let address = unsafe address else { return -1 }
                let socket = unsafe BluebonnetLibc.socket(
                    address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
                    address.pointee.protocol)
                unsafe MultiHandle.from(context)?.opened(socket)
                return socket
            }, context)
        let isClosing = unsafe bb_curl_set_closesocket_callback(
            easy.pointer, { unsafe MultiHandle.from($0)?.close($1) ?? BluebonnetLibc.close($1) }, context)
        easy.note(isOpening, CURLOPT_OPENSOCKETFUNCTION)
        easy.note(isClosing, CURLOPT_CLOSESOCKETFUNCTION)
    }

    func remove(_ easy: EasyHandle) {
        unsafe curl_multi_remove_handle(pointer, easy.pointer)
        sweepUnsettled()
    }

    /// Stops watching a socket, which another owner watches from now on.
    func handOver(_ socket: curl_socket_t) { unwatch(socket) }

    /// Lets libcurl do the work that is due now.
    func runTimeouts(now: Int64) {
        // Libcurl often requests a new call immediately while a transfer starts. A few rounds here save turns of the
        // loop.
        var rounds = 0
        while let due = deadline, due <= now, rounds < 8 {
            rounds += 1
            deadline = nil
            act(on: bb_curl_socket_timeout, events: 0)
        }
    }

    /// Whether libcurl has work that is due by a given time.
    func isDue(at time: Int64) -> Bool { deadline.map { $0 <= time } ?? false }

    /// The number of open connections, including those that are being opened.
    var connectionCount: Int { sockets.count }

    /// Makes libcurl read from all of its sockets, ready or not.
    func readAll() {
        for socket in sockets { read(Int32(socket)) }
    }

    /// Makes libcurl read from a socket, ready or not.
    func read(_ socket: curl_socket_t) { act(on: socket, events: CURL_CSELECT_IN) }

    /// Replaces a socket that is connecting by one that has failed; returns whether it was replaced.
    func fail(_ socket: curl_socket_t) -> Bool {
        isWatching(socket) && whileUnwatched(socket) { floods.end(socket, fails: true) }
    }

    /// Replaces a socket that is connecting by a connected one, which the caller closes; returns whether it was
    /// replaced.
    func replace(_ socket: curl_socket_t, by other: Int32) -> Bool {
        whileUnwatched(socket) { floods.replace(socket, by: other) }
    }

    /// Calls a closure that replaces a socket, which the loop must not watch meanwhile.
    private func whileUnwatched(_ socket: curl_socket_t, _ replace: () -> Bool) -> Bool {
        guard isWatching(socket) else { return replace() }
        let interest = loop.interest(in: socket)
        unwatch(socket)
        defer { watch(socket, for: interest) }
        return replace()
    }

    /// Makes libcurl notice that a socket has ended, for which the loop gets no event.
    func notice(endOf socket: curl_socket_t) {
        if sockets.contains(Int(socket)) { act(on: socket, events: CURL_CSELECT_IN | CURL_CSELECT_ERR) }
    }

    /// Makes libcurl check a socket that is connecting.
    func check(_ socket: curl_socket_t) { act(on: socket, events: CURL_CSELECT_OUT) }

    /// Makes libcurl send on a socket; the first transfer that it handles does not read incoming bytes.
    func send(on socket: curl_socket_t) { act(on: socket, events: CURL_CSELECT_OUT) }

    /// The context and the result code of a transfer that has ended; `nil` after the last one.
    func nextFinished() -> (UnsafeMutableRawPointer, CURLcode)? {
        var code = CURLE_OK
        while let easy = unsafe bb_curl_multi_next_finished(pointer, &code) {
            if let context = unsafe bb_curl_get_private(easy) { return unsafe (context, code) }
        }
        unreadResponses.forget()
        systemError = nil
        return nil
    }

    // MARK: Requests from libcurl

    private func interestChanged(socket: curl_socket_t, what: Int32) {
        // Libcurl 7.88 passes no socket if a shared connection has lost its socket.
        // Since 8.10, it also reports the sockets that it closes gracefully at the end.
        guard socket >= 0, !isEnding else { return }
        var interest: Interest = []
        if what & CURL_POLL_IN != 0 { interest.insert(.readable) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.writable) }
        guard what != CURL_POLL_REMOVE else {
            // The socket of a connection stays registered for its next use; the resolver's sockets are closed now.
            guard isWatching(socket) else { return }
            return sockets.contains(Int(socket)) ? loop.setInterest([], of: socket) : unwatch(socket)
        }
        guard !isWatching(socket) else { return loop.setInterest(interest, of: socket) }
        watch(socket, for: interest)
    }

    private func watch(_ socket: curl_socket_t, for interest: Interest) {
        // Libcurl before 8.2.0 does not report that it closes a socket whose connection failed. The watch then belongs
        // to another socket with the same number.
        loop.unwatch(socket)
        watched.insert(Int(socket))
        // For its own lookups, libcurl opens sockets without the callback.
        if !sockets.contains(Int(socket)) { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
        loop.watch(
            socket, for: interest, by: ObjectIdentifier(self),
            whileIdle: { [unowned self] in becameReady(socket, whileIdle: $0) }
        ) { [unowned self] readiness in
            if readiness.contains(.refused), sockets.contains(Int(socket)) { return closeUnwatchable(socket) }
            guard !holdsBack(socket) else { return }
            var events: Int32 = 0
            if readiness.contains(.readable) { events |= CURL_CSELECT_IN }
            if readiness.contains(.writable) { events |= CURL_CSELECT_OUT }
            // A response that has already arrived is read before more bytes are sent, because it may be lost if sending
            // fails (RFC 9112 §9.5).
            if events == CURL_CSELECT_OUT, Self.isReadable(socket) { events |= CURL_CSELECT_IN }
            if !readiness.isDisjoint(with: [.error, .hangup]) { events |= CURL_CSELECT_IN | CURL_CSELECT_ERR }
            self.act(on: socket, events: events)
        }
    }

    // Safety: the system writes into the value only within the call.
    private static func isReadable(_ socket: curl_socket_t) -> Bool {
        var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&state, 1, 0) > 0
    }

    private func timeoutChanged(milliseconds: Int) {
        // An immediate call is due in the current turn.
        deadline =
            milliseconds < 0 ? nil : milliseconds == 0 ? 0 : MonotonicClock.now() + Int64(milliseconds) * 1_000_000
    }

    private func opened(_ socket: curl_socket_t) {
        guard socket >= 0 else {
            systemError = SystemError(errno)
            return ConnectionBudget.shared.socketRefused()
        }
        loop.unwatch(socket)
        forget(Int(socket))
        sockets.insert(Int(socket))
        ConnectionBudget.shared.socketOpened()
        if NextAttempts.areNeeded { unsettled[Int(socket)] = (bb_socket_identity(socket), nil) }
        idleConnections.opened(socket)
        floods.opened(socket)
    }

    /// Called when a socket was opened for a transfer.
    func begins(_ socket: curl_socket_t, for owner: TransferID) { unsettled[Int(socket)]?.owner = owner }

    /// Returns the next transfer for which libcurl has closed a socket on which no request was sent.
    func takeEndedAttempt() -> TransferID? { endedAttempts.popLast() }

    private func close(_ socket: curl_socket_t) -> Int32 {
        if let owner = unsettled[Int(socket)]?.owner { endedAttempts.append(owner) }
        if sockets.contains(Int(socket)) { unreadResponses.closing(socket) }
        settled(socket)
        forget(Int(socket))
        idleConnections.closed(socket)
        unwatch(socket)
        return floods.close(socket)
    }

    private func forget(_ socket: Int) {
        guard sockets.remove(socket) != nil, uncounted.remove(socket) == nil else { return }
        ConnectionBudget.shared.socketClosed()
    }

    /// Forgets the sockets that libcurl has closed without the callback.
    private func sweepUnsettled() {
        guard !unsettled.isEmpty else { return }
        for (socket, entry) in unsettled where bb_socket_identity(Int32(socket)) != entry.identity {
            unsettled[socket] = nil
            guard sockets.contains(socket) else { continue }
            forget(socket)
            idleConnections.closed(Int32(socket))
            unwatch(Int32(socket))
            floods.forget(Int32(socket))
        }
    }

    /// Called when a request is sent on a connection, whose end libcurl will report.
    func settled(_ socket: Int32) { if !unsettled.isEmpty { unsettled[Int(socket)] = nil } }

    /// Shuts down a socket that the system refuses to watch; libcurl would wait for it indefinitely.
    private func closeUnwatchable(_ socket: curl_socket_t) {
        systemError = SystemError(ENOSPC)
        guard floods.end(socket) else { return }
        act(on: socket, events: CURL_CSELECT_IN | CURL_CSELECT_ERR)
    }

    /// Returns the system's error message if a transfer failed in this turn because of missing system resources.
    func shortage(behind code: CURLcode) -> String? {
        switch code {
        case CURLE_COULDNT_CONNECT, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SSL_CONNECT_ERROR, CURLE_GOT_NOTHING:
            return systemError?.message
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            // Libcurl does not report the reason. A lookup also needs file descriptors, so this code tests whether one
            // is available.
            let descriptor = bb_eventfd_create()
            guard descriptor < 0 else {
                _ = BluebonnetLibc.close(descriptor)
                return nil
            }
            return SystemError(errno).message
        default:
            return nil
        }
    }

    /// Called when a request no longer uses a connection.
    func connectionIsLeft(_ connection: IdleConnections.Connection, now: Int64) {
        guard let socket = idleConnections.ended(connection, now: now) else { return }
        idleConnections.endIfLost(connection)
        // While the body was paused, the connection was in use, and no bytes were reported.
        loop.rearmIdleHandler(of: socket)
    }

    /// Handles a connection that received bytes or lost its peer while no request used it.
    private func becameReady(_ socket: curl_socket_t, whileIdle readiness: Readiness) {
        if idleConnections.becameReady(socket, readiness) == .end { endIdle(socket) }
    }

    private func endIdle(_ socket: curl_socket_t) {
        // Libcurl notices on the next use that the connection is closed. The system stops watching a closed socket.
        guard floods.end(socket) else { return }
        idleConnections.cutOff(socket)
        unwatch(socket)
    }

    /// Closes the idle connections.
    ///
    /// With libcurl 8.16.0 and later, later transfers do not use the other connections either, and look up names again.
    func renewConnections() {
        if Libcurl.version >= 0x08_10_00 { set(bb_curlmopt_network_changed, bb_curlmnwc_clear) }
        closeIdle()
    }

    /// Ends the idle connections.
    ///
    /// Libcurl frees their descriptors when it next looks for a connection. They no longer count, because this can take
    /// a long time.
    func closeIdle() {
        for socket in idleConnections.idleSockets {
            endIdle(socket)
            if uncounted.insert(Int(socket)).inserted { ConnectionBudget.shared.socketClosed() }
        }
    }

    private func isWatching(_ socket: curl_socket_t) -> Bool { loop.isWatching(socket, for: ObjectIdentifier(self)) }

    private func unwatch(_ socket: curl_socket_t) {
        watched.remove(Int(socket))
        if isWatching(socket) { loop.unwatch(socket) }
    }

    private func act(on socket: curl_socket_t, events: Int32) {
        var running: Int32 = 0
        unsafe curl_multi_socket_action(pointer, socket, events, &running)
    }

    private func set(_ option: CURLMoption, _ value: Int) {
        unsafe bb_curl_multi_set_long(pointer, option, value)
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> MultiHandle? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
    }
}
