import FoundationEssentials

/// An exchange that looks up a response in a cache, or fetches, validates and stores it.
///
/// The exchange runs on the caller's thread. File access and handlers may take time, so they run in a task on the
/// global executor. The method that starts the exchange never calls the observer.
final class CachingExchange: Exchange {
    typealias Fetch = CachingExchangeState.Fetch
    typealias Storing = CachingExchangeState.Storing

    let request: HTTPRequest
    let cacheRequest: CacheRequest
    let options: ExchangeOptions
    let observer: any ExchangeObserver
    let owner: CachingTransport
    let state: Locked<CachingExchangeState>

    init(
        _ request: HTTPRequest, _ cacheRequest: CacheRequest, options: ExchangeOptions, observer: any ExchangeObserver,
        owner: CachingTransport
    ) {
        self.request = request
        self.cacheRequest = cacheRequest
        self.options = options
        self.observer = observer
        self.owner = owner
        state = Locked(CachingExchangeState(isSuspended: options.startsSuspended))
    }

    var cache: ResponseCache { owner.cache }

    /// Changes the state, and releases the values of the earlier stage outside the lock.
    func change<Result>(_ body: (inout CachingExchangeState) -> Result) -> Result {
        let (result, _) = state.withLock { state in
            let earlier = state.stage
            return (body(&state), earlier)
        }
        return result
    }

    // MARK: Looking up

    /// Looks up a response, waits for the response to an equal request, or fetches the response.
    func begin() {
        guard cacheRequest.mayBeAnswered else {
            return cacheRequest.isForCacheOnly
                ? found(.notStored) : startFetch(because: CacheDecision.bypass(cacheRequest) ?? .bypass)
        }
        let decision = decision(cache.inMemory(cacheRequest))
        guard let reason = decision.forward, sharesFetch else { return lookUp(decision) }
        // The leader looks up again, because the earlier leader may have stored a response meanwhile.
        let time = cache.now()
        change { $0.wait = CachingExchangeState.Wait(reason: reason, time: time) }
        if owner.join(self, .request(EqualRequest(request, key: cacheRequest.key))) {
            change { $0.wait = nil }
            lookUp(self.decision(cache.inMemory(cacheRequest)))
        } else {
            startTimer()
        }
        if state.withLock({ $0.isEnded }) { owner.leave(self, handsOn: true) }
    }

    /// Goes on after the leader of the group has left.
    ///
    /// - Parameter leads: Whether this exchange is the leader now.
    func carryOn(leads: Bool) {
        state.withLock { $0.wait?.timer }?.cancel()
        if leads, state.withLock({ $0.isSuspended }) { owner.leave(self, handsOn: true) }
        lookUp(decision(cache.inMemory(cacheRequest)))
    }

    /// Whether the request may receive the response to an equal request, and vice versa.
    private var sharesFetch: Bool {
        let control = cacheRequest.control
        return cacheRequest.method == .get && request.allowsCollapsing && !options.pausesBody
            && !options.startsSuspended && !request.hasSpeedLimits && !cacheRequest.isForCacheOnly
            && !owner.isUnstored(cacheRequest.key) && !control.noCache && control.maxAge == nil
            && control.minFresh == nil
            && cacheRequest.policy != .reloadRevalidating
    }

    /// Limits the time of the wait for another request.
    private func startTimer() {
        guard let limit = owner.totalLimit(of: request) else { return }
        let timer = Task {
            try? await ContinuousClock().sleep(for: limit)
            if owner.follows(self) { stop(with: RequestError(.timedOut(.total))) }
        }
        state.withLock { $0.wait?.timer = timer }
        if !owner.follows(self) { timer.cancel() }
    }

    private func lookUp(_ decision: CacheDecision) {
        guard cache.disk != nil, !decision.hasEntry else { return carryOut(decision) }
        Task { carryOut(self.decision(cache.onDisk(cacheRequest, inPieces: options.pausesBody)), inTask: true) }
    }

    private func decision(_ candidates: [StoredResponse]) -> CacheDecision {
        var candidates = candidates
        if let limit = options.maximumResponseBytes {
            let isForPart = cacheRequest.range != nil
            candidates.removeAll { (isForPart ? Int64($0.body.count) : $0.extent.total) > limit }
        }
        return CacheDecision(cacheRequest, candidates: candidates, now: cache.now())
    }

