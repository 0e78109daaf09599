/// Decides by a closure whether requests are tried again.
public struct Retrier: RequestInterceptor {
    private let closure: @Sendable (any Request, Session, any Error) async -> RetryResult

    /// Creates a retrier.
    ///
    /// - Parameter retry: Gets a request, its session and why it failed, and returns what to do. Runs on the global pool.
    public init(_ retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult) {
        closure = retry
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: Its session.
    ///   - error: Why it failed.
    /// - Returns: What the closure returns.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await closure(request, session, error)
    }
}

extension RequestRetrier where Self == Retrier {
    /// A retrier that calls a closure.
    ///
    /// - Parameter retry: Gets a request, its session and why it failed, and returns what to do. Runs on the global pool.
    /// - Returns: The retrier.
    public static func retrier(
        using retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult
    ) -> Retrier { Retrier(retry) }
}
