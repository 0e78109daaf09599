import CCurl
import CSystem
import Glibc

/// Owns one of libcurl's multi handles, and tells the loop which sockets and which time libcurl waits for.
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
    /// What was left unread in the sockets that were closed in this turn.
    private(set) var lastWords = LastWords()

    init?(loop: EventLoop, limits: Session.Configuration.ConnectionLimits, isMultiplexing: Bool) {
        guard let pointer = unsafe curl_multi_init() else { return nil }
        unsafe self.pointer = unsafe pointer
        self.loop = loop
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe bb_curl_multi_set_callbacks(
            pointer,
            { _, socket, what, context, _ in
                unsafe MultiHandle.from(context)?.wish(socket: socket, what: what)
                return 0
            },
            { _, milliseconds, context in
                unsafe MultiHandle.from(context)?.wish(milliseconds: milliseconds)
                return 0
            }, context)
        set(CURLMOPT_PIPELINING, isMultiplexing ? Int(CURLPIPE_MULTIPLEX) : 0)
        set(CURLMOPT_MAX_HOST_CONNECTIONS, limits.perHost ?? 0)
        set(CURLMOPT_MAX_TOTAL_CONNECTIONS, limits.total ?? 0)
        // Streams on one HTTP/2 connection: what the server allows, rather than libcurl's 100.
        set(CURLMOPT_MAX_CONCURRENT_STREAMS, Int(Int32.max))
        // Libcurl's own limit, four for each transfer in flight, closes good connections when a batch has ended.
        set(CURLMOPT_MAXCONNECTS, max(1, limits.kept))
    }

    deinit {
        // Closes the kept connections, by way of `closed(_:)`.
        unsafe curl_multi_cleanup(pointer)
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
        unsafe easy.setSockets(
            open: { context, _, address in
                guard let address = unsafe address else { return -1 }
                let socket = unsafe Glibc.socket(
                    address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
                    address.pointee.protocol)
                if socket >= 0 { unsafe MultiHandle.from(context)?.sockets.insert(socket) }
                return socket
            },
            close: { context, socket in
                unsafe MultiHandle.from(context)?.closed(socket)
                return close(socket)
            }, context: context)
    }

    func remove(_ easy: EasyHandle) {
        unsafe curl_multi_remove_handle(pointer, easy.pointer)
    }

    /// Lets libcurl do what is due by now.
    func runTimeouts(now: Int64) {
        // Libcurl asks for "at once" again and again while a transfer starts; a few rounds here save turns of the loop.
        var rounds = 0
        while let due = deadline, due <= now, rounds < 8 {
            rounds += 1
            deadline = nil
            act(on: bb_curl_socket_timeout, events: 0)
        }
    }

    /// Has libcurl look at its sockets, ready or not.
    func readAll() {
        for socket in sockets { act(on: socket, events: CURL_CSELECT_IN) }
    }

    /// Calls `body` with each transfer's context that has ended, and how.
    func takeFinished(_ body: (UnsafeMutableRawPointer, CURLcode) -> Void) {
        defer { lastWords.forget() }
        var code = CURLE_OK
        while let easy = unsafe bb_curl_multi_next_finished(pointer, &code) {
            guard let context = unsafe bb_curl_get_private(easy) else { continue }
            unsafe body(context, code)
        }
    }

    // MARK: What libcurl asks for

    private func wish(socket: curl_socket_t, what: Int32) {
        var interest: Interest = []
        if what & CURL_POLL_IN != 0 { interest.insert(.readable) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.writable) }
        guard what != CURL_POLL_REMOVE else {
            // A socket of a connection stays known, since it will be used again; the resolver's are closed now.
            return sockets.contains(socket) ? loop.setInterest([], of: socket) : loop.unwatch(socket)
        }
        guard !loop.isWatching(socket) else { return loop.setInterest(interest, of: socket) }
        loop.watch(socket, for: interest) { [unowned self] readiness in
            var events: Int32 = 0
            if readiness.contains(.readable) { events |= CURL_CSELECT_IN }
            if readiness.contains(.writable) { events |= CURL_CSELECT_OUT }
            // An answer that came since the wait is read before more is sent: after it, sending may fail (RFC 9112 §9.5).
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

    private func wish(milliseconds: Int) {
        // "At once" is due in this very turn.
        deadline = milliseconds < 0 ? nil : milliseconds == 0 ? 0 : Reactor.now() + Int64(milliseconds) * 1_000_000
    }

    private func closed(_ socket: curl_socket_t) {
        if sockets.contains(socket) { lastWords.closing(socket) }
        sockets.remove(socket)
        loop.unwatch(socket)
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
