extension Request {
    // MARK: Interception

    /// Adds an interceptor, which adapts the request before it is sent and decides about retries.
    ///
    /// The interceptor runs after the interceptors of the session, and after interceptors that were added to the
    /// request earlier. Call this method before the request starts.
    ///
    /// - Parameter interceptor: The interceptor to add.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        core.configure { $0.interceptors.append(interceptor) }
        return self
    }

    /// Adds an adapter that changes the request before it is sent.
    ///
    /// The adapter runs in the order that ``interceptor(_:)`` describes. Call this method before the request starts.
    ///
    /// - Parameter adapter: The adapter to add.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func adapt(using adapter: any RequestAdapter) -> Self {
        interceptor(Interceptor(adapters: [adapter]))
    }

    /// Adds a closure that changes the request before it is sent.
    ///
    /// The closure runs after the session's interceptors, and after interceptors that were added to the request
    /// earlier. Call this method before the request starts.
    ///
    /// - Parameter adapt: A closure that receives the request and its ``RequestAdapterState``, and returns the request
    ///   to send. It runs on the global executor, once for the first attempt and once for each retry.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func adapt(
        _ adapt: @escaping @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest
    ) -> Self { interceptor(Adapter(adapt)) }

    /// Adds a closure that changes the request before it is sent.
    ///
    /// The closure runs after the session's interceptors, and after interceptors that were added to the request
    /// earlier. Call this method before the request starts.
    ///
    /// - Parameter change: A closure that changes the request. It also receives its ``RequestAdapterState``. It runs on
    ///   the global executor, once for the first attempt and once for each retry.
    /// - Returns: This request, for chaining.
    @discardableResult
    // A closure that only throws is one that returns a request.
    @_disfavoredOverload
    public nonisolated func adapt(
        _ change: @escaping @Sendable (inout HTTPRequest, RequestAdapterState) async throws -> Void
    ) -> Self { interceptor(Adapter(change)) }

    /// Adds a retrier, which decides whether the request is retried when it fails.
    ///
    /// The retrier runs in the order that ``interceptor(_:)`` describes. Call this method before the request starts.
    ///
    /// - Parameter retrier: The retrier to add.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func retry(using retrier: any RequestRetrier) -> Self {
        interceptor(Interceptor(retriers: [retrier]))
    }

    /// Adds a closure that decides whether the request is retried when it fails.
    ///
    /// The closure runs in the order that ``interceptor(_:)`` describes. Call this method before the request starts.
    ///
    /// - Parameter retry: A closure that receives the request, its session and the error, and returns whether the
    ///   request is retried, and after which delay. It runs on the global executor.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func retry(
        _ retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult
    ) -> Self { interceptor(Retrier(retry)) }

    /// Retries the request with a ``RetryPolicy``.
    ///
    /// - Parameter limit: The maximum number of retries.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func retry(_ limit: Int) -> Self { retry(using: RetryPolicy(retryLimit: UInt(max(0, limit)))) }

    /// Changes the time limits of the request.
    ///
    /// Limits that the closure does not set are those of the session. Call this method before the request starts.
    ///
    /// ```swift
    /// session.request(url).timeouts { $0.total = .seconds(5) }
    /// ```
    ///
    /// - Parameter change: A closure that changes the limits. It runs on the global executor, once for the first
    ///   attempt and once for each retry.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func timeouts(_ change: @escaping @Sendable (inout Timeouts) -> Void) -> Self {
        adapt { request, _ in change(&request.timeouts) }
    }

    // MARK: Observation

    /// Adds a monitor that receives all later events of this request.
    ///
    /// The monitors of the session also receive the events.
    ///
    /// If the session has no monitors, add the first monitor of a request before you call a `serializing…` method.
    /// Otherwise, the monitor does not receive the result of the serializer that the `serializing…` method attaches.
    ///
    /// If you add a monitor while a loop reads a stream, the monitor receives the values from the next received bytes
    /// on.
    ///
    /// ``Session/shutdown()`` waits for the monitors of the session, but not for the monitors of a request.
    ///
    /// - Parameter monitor: The monitor to add. The monitor is retained until the request is released and all events
    ///   have been delivered.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func eventMonitor(_ monitor: any RequestEventHandler) -> Self {
        core.add(monitor, for: self)
        return self
    }

    // MARK: Redirects, caching and authentication

    /// Sets the handler that decides whether redirects are followed.
    ///
    /// The handler is used instead of the session's handler. A later call replaces the handler. Call this method before
    /// the request starts.
    ///
    /// - Parameter handler: The redirect handler to use.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func redirect(using handler: any RedirectHandler) -> Self {
        _ = core.configure { exchange(&$0.redirectHandler, with: handler) }
        return self
    }

    /// Sets the handler that decides whether the response is cached.
    ///
    /// The handler is used instead of the session's handler. It is not called if the session has no cache. A later call
    /// replaces the handler. Call this method before the request starts.
    ///
    /// - Parameter handler: The handler to use.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        _ = core.configure { exchange(&$0.cachedResponseHandler, with: handler) }
        return self
    }

    /// Sets the user name and the password that are used if the server requires authentication.
    ///
    /// The credential is sent only after the server has sent a challenge. The credential is never sent to another
    /// origin. If the server offers several schemes, Bluebonnet uses the strongest of the schemes Basic, Digest and
    /// NTLM. If the server rejects the credential, the request receives the 401 response.
    ///
    /// A later call replaces the credential. Call this method before the request starts. If the
    /// ``HTTPRequest/credential`` of the HTTP request is set, that credential is used instead.
    ///
    /// - Parameters:
    ///   - username: The name of the user.
    ///   - password: The password of the user.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func authenticate(username: String, password: String) -> Self {
        authenticate(using: Credential(username: username, password: password))
    }

    /// Sets the credential that is used if the server requires authentication.
    ///
    /// ``authenticate(username:password:)`` describes when the credential is sent.
    ///
    /// - Parameter credential: The credential for the origin of the request.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func authenticate(using credential: Credential) -> Self {
        core.configure { $0.additions.credential = credential }
        return self
    }
}
