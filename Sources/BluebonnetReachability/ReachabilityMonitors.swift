import Bluebonnet

/// Creates a monitor for the first observer of a destination, shares it with other observers, and ends it after the
/// last.
final class ReachabilityMonitors: Sendable {
    typealias Status = NetworkReachabilityManager.Status

    private struct State {
        var monitor: ReachabilityMonitor?
        var observers = 0
        var isClosed = false

        /// Records an observer; returns its monitor, and whether the monitor is new and must begin.
        mutating func entered(_ make: () -> ReachabilityMonitor) -> (ReachabilityMonitor, isNew: Bool)? {
            guard !isClosed else { return nil }
            observers += 1
            if let monitor { return (monitor, false) }
            let made = make()
            monitor = made
            return (made, true)
        }

        /// Records that an observer left; returns the monitor if it must end.
        mutating func left(_ left: ReachabilityMonitor) -> ReachabilityMonitor? {
            guard monitor === left else { return nil }
            observers -= 1
            return observers == 0 ? taken() : nil
        }

        mutating func taken() -> ReachabilityMonitor? {
            observers = 0
            return monitor.take()
        }
    }

    let target: ReachabilityTarget
    private let changeMonitor: NetworkChangeMonitor
    private let state = Locked(State())

    init(_ target: ReachabilityTarget, changeMonitor: NetworkChangeMonitor) {
        self.target = target
        self.changeMonitor = changeMonitor
    }

    /// A sequence of statuses: the current status once it is known, and then each change.
    func statuses() -> StreamOf<Status> {
        StreamOf { self.observe() }
    }

    /// Ends all sequences; a sequence that begins later creates a new monitor.
    func end() {
        state.withLock { $0.taken() }?.end()
    }

    /// Ends all sequences for good.
    func close() {
        let monitor = state.withLock { state in
            state.isClosed = true
            return state.taken()
        }
        monitor?.end()
    }

    private func observe() -> any StreamSource<Status> {
        let entry = state.withLock { state in
            state.entered { ReachabilityMonitor(target, changeMonitor: changeMonitor) }
        }
        guard let (monitor, isNew) = entry else {
            let ended = Broadcast<Status>()
            ended.finish()
            return ended.subscribe(bufferingPolicy: .latest)
        }
        // If the observer ends, other observers keep the monitor. If the monitor ends, it has already been removed
        // here.
        let source = monitor.observers.subscribe(bufferingPolicy: .events) { _ in self.left(monitor) }
        if isNew { monitor.begin() }
        return source
    }

    private func left(_ monitor: ReachabilityMonitor) {
        state.withLock { $0.left(monitor) }?.end()
    }
}

/// Monitors one destination, from its first observer to its last.
///
/// Runs on the event loop, except for ``begin()`` and ``end()``.
private final class ReachabilityMonitor: Sendable {
    typealias Status = NetworkReachabilityManager.Status

    private enum Phase {
        case created
        case listening(NetworkChangeMonitor.ListenerID)
        case over
    }

    private struct State {
        var phase = Phase.created
        var latest: Status?
        var isLookingUp = false
        /// Whether the network changed during a lookup.
        var needsAnotherLookUp = false
        var retryDelay = ReachabilityMonitor.firstRetryDelay
        var retryTimer: TimerID?
    }

    /// The first delay until a name that was not found is looked up again without a change; it doubles each time.
    private static let firstRetryDelay = Duration.seconds(1)
    private static let longestRetryDelay = Duration.seconds(30)

    /// The observers that receive the statuses.
    let observers = Broadcast<Status>()

    private let target: ReachabilityTarget
    private let changeMonitor: NetworkChangeMonitor
    private let state = Locked(State())

    init(_ target: ReachabilityTarget, changeMonitor: NetworkChangeMonitor) {
        self.target = target
        self.changeMonitor = changeMonitor
    }

    /// Starts monitoring; called once.
    func begin() {
        let id = changeMonitor.add { [weak self] loop in self?.networkMayHaveChanged(loop) }
        let isOver = state.withLock { state in
            guard case .created = state.phase else { return true }
            state.phase = .listening(id)
            return false
        }
        if isOver { changeMonitor.remove(id) }
    }

    /// Ends monitoring, even before ``begin()``; the observers' sequences end.
    func end() {
        let id = state.withLock { state -> NetworkChangeMonitor.ListenerID? in
            defer { state.phase = .over }
            if case .listening(let id) = state.phase { return id }
            return nil
        }
        if let id { changeMonitor.remove(id) }
        observers.finish()
    }

    private var isOver: Bool { state.withLock { if case .over = $0.phase { true } else { false } } }

    // MARK: On the loop

    private func networkMayHaveChanged(_ loop: EventLoop) {
        guard !isOver else { return }
        guard target.hasName else { return report() }
        // Report a status with the known addresses at once; the new lookup may change it later.
        if target.isLookedUp { report() }
        lookUp(loop)
    }

    private func lookUp(_ loop: EventLoop) {
        let (begins, timer) = state.withLock { state in
            defer { state.isLookingUp = true }
            if state.isLookingUp { state.needsAnotherLookUp = true }
            return (!state.isLookingUp, state.retryTimer.take())
        }
        if let timer { loop.cancel(timer) }
        guard begins else { return }
        target.lookUp { [weak self] in
            loop.submit { self?.lookedUp(loop) }
        }
    }

    private func lookedUp(_ loop: EventLoop) {
        guard !isOver else { return }
        report()
        let isWanted = state.withLock { state in
            state.isLookingUp = false
            defer { state.needsAnotherLookUp = false }
            return state.needsAnotherLookUp
        }
        if isWanted {
            lookUp(loop)
        } else if target.didLastLookUpFail {
            lookUpLater(loop)
        } else {
            state.withLock { $0.retryDelay = Self.firstRetryDelay }
        }
    }

    private func lookUpLater(_ loop: EventLoop) {
        let delay = state.withLock { state in
            defer { state.retryDelay = min(state.retryDelay * 2, Self.longestRetryDelay) }
            return state.retryDelay
        }
        let timer = loop.schedule(after: delay) { [weak self] in
            guard let self, !isOver else { return }
            lookUp(loop)
        }
        state.withLock { $0.retryTimer = timer }
    }

    private func report() {
        let status = target.status()
        let isNew = state.withLock { state in
            defer { state.latest = status }
            return state.latest != status
        }
        if isNew { observers.send(status) }
    }
}
