/// What an ``EventSource`` tells about its connections to those who do not read their events.
final class EventSourceStatus: Sendable {
    private let broadcast = Broadcast<EventSource.State>()
    private let lastID = Locked<String?>(nil)

    /// The states, the latest one first.
    var states: StreamOf<EventSource.State> { broadcast.stream(bufferingPolicy: .newest(16)) }

    /// The last event ID, if one was received.
    var lastEventID: String? { lastID.withLock { $0 } }

    func stateChanged(to state: EventSource.State) {
        broadcast.send(state)
    }

    func lastEventIDReceived(_ id: String) {
        lastID.withLock { $0 = id }
    }
}