    private func carryOut(_ decision: CacheDecision, inTask: Bool = false) {
        switch decision {
        case .network(let reason): startFetch(because: reason)
        case .stored(let entry): answer(with: entry, inTask)
        case .storedWhileRevalidating(let entry, let conditions):
            validateBehind(entry, with: conditions)
            answer(with: entry, inTask)
        case .validate(let entry, let conditions, let reason):
            startFetch(because: reason, validating: entry, with: conditions, isConditional: !conditions.isEmpty)
        // The bytes of a stream are not held in memory, so they cannot be joined.
        case .complete where !options.collectsBody: startFetch(because: .partial)
        case .complete(let entry, let conditions):
            startFetch(because: .partial, validating: entry, with: conditions)
        case .unsatisfiable: found(.notStored)
        }
    }

    /// Validates a stored response that was already delivered (RFC 5861 §3).
    private func validateBehind(_ entry: StoredResponse, with conditions: HTTPHeaders) {
        let options = ExchangeOptions(
            maximumResponseBytes: min(options.maximumResponseBytes ?? .max, Int64(cache.maximumBodyCount)),
            willStore: options.willStore)
        let exchange = CachingExchange(
            request, cacheRequest, options: options, observer: SilentObserver(), owner: owner)
        guard owner.startsBehind(exchange, .validation(cacheRequest.key, selector: entry.selector)) else { return }
        exchange.startFetch(
            because: .stale, validating: entry, with: conditions, isConditional: !conditions.isEmpty,
            isBackground: true)
    }

    /// Delivers a stored response.
    private func answer(with entry: StoredResponse, _ inTask: Bool) {
        // A response that was stored before the wait is an ordinary hit: the leader has found it in a file.
        let (now, waited) = (cache.now(), state.withLock { $0.wait })
        let reason = waited.flatMap { entry.responseTime >= $0.time ? $0.reason : nil }
        cache.count { $0.hits += 1 }
        let status = CacheStatus(forward: reason, ttl: entry.ttl(at: now), isCollapsed: reason != nil)
        found(HeldResponse(entry, to: cacheRequest, at: now, status: status) ?? .notStored, inTask: inTask)
    }

    // MARK: Delivering

    /// Delivers an answer as soon as the exchange is not suspended; a new task delivers it if no task is running.
    func found(_ answer: HeldResponse, inTask: Bool = false) {
        guard change({ $0.found(answer) }) else { return }
        // A task that has just read a file needs no other task to deliver the answer.
        if inTask { deliver() } else { Task { deliver() } }
    }

    private func deliver() {
        let headFirst = options.pausesBody
        switch change({ $0.delivering(headFirst: headFirst) }) {
        case .wait: break
        case .head(let response):
            observer.exchangeDidReceiveHead(response)
            runDelivery()
        case .whole(let answer): complete(answer.wholeOutcome())
        }
    }

    /// Delivers the body to its receiver until the receiver pauses.
    private func runDelivery() {
        while true {
            switch change({ $0.nextStep() }) {
            case .wait: return
            case .complete(let outcome): return complete(outcome)
            case .collect(let answer): return complete(answer.wholeOutcome())
            case .read(let answer, let offset, let receiver):
                var error: RequestError?
                var action = ReceiveAction.proceed
                var count = 0
                do throws(RequestError) {
                    let bytes = try answer.read(from: offset, upTo: Self.pieceSize)
                    count = bytes.count
                    action = receiver.receive(bytes)
                    observer.exchangeDidReceive(
                        Int64(offset + count), ofExpected: answer.response?.expectedContentLength)
                    error = action == .stop ? RequestError(.cancelled) : nil
                } catch let failure {
                    error = failure
                }
                change { $0.delivered(count, isPaused: action == .pause, error: error) }
            }
        }
    }

    /// The maximum number of bytes that are read from a file at once.
    private static let pieceSize = 64 * 1024

    // MARK: Fetching

