import FoundationEssentials

/// The result of one attempt, with the outcome of the exchange and the error of the attempt.
final class CompletedAttempt: Sendable {
    let request: HTTPRequest?
    /// The error of a failed attempt.
    ///
    /// Serializers run only if it is `nil`.
    let error: RequestError?
    /// The number of the attempt, counted from 1, or 0 if no attempt was made.
    let attempts: Int
    /// The URL of the file if the body was downloaded to a file.
    let fileURL: URL?
    /// The data for resuming a failed download.
    let resumeData: Data?
    /// The session's decoder, if the response decodes its body itself.
    let decoder: (any DataDecoder)?

    private let outcome: ExchangeOutcome?

    init(
        request: HTTPRequest?, outcome: ExchangeOutcome?, error: RequestError?, attempts: Int, fileURL: URL? = nil,
        resumeData: Data? = nil, decoder: (any DataDecoder)? = nil
    ) {
        self.request = request
        self.outcome = outcome
        self.error = error?.after(outcome?.response)
        self.attempts = attempts
        self.fileURL = fileURL
        self.resumeData = resumeData
        self.decoder = decoder
    }

    var response: HTTPResponse? { outcome?.response }

    /// The body, or `nil` if there is no response and the body is empty.
    var data: Data? {
        guard let outcome, outcome.response != nil || !outcome.body.isEmpty else { return nil }
        return outcome.body
    }

    var metrics: TransferMetrics? { outcome?.metrics }

    var source: ResponseSource { outcome?.source ?? .network }

    var cacheStatus: CacheStatus? { outcome?.cacheStatus }

    /// Returns the same attempt with a decoder for its body.
    func decoding(with decoder: any DataDecoder) -> CompletedAttempt {
        CompletedAttempt(
            request: request, outcome: outcome, error: error, attempts: attempts, fileURL: fileURL,
            resumeData: resumeData, decoder: decoder)
    }

    /// Returns the same attempt with another error.
    func failing(with error: RequestError) -> CompletedAttempt {
        CompletedAttempt(
            request: request, outcome: outcome, error: error, attempts: attempts, fileURL: fileURL,
            resumeData: resumeData)
    }

    /// Returns the same attempt with a cancellation error.
    func cancelled(after later: RequestError? = nil) -> CompletedAttempt {
        if error?.isCancellation == true { return self }
        return failing(with: .cancelled(after: later ?? error).during(request, attempts: attempts))
    }

    /// Returns the same attempt, whose error does not claim that a retry is safe if an earlier attempt, or a request
    /// before a redirect, may have been processed.
    func judgingSafety(after earlier: RequestError?, isRedirected: Bool) -> CompletedAttempt {
        guard let error, error.isSafeToRetry, isRedirected || earlier?.isSafeToRetry == false else { return self }
        return failing(with: error.safeToRetry(false))
    }

    /// Returns the same attempt with the earlier error as the underlying error.
    ///
    /// This only applies to the error that a body cannot be sent again. The underlying error then shows why the body
    /// had to be sent again.
    func caused(by earlier: RequestError?) -> CompletedAttempt {
        guard let earlier, let error, error.kind == .requestBody(.notReplayable), error.underlying == nil else {
            return self
        }
        return failing(
            with: RequestError(error.kind, detail: error.detail, underlying: earlier)
                .during(request, attempts: attempts))
    }

    /// Returns the same attempt with the URL of the complete file.
    func saved(at fileURL: URL) -> CompletedAttempt {
        CompletedAttempt(request: request, outcome: outcome, error: error, attempts: attempts, fileURL: fileURL)
    }

    /// Returns the same attempt with resume data, which is also added to its error.
    func resumable(with resumeData: Data?) -> CompletedAttempt {
        guard let resumeData else { return self }
        return CompletedAttempt(
            request: request, outcome: outcome, error: error?.resumable(with: resumeData), attempts: attempts,
            resumeData: resumeData)
    }
}

extension RequestError {
    /// Whether the body cannot be sent again, so that another attempt would fail in the same way.
    func isUnreplayableBody(after earlier: RequestError?) -> Bool {
        earlier != nil && kind == .requestBody(.notReplayable)
    }
}
