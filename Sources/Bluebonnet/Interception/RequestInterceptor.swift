/// Changes requests before they are sent, and decides whether those that failed are tried again.
///
/// Both methods have defaults: the request as it is, and `.doNotRetry`.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
    /// Returns the request as it is.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - state: Whose request it is.
    /// - Returns: The request.
    /// - Throws: Nothing.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest { request }

    /// Returns `.doNotRetry`.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: Its session.
    ///   - error: Why it failed.
    /// - Returns: `.doNotRetry`.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        .doNotRetry
    }
}

/// Changes requests before they are sent.
///
/// For what holds for many requests alike: fields, signatures, tokens. The session's adapters come before the request's
/// own, and all of them are asked again for each attempt, with the request as it was converted again.
public protocol RequestAdapter: Sendable {
    /// Returns the request as it is to be sent.
    ///
    /// Runs on the global pool, never on the network's loop, and may take its time. If the request is cancelled, the
    /// task that runs this method is cancelled and its result is ignored.
    ///
    /// - Parameters:
    ///   - request: The request so far.
    ///   - state: Whose request it is.
    /// - Returns: The request to send, or to be changed by the next adapter.
    /// - Throws: Why the request cannot be sent; reported as `.adaptation` with it as the underlying error.
    @concurrent
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest
}

/// Tells an adapter whose request it changes.
public struct RequestAdapterState: Sendable {
    /// Names the request within the process.
    public let requestID: RequestID

    /// The session of the request; requests of its own that an adapter makes with it are intercepted like others.
    public let session: Session

    /// How often the request was tried again before this attempt.
    public let retryCount: Int

    /// Creates a state, for tests of adapters.
    ///
    /// - Parameters:
    ///   - requestID: Names the request.
    ///   - session: The session of the request.
    ///   - retryCount: How often the request was tried again.
    package init(requestID: RequestID, session: Session, retryCount: Int = 0) {
        self.requestID = requestID
        self.session = session
        self.retryCount = retryCount
    }
}

/// Decides whether a request that failed is tried again.
///
/// The session's retriers come before the request's own; the first answer other than ``RetryResult/doNotRetry`` counts.
public protocol RequestRetrier: Sendable {
    /// Decides whether a request that failed is tried again.
    ///
    /// Asked once for each distinct failure: of an attempt, or of a serializer. Not asked about a cancellation. Runs on
    /// the global pool, never on the network's loop, and may take its time. If the request is cancelled, the task that
    /// runs this method is cancelled and its result is ignored.
    ///
    /// - Parameters:
    ///   - request: The request, whose `response` and `retryCount` tell more.
    ///   - session: Its session; requests that are made with it are intercepted like others.
    ///   - error: Why the request failed, usually a ``RequestError``.
    /// - Returns: What to do.
    @concurrent
    func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult
}

/// Says whether a request that failed is tried again.
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
    package var isRetrying: Bool {
        switch self {
        case .retry, .retryWithDelay: true
        case .doNotRetry, .doNotRetryWithError: false
        }
    }

    /// How long to wait before trying again, if a delay is asked for.
    package var delay: Duration? { if case .retryWithDelay(let delay) = self { delay } else { nil } }

    /// The error to report, if there is one.
    package var error: (any Error)? { if case .doNotRetryWithError(let error) = self { error } else { nil } }
}
