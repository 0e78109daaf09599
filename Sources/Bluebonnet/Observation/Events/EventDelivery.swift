/// Tells the monitors of a session what happens, each by itself.
final class EventDispatcher: Sendable {
    private let deliveries: [EventDelivery]

    /// Tells these monitors; `nil` if there are none, and nothing is to be told.
    init?(_ monitors: [any RequestEventHandler]) {
        deliveries = Self.parts(of: monitors).map { EventDelivery(to: $0) }
        if deliveries.isEmpty { return nil }
    }

    private static func parts(of monitors: [any RequestEventHandler]) -> [any RequestEventHandler] {
        monitors.flatMap { monitor in
            (monitor as? CompositeEventMonitor).map { parts(of: $0.monitors) } ?? [monitor]
        }
    }

    /// Puts an event behind those that are there; ``start()`` has it told.
    func append(_ event: RequestEvent, of request: any Request) {
        for delivery in deliveries { delivery.append(.event(event, request)) }
    }

    /// Sees to it that all events are told.
    func start() {
        for delivery in deliveries { delivery.start() }
    }

    /// Waits until the monitors were told all that has happened so far, or the task is cancelled.
    ///
    /// Returns at once in the code of a monitor, which may be the one that is waited for.
    func delivered() async {
        guard !EventDelivery.isDelivering else { return }
        let marks = deliveries.map { delivery in
            let mark = Broadcast<Void>()
            delivery.append(.mark(mark))
            return mark
        }
        start()
        for mark in marks { _ = await mark.subscribe(bufferingPolicy: .latest).next() }
    }
}

/// Tells one monitor what happens, in order, without anybody waiting for it.
///
/// Events are put into a mailbox without bounds, from any thread. One task at a time empties it, on the monitor's executor:
/// so the monitor is told of one event after the other even where that runs several jobs at once. The task keeps the
/// mailbox: the last events are told of when the session is long gone.
private final class EventDelivery: Sendable {
    enum Item {
        case event(RequestEvent, any Request)
        /// Finished when everything before this was told, which somebody waits for.
        case mark(Broadcast<Void>)
    }

    private struct State {
        var waiting: [Item] = []
        var isDelivering = false
    }

    /// Whether this is a monitor's code, or was called by one: who is asked to tell monitors and waits for that would wait
    /// for itself.
    @TaskLocal static var isDelivering = false

    private let monitor: any RequestEventHandler
    private let executor: (any TaskExecutor)?
    private let state = Locked(State())

    init(to monitor: any RequestEventHandler) {
        self.monitor = monitor
        executor = monitor.executor
    }

    /// Puts an event or a mark behind those that are there; ``start()`` has it told.
    ///
    /// Takes no lock but its own, and calls nothing.
    func append(_ item: Item) {
        state.withLock { $0.waiting.append(item) }
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
                    case .event(let event, let request): await monitor.handle(event, of: request)
                    case .mark(let mark): mark.finish()
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
