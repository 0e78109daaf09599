/// A type that changes requests before they are sent and decides whether failed requests are retried.
///
/// Both methods have default implementations: `adapt` returns the request unchanged, and `retry` returns
/// `.doNotRetry`.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
    /// Returns the request unchanged.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - state: The state of the request, such as its session.
    /// - Returns: The request, unchanged.
    /// - Throws: Nothing.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest { request }

    /// Returns `.doNotRetry`.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - session: The session of the request.
    ///   - error: The error of the request.
    /// - Returns: `.doNotRetry`.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        .doNotRetry
    }
}

/// A type that changes requests before they are sent.
///
/// Use an adapter for changes that apply to many requests, such as header fields, signatures and tokens. The session's
/// adapters run before the request's own adapters. For each retry, the ``HTTPRequest`` is created again from its
/// ``HTTPRequestConvertible``, and all adapters run again.
public protocol RequestAdapter: Sendable {
    /// Returns the request to send.
    ///
    /// The method runs on the global executor, not on the network's event loop, so it may take time. If the request is
    /// cancelled, the task that runs the method is cancelled and the result of the method is ignored.
    ///
    /// - Parameters:
    ///   - request: The request, with the changes that earlier adapters made.
    ///   - state: The state of the request, such as its session.
    /// - Returns: The request to send, or to pass to the next adapter.
    /// - Throws: The reason why the request cannot be sent. The request fails with a ``RequestError`` of the kind
    ///   `.adaptation`, with this error as the underlying error.
    @concurrent
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest
}

/// An adapter that also wraps the transport of its session, through which each exchange passes once.
///
/// An adapter alone does not receive redirects or outcomes. It has to be an interceptor of the session: those of single
/// requests wrap nothing.
package protocol TransportWrapper: RequestAdapter {
    /// Returns a transport that passes exchanges on to another one, which may have been wrapped, too.
    func wrapped(_ transport: any Transport) -> any Transport
}

/// The state of a request that is being adapted.
public struct RequestAdapterState: Sendable {
    /// The identifier of the request, unique within the process.
    public let requestID: RequestID

    /// The session of the request.
    ///
    /// An adapter can send its own requests with this session. The session's interceptor also adapts and retries these
    /// requests.
    public let session: Session

    /// The number of retries so far; 0 before the request is sent for the first time.
    public let retryCount: Int

    /// Creates a state, for tests of adapters.
    ///
    /// - Parameters:
    ///   - requestID: The identifier of the request.
    ///   - session: The session of the request.
    ///   - retryCount: The number of retries so far; 0 by default.
    public init(requestID: RequestID? = nil, session: Session, retryCount: Int = 0) {
        self.requestID = requestID ?? .next()
        self.session = session
        self.retryCount = retryCount
    }
}

/// A type that decides whether a failed request is retried.
///
/// The session's retriers are called before the request's own retriers. The first result other than
/// ``RetryResult/doNotRetry`` is used.
public protocol RequestRetrier: Sendable {
    /// Decides whether a failed request is retried.
    ///
    /// The method is called when an attempt of the request or a serializer of the response fails. It is called at most
    /// once for each failure. It is not called in these cases:
    /// - The request was cancelled, or the request failed because the session was shut down.
    /// - The request is a stream, and its response head was already accepted.
    /// - The request is a download that resumes or starts over automatically after the failure.
    /// - A retry failed because the request body cannot be sent again.
    ///
    /// The method runs on the global executor, not on the network's event loop, so it may take time. If the request is
    /// cancelled, the task that runs the method is cancelled and the result of the method is ignored.
    ///
    /// - Parameters:
    ///   - request: The failed request. Its `response` and `retryCount` give more information.
    ///   - session: The session of the request. If the retrier sends its own requests with this session, the session's
    ///     interceptor also adapts and retries these requests.
    ///   - error: The error of the request, usually a ``RequestError``.
    /// - Returns: Whether to retry, and after which delay.
    @concurrent
    func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult
}

/// A decision on whether to retry a failed request.
public enum RetryResult: Sendable {
    /// Retry immediately.
    case retry
    /// Retry after a delay. Cancelling the request ends the delay.
    case retryWithDelay(Duration)
    /// Do not retry. The next retrier is called.
    case doNotRetry
    /// Do not retry. The request fails with a ``RequestError`` of the kind `.retry(original:)`, with this error as the
    /// underlying error.
    case doNotRetryWithError(any Error)
}
