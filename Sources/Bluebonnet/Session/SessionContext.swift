import Synchronization

/// The part of a session that its requests need.
///
/// The context exists until the last request has finished.
final class SessionContext: Sendable {
    let configuration: Session.Configuration
    /// The transport of the session's requests, including its cache if it has one.
    let transport: any Transport
    let interceptor: (any RequestInterceptor)?
    /// The adapters of the session's interceptor, which run before the adapters of a request.
    let adapters: [any RequestAdapter]
    /// The retriers of the session's interceptor, which run before the retriers of a request.
    let retriers: [any RequestRetrier]
    let redirectHandler: (any RedirectHandler)?
    let eventMonitors: [any RequestEventHandler]
    /// Reports events to the monitors; `nil` if there are no monitors.
    let events: EventDispatcher?
    let cachedResponseHandler: (any CachedResponseHandler)?
    /// The defaults that complete the URLs of requests; `nil` if there are none.
    let urlDefaults: Session.Configuration.URLDefaults?
    /// Whether the session has a cache.
    let hasCache: Bool
    /// Waits between attempts.
    let sleep: Sleep
    let startsRequestsImmediately: Bool
    /// The error of every request, for example if a default header field is invalid.
    let configurationError: RequestError?
    /// A closure that waits for a duration, and ends early if its task is cancelled.
    typealias Sleep = @Sendable (Duration) async throws -> Void

    private let owner = Locked(SessionReference())
    private let registry = Locked(RequestRegistry())
    private let epoch = Atomic<Int>(0)
    /// The number of users of the transport: the session, and each request that has not finished.
    private let users = Atomic<Int>(1)

    init(
        configuration: Session.Configuration, transport: any Transport, interceptor: (any RequestInterceptor)? = nil,
        redirectHandler: (any RedirectHandler)? = nil, cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any RequestEventHandler] = [], refusal: RequestError? = nil, startsRequestsImmediately: Bool
    ) {
        self.configuration = configuration
        urlDefaults = configuration.urlDefaults.isEmpty ? nil : configuration.urlDefaults
        hasCache = configuration.cache != nil
        self.interceptor = interceptor
        adapters = AdapterChain.parts(of: [interceptor].compactMap(\.self))
        (transport.innermost as? any LimitedTransport)?.setLimits(configuration.timeouts)
        var wrapped = transport
        // The first adapter is the first to see an exchange.
        for case let wrapper as any TransportWrapper in adapters.reversed() { wrapped = wrapper.wrapped(wrapped) }
        self.transport =
            configuration.cache.map { CachingTransport(wrapped, cache: $0, configuration: configuration) } ?? wrapped
        retriers = RetrierChain.parts(of: [interceptor].compactMap(\.self))
        self.redirectHandler = redirectHandler
        self.eventMonitors = eventMonitors
        events = EventDispatcher(eventMonitors)
        self.cachedResponseHandler = cachedResponseHandler
        sleep = configuration.sleep
        self.startsRequestsImmediately = startsRequestsImmediately
        do throws(RequestError) {
            if let refusal { throw refusal }
            try configuration.headers.validate()
            for cookie in configuration.cookies.initial { try cookie.validate() }
            configurationError = nil
        } catch {
            configurationError = error
        }
    }

    /// The session, or another handle for the shared state if the session was released before its requests.
    var session: Session { owner.withLock { $0.session } ?? Session(of: self) }

    func setSession(_ session: Session) { owner.withLock { $0.session = session } }

    /// The number of times that all requests were cancelled.
    ///
    /// A request that was created before a cancellation is cancelled even if it begins later.
    var cancellationEpoch: Int { epoch.load(ordering: .acquiring) }

    /// The default header fields.
    var effectiveHeaders: HTTPHeaders { configuration.effectiveHeaders }

    var requests: [any Request] { Array(registry.withLock { $0.requests }.values) }

    /// The request with this identifier, if it is registered.
    func request(_ id: RequestID) -> (any Request)? { registry.withLock { $0.requests[id.number] } }

    /// Retains the request until it has finished; returns the error of a request that cannot begin.
    func register(_ request: any Request) -> RequestError? {
        guard !ForkedProcess.isCopy else {
            return RequestError(
                .sessionShutDown,
                detail: "fork() has made this process after the first request; use posix_spawn(), or fork() earlier")
        }
        return registry.withLock { $0.began(request) } ? nil : RequestError(.sessionShutDown)
    }

    func remove(_ id: RequestID) {
        guard !ForkedProcess.isCopy else { return }
        let (done, _) = registry.withLock { $0.ended(id) }
        for continuation in done { continuation.resume() }
    }

    func cancelAll() {
        epoch.add(1, ordering: .acquiringAndReleasing)
        for request in requests { request.cancel() }
    }

    /// Waits until the currently registered requests have finished.
    func drained() async {
        await withResumption { continuation in
            if !registry.withLock({ $0.awaited(by: continuation) }) { continuation.resume() }
        }
    }

    func shutDown() async {
        guard !ForkedProcess.isCopy else { return }
        registry.withLock { $0.shutDown() }
        // A request that was not started would otherwise wait indefinitely.
        for request in requests {
            request.core.refuse(RequestError(.sessionShutDown))
            // A WebSocket has no end of its own.
            request.core.sink.sessionShutsDown()
        }
        (transport.innermost as? CurlTransport)?.refuseWaiting()
        await withTaskCancellationHandler {
            await drained()
        } onCancel: {
            cancelAll()
        }
        await transport.shutDown()
        await events?.delivered()
    }

    /// Counts a user of the transport.
    func retained() {
        users.add(1, ordering: .relaxed)
    }

    /// Records that the session or a request no longer needs the transport; the last call shuts it down.
    func released() {
        guard users.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        let transport = transport
        Task { await transport.shutDown() }
    }
}

/// A weak reference to a session.
private struct SessionReference {
    weak var session: Session?
}

/// The requests of a session that are running or awaited, and the tasks that wait for them to finish.
private struct RequestRegistry {
    /// A task that waits for requests to finish.
    private struct Waiter {
        /// The requests that have not finished.
        var requests: Set<Int>
        let continuation: Resumption<Void>
    }

    /// The requests by their numbers, which are `Int`; see ``TransferID``.
    private(set) var requests: [Int: any Request] = [:]
    private var waiters: [Waiter] = []
    private(set) var isShutDown = false

    /// A request is about to begin; returns whether it may.
    mutating func began(_ request: any Request) -> Bool {
        guard !isShutDown else { return false }
        requests[request.id.number] = request
        return true
    }

    /// A request has finished; returns the tasks whose wait is over, and the request, to be released without the lock.
    mutating func ended(_ id: RequestID) -> (done: [Resumption<Void>], request: (any Request)?) {
        let request = requests.removeValue(forKey: id.number)
        guard request != nil, !waiters.isEmpty else { return ([], request) }
        for index in waiters.indices { waiters[index].requests.remove(id.number) }
        let done = waiters.filter(\.requests.isEmpty)
        waiters.removeAll(where: \.requests.isEmpty)
        return (done.map(\.continuation), request)
    }

    mutating func shutDown() {
        isShutDown = true
    }

    /// A task waits for the current requests to finish; returns whether there are any.
    mutating func awaited(by continuation: Resumption<Void>) -> Bool {
        guard !requests.isEmpty else { return false }
        waiters.append(Waiter(requests: Set(requests.keys), continuation: continuation))
        return true
    }
}
