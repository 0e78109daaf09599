/// Something that happened, as what a monitor is told of it.
typealias MonitoredEvent = @Sendable (_ monitor: any EventMonitor) async -> Void

/// Tells one monitor what happens, in order, without anybody waiting for it.
///
/// Events are put into a mailbox without bounds, from any thread. One task at a time empties it, on the monitor's executor:
/// so the monitor is told of one event after the other even where that runs several jobs at once. The task keeps the
/// mailbox: the last events are told of when the session is long gone.
final class EventDelivery: Sendable {
    private enum Item {
        case event(MonitoredEvent)
        /// Somebody waits until everything before this was told.
        case mark(DeliveryMark)
    }

    private struct State {
        var waiting: [Item] = []
        var isDelivering = false
    }

    /// Whether this is a monitor's code, or was called by one: who is asked to tell monitors and waits for that would wait
    /// for itself.
    @TaskLocal static var isDelivering = false

    private let monitor: any EventMonitor
    private let executor: (any TaskExecutor)?
    private let state = Locked(State())

    init(to monitor: any EventMonitor) {
        self.monitor = monitor
        executor = monitor.executor
    }

    /// Puts an event behind those that are there; ``start()`` has it told.
    ///
    /// Takes no lock but its own, and calls nothing.
    func append(_ event: @escaping MonitoredEvent) {
        state.withLock { $0.waiting.append(.event(event)) }
    }

    /// Puts a mark behind the events so far, which is reached when they were told.
    func append(_ mark: DeliveryMark) {
        state.withLock { $0.waiting.append(.mark(mark)) }
    }

    /// Sees to it that what is in the mailbox is told.
    func start() {
        let isNeeded = state.withLock { state in
            guard !state.isDelivering, !state.waiting.isEmpty else { return false }
            state.isDelivering = true
            return true
        }
        guard isNeeded else { return }
        // Detached: it tells of what happens to all, and has nothing of the task in which one of them happened.
        Task.detached(executorPreference: executor) { await self.deliver() }
    }

    @concurrent
    private func deliver() async {
        await Self.$isDelivering.withValue(true) {
            while var items = takeAll() {
                items.reverse()
                // Each is let go when it was told.
                while let item = items.popLast() {
                    switch item {
                    case .event(let event): await event(monitor)
                    case .mark(let mark): mark.reach()
                    }
                }
                await Task.yield()
            }
        }
    }

    /// What there is to be told; `nil` when that is nothing, and the task has to end.
    private func takeAll() -> [Item]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isDelivering = false
                return nil
            }
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}
