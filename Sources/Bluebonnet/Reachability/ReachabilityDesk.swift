/// Makes a watch for the first who observes a destination, shares it with the others, and ends it after the last.
final class ReachabilityDesk: Sendable {
    typealias Status = NetworkReachabilityManager.Status

    private struct State {
        var watch: ReachabilityWatch?
        var observers = 0
        var isClosed = false

        /// Notes an observer; returns the watch for it, and whether that has to begin.
        mutating func entered(_ make: () -> ReachabilityWatch) -> (ReachabilityWatch, isNew: Bool)? {
            guard !isClosed else { return nil }
            observers += 1
            if let watch { return (watch, false) }
            let made = make()
            watch = made
            return (made, true)
        }

        /// Notes that an observer left; returns the watch if it has to end.
        mutating func left(_ left: ReachabilityWatch) -> ReachabilityWatch? {
            guard watch === left else { return nil }
            observers -= 1
            return observers == 0 ? taken() : nil
        }

        mutating func taken() -> ReachabilityWatch? {
            observers = 0
            return watch.take()
        }
    }

    let target: ReachabilityTarget
    private let watcher: NetworkWatcher
    private let state = Locked(State())

    init(_ target: ReachabilityTarget, watcher: NetworkWatcher) {
        self.target = target
        self.watcher = watcher
    }

    /// A sequence of statuses: the one that is, once it is known, and each that differs from the one before.
    func statuses() -> StreamOf<Status> {
        StreamOf { self.observe() }
    }

    /// Ends all sequences; one that is asked for or begun later begins anew.
    func end() {
        state.withLock { $0.taken() }?.end()
    }

    /// Ends all sequences for good.
    func close() {
        let watch = state.withLock { state in
            state.isClosed = true
            return state.taken()
        }
        watch?.end()
    }

    private func observe() -> any StreamSource<Status> {
        let entry = state.withLock { state in
            state.entered { ReachabilityWatch(target, watcher: watcher) }
        }
        guard let (watch, isNew) = entry else {
            let ended = BroadcastCore<Status>(replaysLatest: false, latest: nil)
            ended.finish()
            return ended.subscribe(bufferingPolicy: .latest, onTermination: nil)
        }
        // Ended by the observer: the others keep the watch. Ended by the watch: it is not the desk's any longer.
        let source = watch.observers.subscribe(bufferingPolicy: .events) { _ in self.left(watch) }
        if isNew { watch.begin() }
        return source
    }

    private func left(_ watch: ReachabilityWatch) {
        state.withLock { $0.left(watch) }?.end()
    }
}
