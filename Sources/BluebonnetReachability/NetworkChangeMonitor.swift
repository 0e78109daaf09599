import Bluebonnet

/// Calls its listeners when the machine's network may have changed.
///
/// The whole process shares one monitor. Its socket and its thread exist only while there are listeners.
final class NetworkChangeMonitor: Sendable {
    /// A closure that is called on the event loop, once at the beginning and then after each burst of changes.
    ///
    /// The closure may be called once more after its removal.
    typealias Listener = @Sendable (_ loop: EventLoop) -> Void

    /// Identifies a listener.
    struct ListenerID: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct State {
        var listeners: [ListenerID: Listener] = [:]
        var nextNumber: UInt64 = 0
        var thread: NetworkChangeThread?
    }

    static let shared = NetworkChangeMonitor(retryDelay: .seconds(5), openSocket: NetlinkSocket.changeListener)

    private let state = Locked(State())
    private let retryDelay: Duration
    private let openSocket: @Sendable () -> NetlinkSocket?

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - retryDelay: The time until the next attempt to open a socket, after an attempt has failed.
    ///   - openSocket: A closure that opens a socket.
    init(retryDelay: Duration, openSocket: @escaping @Sendable () -> NetlinkSocket?) {
        self.retryDelay = retryDelay
        self.openSocket = openSocket
    }

    /// Adds a listener, and starts the thread for the first listener.
    func add(_ listener: @escaping Listener) -> ListenerID {
        let (id, thread, isFirst) = state.withLock { state in
            let id = ListenerID(number: state.nextNumber)
            state.nextNumber += 1
            state.listeners[id] = listener
            if let thread = state.thread { return (id, thread, false) }
            let thread = NetworkChangeThread(of: self, retryDelay: retryDelay, openSocket: openSocket)
            state.thread = thread
            return (id, thread, true)
        }
        // The new thread calls all listeners, including this listener.
        if isFirst { thread.begin() } else { thread.call(listener) }
        return id
    }

    /// Removes a listener, and ends the thread after the last listener.
    func remove(_ id: ListenerID) {
        let thread = state.withLock { state -> NetworkChangeThread? in
            state.listeners[id] = nil
            return state.listeners.isEmpty ? state.thread.take() : nil
        }
        thread?.end()
    }

    /// Returns the listeners that a thread calls; no listeners if another thread has replaced this thread.
    fileprivate func listeners(of thread: NetworkChangeThread) -> [Listener] {
        state.withLock { $0.thread === thread ? Array($0.listeners.values) : [] }
    }

    /// The number of listeners.
    var listenerCount: Int { state.withLock { $0.listeners.count } }
}

/// A thread that receives the kernel's messages about the network while there are listeners.
///
/// Its event loop reads messages and calls the listeners, which query the kernel for the current state. User code and
/// name lookups never run on this event loop.
private final class NetworkChangeThread: Sendable {
    private struct State {
        var socket: NetlinkSocket?
        var debouncer = ChangeDebouncer()
        var timer: TimerID?
        var isOver = false
    }

    private let monitor: NetworkChangeMonitor
    private let retryDelay: Duration
    private let openSocket: @Sendable () -> NetlinkSocket?
    private let loop = EventLoop(name: "bb-network")
    /// Used only on the event loop.
    private let state = Locked(State())

    init(of monitor: NetworkChangeMonitor, retryDelay: Duration, openSocket: @escaping @Sendable () -> NetlinkSocket?) {
        self.monitor = monitor
        self.retryDelay = retryDelay
        self.openSocket = openSocket
    }

    /// Starts the watch; called once.
    func begin() {
        loop.attach()
        loop.submit { self.open() }
    }

    /// Ends the watch; called once, after ``begin()``.
    func end() {
        loop.submit {
            self.state.withLock { $0.isOver = true }
            self.closeSocket()
        }
        loop.detach()
    }

    /// Calls a listener that was added after the watch began.
    func call(_ listener: @escaping NetworkChangeMonitor.Listener) {
        loop.submit { [loop] in listener(loop) }
    }

    // MARK: On the loop

    private func open() {
        guard !state.withLock({ $0.isOver }) else { return }
        if let socket = openSocket() {
            state.withLock { $0.socket = socket }
            loop.watch(socket.descriptor, for: .readable) { [weak self] _ in self?.read(socket) }
        } else {
            openLater()
        }
        // The listeners are called after the socket is open, so that no later change is missed. Without a socket, the
        // listeners still report the current state.
        callListeners()
    }

    private func openLater() {
        _ = loop.schedule(after: retryDelay) { [weak self] in self?.open() }
    }

    private func closeSocket() {
        let socket = state.withLock { $0.socket.take() }
        if let socket { loop.unwatch(socket.descriptor) }
    }

    private func read(_ socket: NetlinkSocket) {
        // The number of messages is limited, so that many messages do not delay the timer.
        for _ in 0..<32 {
            switch socket.receive() {
            case .nothing: return
            case .lost: changed()
            case .datagram(let bytes):
                if NetlinkDatagram(bytes).mayReportChange { changed() }
            case .failed:
                closeSocket()
                openLater()
                return callListeners()
            }
        }
    }

    private func changed() {
        let needsTimer = state.withLock { state in
            state.debouncer.changed(at: MonotonicClock.now())
            return state.timer == nil
        }
        if needsTimer { startTimer() }
    }

    private func startTimer() {
        guard let deadline = state.withLock({ $0.debouncer.deadline }) else { return }
        let timer = loop.schedule(after: .nanoseconds(max(0, deadline - MonotonicClock.now()))) { [weak self] in
            self?.timerFired()
        }
        state.withLock { $0.timer = timer }
    }

    private func timerFired() {
        let opens = state.withLock { state in
            state.timer = nil
            return state.debouncer.opens(at: MonotonicClock.now())
        }
        if opens { callListeners() } else { startTimer() }
    }

    private func callListeners() {
        for listener in monitor.listeners(of: self) { listener(loop) }
    }
}

/// Decides when a burst of network changes is over.
struct ChangeDebouncer {
    /// The time without a change that ends a burst, in nanoseconds.
    static let quiet: Int64 = 50_000_000
    /// The maximum length of a burst, in nanoseconds.
    static let longest: Int64 = 500_000_000

    private var first: Int64?
    private var last: Int64 = 0

    /// The time at which the current burst is over; `nil` if there were no changes.
    var deadline: Int64? { first.map { min($0 + Self.longest, last + Self.quiet) } }

    /// Records a change.
    mutating func changed(at now: Int64) {
        first = first ?? now
        last = now
    }

    /// Returns whether the current burst is over; if it is over, removes the changes of the burst.
    mutating func opens(at now: Int64) -> Bool {
        guard let deadline, now >= deadline else { return false }
        first = nil
        return true
    }
}
