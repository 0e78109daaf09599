import FoundationEssentials

/// An exchange that looks up a response in a cache, or fetches, validates and stores it.
///
/// The exchange runs on the caller's thread. File access and handlers may take time, so they run in a task on the
/// global executor. The method that starts the exchange never calls the observer.
final class CachingExchange: Exchange {
    let request: HTTPRequest
    let cacheRequest: CacheRequest
    let options: ExchangeOptions
    let observer: any ExchangeObserver
    let cache: ResponseCache
    private let transport: any Transport
    private let whenEnded: @Sendable (CachingExchange) -> Void
    let state: Locked<CachingExchangeState>
    /// The state of the exchange with the server.
    let fetch = Locked<Fetch>(Fetch())

    /// The data of a running exchange with the server.
    struct Fetch: Sendable {
        var validated: StoredResponse?
        var isConditional = false
        var began = Date.distantPast
        /// Whether the observer receives the body itself; such a response cannot be stored.
        var isForwarded = false
        /// The epoch of the cache key when the fetch began.
        ///
        /// If the epoch has changed since then, the response is not stored.
        var epoch: UInt64 = 0
    }

    init(
        _ request: HTTPRequest, _ cacheRequest: CacheRequest, options: ExchangeOptions, observer: any ExchangeObserver,
        cache: ResponseCache, inner: any Transport, whenEnded: @escaping @Sendable (CachingExchange) -> Void
    ) {
        self.request = request
        self.cacheRequest = cacheRequest
        self.options = options
        self.observer = observer
        self.cache = cache
        self.whenEnded = whenEnded
        transport = inner
        state = Locked(CachingExchangeState(isSuspended: options.startsSuspended))
    }

    /// Changes the state, and releases the values of the earlier stage outside the lock.
    func change<Result>(_ body: (inout CachingExchangeState) -> Result) -> Result {
        let (result, _) = state.withLock { state in
            let earlier = state.stage
            return (body(&state), earlier)
        }
        return result
    }

    // MARK: Looking up

    /// Looks up a response, or fetches it.
    func begin() {
        guard cacheRequest.mayBeAnswered, !options.pausesBody else {
            return cacheRequest.isForCacheOnly ? found(notStored) : startFetch(of: request)
        }
        let decision = decision(cache.inMemory(cacheRequest.key))
        guard cache.hasDisk, !decision.hasEntry else { return carryOut(decision) }
        Task { carryOut(self.decision(cache.onDisk(cacheRequest))) }
    }

    private func decision(_ candidates: [StoredResponse]) -> CacheDecision {
        let limit = options.maximumResponseBytes ?? .max
        return CacheDecision(cacheRequest, candidates: candidates.filter { $0.body.count <= limit }, now: cache.now())
    }

    private func carryOut(_ decision: CacheDecision) {
        switch decision {
        case .network: startFetch(of: request)
        case .stored(let entry):
            cache.count { $0.hits += 1 }
            found(outcome(with: entry, at: cache.now()))
        case .validate(let entry, let conditions):
            var conditional = request
            for field in conditions { conditional.headers.update(field) }
            startFetch(of: conditional, validating: entry, isConditional: !conditions.isEmpty)
        case .unsatisfiable: found(notStored)
        }
    }

    /// Creates an outcome from a stored response.
    func outcome(with entry: StoredResponse, at now: Date) -> ExchangeOutcome {
        ExchangeOutcome(
            response: entry.response(at: now, url: request.url, keepsCoding: cacheRequest.keepsCoding),
            body: cacheRequest.method == .head ? Data() : entry.body,
            source: .cache)
    }

    private var notStored: ExchangeOutcome {
        ExchangeOutcome(response: nil, error: RequestError(.cache(.notStored)))
    }

    private func found(_ outcome: ExchangeOutcome) {
        if change({ $0.found(outcome) }) { Task { deliver() } }
    }

    private func deliver() {
        if let outcome = change({ $0.delivering() }) { complete(outcome) }
    }

    // MARK: Fetching

    func startFetch(of request: HTTPRequest, validating entry: StoredResponse? = nil, isConditional: Bool = false) {
        guard let isSuspended = change({ $0.willFetch() }) else { return }
        let epoch = cache.epoch(of: cacheRequest.key)
        let fetch = Fetch(validated: entry, isConditional: isConditional, began: cache.now(), epoch: epoch)
        _ = self.fetch.withLock { Swift.exchange(&$0, with: fetch) }
        var options = options
        options.startsSuspended = isSuspended
        let exchange = transport.start(request, options: options, observer: self)
        if change({ $0.exchangeStarted(exchange) }) { exchange.cancel() }
        if state.withLock({ $0.isSuspended }) != isSuspended { align() }
        handleEvents()
    }

