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
