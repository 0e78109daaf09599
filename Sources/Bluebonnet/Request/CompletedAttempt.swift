import FoundationEssentials

/// What one attempt came to: the exchange, as it ended, and the verdict on it.
final class CompletedAttempt: Sendable {
    let request: HTTPRequest?
    /// Why the attempt failed; serializers are asked only when it did not.
    let error: RequestError?
    /// Which attempt it was, counted from 1; 0 when there was none.
    let attempts: Int

    private let outcome: ExchangeOutcome?

    init(request: HTTPRequest?, outcome: ExchangeOutcome?, error: RequestError?, attempts: Int) {
        self.request = request
        self.outcome = outcome
        self.error = error
        self.attempts = attempts
    }

    var response: HTTPResponse? { outcome?.response }

    /// The body, if there was a response for it to belong to.
    var data: Data? {
        guard let outcome, outcome.response != nil || !outcome.body.isEmpty else { return nil }
        return outcome.body
    }

    var metrics: TransferMetrics? { outcome?.metrics }

    /// The same exchange with another verdict.
    func failing(with error: RequestError) -> CompletedAttempt {
        CompletedAttempt(request: request, outcome: outcome, error: error, attempts: attempts)
    }
}