    /// Suspends or resumes the inner exchange until it matches the state of this exchange.
    private func align() {
        while true {
            let (exchange, isSuspended) = state.withLock { ($0.inner, $0.isSuspended) }
            guard let exchange else { return }
            if isSuspended { exchange.suspend() } else { exchange.resume() }
            if state.withLock({ $0.isSuspended }) == isSuspended { return }
        }
    }

    /// Handles the events of the inner exchange in order, on one thread at a time.
    func handleEvents() {
        while let event = state.withLock({ $0.nextEvent() }) {
            switch event {
            case .head(let response): received(response)
            case .outcome(let outcome): return completed(outcome)
            }
        }
    }

    // MARK: Ending

    /// Delivers the outcome, unless an outcome has already been delivered.
    func finish(_ outcome: ExchangeOutcome) {
        if change({ $0.ended() }) { complete(outcome) }
    }

    /// Delivers the outcome; the state ensures that this happens only once.
    private func complete(_ outcome: ExchangeOutcome) {
        whenEnded(self)
        observer.exchangeDidComplete(outcome)
    }

    private func stop(with error: RequestError, inTask: Bool) {
        switch change({ $0.stopped(with: error) }) {
        case .nothing: break
        case .cancel(let exchange): exchange.cancel()
        case .complete(let outcome, let interruption):
            interruption?()
            if inTask { Task { complete(outcome) } } else { complete(outcome) }
        }
    }

    func shutDown() { stop(with: RequestError(.sessionShutDown), inTask: false) }

    // MARK: Exchange

    func cancel() { stop(with: RequestError(.cancelled), inTask: true) }

    func suspend() {
        state.withLock { $0.isSuspended = true }
        align()
    }

    func resume() {
        let isHeld = state.withLock { state in
            state.isSuspended = false
            if case .held = state.stage { return true }
            return false
        }
        if isHeld { Task { deliver() } }
        align()
    }

    func receiveBody(with receiver: (any BodyReceiver)?) {
        state.withLock { $0.inner }?.receiveBody(with: receiver)
    }

    func receiveMore() { state.withLock { $0.inner }?.receiveMore() }
}

extension CacheDecision {
    /// Whether the decision uses a stored response.
    fileprivate var hasEntry: Bool {
        switch self {
        case .stored, .validate: true
        case .network, .unsatisfiable: false
        }
    }
}

/// Decides how to handle the server's response, and applies the decision.
extension CachingExchange: ExchangeObserver {
    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {
        observer.exchangeDidSend(sent, ofExpected: expected)
    }

    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {
        observer.exchangeDidReceive(received, ofExpected: expected)
    }

    func exchangeDidReceiveHead(_ response: HTTPResponse) {
        if state.withLock({ $0.received(.head(response)) }) { handleEvents() }
    }

    func exchangeDidComplete(_ outcome: ExchangeOutcome) {
        if state.withLock({ $0.received(.outcome(outcome)) }) { handleEvents() }
    }

    /// Handles a head whose body is held back.
    ///
    /// The body is held back if the request needs this, or if the response is a redirect.
    func received(_ response: HTTPResponse) {
        guard !options.pausesBody, isWorthCollecting(response), let inner = state.withLock({ $0.inner }) else {
            fetch.withLock { $0.isForwarded = true }
            return observer.exchangeDidReceiveHead(response)
        }
        inner.receiveBody(with: nil)
    }

    /// Whether to receive the short body of a redirect in order to store the response.
    private func isWorthCollecting(_ response: HTTPResponse) -> Bool {
        if response.statusCode == 304 { return true }
        guard let length = response.expectedContentLength, length <= Self.longestRedirect else { return false }
        return Storability.allows(statusCode: response.statusCode, headers: response.headers, for: cacheRequest)
    }

    private static let longestRedirect: Int64 = 64 * 1024

