import Bluebonnet

@testable import BluebonnetTesting

/// Records the events of an exchange, and calls that break the rules.
final class RecordingObserver: ExchangeObserver {
    private struct State: Sendable {
        var outcomes: [ExchangeOutcome] = []
        var received: [Int64] = []
        var violations = 0
    }

    private let state = ObservedState(State())

    /// Returns the outcome as soon as it is available.
    var outcome: ExchangeOutcome {
        get async throws { try await state.wait { $0.outcomes.first.map { .success($0) } } }
    }

    var outcomeCount: Int { state.read { $0.outcomes.count } }
    var received: [Int64] { state.read { $0.received } }
    /// The number of calls after the outcome.
    var violations: Int { state.read { $0.violations } }

    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {}

    func exchangeDidReceiveHead(_ response: HTTPResponse) {}

    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {
        state.change { state in
            state.received.append(received)
            if !state.outcomes.isEmpty { state.violations += 1 }
        }
    }

    func exchangeDidComplete(_ outcome: ExchangeOutcome) {
        state.change { state in
            if !state.outcomes.isEmpty { state.violations += 1 }
            state.outcomes.append(outcome)
        }
    }
}
