import FoundationEssentials

/// What is made of what the server answers.
extension CachingExchange: ExchangeObserver {
    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {
        observer.exchangeDidSend(sent, ofExpected: expected)
    }

    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {
        observer.exchangeDidReceive(received, ofExpected: expected)
    }

    func exchangeDidReceiveHead(_ response: HTTPResponse) {
        if state.withLock({ $0.received(.head(response)) }) { tellEvents() }
    }

    func exchangeDidComplete(_ outcome: ExchangeOutcome) {
        if state.withLock({ $0.received(.outcome(outcome)) }) { tellEvents() }
    }

    /// A head was told whose body is held back, as it was asked for, or since it redirects.
    func received(_ response: HTTPResponse) {
        guard !options.holdsBody, isWorthCollecting(response), let inner = state.withLock({ $0.inner }) else {
            fetch.withLock { $0.isHandedOn = true }
            return observer.exchangeDidReceiveHead(response)
        }
        inner.receiveBody(with: nil)
    }

    /// Whether the short body of a redirect is worth having, in order to store it.
    private func isWorthCollecting(_ response: HTTPResponse) -> Bool {
        if response.statusCode == 304 { return true }
        guard let length = response.expectedContentLength, length <= Self.longestRedirect else { return false }
        return Storability.allows(statusCode: response.statusCode, headers: response.headers, for: facts)
    }

    private static let longestRedirect: Int64 = 64 * 1024

    /// The inner exchange has ended.
    func completed(_ outcome: ExchangeOutcome) {
        let fetch = fetch.withLock { $0 }
        let now = cache.now()
        let verdict = CacheVerdict(
            outcome, of: facts, validating: fetch.validated, isConditional: fetch.isConditional, now: now)
        switch verdict {
        case .pass:
            countMiss(outcome)
            finish(outcome)
        case .standIn(let entry):
            cache.count { $0.standIns += 1 }
            finish(self.outcome(with: entry, at: now))
        case .fetchAnew:
            guard change({ $0.willFetchAnew() }) else { return finish(outcome) }
            Task {
                cache.drop(facts.key)
                startFetch(of: request)
            }
        case .store where fetch.isHandedOn:
            countMiss(outcome)
            finish(outcome)
        case .store, .drop, .freshen, .compareHead, .forget:
            store(outcome, verdict, fetch, now)
        }
    }

    /// Does what the verdict says before the outcome is told, on the pool.
    private func store(_ outcome: ExchangeOutcome, _ verdict: CacheVerdict, _ fetch: Fetch, _ now: Date) {
        guard change({ $0.willStore() }) else { return finish(outcome) }
        let task = Task { finish(await stored(outcome, verdict, fetch, now)) }
        if change({ $0.isStoring { task.cancel() } }) { task.cancel() }
    }

    private func stored(
        _ outcome: ExchangeOutcome, _ verdict: CacheVerdict, _ fetch: Fetch, _ now: Date
    ) async -> ExchangeOutcome {
        guard let response = outcome.response else { return outcome }
        switch verdict {
        case .store:
            countMiss(outcome)
            await keep(response, outcome.body, fetch, now)
        case .drop:
            countMiss(outcome)
            cache.drop(facts.key)
        case .freshen(let entry):
            guard
                let fresh = Freshening.freshened(entry, by: response, requestTime: fetch.began, responseTime: now)
            else { return outcome }
            cache.count { $0.validations += 1 }
            cache.store(fresh, for: facts.key, since: fetch.epoch)
            return ExchangeOutcome(
                response: fresh.validatedResponse(url: request.url), body: fresh.body, metrics: outcome.metrics,
                origin: .validated)
        case .compareHead: compare(response, fetch, now)
        case .forget(let keys): cache.forget(keys)
        case .pass, .standIn, .fetchAnew: break
        }
        return outcome
    }

    /// Stores a response as the handler wants it.
    private func keep(_ response: HTTPResponse, _ body: Data, _ fetch: Fetch, _ now: Date) async {
        var kept = CachedResponse(response: response, data: body)
        if let willStore = options.willStore {
            guard let chosen = await willStore(kept), !Task.isCancelled else { return }
            kept = chosen
            guard Storability.allows(statusCode: kept.response.statusCode, headers: kept.response.headers, for: facts)
            else { return }
        }
        guard !Task.isCancelled, kept.storagePolicy != .notAllowed else { return }
        let entry = StoredResponse(
            kept.response, body: kept.data.withoutSlack(expected: response.expectedContentLength), to: facts,
            requestTime: fetch.began, responseTime: now, storagePolicy: kept.storagePolicy)
        if let entry { cache.store(entry, for: facts.key, since: fetch.epoch) }
    }

    /// Brings what is stored up to the answer to a HEAD (RFC 9111 §4.3.5).
    private func compare(_ response: HTTPResponse, _ fetch: Fetch, _ now: Date) {
        let candidates = cache.inMemory(facts.key) + cache.onDisk(facts)
        guard let entry = CacheDecision.newest(candidates, for: facts) else { return }
        guard
            Freshening.isSame(entry, response),
            let fresh = Freshening.freshened(entry, by: response, requestTime: fetch.began, responseTime: now)
        else { return cache.drop(entry, for: facts.key) }
        cache.store(fresh, for: facts.key, since: fetch.epoch)
    }

    private func countMiss(_ outcome: ExchangeOutcome) {
        if facts.mayBeAnswered, !options.holdsBody, outcome.error == nil { cache.count { $0.misses += 1 } }
    }
}

extension Data {
    /// The same bytes, in memory that is not larger than they are; a body of a known length has no other.
    fileprivate func withoutSlack(expected: Int64?) -> Data {
        guard expected != Int64(count) else { return self }
        var copy = Data(capacity: count)
        copy.append(self)
        return copy
    }
}
