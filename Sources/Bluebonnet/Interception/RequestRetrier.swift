/// Decides whether a request that failed is tried again.
///
/// The session's retriers come before the request's own; the first answer other than ``RetryResult/doNotRetry`` counts.
public protocol RequestRetrier: Sendable {
    /// Returns what is to become of a request that failed.
    ///
    /// Asked once for each distinct failure: of an attempt, or of a serializer. Not asked about a cancellation. Runs on
    /// the global pool, never on the network's loop, and may take its time. When the request is cancelled meanwhile, the
    /// task that runs this is cancelled, and nobody waits for it any longer.
    ///
    /// - Parameters:
    ///   - request: The request, whose `response` and `retryCount` tell more.
    ///   - session: Its session; requests that are made with it are intercepted like others.
    ///   - error: Why the request failed, usually a ``RequestError``.
    /// - Returns: What to do.
    @concurrent
    func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult
}

/// Says what is to become of a request that failed.
public enum RetryResult: Sendable {
    /// Try again at once.
    case retry
    /// Try again after a delay; cancelling the request ends it.
    case retryWithDelay(Duration)
    /// Do not try again, as far as this retrier is concerned; the next is asked.
    case doNotRetry
    /// Do not try again, and report another error: `.retry(original:)` with this one as the underlying error.
    case doNotRetryWithError(any Error)
}

extension RetryResult {
    /// Whether the request is to be tried again.
    public var isRetrying: Bool {
        switch self {
        case .retry, .retryWithDelay: true
        case .doNotRetry, .doNotRetryWithError: false
        }
    }

    /// How long to wait before trying again, if a delay is asked for.
    public var delay: Duration? { if case .retryWithDelay(let delay) = self { delay } else { nil } }

    /// The error to report, if there is one.
    public var error: (any Error)? { if case .doNotRetryWithError(let error) = self { error } else { nil } }
}