    /// Handles the end of the inner exchange.
    func completed(_ outcome: ExchangeOutcome) {
        let fetch = fetch.withLock { $0 }
        let now = cache.now()
        let verdict = CacheVerdict(
            outcome, of: cacheRequest, validating: fetch.validated, isConditional: fetch.isConditional, now: now)
        switch verdict {
        case .pass:
            countMiss(outcome)
            finish(outcome)
        case .serveStale(let entry):
            cache.count { $0.staleResponses += 1 }
            finish(self.outcome(with: entry, at: now))
        case .refetch:
            guard change({ $0.willWork() }) else { return finish(outcome) }
            Task {
                cache.drop(cacheRequest.key)
                startFetch(of: request)
            }
        case .store where fetch.isForwarded:
            countMiss(outcome)
            finish(outcome)
        case .store, .drop, .freshen, .compareHead, .forget:
            store(outcome, verdict, fetch, now)
        }
    }

    /// Applies the verdict on the global executor, before the outcome is delivered.
    private func store(_ outcome: ExchangeOutcome, _ verdict: CacheVerdict, _ fetch: Fetch, _ now: Date) {
        guard change({ $0.willWork() }) else { return finish(outcome) }
        let task = Task { finish(await stored(outcome, verdict, fetch, now)) }
        if change({ $0.workBegan { task.cancel() } }) { task.cancel() }
    }

    private func stored(
        _ outcome: ExchangeOutcome, _ verdict: CacheVerdict, _ fetch: Fetch, _ now: Date
    ) async -> ExchangeOutcome {
        guard let response = outcome.response else { return outcome }
        switch verdict {
        case .store:
            countMiss(outcome)
            await storeResponse(response, outcome.body, fetch, now)
        case .drop:
            countMiss(outcome)
            cache.drop(cacheRequest.key)
        case .freshen(let entry):
            guard
                let fresh = Freshening.freshened(entry, by: response, requestTime: fetch.began, responseTime: now)
            else { return outcome }
            cache.count { $0.validations += 1 }
            cache.store(fresh, for: cacheRequest.key, since: fetch.epoch)
            return ExchangeOutcome(
                response: fresh.validatedResponse(url: request.url, keepsCoding: cacheRequest.keepsCoding),
                body: fresh.body, metrics: outcome.metrics, source: .validated)
        case .compareHead: compare(response, fetch, now)
        case .forget(let keys): cache.forget(keys)
        case .pass, .serveStale, .refetch: break
        }
        return outcome
    }

    /// Stores a response in the form that the handler returns.
    private func storeResponse(_ response: HTTPResponse, _ body: Data, _ fetch: Fetch, _ now: Date) async {
        var kept = CachedResponse(response: response, data: body)
        if let willStore = options.willStore {
            guard let chosen = await willStore(kept), !Task.isCancelled else { return }
            kept = chosen
            guard
                Storability.allows(
                    statusCode: kept.response.statusCode, headers: kept.response.headers, for: cacheRequest)
            else { return }
        }
        guard !Task.isCancelled, kept.storagePolicy != .notAllowed else { return }
        let entry = StoredResponse(
            kept.response, body: kept.data.withoutSlack(expected: response.expectedContentLength), to: cacheRequest,
            requestTime: fetch.began, responseTime: now, storagePolicy: kept.storagePolicy)
        if let entry { cache.store(entry, for: cacheRequest.key, since: fetch.epoch) }
    }

    /// Updates the stored response from the response to a HEAD request (RFC 9111 §4.3.5).
    private func compare(_ response: HTTPResponse, _ fetch: Fetch, _ now: Date) {
        let candidates = cache.inMemory(cacheRequest.key) + cache.onDisk(cacheRequest)
        guard let entry = CacheDecision.newest(candidates, for: cacheRequest) else { return }
        guard
            Freshening.isSame(entry, response),
            let fresh = Freshening.freshened(entry, by: response, requestTime: fetch.began, responseTime: now)
        else { return cache.drop(entry, for: cacheRequest.key) }
        cache.store(fresh, for: cacheRequest.key, since: fetch.epoch)
    }

    private func countMiss(_ outcome: ExchangeOutcome) {
        if cacheRequest.mayBeAnswered, !options.pausesBody, outcome.error == nil { cache.count { $0.misses += 1 } }
    }
}

extension Data {
    /// Returns the bytes in memory of exactly their size; a body of a known length is not copied.
    fileprivate func withoutSlack(expected: Int64?) -> Data {
        guard expected != Int64(count) else { return self }
        var copy = Data(capacity: count)
        copy.append(self)
        return copy
    }
}
