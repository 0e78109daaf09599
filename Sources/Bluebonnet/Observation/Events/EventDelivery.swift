/// Tells the monitors of a session what happens, each by itself.
final class EventDispatcher: Sendable {
    private let deliveries: [EventDelivery]

    /// Delivers events to these monitors; `nil` if there are none.
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

    /// Starts the delivery of all appended events.
    func start() {
        for delivery in deliveries { delivery.start() }
    }

    /// Waits until all earlier events were delivered to the monitors, or the task is cancelled.
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

/// Delivers events to one monitor, in order, without delaying the caller.
///
/// Events are put into a mailbox without bounds, from any thread. One task at a time empties it, on the monitor's
/// executor: so the monitor receives one event at a time, even if its executor runs several jobs at once. The task
/// retains the mailbox: the last events are delivered even after the session was released.
private final class EventDelivery: Sendable {
    enum Item {
        case event(RequestEvent, any Request)
        /// Finished when everything before this was delivered; a task waits for that.
        case mark(Broadcast<Void>)
    }

    private struct State {
        var waiting: [Item] = []
        var isDelivering = false
    }

    /// Whether this is a monitor's code, or was called by it: a monitor that waits for the delivery of events would
    /// wait for itself.
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

    /// Starts the delivery of the events in the mailbox, unless it is running.
    func start() {
        let isNeeded = state.withLock { state in
            guard !state.isDelivering, !state.waiting.isEmpty else { return false }
            state.isDelivering = true
            return true
        }
        guard isNeeded else { return }
        // Detached: it delivers the events of all requests, and inherits nothing from the task in which one of them
        // happened.
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

    /// The undelivered items; `nil` if there are none, and the task has to end.
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
