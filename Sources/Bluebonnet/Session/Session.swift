/// Makes requests: holds what they have in common, and the connections that they share.
///
/// Make one session for each set of common settings and keep it: connections are reused within a session only. A session
/// may be dropped while requests are under way; they are answered, and then its connections are closed.
///
/// Runs here: nothing that waits. Requests are vended by `nonisolated` methods and run on actors of their own.
public actor Session {
    /// The session that has the default configuration and lives as long as the process.
    public static let `default` = Session()

    nonisolated let context: SessionContext

    /// Waits; a test that steers the time has its own.
    package nonisolated var sleep: @Sendable (Duration) async throws -> Void { context.sleep }

    /// Creates a session.
    ///
    /// Nothing is opened or started before the first request.
    ///
    /// - Parameters:
    ///   - configuration: How requests are made.
    ///   - interceptor: Changes every request before it is sent, and decides whether one that failed is tried again;
    ///     asked before the request's own.
    ///   - serverTrustManager: Assigns evaluators to hosts. Without one, libcurl checks certificates against the
    ///     authorities of ``Configuration/tls-swift.property``. If the transport does not support it
    ///     (``Transport/evaluateServers(using:)``), requests fail.
    ///   - redirectHandler: Decides about redirects for requests that have no handler of their own; by default they are
    ///     followed.
    ///   - cachedResponseHandler: Decides what is stored in the cache for requests that have no handler of their own. A
    ///     session that has one, and no cache in its configuration, gets a ``ResponseCache`` of its own, in memory.
    ///   - eventMonitors: The monitors that receive the events of every request; none by default. They are retained as
    ///     long as the session.
    ///   - startRequestsImmediately: Whether a request starts when its first serializer is attached; when not, it waits
    ///     for its `resume()`.
    ///   - transport: What carries the requests; libcurl by default. A transport is shut down with its session.
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

    /// The reason why no request may be sent: the transport would not ask the manager.
    private static func refusal(
        of transport: (any Transport)?, evaluatingWith manager: ServerTrustManager?
    ) -> RequestError? {
        guard let transport, let manager, !transport.evaluateServers(using: manager) else { return nil }
        return RequestError(.trust(.notEvaluated), detail: "the session's transport does not ask a manager")
    }

    /// Another handle on what a session's requests share, for their interceptors when the session itself is gone.
    init(of context: SessionContext) {
        self.context = context
        context.retained()
    }

    deinit {
        context.released()
    }

    /// How the session makes requests.
    public nonisolated var configuration: Configuration { context.configuration }

    /// The interceptor that changes every request before it is sent, and is asked first about failed requests.
    public nonisolated var interceptor: (any RequestInterceptor)? { context.interceptor }

    /// The handler that decides about redirects of requests without a handler of their own.
    public nonisolated var redirectHandler: (any RedirectHandler)? { context.redirectHandler }

    /// The handler that decides what is stored for requests without a handler of their own.
    public nonisolated var cachedResponseHandler: (any CachedResponseHandler)? { context.cachedResponseHandler }

    /// The monitors that receive the events of the requests.
    public nonisolated var eventMonitors: [any RequestEventHandler] { context.eventMonitors }

    /// The monitors that receive the events of the requests, as one.
    package nonisolated var eventMonitor: CompositeEventMonitor {
        CompositeEventMonitor(monitors: context.eventMonitors)
    }

    /// Whether a request starts when its first serializer is attached.
    public nonisolated var startRequestsImmediately: Bool { context.startsRequestsImmediately }

    /// The executor on which the session's network runs, to be preferred by tasks that make many requests in sequence.
    ///
    /// A task that prefers it saves two hops between threads for each request, and must not block.
    public nonisolated var executor: (any TaskExecutor)? { context.transport.executor }

    // MARK: All requests

    /// Calls a closure with the requests that are under way or awaited.
    ///
    /// Runs in the caller's isolation. Requests may begin and end meanwhile.
    ///
    /// - Parameter perform: Gets the requests, in the order of their creation.
    /// - Returns: What the closure returns.
    /// - Throws: The closure's error.
    @discardableResult
    public nonisolated(nonsending) func withAllRequests<Result, Failure: Error>(
        _ perform: ([any Request]) throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try perform(context.requests.sorted { $0.id.number < $1.id.number })
    }

    /// Cancels every request that was made so far, and returns when all of them have been answered.
    ///
    /// Requests that are made meanwhile go on, and are not waited for.
    public func cancelAllRequests() async {
        context.cancelAll()
        await context.drained()
    }

    /// Lets the requests that are under way finish, then closes the connections and frees the loop.
    ///
    /// Requests that begin after this, and those that wait for their start, fail with `.sessionShutDown`. If the calling
    /// task is cancelled, the remaining requests are, so that this returns soon.
    ///
    /// Returns after all earlier events were delivered to the event monitors, unless the calling task is cancelled or
    /// belongs to a monitor.
    public func shutdown() async {
        await context.shutDown()
    }
}
