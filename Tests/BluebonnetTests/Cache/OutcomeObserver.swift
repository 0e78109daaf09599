import Bluebonnet

/// Waits for the outcome of an exchange.
final class OutcomeObserver: ExchangeObserver {
    private let state = Locked<(outcome: ExchangeOutcome?, waiting: CheckedContinuation<ExchangeOutcome, Never>?)>(
        (nil, nil))

    var outcome: ExchangeOutcome {
        get async {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state in
                    if state.outcome == nil { state.waiting = continuation }
                    return state.outcome
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        }
    }

    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {}
    func exchangeDidReceiveHead(_ response: HTTPResponse) {}
    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {}

    func exchangeDidComplete(_ outcome: ExchangeOutcome) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            return state.waiting.take()
        }
        waiting?.resume(returning: outcome)
    }
}
