/// Delivers events to the monitors of a session, independently of each other.
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

    /// Appends an event to the queue of each monitor, which ``start()`` delivers.
    func append(_ event: RequestEvent, of request: any Request) {
        for delivery in deliveries {
            delivery.append(.event(delivery.receivesBodies ? event : event.withoutBody, request))
        }
    }

    /// Starts the delivery of all appended events.
    func start() {
        for delivery in deliveries { delivery.start() }
    }

    /// Waits until all earlier events have been delivered to the monitors, or until the task is cancelled.
    ///
    /// If a monitor calls this method, it returns immediately, because the monitor would otherwise wait for itself.
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
/// Any thread may append events to the unbounded queue. One task at a time delivers the queued events on the monitor's
/// executor. The monitor therefore receives one event at a time, even if its executor runs several jobs at once. The
/// task retains the queue, so the last events are delivered even after the session has been released.
private final class EventDelivery: Sendable {
    enum Item {
        case event(RequestEvent, any Request)
        /// A mark that is finished when all items before it have been delivered. A task waits for the mark.
        case mark(Broadcast<Void>)
    }

    private struct State {
        var waiting: [Item] = []
        var isDelivering = false
    }

    /// Whether a monitor called the current code, which must then not wait for the delivery of events.
    @TaskLocal static var isDelivering = false

    /// Whether the events contain the bodies of responses.
    let receivesBodies: Bool
    private let monitor: any RequestEventHandler
    private let executor: (any TaskExecutor)?
    private let state = Locked(State())

    init(to monitor: any RequestEventHandler) {
        self.monitor = monitor
        receivesBodies = monitor is any BodyEventHandler
        executor = monitor.executor
    }

    /// Appends an event or a mark to the queue, which ``start()`` delivers.
    ///
    /// It takes only its own lock and calls no user code.
    func append(_ item: Item) {
        state.withLock { $0.waiting.append(item) }
    }

    /// Starts the delivery of the queued events, unless the delivery is already running.
    func start() {
        let isNeeded = state.withLock { state in
            guard !state.isDelivering, !state.waiting.isEmpty else { return false }
            state.isDelivering = true
            return true
        }
        guard isNeeded else { return }
        // The task is detached because it delivers the events of all requests. It must not inherit the context of one
        // request's task.
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

    /// Removes and returns all undelivered items, or returns `nil` if there are none.
    ///
    /// If the result is `nil`, the task must end.
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
