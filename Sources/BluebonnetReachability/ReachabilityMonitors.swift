import Bluebonnet

/// Shares one monitor among all observers of a destination.
///
/// The monitor is created for the first observer and ends after the last observer.
final class ReachabilityMonitors: Sendable {
    typealias Status = NetworkReachabilityManager.Status

    private struct State {
        var monitor: ReachabilityMonitor?
        var observers = 0
        var isClosed = false

        /// Records an observer; returns its monitor, and whether the monitor is new and must be started.
        mutating func entered(_ make: () -> ReachabilityMonitor) -> (ReachabilityMonitor, isNew: Bool)? {
            guard !isClosed else { return nil }
            observers += 1
            if let monitor { return (monitor, false) }
            let made = make()
            monitor = made
            return (made, true)
        }

        /// Removes an observer; returns the monitor if the monitor must end.
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

    /// Returns a sequence of statuses, which begins with the current status and continues with each change.
    func statuses() -> StreamOf<Status> {
        StreamOf { self.observe() }
    }

    /// Ends all sequences; a sequence that begins later creates a new monitor.
    func end() {
        state.withLock { $0.taken() }?.end()
    }

    /// Ends all sequences, including sequences that begin later.
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
        // If one observer ends, the other observers keep the monitor. If the monitor ends, it has already been removed
        // from the state.
        let source = monitor.observers.subscribe(bufferingPolicy: .events) { _ in self.left(monitor) }
        if isNew { monitor.begin() }
        return source
    }

    private func left(_ monitor: ReachabilityMonitor) {
        state.withLock { $0.left(monitor) }?.end()
    }
}

/// Monitors one destination while it has observers.
///
/// All methods run on the event loop, except ``begin()`` and ``end()``.
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

    /// The delay before the first repetition of a failed lookup; the delay doubles after each repetition.
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

    /// Ends monitoring and the sequences of all observers; may be called before ``begin()``.
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
        // Report the status of the known addresses at once. The new lookup may change the status later.
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
