import CCurl
import CSystem
import Glibc

/// Owns one of libcurl's multi handles, and passes the sockets and the time that libcurl waits for to the loop.
///
/// Belongs to the engine; never leaves the loop's thread. Libcurl's callbacks only pass the wishes on to the loop.
// Safety: the callbacks' context is this object, which ends its handle and so the callbacks before it goes.
@safe
final class MultiHandle {
    private let pointer: UnsafeMutableRawPointer
    private let loop: EventLoop
    /// When libcurl wants to be called even if no socket is ready, on the monotonic clock in nanoseconds.
    private(set) var deadline: Int64?
    /// The sockets that were opened and not closed yet; others that libcurl watches are its resolver's.
    private var sockets: Set<Int32> = []
    /// The sockets that the loop watches for this handle.
    private var watched: Set<Int32> = []
    /// The connections that no request uses, where libcurl has to be kept from them.
    var idleConnections = IdleConnections()
    /// Keeps peers from keeping libcurl busy.
    let floods: FloodMonitor
    /// Why the system gave no socket, or would not watch one, in this turn.
    private(set) var systemError: SystemError?
    /// The bytes that were left unread in the sockets that were closed in this turn.
    private(set) var unreadResponses = UnreadResponses()

    init?(
        loop: EventLoop, limits: Session.Configuration.ConnectionLimits, isMultiplexing: Bool,
        reportedBytes: ReportedByteCounts
    ) {
        guard let pointer = unsafe curl_multi_init() else { return nil }
        unsafe self.pointer = unsafe pointer
        self.loop = loop
        floods = FloodMonitor(reportedBytes: reportedBytes)
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
        // Streams on one HTTP/2 connection: as many as the server allows, rather than libcurl's 100.
        set(CURLMOPT_MAX_CONCURRENT_STREAMS, Int(Int32.max))
        unsafe BlockingLookups.avoid(on: pointer)
        // Libcurl's own limit, four for each transfer in flight, closes good connections when a batch has ended.
        set(CURLMOPT_MAXCONNECTS, max(1, limits.idle))
    }

    deinit {
        // Closes the kept connections, by way of `close(_:)`.
        unsafe curl_multi_cleanup(pointer)
        for socket in watched where isWatching(socket) { loop.unwatch(socket) }
    }

    // MARK: What the engine asks for

    func add(_ easy: EasyHandle) -> CURLMcode {
        if easy.socketOwner != ObjectIdentifier(self) { setSocketCallbacks(on: easy) }
        return unsafe curl_multi_add_handle(pointer, easy.pointer)
    }

    /// Sockets are opened and closed on behalf of connections, which outlive transfers, but not this handle.
    private func setSocketCallbacks(on easy: EasyHandle) {
        easy.socketOwner = ObjectIdentifier(self)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let isOpening = unsafe bb_curl_set_opensocket_callback(
            easy.pointer,
            { context, _, address in
                guard let address = unsafe address else { return -1 }
                let socket = unsafe Glibc.socket(
                    address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
                    address.pointee.protocol)
                unsafe MultiHandle.from(context)?.opened(socket)
                return socket
            }, context)
        let isClosing = unsafe bb_curl_set_closesocket_callback(
            easy.pointer, { unsafe MultiHandle.from($0)?.close($1) ?? Glibc.close($1) }, context)
        easy.note(isOpening, CURLOPT_OPENSOCKETFUNCTION)
        easy.note(isClosing, CURLOPT_CLOSESOCKETFUNCTION)
    }

    func remove(_ easy: EasyHandle) {
        unsafe curl_multi_remove_handle(pointer, easy.pointer)
    }

    /// Lets libcurl do the work that is due by now.
    func runTimeouts(now: Int64) {
        // Libcurl asks for "at once" again and again while a transfer starts; a few rounds here save turns of the loop.
        var rounds = 0
        while let due = deadline, due <= now, rounds < 8 {
            rounds += 1
            deadline = nil
            act(on: bb_curl_socket_timeout, events: 0)
        }
    }

    /// Whether libcurl wants to do something by a time.
    func isDue(at time: Int64) -> Bool { deadline.map { $0 <= time } ?? false }

    /// Has libcurl look at its sockets, ready or not.
    func readAll() {
        for socket in sockets { read(socket) }
    }

    /// Has libcurl look at a socket, ready or not.
    func read(_ socket: curl_socket_t) { act(on: socket, events: CURL_CSELECT_IN) }

    /// Has libcurl send on a socket; the first transfer that it serves does not look at incoming bytes.
    func send(on socket: curl_socket_t) { act(on: socket, events: CURL_CSELECT_OUT) }

    /// Calls `body` with each transfer's context that has ended, and how.
    func takeFinished(_ body: (UnsafeMutableRawPointer, CURLcode) -> Void) {
        defer {
            unreadResponses.forget()
            systemError = nil
        }
        var code = CURLE_OK
        while let easy = unsafe bb_curl_multi_next_finished(pointer, &code) {
            guard let context = unsafe bb_curl_get_private(easy) else { continue }
            unsafe body(context, code)
        }
    }

    // MARK: What libcurl asks for

