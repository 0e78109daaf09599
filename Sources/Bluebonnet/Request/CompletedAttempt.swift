import FoundationEssentials

/// The result of one attempt: the exchange, as it ended, and the verdict on it.
final class CompletedAttempt: Sendable {
    let request: HTTPRequest?
    /// Why the attempt failed; serializers are asked only when it did not.
    let error: RequestError?
    /// Which attempt it was, counted from 1; 0 when there was none.
    let attempts: Int
    /// Where the body is, if it was downloaded to a file.
    let fileURL: URL?
    /// The data to resume a failed download with.
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

    /// The body, if there was a response for it to belong to.
    var data: Data? {
        guard let outcome, outcome.response != nil || !outcome.body.isEmpty else { return nil }
        return outcome.body
    }

    var metrics: TransferMetrics? { outcome?.metrics }

    var source: ResponseSource { outcome?.source ?? .network }

    /// The same exchange with another verdict.
    func failing(with error: RequestError) -> CompletedAttempt {
        CompletedAttempt(
            request: request, outcome: outcome, error: error, attempts: attempts, fileURL: fileURL,
            resumeData: resumeData)
    }

    /// The same, ended by a cancellation, after which nothing that it came to is handed out.
    func cancelled(after later: RequestError? = nil) -> CompletedAttempt {
        if error?.isCancellation == true { return self }
        return failing(with: .cancelled(after: later ?? error).during(request, attempts: attempts))
    }

    /// The same, saying what led to it: a body that cannot be sent again would hide why that was tried.
    func caused(by earlier: RequestError?) -> CompletedAttempt {
        guard let earlier, let error, error.kind == .requestBody(.notReplayable), error.underlying == nil else {
            return self
        }
        return failing(
            with: RequestError(error.kind, detail: error.detail, underlying: earlier)
                .during(request, attempts: attempts))
    }

    /// The same with the file that the body came to be in.
    func saved(at fileURL: URL) -> CompletedAttempt {
        CompletedAttempt(request: request, outcome: outcome, error: error, attempts: attempts, fileURL: fileURL)
    }

    /// The same with what a download can be resumed with, which the error has, too.
    func resumable(with resumeData: Data?) -> CompletedAttempt {
        guard let resumeData else { return self }
        return CompletedAttempt(
            request: request, outcome: outcome, error: error?.resumable(with: resumeData), attempts: attempts,
            resumeData: resumeData)
    }
}
