/// Tells the monitors of a session what happens, each by itself.
final class EventDispatcher: Sendable {
    private let deliveries: [EventDelivery]

    /// Tells these monitors; `nil` if there are none, and nothing is to be told.
    init?(_ monitors: [any EventMonitor]) {
        deliveries = Self.parts(of: monitors).map { EventDelivery(to: $0) }
        if deliveries.isEmpty { return nil }
    }

    private static func parts(of monitors: [any EventMonitor]) -> [any EventMonitor] {
        monitors.flatMap { monitor in
            (monitor as? CompositeEventMonitor).map { parts(of: $0.monitors) } ?? [monitor]
        }
    }

    /// Puts an event behind those that are there; ``start()`` has it told.
    func append(_ event: @escaping MonitoredEvent) {
        for delivery in deliveries { delivery.append(event) }
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
            let mark = DeliveryMark()
            delivery.append(mark)
            return mark
        }
        start()
        for mark in marks { await mark.wait() }
    }
}
