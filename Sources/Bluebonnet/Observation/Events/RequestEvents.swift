import FoundationEssentials

/// Delivers the events of one request to the monitors.
///
/// The object only exists if there are monitors. It retains the request from its start to its end, because each event
/// refers to its request. Before the start, the reference is weak. Undelivered events also retain the request.
final class RequestEvents: Sendable {
    private struct State {
        weak var request: (any Request)?
        /// The dispatchers of the request's own monitors.
        var own: [EventDispatcher] = []
        var underWay: (any Request)?
        /// The running exchange.
        var exchange: ExchangeRecord?
        var exchanges = 0
        /// Whether the response head of the exchange has been reported.
        var hasHead = false
        var isFinished = false
    }

    /// The dispatcher to the session's monitors.
    private let dispatcher: EventDispatcher?
    private let state = Locked(State())

    init(_ dispatcher: EventDispatcher?) {
        self.dispatcher = dispatcher
    }

    /// Sets the request that the events belong to.
    func adopt(_ request: any Request) {
        state.withLock { $0.request = request }
    }

    /// Adds a monitor, which receives all later events.
    func add(_ monitor: any RequestEventHandler) {
        guard let dispatcher = EventDispatcher([monitor]) else { return }
        state.withLock { $0.own.append(dispatcher) }
    }

    /// Retains a request that has started, until it ends.
    func begin(_ request: any Request) {
        state.withLock { state in
            if !state.isFinished { state.underWay = request }
        }
    }

    // MARK: Delivery

    /// Appends an event to the queues, which ``start()`` delivers.
    ///
    /// This method may be called while the request's lock is held, so that events are in the order of the changes that
    /// they report. It calls no user code. It takes only the locks of the event queues, and no other lock is taken
    /// while they are held.
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

    /// Appends an event and starts its delivery.
    func emit(_ event: RequestEvent) {
        append(event)
        start()
    }

    // MARK: The lifecycle

    /// Appends the event for a change of the request's state.
    ///
    /// It is called while the request's lock is held.
    func appendChange(to state: RequestState) {
        switch state {
        case .resumed: append(.didResume)
        case .suspended: append(.didSuspend)
        case .cancelled: append(.didCancel)
        case .initialized, .finished: break
        }
    }

    /// Reports the end of the request, and releases the request.
    func finish() {
        emit(.didFinish)
        let request = state.withLock { state in
            state.isFinished = true
            return state.underWay.take()
        }
        // The last reference must not be released while the lock is held.
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

    /// Reports the end of the exchange, if an exchange has begun.
    func exchangeEnded(_ outcome: ExchangeOutcome) {
        let (ended, hasHead) = state.withLock { ($0.exchange.take(), $0.hasHead) }
        guard var record = ended else { return }
        record.body = outcome.body
        record.source = outcome.source
        record.cacheStatus = outcome.cacheStatus
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

    /// Reports an element or an error of a stream.
    func streamed<Value: Sendable>(_ result: Result<Value, RequestError>) {
        guard let request = state.withLock({ $0.underWay ?? $0.request }) as? DataStreamRequest else { return }
        emit(.didParseStream(DataStreamRequest.Stream(event: .stream(result), request: request)))
    }

    /// Returns a closure that reports the result of a serializer.
    func answer<Source: SerializingRequest, Value: Sendable>(
        to request: Source.Type, _ type: Value.Type
    ) -> SerializationSlot.Report {
        { [self] answer in emit(.didParseResponse(SerializingTask<Source, Value>.response(from: answer))) }
    }
}
