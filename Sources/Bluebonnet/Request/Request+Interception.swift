extension Request {
    // MARK: Interception

    /// Has an interceptor change the request before it is sent, and decide whether it is tried again when it fails.
    ///
    /// Asked after the session's interceptor and those that the request has already. Has an effect on requests that have
    /// not been started.
    ///
    /// - Parameter interceptor: The interceptor.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        core.machine.withLock { $0.setup.interceptors.append(interceptor) }
        return self
    }

    /// Has an adapter change the request before it is sent, as ``interceptor(_:)`` does.
    ///
    /// - Parameter adapter: The adapter.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func adapt(using adapter: any RequestAdapter) -> Self {
        interceptor(Interceptor(adapters: [adapter]))
    }

    /// Changes the request before it is sent, as ``interceptor(_:)`` does.
    ///
    /// - Parameter adapt: Gets the request and whose it is, and returns it as it is to be sent. Runs on the global pool,
    ///   again for each attempt.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func adapt(
        _ adapt: @escaping @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest
    ) -> Self { interceptor(Adapter(adapt)) }

    /// Has a retrier decide whether the request is tried again when it fails, as ``interceptor(_:)`` does.
    ///
    /// - Parameter retrier: The retrier.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func retry(using retrier: any RequestRetrier) -> Self {
        interceptor(Interceptor(retriers: [retrier]))
    }

    /// Decides whether the request is tried again when it fails, as ``interceptor(_:)`` does.
    ///
    /// - Parameter retry: Gets the request, its session and why it failed, and returns what to do. Runs on the global
    ///   pool.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func retry(
        _ retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult
    ) -> Self { interceptor(Retrier(retry)) }

    // MARK: Observation

    /// Has a monitor told what happens to this request from now on, beside the session's monitors.
    ///
    /// The monitor gets no events of serializers that were attached earlier. ``Session/shutdown()`` does not wait for
    /// its deliveries; see ``EventMonitor``.
    ///
    /// - Parameter monitor: The monitor, which is retained until the request is released and all its events were
    ///   delivered.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func eventMonitor(_ monitor: any RequestEventHandler) -> Self {
        core.add(monitor, for: self)
        return self
    }

    // MARK: Redirects, caching and authentication

    /// Has a handler decide about redirects, in place of the session's.
    ///
    /// The last one that was set counts. Has an effect on requests that have not been started.
    ///
    /// - Parameter handler: The handler.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func redirect(using handler: any RedirectHandler) -> Self {
        _ = core.machine.withLock { exchange(&$0.setup.redirectHandler, with: handler) }
        return self
    }

    /// Has a handler decide whether the response is stored in the session's cache, in place of the session's.
    ///
    /// The last one that was set counts. Has an effect on requests that have not been started, of sessions that have a
    /// cache.
    ///
    /// - Parameter handler: The handler.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        _ = core.machine.withLock { exchange(&$0.setup.cachedResponseHandler, with: handler) }
        return self
    }

    /// Answers challenges of the server with a name and a password.
    ///
    /// They are not sent before the server asks, and not to other origins. With Basic, Digest or NTLM, whichever of those
    /// that the server offers is the strongest. A challenge that they do not satisfy ends as the 401 response. Has an effect
    /// on requests that have not been started, and that have no credential of their own.
    ///
    /// - Parameters:
    ///   - username: The user's name.
    ///   - password: The password.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func authenticate(username: String, password: String) -> Self {
        authenticate(using: Credential(username: username, password: password))
    }

    /// Answers challenges of the server with a credential, as ``authenticate(username:password:)`` does.
    ///
    /// - Parameter credential: The credential.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func authenticate(using credential: Credential) -> Self {
        core.machine.withLock { $0.setup.credential = credential }
        return self
    }
}