    /// Sends the request.
    ///
    /// - Parameters:
    ///   - reason: The reason why the request is sent.
    ///   - entry: The stored response that is validated or completed.
    ///   - fields: The fields that are added to the request.
    ///   - isConditional: Whether these fields are the validators of the stored response.
    ///   - isBackground: Whether the stored response has already been delivered.
    func startFetch(
        because reason: CacheStatus.Forward, validating entry: StoredResponse? = nil, with fields: HTTPHeaders = [:],
        isConditional: Bool = false, isBackground: Bool = false
    ) {
        let fetch = Fetch(
            validated: entry, isConditional: isConditional, reason: reason, isBackground: isBackground,
            began: cache.now(), epoch: cache.epoch(of: cacheRequest.key))
        guard let isSuspended = change({ $0.willFetch(fetch) }) else { return owner.leave(self, handsOn: true) }
        var request = request
        for field in fields { request.headers.update(field) }
        if let directive = cacheRequest.policyDirective {
            request.headers.update(name: "Cache-Control", value: directive)
        }
        if let wait = state.withLock({ $0.wait }), let limit = owner.totalLimit(of: request) {
            request.timeouts.total = max(limit - (.now - wait.began), .milliseconds(1))
        }
        var options = options
        options.startsSuspended = isSuspended
        let exchange = owner.inner.start(request, options: options, observer: self)
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
    ///
    /// An exchange that was stopped ends with the reason, not with the cancellation of its inner exchange.
    func finish(_ outcome: ExchangeOutcome) {
        guard change({ $0.ended() }) else { return }
        guard outcome.error?.isCancellation == true, let error = state.withLock({ $0.stopError }) else {
            return complete(outcome)
        }
        complete(
            ExchangeOutcome(
                response: outcome.response, error: error, metrics: outcome.metrics, cacheStatus: outcome.cacheStatus))
    }

    /// Delivers the outcome; the state ensures that this happens only once.
    private func complete(_ outcome: ExchangeOutcome) {
        state.withLock { $0.wait?.timer }?.cancel()
        owner.ended(self)
        // After a failure, the followers continue together, because one after the other would take too long. A response
        // that arrives after the cancellation is not stored, and says nothing about the next one.
        owner.leave(self, handsOn: state.withLock { $0.stopError != nil } || outcome.error?.isCancellation == true)
        observer.exchangeDidComplete(outcome)
    }

    private func stop(with error: RequestError, isShutDown: Bool = false) {
        switch change({ $0.stopped(with: error) }) {
        case .nothing: break
        // The shutdown of the inner transport ends its exchanges.
        case .cancel(let exchange): if !isShutDown { exchange.cancel() }
        case .complete(let outcome, let interruption):
            interruption?()
            if isShutDown { complete(outcome) } else { Task { complete(outcome) } }
        }
    }

    func shutDown() { stop(with: RequestError(.sessionShutDown), isShutDown: true) }

    // MARK: Exchange

    func cancel() { stop(with: RequestError(.cancelled)) }

    func suspend() {
        state.withLock { $0.isSuspended = true }
        if !owner.follows(self) { owner.leave(self, handsOn: true) }
        align()
    }

    func resume() {
        let (isHeld, runs) = state.withLock { state in
            state.isSuspended = false
            if case .held = state.stage { return (true, false) }
            return (false, state.resumesDelivery())
        }
        if isHeld { Task { deliver() } }
        if runs { Task { runDelivery() } }
        align()
    }

    func receiveBody(with receiver: (any BodyReceiver)?) {
        let (inner, storableHead) = state.withLock { ($0.inner, $0.fetch?.storableHead) }
        if let inner {
            // Until the last moment, an outcome that arrives has an empty body.
            let storing = storableHead.flatMap { head in receiver.flatMap { self.storing(head, $0) } }
            change { $0.bodyRequested(receiver == nil ? .collected : .read(storing)) }
            return inner.receiveBody(with: storing?.receiver ?? receiver)
        }
        let reader = receiver.map(CachingExchangeState.Reader.receiver) ?? .collecting
        if change({ $0.resumesDelivery { $0.reader = reader } }) { Task { runDelivery() } }
    }

    /// Returns a receiver that also stores the body; `nil` if the body cannot be stored.
    private func storing(_ head: HTTPResponse, _ receiver: any BodyReceiver) -> Storing? {
        guard let writer = ResponseWriter(cache, cacheRequest.key, expecting: head.expectedContentLength) else {
            return nil
        }
        return Storing(
            writer: writer,
            receiver: StoringReceiver(receiver, writer: writer) { [weak self] in
                // The inner exchange may hold this exchange, which holds the receiver.
                self?.state.withLock { $0.inner }?.receiveMore()
            })
    }

    func receiveMore() {
        let (inner, storing) = state.withLock { ($0.inner, $0.fetch?.storing) }
        if let inner {
            if storing?.receiver.readerContinues() ?? true { inner.receiveMore() }
        } else if change({ $0.resumesDelivery { ($0.isPaused, $0.wantsMore) = (false, true) } }) {
            Task { runDelivery() }
        }
    }
}

extension CacheDecision {
    /// Whether the decision uses a stored response.
    fileprivate var hasEntry: Bool {
        switch self {
        case .stored, .storedWhileRevalidating, .validate, .complete: true
        case .network, .unsatisfiable: false
        }
    }

    /// The reason why the request is sent; `nil` if a stored response answers it, or nothing does.
    fileprivate var forward: CacheStatus.Forward? {
        switch self {
        case .network(let reason), .validate(_, _, let reason): reason
        case .complete: .partial
        case .stored, .storedWhileRevalidating, .unsatisfiable: nil
        }
    }
}
