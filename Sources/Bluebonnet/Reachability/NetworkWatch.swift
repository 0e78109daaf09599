/// A thread that waits for the kernel's messages about the network, from the first listener to the last.
///
/// Runs here, on the loop: reading messages, and the listeners, who ask the kernel how things stand. Never runs here: code
/// of the user's, and looking up names.
final class NetworkWatch: Sendable {
    private struct State {
        var socket: NetlinkSocket?
        var gate = ChangeGate()
        var timer: TimerID?
        var isOver = false
    }

    private let watcher: NetworkWatcher
    private let patience: Duration
    private let openSocket: @Sendable () -> NetlinkSocket?
    private let loop = EventLoop(name: "bb-network")
    /// Used on the loop alone.
    private let state = Locked(State())

    init(of watcher: NetworkWatcher, patience: Duration, openSocket: @escaping @Sendable () -> NetlinkSocket?) {
        self.watcher = watcher
        self.patience = patience
        self.openSocket = openSocket
    }

    /// Begins; called once.
    func begin() {
        loop.attach()
        loop.submit { self.open() }
    }

    /// Ends; called once, after ``begin()``.
    func end() {
        loop.submit {
            self.state.withLock { $0.isOver = true }
            self.closeSocket()
        }
        loop.detach()
    }

    /// Has a listener called that came later.
    func call(_ listener: @escaping NetworkWatcher.Listener) {
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
        // Only now: what changes from here on is heard of. Without a socket they hear at least of what is now.
        callListeners()
    }

    private func openLater() {
        _ = loop.schedule(after: patience) { [weak self] in self?.open() }
    }

    private func closeSocket() {
        let socket = state.withLock { $0.socket.take() }
        if let socket { loop.unwatch(socket.descriptor) }
    }

    private func read(_ socket: NetlinkSocket) {
        // A limited number, so that a flood does not keep the timer from its turn.
        for _ in 0..<32 {
            switch socket.receive() {
            case .nothing: return
            case .lost: changed()
            case .datagram(let bytes):
                if NetlinkDatagram(bytes).mayTellOfChange { changed() }
            case .failed:
                closeSocket()
                openLater()
                return callListeners()
            }
        }
    }

    private func changed() {
        let needsTimer = state.withLock { state in
            state.gate.changed(at: MonotonicClock.now())
            return state.timer == nil
        }
        if needsTimer { startTimer() }
    }

    private func startTimer() {
        guard let deadline = state.withLock({ $0.gate.deadline }) else { return }
        let timer = loop.schedule(after: .nanoseconds(max(0, deadline - MonotonicClock.now()))) { [weak self] in
            self?.timerFired()
        }
        state.withLock { $0.timer = timer }
    }

    private func timerFired() {
        let opens = state.withLock { state in
            state.timer = nil
            return state.gate.opens(at: MonotonicClock.now())
        }
        if opens { callListeners() } else { startTimer() }
    }

    private func callListeners() {
        for listener in watcher.listeners(of: self) { listener(loop) }
    }
}
