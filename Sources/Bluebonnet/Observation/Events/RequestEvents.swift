import FoundationEssentials

/// Delivers the events of one request to the monitors; does not exist where there are no monitors.
///
/// Knows the request without keeping it, until the request begins, and from then on keeps it until it has ended, since
/// each event names its request. Undelivered events keep it, too.
final class RequestEvents: Sendable {
    private struct State {
        weak var request: (any Request)?
        /// The dispatchers to the request's own monitors.
        var own: [EventDispatcher] = []
        var underWay: (any Request)?
        /// The exchange under way.
        var exchange: ExchangeRecord?
        var exchanges = 0
        /// Whether its head was reported.
        var hasHead = false
        var isFinished = false
    }

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
    func add(_ monitor: any RequestEventHandler) {
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
    /// May be called where the request's lock is held, which puts events in the order of the changes that they report:
    /// nothing is called here, and no lock is taken but those of the events, which take no other.
    func append(_ event: RequestEvent) {
        let (request, own) = state.withLock { ($0.underWay ?? $0.request, $0.own) }
        guard let request else { return }
        dispatcher?.append(event, of: request)
        for dispatcher in own { dispatcher.append(event, of: request) }
    }

    /// Starts the delivery of all appended events.
    func start() {
        dispatcher?.start()
        for dispatcher in state.withLock({ $0.own }) { dispatcher.start() }
    }

    /// Tells of an event.
    func emit(_ event: RequestEvent) {
        append(event)
        start()
    }

    // MARK: The lifecycle

    /// Puts behind the other events that the request has changed its state; for where its lock is held.
    func appendChange(to state: RequestState) {
        switch state {
        case .resumed: append(.didResume)
        case .suspended: append(.didSuspend)
        case .cancelled: append(.didCancel)
        case .initialized, .finished: break
        }
    }

    /// Tells of the end, and lets the request go.
    func finish() {
        emit(.didFinish)
        let request = state.withLock { state in
            state.isFinished = true
            return state.underWay.take()
        }
        // The last reference must not go while the lock is held.
        extendLifetime(request)
    }

    // MARK: Exchanges

    func exchangeBegins(with request: HTTPRequest, attempt: Int, isRedirect: Bool) {
        let (record, _) = state.withLock { state in
            state.exchanges += 1
            state.hasHead = false
            let record = ExchangeRecord(
                id: state.exchanges, attempt: attempt, isRedirect: isRedirect, request: request)
            return (record, exchange(&state.exchange, with: record))
        }
        emit(.didCreateTask(record))
    }

    func headReceived(_ response: HTTPResponse) {
        state.withLock { state in
            state.exchange?.response = response
            state.hasHead = true
        }
        emit(.didReceiveResponse(response))
    }

    /// Tells of the end of the exchange, if one had begun.
    func exchangeEnded(_ outcome: ExchangeOutcome) {
        let (ended, hasHead) = state.withLock { ($0.exchange.take(), $0.hasHead) }
        guard var record = ended else { return }
        if let response = outcome.response {
            record.response = response
            if !hasHead { append(.didReceiveResponse(response)) }
        }
        if let metrics = outcome.metrics {
            record.metrics = metrics
            append(.didGatherMetrics(metrics))
        }
        let error = outcome.error?.during(record.request, attempts: record.attempt)
        switch error?.kind {
        case .trust: if let error { append(.didFailTask(record, error)) }
        case .requestBody, .multipartEncoding: if let error { append(.didFailToCreateUploadable(error)) }
        default: break
        }
        emit(.didCompleteTask(record, error))
    }

    // MARK: Responses

    /// Tells what the validators made of a response.
    func validated(
        _ response: HTTPResponse, of sent: HTTPRequest?, data: Data?, fileURL: URL? = nil, _ result: ValidationResult
    ) {
        emit(.didValidateRequest(sent, response, data: data, fileURL: fileURL, result))
    }

    /// Reports the result of saving the file of a complete body.
    func downloaded(_ attempt: CompletedAttempt, _ result: Result<URL, RequestError>) {
        guard let sent = attempt.request else { return }
        let isRedirect = attempt.response?.history.isEmpty == false
        let record = ExchangeRecord(
            id: state.withLock { $0.exchanges }, attempt: attempt.attempts, isRedirect: isRedirect, request: sent,
            response: attempt.response, metrics: attempt.metrics)
        if case .success(let url) = result { append(.didCreateDestinationURL(url)) }
        emit(.didFinishDownloading(record, result))
    }

    /// Tells of an element of a stream, or of an error in its place.
    func streamed<Value: Sendable>(_ result: Result<Value, RequestError>) {
        guard let request = state.withLock({ $0.underWay ?? $0.request }) as? DataStreamRequest else { return }
        emit(.didParseStream(DataStreamRequest.Stream(event: .stream(result), request: request)))
    }

    /// The event for the answer of a serializer.
    func answer<Source: SerializingRequest, Value: Sendable>(
        to request: Source.Type, _ type: Value.Type
    ) -> SerializationSlot.Report {
        { [self] answer in emit(.didParseResponse(SerializingTask<Source, Value>.response(from: answer))) }
    }
}
