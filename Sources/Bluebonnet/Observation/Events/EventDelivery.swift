/// Delivers events to the monitors of a session, to each independently.
final class EventDispatcher: Sendable {
    private let deliveries: [EventDelivery]

    /// Creates a dispatcher for these monitors, or returns `nil` if there are none.
    init?(_ monitors: [any RequestEventHandler]) {
        deliveries = Self.parts(of: monitors).map { EventDelivery(to: $0) }
        if deliveries.isEmpty { return nil }
    }

    private static func parts(of monitors: [any RequestEventHandler]) -> [any RequestEventHandler] {
        monitors.flatMap { monitor in
            (monitor as? CompositeEventMonitor).map { parts(of: $0.monitors) } ?? [monitor]
        }
    }

    /// Appends an event to the queue of each monitor; ``start()`` delivers it.
    func append(_ event: RequestEvent, of request: any Request) {
        for delivery in deliveries { delivery.append(.event(event, request)) }
    }

    /// Starts the delivery of all appended events.
    func start() {
        for delivery in deliveries { delivery.start() }
    }

    /// Waits until all earlier events have been delivered to the monitors, or the task is cancelled.
    ///
    /// Returns at once if it is called from a monitor, which would otherwise wait for itself.
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

/// Delivers events to one monitor, in order, without delaying the caller.
///
/// Any thread may add events to the unbounded mailbox. One task at a time empties the mailbox on the monitor's
/// executor. The monitor thus receives one event at a time, even if its executor runs several jobs at once. The task
/// retains the mailbox, so the last events are delivered even after the session has been released.
private final class EventDelivery: Sendable {
    enum Item {
        case event(RequestEvent, any Request)
        /// A mark that is finished when everything before it has been delivered; a task waits for this.
        case mark(Broadcast<Void>)
    }

    private struct State {
        var waiting: [Item] = []
        var isDelivering = false
    }

    /// Whether the current code was called by a monitor; waiting for the delivery of events would then never end.
    @TaskLocal static var isDelivering = false

    private let monitor: any RequestEventHandler
    private let executor: (any TaskExecutor)?
    private let state = Locked(State())

    init(to monitor: any RequestEventHandler) {
        self.monitor = monitor
        executor = monitor.executor
    }

    /// Appends an event or a mark to the queue; ``start()`` delivers it.
    ///
    /// It takes no lock except its own and calls no other code.
    func append(_ item: Item) {
        state.withLock { $0.waiting.append(item) }
    }

    /// Starts the delivery of the queued events, unless it is already running.
    func start() {
        let isNeeded = state.withLock { state in
            guard !state.isDelivering, !state.waiting.isEmpty else { return false }
            state.isDelivering = true
            return true
        }
        guard isNeeded else { return }
        // A detached task, because it delivers the events of all requests and must not inherit from the task of one of
        // them.
        Task.detached(executorPreference: executor) { await self.deliver() }
    }

    @concurrent
    private func deliver() async {
        await Self.$isDelivering.withValue(true) {
            while var items = takeAll() {
                items.reverse()
                // Each event is released after its delivery.
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

    /// Takes all undelivered items, or returns `nil` if there are none; the task then has to end.
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
