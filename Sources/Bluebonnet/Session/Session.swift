public import FoundationEssentials

/// Creates requests, and holds the settings and the connections that they share.
///
/// Create one session for each set of common settings, and keep the session. Connections are reused only within a
/// session. You can release a session while its requests are running. The session then closes its connections after the
/// last request has finished.
///
/// The methods that create requests are `nonisolated`, so you can call them from any actor or task without `await`.
/// Requests do not run on the actor of the session.
public actor Session {
    /// The shared session, which has the default configuration and lives as long as the process.
    public static let `default` = Session()

    nonisolated let context: SessionContext

    /// Waits for a duration; tests replace the function to control the time.
    package nonisolated var sleep: @Sendable (Duration) async throws -> Void { context.sleep }

    /// Creates a session.
    ///
    /// The initializer starts no thread and opens no connections. The session starts its thread when the first request
    /// starts.
    ///
    /// - Parameters:
    ///   - configuration: The settings for requests and connections.
    ///   - interceptor: An interceptor that adapts all requests and decides about retries; `nil` by default. It runs
    ///     before the interceptors of a request.
    ///   - serverTrustManager: The manager that assigns trust evaluators to hosts; `nil` by default. With `nil`,
    ///     libcurl verifies certificates with the authorities of ``Configuration/tls-swift.property``. If you also pass
    ///     your own transport, the transport must support the manager. If ``Transport/evaluateServers(using:)`` of the
    ///     transport returns `false`, all requests fail with `.trust(.notEvaluated)`.
    ///   - redirectHandler: The handler that decides about redirects, for requests without their own handler. With
    ///     `nil`, the default, redirects are followed.
    ///   - cachedResponseHandler: The handler that decides which responses are cached, for requests without their own
    ///     handler; `nil` by default. If there is a handler but no cache in the configuration, the session creates a
    ///     ``ResponseCache`` in memory.
    ///   - eventMonitors: The monitors that receive the events of all requests; none by default. The session retains
    ///     the monitors.
    ///   - startRequestsImmediately: Whether a request starts automatically when you ask for its result; `true` by
    ///     default. You ask for a result when you call a `serializing…` method or begin to read a stream. With `false`,
    ///     a request starts when you call `resume()`.
    ///   - transport: The transport for the requests; `nil`, the default, for libcurl. The transport is shut down when
    ///     the session is shut down, or when the session and its last request are released.
    public init(
        configuration: Configuration = .default, interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil, eventMonitors: [any RequestEventHandler] = [],
        startRequestsImmediately: Bool = true, transport: (any Transport)? = nil
    ) {
        var configuration = configuration
        if cachedResponseHandler != nil, configuration.cache == nil { configuration.cache = ResponseCache() }
        context = SessionContext(
            configuration: configuration,
            transport: transport
                ?? CurlTransport(configuration: configuration, serverTrustManager: serverTrustManager),
            interceptor: interceptor, redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler, eventMonitors: eventMonitors,
            refusal: Self.refusal(of: transport, evaluatingWith: serverTrustManager),
            startsRequestsImmediately: startRequestsImmediately)
        context.setSession(self)
    }

    /// Creates a session for an API.
    ///
    /// ```swift
    /// let api = Session(baseURL: URL(string: "https://api.example/v1"), headers: ["X-Client": "7"])
    /// ```
    ///
    /// - Parameters:
    ///   - baseURL: The URL against which relative URLs are resolved; see ``Configuration/baseURL``.
    ///   - headers: Header fields, which replace the default fields of the same name.
    ///   - timeouts: The time limits; ``Timeouts/default`` by default.
    ///   - interceptors: Interceptors that adapt all requests and decide about retries, in this order; none by default.
    ///   - transport: The transport for the requests; `nil`, the default, for libcurl.
    public init(
        baseURL: URL?, headers: HTTPHeaders = [:], timeouts: Timeouts = .default,
        interceptors: [any RequestInterceptor] = [], transport: (any Transport)? = nil
    ) {
        self.init(
            configuration: Self.configuration(baseURL, headers, timeouts), interceptors: interceptors,
            transport: transport)
    }

    private static func configuration(_ baseURL: URL?, _ headers: HTTPHeaders, _ timeouts: Timeouts) -> Configuration {
        var configuration = Configuration()
        configuration.baseURL = baseURL
        for field in headers { configuration.headers.update(field) }
        configuration.timeouts = timeouts
        return configuration
    }

    /// Creates a session for an API whose base URL is a text.
    ///
    /// ```swift
    /// let api = Session(baseURL: "https://api.example/v1", headers: ["X-Client": "7"])
    /// ```
    ///
    /// - Parameters:
    ///   - baseURL: The URL against which relative URLs are resolved; see ``Configuration/baseURL``. If it is not a
    ///     valid URL, all requests fail with `.invalidURL`.
    ///   - headers: Header fields, which replace the default fields of the same name.
    ///   - timeouts: The time limits; ``Timeouts/default`` by default.
    ///   - interceptors: Interceptors that adapt all requests and decide about retries, in this order; none by default.
    ///   - transport: The transport for the requests; `nil`, the default, for libcurl.
    public init(
        baseURL: String, headers: HTTPHeaders = [:], timeouts: Timeouts = .default,
        interceptors: [any RequestInterceptor] = [], transport: (any Transport)? = nil
    ) {
        let url = Result { () throws(RequestError) in try baseURL.asURL() }
        let configuration = Self.configuration(try? url.get(), headers, timeouts)
        let refusal: RequestError? = if case .failure(let error) = url { error } else { nil }
        context = SessionContext(
            configuration: configuration,
            transport: transport ?? CurlTransport(configuration: configuration, serverTrustManager: nil),
            interceptor: Self.interceptor(interceptors), refusal: refusal, startsRequestsImmediately: true)
        context.setSession(self)
    }

    /// Creates a session with several interceptors.
    ///
    /// - Parameters:
    ///   - configuration: The settings for requests and connections.
    ///   - interceptors: Interceptors that adapt all requests and decide about retries, in this order.
    ///   - transport: The transport for the requests; `nil`, the default, for libcurl.
    public init(
        configuration: Configuration = .default, interceptors: [any RequestInterceptor],
        transport: (any Transport)? = nil
    ) {
        self.init(
            configuration: configuration,
            interceptor: Self.interceptor(interceptors), transport: transport)
    }

    private static func interceptor(_ parts: [any RequestInterceptor]) -> (any RequestInterceptor)? {
        parts.isEmpty ? nil : Interceptor(interceptors: parts)
    }

    /// The error of every request if the transport does not support the manager.
    private static func refusal(
        of transport: (any Transport)?, evaluatingWith manager: ServerTrustManager?
    ) -> RequestError? {
        guard let transport, let manager, !transport.evaluateServers(using: manager) else { return nil }
        return RequestError(.trust(.notEvaluated), detail: "the session's transport does not ask a manager")
    }

    /// Creates another handle for the shared state of a session, for interceptors that run after the session was
    /// released.
    init(of context: SessionContext) {
        self.context = context
        context.retained()
    }

    deinit {
        context.released()
    }

    /// The settings for requests and connections.
    public nonisolated var configuration: Configuration { context.configuration }

    /// The interceptor that runs before the interceptors of requests.
    public nonisolated var interceptor: (any RequestInterceptor)? { context.interceptor }

    /// The handler that decides about redirects, for requests without their own handler.
    public nonisolated var redirectHandler: (any RedirectHandler)? { context.redirectHandler }

    /// The handler that decides which responses are cached, for requests without their own handler.
    public nonisolated var cachedResponseHandler: (any CachedResponseHandler)? { context.cachedResponseHandler }

    /// The monitors that receive the events of every request.
    public nonisolated var eventMonitors: [any RequestEventHandler] { context.eventMonitors }

    /// Whether a request starts automatically when you call a `serializing…` method or begin to read a stream.
    public nonisolated var startRequestsImmediately: Bool { context.startsRequestsImmediately }

    /// The executor on which the transport runs; `nil` if the transport has no executor.
    ///
    /// A task that makes many requests one after another can prefer this executor, with `withTaskExecutorPreference`.
    /// Each request then needs two fewer thread switches. The task must not block, because it runs on the transport's
    /// thread. If the transport has several event loops, the executor belongs to the first event loop. Requests that
    /// run on other event loops need the usual thread switches. While the session is otherwise idle, requests that are
    /// made one after another run on the first event loop.
    public nonisolated var executor: (any TaskExecutor)? { context.transport.executor }

    // MARK: All requests

    /// Calls a closure with all unfinished requests that have started or that a task awaits.
    ///
    /// The closure runs in the caller's isolation. Requests may begin and end while the closure runs.
    ///
    /// - Parameter perform: A closure that receives the requests, in the order of their creation.
    /// - Returns: The closure's result.
    /// - Throws: The closure's error.
    @discardableResult
    public nonisolated(nonsending) func withAllRequests<Result, Failure: Error>(
        _ perform: ([any Request]) throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try perform(context.requests.sorted { $0.id.number < $1.id.number })
    }

    /// Cancels all existing requests and waits until they have finished.
    ///
    /// Requests that are created during this call are not affected.
    public func cancelAllRequests() async {
        context.cancelAll()
        await context.drained()
    }

    /// Closes the connections that no request uses, so that later requests open new connections.
    ///
    /// Call the method when the machine's network has changed. A connection over the earlier network may no longer
    /// work, even if it is still open. A request on this connection would wait until the idle timeout. Running requests
    /// continue on their connections. With libcurl 8.16.0 and later, new requests do not use the connections of running
    /// requests, and host names are resolved again. With earlier versions, a new request may use the HTTP/2 connection
    /// of a running request.
    ///
    /// The method returns immediately, and applies to all requests that start after the call.
    public nonisolated func renewConnections() { context.transport.renewConnections() }

    /// Waits up to a time limit for running requests to finish, cancels the unfinished requests, and shuts down.
    ///
    /// Except for the limit, the method does the same as ``shutdown()``. Requests that are cancelled fail with
    /// `.cancelled`. The limit does not apply to event monitors: the method also waits until they have received all
    /// events.
    ///
    /// - Parameter limit: The time to wait before running requests are cancelled.
    public func shutdown(within limit: Duration) async {
        let (context, sleep) = (context, context.configuration.sleep)
        let timer = Task {
            try await sleep(limit)
            context.cancelAll()
        }
        await shutdown()
        timer.cancel()
    }

    /// Waits for running requests to finish, then closes the connections and releases the event loop.
    ///
    /// Requests that have not started yet, and requests that wait for a connection, fail with `.sessionShutDown`.
    /// Requests that you create later fail in the same way. If the calling task is cancelled, the session cancels the
    /// running requests. WebSockets are closed with ``WebSocketCloseCode/goingAway``. If the closing handshake of a
    /// WebSocket takes longer than ``WebSocketRequest/Configuration/closeTimeout``, its connection is ended.
    ///
    /// The method also waits until the session's event monitors have received all earlier events. The method does not
    /// wait for the monitors if the calling task is cancelled, or if a monitor's own code calls the method.
    public func shutdown() async {
        await context.shutDown()
    }

    /// Waits until the monitors have received all events so far.
    package nonisolated func earlierEventsDelivered() async { await context.events?.delivered() }
}
