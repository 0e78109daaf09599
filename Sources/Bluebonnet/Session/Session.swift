/// Creates requests, and holds their common settings and shared connections.
///
/// Create one session for each set of common settings, and keep it: connections are reused only within a session. You
/// can release a session while requests are running; they finish first, then its connections are closed.
///
/// Requests are created by `nonisolated` methods, and each request is an actor itself. No code that waits runs on the
/// session's own actor.
public actor Session {
    /// The shared session, which has the default configuration and lives as long as the process.
    public static let `default` = Session()

    nonisolated let context: SessionContext

    /// Waits for a duration; a test that controls the time sets its own function.
    package nonisolated var sleep: @Sendable (Duration) async throws -> Void { context.sleep }

    /// Creates a session.
    ///
    /// No connection is opened and no thread is started before the first request.
    ///
    /// - Parameters:
    ///   - configuration: The settings for requests and connections.
    ///   - interceptor: An interceptor that adapts every request before it is sent, and decides about retries when one
    ///     fails. It runs before the request's own interceptors. The default is `nil`.
    ///   - serverTrustManager: A manager that assigns evaluators to hosts. With `nil`, the default, libcurl checks
    ///     certificates against the authorities of ``Configuration/tls-swift.property``. If the transport does not
    ///     support a manager (``Transport/evaluateServers(using:)``), all requests fail.
    ///   - redirectHandler: The handler that decides about redirects, for requests without their own handler. With
    ///     `nil`, the default, redirects are followed.
    ///   - cachedResponseHandler: The handler that decides which responses are cached, for requests without their own
    ///     handler; `nil` by default. With a handler but without a cache in the configuration, the session gets its own
    ///     ``ResponseCache`` in memory.
    ///   - eventMonitors: The monitors that receive the events of every request; none by default. They are retained as
    ///     long as the session.
    ///   - startRequestsImmediately: Whether a request starts when its first serializer is attached or its first reader
    ///     begins; `true` by default. With `false`, a request starts when you call its `resume()`.
    ///   - transport: The transport for the requests; `nil`, the default, for libcurl. The transport is shut down with
    ///     the session.
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

    /// The error of every request if the transport does not support the manager.
    private static func refusal(
        of transport: (any Transport)?, evaluatingWith manager: ServerTrustManager?
    ) -> RequestError? {
        guard let transport, let manager, !transport.evaluateServers(using: manager) else { return nil }
        return RequestError(.trust(.notEvaluated), detail: "the session's transport does not ask a manager")
    }

    /// Creates another handle on the shared state of a session, for interceptors that run after the session was
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

    /// The interceptor that runs before the requests' own interceptors.
    public nonisolated var interceptor: (any RequestInterceptor)? { context.interceptor }

    /// The handler that decides about redirects, for requests without their own handler.
    public nonisolated var redirectHandler: (any RedirectHandler)? { context.redirectHandler }

    /// The handler that decides which responses are cached, for requests without their own handler.
    public nonisolated var cachedResponseHandler: (any CachedResponseHandler)? { context.cachedResponseHandler }

    /// The monitors that receive the events of every request.
    public nonisolated var eventMonitors: [any RequestEventHandler] { context.eventMonitors }

    /// The session's monitors, combined into one monitor.
    package nonisolated var eventMonitor: CompositeEventMonitor {
        CompositeEventMonitor(monitors: context.eventMonitors)
    }

    /// Whether a request starts when its first serializer is attached or its first reader begins.
    public nonisolated var startRequestsImmediately: Bool { context.startsRequestsImmediately }

    /// The executor on which the transport runs, for tasks that make many requests in sequence; `nil` if it has none.
    ///
    /// A task that prefers this executor saves two switches between threads for each request, and must not block.
    public nonisolated var executor: (any TaskExecutor)? { context.transport.executor }

    // MARK: All requests

    /// Calls a closure with the requests that are running or awaited.
    ///
    /// The closure runs in the caller's isolation. Requests may begin and end while it runs.
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

    /// Cancels every request that was created so far, and returns when all of them have finished.
    ///
    /// Requests that are created during this call are neither cancelled nor awaited.
    public func cancelAllRequests() async {
        context.cancelAll()
        await context.drained()
    }

    /// Waits for running requests to finish, then closes the connections and releases the event loop.
    ///
    /// Requests that start later, and requests that have not been started, fail with `.sessionShutDown`. If the calling
    /// task is cancelled, the remaining requests are cancelled too, so that this method returns soon.
    ///
    /// Before this method returns, it waits until the event monitors have received all earlier events. It does not wait
    /// for them if the calling task is cancelled or runs the code of a monitor.
    public func shutdown() async {
        await context.shutDown()
    }
}
