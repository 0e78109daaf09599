import FoundationEssentials

/// The result of one attempt: the outcome of the exchange and the verdict on it.
final class CompletedAttempt: Sendable {
    let request: HTTPRequest?
    /// The error of a failed attempt; serializers only run if it is `nil`.
    let error: RequestError?
    /// The number of the attempt, counted from 1; 0 if none was made.
    let attempts: Int
    /// The URL of the file, if the body was downloaded to one.
    let fileURL: URL?
    /// The data for resuming a failed download.
    let resumeData: Data?

    private let outcome: ExchangeOutcome?

    init(
        request: HTTPRequest?, outcome: ExchangeOutcome?, error: RequestError?, attempts: Int, fileURL: URL? = nil,
        resumeData: Data? = nil
    ) {
        self.request = request
        self.outcome = outcome
        self.error = error
        self.attempts = attempts
        self.fileURL = fileURL
        self.resumeData = resumeData
    }

    var response: HTTPResponse? { outcome?.response }

    /// The body, if there is a response or the body is not empty.
    var data: Data? {
        guard let outcome, outcome.response != nil || !outcome.body.isEmpty else { return nil }
        return outcome.body
    }

    var metrics: TransferMetrics? { outcome?.metrics }

    var source: ResponseSource { outcome?.source ?? .network }

    /// Returns the same exchange with another error.
    func failing(with error: RequestError) -> CompletedAttempt {
        CompletedAttempt(
            request: request, outcome: outcome, error: error, attempts: attempts, fileURL: fileURL,
            resumeData: resumeData)
    }

    /// Returns the same exchange as cancelled; its result is not delivered.
    func cancelled(after later: RequestError? = nil) -> CompletedAttempt {
        if error?.isCancellation == true { return self }
        return failing(with: .cancelled(after: later ?? error).during(request, attempts: attempts))
    }

    /// Returns the same attempt with the earlier error as the underlying error.
    ///
    /// Only a body that cannot be sent again is treated like this: its error alone would not say why it had to be sent
    /// again.
    func caused(by earlier: RequestError?) -> CompletedAttempt {
        guard let earlier, let error, error.kind == .requestBody(.notReplayable), error.underlying == nil else {
            return self
        }
        return failing(
            with: RequestError(error.kind, detail: error.detail, underlying: earlier)
                .during(request, attempts: attempts))
    }

    /// Returns the same attempt with the file of the complete body.
    func saved(at fileURL: URL) -> CompletedAttempt {
        CompletedAttempt(request: request, outcome: outcome, error: error, attempts: attempts, fileURL: fileURL)
    }

    /// Returns the same attempt with resume data, which its error receives too.
    func resumable(with resumeData: Data?) -> CompletedAttempt {
        guard let resumeData else { return self }
        return CompletedAttempt(
            request: request, outcome: outcome, error: error?.resumable(with: resumeData), attempts: attempts,
            resumeData: resumeData)
    }
}
