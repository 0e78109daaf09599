import FoundationEssentials

/// Tells the monitors what happens to one request; there is none where there are no monitors.
///
/// Knows the request without keeping it, until the request begins, and from then on keeps it until it has ended: so that
/// there is somebody to tell of. What was told and is not delivered yet keeps it, too.
final class RequestEvents: Sendable {
    private struct State {
        weak var request: (any Request)?
        /// Those who tell the request's own monitors.
        var own: [EventDispatcher] = []
        var underWay: (any Request)?
        /// The exchange under way.
        var exchange: ExchangeRecord?
        var exchanges = 0
        /// Whether its head was told of.
        var hasHead = false
        var isFinished = false
    }

    /// Something that happens to a request, as what a monitor is told of it.
    typealias Event = @Sendable (_ monitor: any EventMonitor, _ request: any Request) async -> Void

    /// Tells the session's monitors.
    private let dispatcher: EventDispatcher?
    private let state = Locked(State())

    init(_ dispatcher: EventDispatcher?) {
        self.dispatcher = dispatcher
    }

    /// Says whose events these are.
    func adopt(_ request: any Request) {
        state.withLock { $0.request = request }
    }

    /// Tells another monitor, what happens from now on.
    func add(_ monitor: any EventMonitor) {
        guard let dispatcher = EventDispatcher([monitor]) else { return }
        state.withLock { $0.own.append(dispatcher) }
    }

    /// Keeps the request, which begins, until it has ended.
    func begin(_ request: any Request) {
        state.withLock { state in
            if !state.isFinished { state.underWay = request }
        }
    }

    // MARK: Telling

    /// Puts an event behind those that are there; ``start()`` has it told.
    ///
    /// May be called where the request's lock is held, which puts events in the order of the changes that they tell of:
    /// nothing is called here, and no lock is taken but those of the events, which take no other.
    func append(_ event: @escaping Event) {
        let (request, own) = state.withLock { ($0.underWay ?? $0.request, $0.own) }
        guard let request else { return }
        dispatcher?.append { await event($0, request) }
        for dispatcher in own { dispatcher.append { await event($0, request) } }
    }

    /// Sees to it that all events are told.
    func start() {
        dispatcher?.start()
        for dispatcher in state.withLock({ $0.own }) { dispatcher.start() }
    }

    /// Tells of an event.
    func tell(_ event: @escaping Event) {
        append(event)
        start()
    }

    /// Tells of an event of a certain kind of request, if this is one.
    func tell<Kind: Request>(
        _ kind: Kind.Type, _ event: @escaping @Sendable (_ monitor: any EventMonitor, _ request: Kind) async -> Void
    ) {
        tell { monitor, request in
            guard let request = request as? Kind else { return }
            await event(monitor, request)
        }
    }

    // MARK: The lifecycle

    /// Puts behind the other events that the request has changed its state; for where its lock is held.
    func appendChange(to state: RequestState) {
        switch state {
        case .resumed: append { await $0.requestDidResume($1) }
        case .suspended: append { await $0.requestDidSuspend($1) }
        case .cancelled: append { await $0.requestDidCancel($1) }
        case .initialized, .finished: break
        }
    }

    /// Tells of the end, and lets the request go.
    func finish() {
        tell { await $0.requestDidFinish($1) }
        let request = state.withLock { state in
            state.isFinished = true
            return state.underWay.take()
        }
        // The last reference must not go while the lock is held.
        extendLifetime(request)
    }

    // MARK: Exchanges

    /// How many exchanges there were.
    var exchangeCount: Int { state.withLock { $0.exchanges } }

    func exchangeBegins(with request: HTTPRequest, attempt: Int, isRedirect: Bool) {
        let (record, _) = state.withLock { state in
            state.exchanges += 1
            state.hasHead = false
            let record = ExchangeRecord(
                id: state.exchanges, attempt: attempt, isRedirect: isRedirect, request: request)
            return (record, exchange(&state.exchange, with: record))
        }
        tell { await $0.request($1, didCreateTask: record) }
    }

    func headReceived(_ response: HTTPResponse) {
        state.withLock { state in
            state.exchange?.response = response
            state.hasHead = true
        }
        tell { await $0.request($1, didReceiveResponse: response) }
    }

    /// Tells of the end of the exchange, if one had begun.
    func exchangeEnded(_ outcome: ExchangeOutcome) {
        let (ended, hasHead) = state.withLock { ($0.exchange.take(), $0.hasHead) }
        guard var record = ended else { return }
        if let response = outcome.response {
            record.response = response
            if !hasHead { append { await $0.request($1, didReceiveResponse: response) } }
        }
        if let metrics = outcome.metrics {
            record.metrics = metrics
            append { await $0.request($1, didGatherMetrics: metrics) }
        }
        let error = outcome.error?.during(record.request, attempts: record.attempt)
        tellEnd(of: record, error)
    }

    private func tellEnd(of record: ExchangeRecord, _ error: RequestError?) {
        if let error {
            switch error.kind {
            case .trust: append { await $0.request($1, didFailTask: record, earlyWithError: error) }
            case .requestBody, .multipartEncoding:
                append { monitor, request in
                    guard let request = request as? UploadRequest else { return }
                    await monitor.request(request, didFailToCreateUploadableWithError: error)
                }
            default: break
            }
        }
        tell { await $0.request($1, didCompleteTask: record, with: error) }
    }
}