    private func interestChanged(socket: curl_socket_t, what: Int32) {
        // Libcurl 7.88 names no socket when a connection that others use has lost its own.
        guard socket >= 0 else { return }
        var interest: Interest = []
        if what & CURL_POLL_IN != 0 { interest.insert(.readable) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.writable) }
        guard what != CURL_POLL_REMOVE else {
            // A socket of a connection stays known, since it will be used again; the resolver's are closed now.
            guard isWatching(socket) else { return }
            return sockets.contains(socket) ? loop.setInterest([], of: socket) : unwatch(socket)
        }
        guard !isWatching(socket) else { return loop.setInterest(interest, of: socket) }
        // Libcurl before 8.2.0 silently closes a socket whose connection was not made. Its number, and the watch under
        // it, belong to another socket later.
        loop.unwatch(socket)
        watched.insert(socket)
        loop.watch(
            socket, for: interest, by: ObjectIdentifier(self),
            whileIdle: { [unowned self] in becameReady(socket, whileIdle: $0) }
        ) { [unowned self] readiness in
            if readiness.contains(.refused), sockets.contains(socket) { return closeUnwatchable(socket) }
            var events: Int32 = 0
            if readiness.contains(.readable) { events |= CURL_CSELECT_IN }
            if readiness.contains(.writable) { events |= CURL_CSELECT_OUT }
            // An answer that came since the wait is read before more is sent: after it, sending may fail (RFC 9112
            // §9.5).
            if events == CURL_CSELECT_OUT, Self.isReadable(socket) { events |= CURL_CSELECT_IN }
            if !readiness.isDisjoint(with: [.error, .hangup]) { events |= CURL_CSELECT_IN | CURL_CSELECT_ERR }
            self.act(on: socket, events: events)
        }
    }

    // Safety: the system writes into the value that it is given, within the call.
    private static func isReadable(_ socket: curl_socket_t) -> Bool {
        var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&state, 1, 0) > 0
    }

    private func timeoutChanged(milliseconds: Int) {
        // "At once" is due in this very turn.
        deadline =
            milliseconds < 0 ? nil : milliseconds == 0 ? 0 : MonotonicClock.now() + Int64(milliseconds) * 1_000_000
    }

    private func opened(_ socket: curl_socket_t) {
        guard socket >= 0 else { return systemError = SystemError(errno) }
        loop.unwatch(socket)
        sockets.insert(socket)
        idleConnections.opened(socket)
        floods.opened(socket)
    }

    private func close(_ socket: curl_socket_t) -> Int32 {
        if sockets.contains(socket) { unreadResponses.closing(socket) }
        sockets.remove(socket)
        idleConnections.closed(socket)
        unwatch(socket)
        return floods.close(socket)
    }

    /// Ends a socket that the system will not watch, on which libcurl would wait indefinitely.
    private func closeUnwatchable(_ socket: curl_socket_t) {
        systemError = SystemError(ENOSPC)
        guard floods.end(socket) else { return }
        act(on: socket, events: CURL_CSELECT_IN | CURL_CSELECT_ERR)
    }

    /// The system resource that is short, if that is behind a failure of a transfer in this turn.
    func shortage(behind code: CURLcode) -> String? {
        switch code {
        case CURLE_COULDNT_CONNECT, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SSL_CONNECT_ERROR, CURLE_GOT_NOTHING:
            return systemError?.message
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            // Libcurl does not report the reason. A lookup takes descriptors, too: is there one?
            let descriptor = bb_eventfd_create()
            guard descriptor < 0 else {
                _ = Glibc.close(descriptor)
                return nil
            }
            return SystemError(errno).message
        default:
            return nil
        }
    }

    /// Notes that a request does not use a connection any more.
    func connectionIsLeft(_ connection: IdleConnections.Connection) {
        guard let socket = idleConnections.ended(connection) else { return }
        // While the body was paused, the connection was in use, and bytes that came in were left alone.
        loop.rearmIdleHandler(of: socket)
    }

    /// Sees to a connection that got bytes, or lost its peer, while no request used it.
    private func becameReady(_ socket: curl_socket_t, whileIdle readiness: Readiness) {
        guard idleConnections.becameReady(socket, readiness) == .end else { return }
        // Libcurl finds it dead when it wants to use it again. The system stops watching a socket that is gone.
        guard floods.end(socket) else { return }
        idleConnections.cutOff(socket)
        unwatch(socket)
    }

    private func isWatching(_ socket: curl_socket_t) -> Bool { loop.isWatching(socket, for: ObjectIdentifier(self)) }

    private func unwatch(_ socket: curl_socket_t) {
        watched.remove(socket)
        if isWatching(socket) { loop.unwatch(socket) }
    }

    private func act(on socket: curl_socket_t, events: Int32) {
        var running: Int32 = 0
        floods.enteredOrLeft()
        unsafe curl_multi_socket_action(pointer, socket, events, &running)
        floods.enteredOrLeft()
    }

    private func set(_ option: CURLMoption, _ value: Int) {
        unsafe bb_curl_multi_set_long(pointer, option, value)
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> MultiHandle? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
    }
}
