extension Request {
    // MARK: Interception

    /// Adds an interceptor that adapts the request before it is sent, and decides about retries when it fails.
    ///
    /// It runs after the session's interceptor and after interceptors that were added earlier. Call this before the
    /// request starts.
    ///
    /// - Parameter interceptor: The interceptor to add.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        core.machine.withLock { $0.setup.interceptors.append(interceptor) }
        return self
    }

    /// Adds an adapter that changes the request before it is sent.
    ///
    /// Its order is the same as for ``interceptor(_:)``. Call this before the request starts.
    ///
    /// - Parameter adapter: The adapter to add.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func adapt(using adapter: any RequestAdapter) -> Self {
        interceptor(Interceptor(adapters: [adapter]))
    }

    /// Adds a closure that changes the request before it is sent.
    ///
    /// Its order is the same as for ``interceptor(_:)``. Call this before the request starts.
    ///
    /// - Parameter adapt: A closure that receives the request and its state, and returns the request to send. It runs
    ///   on the global pool, once for each attempt.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func adapt(
        _ adapt: @escaping @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest
    ) -> Self { interceptor(Adapter(adapt)) }

    /// Adds a retrier that decides whether the request is tried again when it fails.
    ///
    /// Its order is the same as for ``interceptor(_:)``. Call this before the request starts.
    ///
    /// - Parameter retrier: The retrier to add.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func retry(using retrier: any RequestRetrier) -> Self {
        interceptor(Interceptor(retriers: [retrier]))
    }

    /// Adds a closure that decides whether the request is tried again when it fails.
    ///
    /// Its order is the same as for ``interceptor(_:)``. Call this before the request starts.
    ///
    /// - Parameter retry: A closure that receives the request, its session and the error, and returns whether and when
    ///   to retry. It runs on the global pool.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func retry(
        _ retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult
    ) -> Self { interceptor(Retrier(retry)) }

    // MARK: Observation

    /// Adds a monitor that receives the events of this request from now on.
    ///
    /// The session's monitors receive the events as well. The added monitor does not receive the events of serializers
    /// that were attached earlier. ``Session/shutdown()`` does not wait until the monitor has received its events; see
    /// ``EventMonitor``.
    ///
    /// - Parameter monitor: The monitor to add. It is retained until the request is released and all of its events have
    ///   been delivered.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func eventMonitor(_ monitor: any RequestEventHandler) -> Self {
        core.add(monitor, for: self)
        return self
    }

    // MARK: Redirects, caching and authentication

    /// Uses this handler, instead of the session's handler, to decide whether redirects are followed.
    ///
    /// A later call replaces it. Call this before the request starts.
    ///
    /// - Parameter handler: The redirect handler to use.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func redirect(using handler: any RedirectHandler) -> Self {
        _ = core.machine.withLock { exchange(&$0.setup.redirectHandler, with: handler) }
        return self
    }

    /// Uses this handler, instead of the session's handler, to decide whether the response is cached.
    ///
    /// A later call replaces it. Call this before the request starts. The handler is only called if the session has a
    /// cache.
    ///
    /// - Parameter handler: The handler to use.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        _ = core.machine.withLock { exchange(&$0.setup.cachedResponseHandler, with: handler) }
        return self
    }

    /// Authenticates with a user name and a password when the server asks for them.
    ///
    /// The credential is not sent before the server sends a challenge, and never to another origin. The scheme is the
    /// strongest of Basic, Digest and NTLM that the server offers. If the server does not accept the credential, its
    /// 401 response is the response to the request.
    ///
    /// A later call replaces the credential. Call this before the request starts. It has no effect on a request that
    /// already has its own ``HTTPRequest/credential``.
    ///
    /// - Parameters:
    ///   - username: The name of the user.
    ///   - password: The password of the user.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func authenticate(username: String, password: String) -> Self {
        authenticate(using: Credential(username: username, password: password))
    }

    /// Authenticates with a credential when the server asks for one.
    ///
    /// See ``authenticate(username:password:)`` for when the credential is sent.
    ///
    /// - Parameter credential: The credential for the origin of the request.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func authenticate(using credential: Credential) -> Self {
        core.machine.withLock { $0.setup.credential = credential }
        return self
    }
}
