import Synchronization

/// The part of a session that its requests need; outlives the session until the last request has been answered.
final class SessionContext: Sendable {
    let configuration: Session.Configuration
    /// The transport of the session's requests, including its cache if it has one.
    let transport: any Transport
    let interceptor: (any RequestInterceptor)?
    /// Those of the session's interceptor, asked before a request's own.
    let adapters: [any RequestAdapter]
    /// Those of the session's interceptor, asked before a request's own.
    let retriers: [any RequestRetrier]
    let redirectHandler: (any RedirectHandler)?
    let eventMonitors: [any RequestEventHandler]
    /// Tells the monitors; `nil` if there are none.
    let events: EventDispatcher?
    let cachedResponseHandler: (any CachedResponseHandler)?
    /// Whether there is a cache before the network.
    let hasCache: Bool
    /// Lets time pass between attempts; ends early when its task is cancelled.
    let sleep: @Sendable (Duration) async throws -> Void
    let startsRequestsImmediately: Bool
    /// Why no request of the session can be sent: one of its own fields cannot.
    let configurationError: RequestError?
    private let owner = Locked(SessionReference())
    private let registry = Locked(RequestRegistry())
    private let epoch = Atomic<Int>(0)
    /// How many there are who may still need the transport: the session, and each request that is not answered yet.
    private let users = Atomic<Int>(1)

    init(
        configuration: Session.Configuration, transport: any Transport, interceptor: (any RequestInterceptor)? = nil,
        redirectHandler: (any RedirectHandler)? = nil, cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any RequestEventHandler] = [], refusal: RequestError? = nil, startsRequestsImmediately: Bool
    ) {
        self.configuration = configuration
        hasCache = configuration.cache != nil
        self.transport =
            configuration.cache.map { CachingTransport(transport, cache: $0, configuration: configuration) }
            ?? transport
        self.interceptor = interceptor
        adapters = AdapterChain.parts(of: [interceptor].compactMap(\.self))
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

    /// The session, or, when that is gone and its requests are not, another handle on what they share.
    var session: Session { owner.withLock { $0.session } ?? Session(of: self) }

    func setSession(_ session: Session) { owner.withLock { $0.session = session } }

    /// Counts how often all requests were cancelled; one that was made before that and begins after it is cancelled too.
    var cancellationEpoch: Int { epoch.load(ordering: .acquiring) }

    /// The fields that a request has unless it sets them itself.
    var effectiveHeaders: HTTPHeaders { configuration.effectiveHeaders }

    var requests: [any Request] { Array(registry.withLock { $0.requests }.values) }

    /// The request of that name, if it is under way.
    func request(_ id: RequestID) -> (any Request)? { registry.withLock { $0.requests[id] } }

    /// Keeps the request until it has been answered; returns `false` when the session has been shut down.
    func register(_ request: any Request) -> Bool {
        registry.withLock { $0.began(request) }
    }

    func remove(_ id: RequestID) {
        let (done, _) = registry.withLock { $0.ended(id) }
        for continuation in done { continuation.resume() }
    }

    func cancelAll() {
        epoch.add(1, ordering: .acquiringAndReleasing)
        for request in requests { request.cancel() }
    }

    /// Waits until the requests that are under way have ended.
    func drained() async {
        await withResumption { continuation in
            if !registry.withLock({ $0.awaited(by: continuation) }) { continuation.resume() }
        }
    }

    func shutDown() async {
        registry.withLock { $0.shutDown() }
        // A request that waits for its start would wait indefinitely.
        for request in requests { request.core.refuse() }
        await withTaskCancellationHandler {
            await drained()
        } onCancel: {
            cancelAll()
        }
        await transport.shutDown()
        await events?.delivered()
    }

    /// Counts someone who may need the transport.
    func retained() {
        users.add(1, ordering: .relaxed)
    }

    /// Takes note that the session, or a request of it, needs the transport no longer; the last one shuts it down.
    func released() {
        guard users.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        let transport = transport
        Task { await transport.shutDown() }
    }
}

/// Knows a session without keeping it.
private struct SessionReference {
    weak var session: Session?
}

/// Knows a session's requests that are under way or awaited, and the tasks that wait for them to end, as a value.
private struct RequestRegistry {
    /// A task that waits for requests to end.
    private struct Waiter {
        /// The requests that have not ended.
        var requests: Set<RequestID>
        let continuation: Resumption<Void>
    }

    private(set) var requests: [RequestID: any Request] = [:]
    private var waiters: [Waiter] = []
    private(set) var isShutDown = false

    /// A request is about to begin; returns whether it may.
    mutating func began(_ request: any Request) -> Bool {
        guard !isShutDown else { return false }
        requests[request.id] = request
        return true
    }

    /// A request has been answered; returns those whose wait is over, and the request, to be released without the lock.
    mutating func ended(_ id: RequestID) -> (done: [Resumption<Void>], request: (any Request)?) {
        let request = requests.removeValue(forKey: id)
        guard request != nil, !waiters.isEmpty else { return ([], request) }
        for index in waiters.indices { waiters[index].requests.remove(id) }
        let done = waiters.filter(\.requests.isEmpty)
        waiters.removeAll(where: \.requests.isEmpty)
        return (done.map(\.continuation), request)
    }

    mutating func shutDown() {
        isShutDown = true
    }

    /// Someone waits for the requests to end that are there now; returns whether there are any.
    mutating func awaited(by continuation: Resumption<Void>) -> Bool {
        guard !requests.isEmpty else { return false }
        waiters.append(Waiter(requests: Set(requests.keys), continuation: continuation))
        return true
    }
}
