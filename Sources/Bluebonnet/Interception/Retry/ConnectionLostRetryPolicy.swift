/// Tries requests again whose connection was lost, and no others.
///
/// That is, when it was closed or reset before the response was complete. Whatever the status code of a response, it is
/// not retried. The rest is as with ``RetryPolicy``.
public struct ConnectionLostRetryPolicy: RequestInterceptor {
    /// The policy that decides.
    public let policy: RetryPolicy

    /// The failures that are retried.
    public static let retryableErrorKinds: Set<RequestError.Kind> = [
        .connection(.lost), .connection(.http2), .invalidResponse(.truncated),
    ]

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: How often a request may be tried again.
    ///   - exponentialBackoffBase: By what the delay grows from retry to retry.
    ///   - exponentialBackoffScale: How long the first delay is at most, in seconds.
    ///   - retryableHTTPMethods: The methods of requests that may be sent twice.
    ///   - jitter: How much of the delay is left to chance; all of it by default.
    ///   - maximumDelay: The longest delay.
    ///   - budget: What limits the retries of all requests together; `nil`, the default, for no such limit.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        jitter: RetryPolicy.Jitter = .full, maximumDelay: Duration = RetryPolicy.defaultMaximumDelay,
        budget: RetryBudget? = nil
    ) {
        policy = RetryPolicy(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: [], retryableErrorKinds: Self.retryableErrorKinds, jitter: jitter,
            maximumDelay: maximumDelay, budget: budget)
    }

    /// Returns the request as it is, and tells the budget of it, if there is one.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - state: Whose request it is.
    /// - Returns: The request.
    /// - Throws: Nothing.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        try await policy.adapt(request, using: state)
    }

    /// Decides whether the request is tried again, and when.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: Its session.
    ///   - error: Why it failed.
    /// - Returns: `.retry` or `.retryWithDelay`, or else `.doNotRetry`.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await policy.retry(request, for: session, dueTo: error)
    }
}

extension RequestRetrier where Self == ConnectionLostRetryPolicy {
    /// A policy for lost connections with the defaults.
    public static var connectionLostRetryPolicy: ConnectionLostRetryPolicy { ConnectionLostRetryPolicy() }

    /// A policy that tries requests again whose connection was lost.
    ///
    /// - Parameters:
    ///   - retryLimit: How often a request may be tried again.
    ///   - exponentialBackoffBase: By what the delay grows from retry to retry.
    ///   - exponentialBackoffScale: How long the first delay is at most, in seconds.
    ///   - retryableHTTPMethods: The methods of requests that may be sent twice.
    /// - Returns: The policy.
    public static func connectionLostRetryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
    ) -> ConnectionLostRetryPolicy {
        ConnectionLostRetryPolicy(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods)
    }
}
