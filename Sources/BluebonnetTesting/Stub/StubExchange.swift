import Bluebonnet
import FoundationEssentials

/// One exchange of the stub.
///
/// Runs on the global pool: making the answer, and telling the observer. Nothing is called with the lock held.
final class StubExchange: Exchange {
    private struct Guarded: Sendable {
        var state = StubExchangeState<ExchangeOutcome>()
        /// Makes the answer; there from the beginning of that to the end.
        var task: Task<Void, Never>?
    }

    /// Makes the answer to the exchange's request.
    typealias Answerer = @Sendable () async -> ExchangeOutcome

    private let guarded = Locked(Guarded())
    private let answer: Answerer
    private let observer: any ExchangeObserver
    /// Called after the observer was told the outcome.
    private let ended: @Sendable () -> Void
    /// Hands the response out where its body is held back.
    private let delivery: StubDelivery?

    init(
        observer: any ExchangeObserver, holdsBody: Bool, answer: @escaping Answerer,
        ended: @escaping @Sendable () -> Void
    ) {
        self.observer = observer
        self.answer = answer
        self.ended = ended
        delivery = holdsBody ? StubDelivery(observer: observer, ended: ended) : nil
    }

    func cancel() {
        perform(aborted(RequestError(.cancelled)))
        delivery?.abort(with: RequestError(.cancelled))
    }

    func suspend() {
        guarded.withLock { $0.state.suspended() }
        delivery?.setSuspended(true)
    }

    func resume() {
        delivery?.setSuspended(false)
        perform(guarded.withLock { $0.state.resumed() })
    }

    func receiveBody(with receiver: (any BodyReceiver)?) { delivery?.release(to: receiver) }

    func receiveMore() { delivery?.demand() }

    /// Ends it, and tells the observer before returning; does nothing if it has ended.
    func shutDown() {
        if case .deliver(let outcome) = aborted(RequestError(.sessionShutDown)) { deliver(outcome) }
        delivery?.abort(with: RequestError(.sessionShutDown))
    }

    private func aborted(_ error: RequestError) -> StubExchangeState<ExchangeOutcome>.Action {
        // What was held may have an error of the user's, which is released after the lock.
        let (action, task, _) = guarded.withLock { guarded in
            let earlier = guarded.state
            let action = guarded.state.aborted(ExchangeOutcome(response: nil, error: error))
            defer { if case .deliver = action { guarded.task = nil } }
            return (action, guarded.task, earlier)
        }
        if case .deliver = action { task?.cancel() }
        return action
    }

    private func perform(_ action: StubExchangeState<ExchangeOutcome>.Action) {
        switch action {
        case .nothing: break
        case .begin: begin()
        // Not here: the caller may be anywhere, and does not expect to be called back.
        case .deliver(let outcome): Task { deliver(outcome) }
        }
    }

    private func begin() {
        let task = Task {
            let outcome = await answer()
            let action = guarded.withLock { guarded in
                guarded.task = nil
                return guarded.state.answered(outcome)
            }
            if case .deliver(let outcome) = action { deliver(outcome) }
        }
        let isEnded = guarded.withLock { guarded in
            if !guarded.state.isEnded { guarded.task = task }
            return guarded.state.isEnded
        }
        // It was cancelled in between, or is complete already.
        if isEnded { task.cancel() }
    }

    private func deliver(_ outcome: ExchangeOutcome) {
        if let delivery { return delivery.begin(with: outcome) }
        if !outcome.body.isEmpty {
            observer.exchangeDidReceive(Int64(outcome.body.count), ofExpected: outcome.response?.expectedContentLength)
        }
        observer.exchangeDidComplete(outcome)
        ended()
    }
}

/// Decides what an exchange of the stub does next, and that it ends once; a pure value.
///
/// Whoever is told to deliver an outcome is the only one ever to be told so.
struct StubExchangeState<Outcome: Sendable>: Sendable {
    enum Action {
        case nothing
        /// Start to make the answer.
        case begin
        /// Tell the observer.
        case deliver(Outcome)
    }

    private enum Phase {
        /// Suspended before it began.
        case waiting
        /// The answer is being made.
        case answering(isSuspended: Bool)
        /// The answer is there, but the exchange is suspended.
        case holding(Outcome)
        /// An outcome is being or has been delivered.
        case ended
    }

    private var phase = Phase.waiting

    /// Whether an outcome is being or has been delivered.
    var isEnded: Bool { if case .ended = phase { true } else { false } }

    mutating func resumed() -> Action {
        switch phase {
        case .waiting:
            phase = .answering(isSuspended: false)
            return .begin
        case .answering:
            phase = .answering(isSuspended: false)
            return .nothing
        case .holding(let outcome):
            phase = .ended
            return .deliver(outcome)
        case .ended:
            return .nothing
        }
    }

    mutating func suspended() {
        if case .answering = phase { phase = .answering(isSuspended: true) }
    }

    mutating func answered(_ outcome: Outcome) -> Action {
        switch phase {
        case .answering(isSuspended: false):
            phase = .ended
            return .deliver(outcome)
        case .answering(isSuspended: true):
            phase = .holding(outcome)
            return .nothing
        case .waiting, .holding, .ended:
            // It was ended while the answer was being made.
            return .nothing
        }
    }

    /// Cancelled, or shut down.
    mutating func aborted(_ outcome: Outcome) -> Action {
        if case .ended = phase { return .nothing }
        phase = .ended
        return .deliver(outcome)
    }
}

/// Makes the outcome of an exchange from what a stub answered.
struct StubOutcome {
    let request: HTTPRequest
    /// The longest body that is allowed, in bytes.
    let limit: Int64?
    let duration: Duration

    func outcome(_ result: Result<StubTransport.Response.Storage, RequestError>) -> ExchangeOutcome {
        switch result {
        case .failure(let error), .success(.failure(let error)):
            return ExchangeOutcome(response: nil, error: error, metrics: metrics(received: 0, nil))
        case .success(.response(let status, let version, let headers, let body)):
            let response = HTTPResponse(
                url: request.url, statusCode: status, httpVersion: version, headers: headers)
            let metrics = metrics(received: body.count, version)
            guard let limit, body.count > limit else {
                return ExchangeOutcome(response: response, body: body, metrics: metrics)
            }
            return ExchangeOutcome(
                response: response, body: Data(body.prefix(Int(limit))),
                error: RequestError(.invalidResponse(.bodyTooLarge(limit: limit))), metrics: metrics)
        case .success(.delayed), .success(.never):
            // These have been waited for.
            return ExchangeOutcome(response: nil, error: RequestError(.internal))
        }
    }

    private func metrics(received: Int, _ version: HTTPVersion?) -> TransferMetrics {
        var metrics = TransferMetrics()
        metrics.total = duration
        metrics.bytesSent = request.body?.length ?? 0
        metrics.bytesReceived = Int64(received)
        metrics.httpVersion = version
        return metrics
    }
}
