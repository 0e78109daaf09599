import FoundationEssentials

/// Decides how to handle the server's response, and applies the decision.
extension CachingExchange: ExchangeObserver {
    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {
        observer.exchangeDidSend(sent, ofExpected: expected)
    }

    func exchangeDidReceiveInformational(_ response: HTTPResponse) {
        observer.exchangeDidReceiveInformational(response)
    }

    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {
        exchangeDidReceive(received, ofExpected: expected, fraction: nil)
    }

    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?, fraction: Double?) {
        observer.exchangeDidReceive(received, ofExpected: expected, fraction: fraction)
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
        guard case (let inner?, let fetch?) = state.withLock({ ($0.inner, $0.fetch) }) else { return }
        if answersCondition(response, fetch) { return inner.receiveBody(with: nil) }
        if let entry = fetch.validated, response.isServerFailure, isCurrent(fetch),
            entry.mayServeStale(for: cacheRequest, at: cache.now())
        {
            change { $0.responseReplaced() }
            return inner.cancel()
        }
        let isStorable = Storability.allows(
            statusCode: response.statusCode, headers: response.headers, for: cacheRequest)
        change { $0.headForwarded(storable: isStorable ? response : nil) }
        observer.exchangeDidReceiveHead(response)
    }

    /// Whether the cache has not forgotten the response that is being validated.
    private func isCurrent(_ fetch: Fetch) -> Bool { cache.epoch(of: cacheRequest.key) == fetch.epoch }

    /// Returns the outcome of a stopped exchange whose response is not the response to the request.
    private func stopped(_ outcome: ExchangeOutcome) -> ExchangeOutcome {
        ExchangeOutcome(response: nil, error: RequestError(.cancelled), metrics: outcome.metrics)
    }

    /// Whether the response is not the response to the request, but to the cache's own condition.
    private func answersCondition(_ response: HTTPResponse, _ fetch: Fetch) -> Bool {
        switch response.statusCode {
        case 304: fetch.isConditional
        case 206: fetch.validated != nil && options.collectsBody
        case 400, 412, 416: fetch.validated?.isPart == true && cacheRequest.range == nil && options.collectsBody
        default: false
        }
    }

    /// Handles the end of the inner exchange.
    func completed(_ outcome: ExchangeOutcome) {
        guard let fetch = state.withLock({ $0.fetch }) else { return finish(outcome) }
        let now = cache.now()
        var status = CacheStatus(forward: fetch.reason, status: outcome.response?.statusCode)
        if outcome.error == nil, let head = outcome.response {
            status.refusal = Storability.refusal(
                statusCode: head.statusCode, headers: head.headers, for: cacheRequest)
        }
        let outcome = outcome.with(status)
        let verdict =
            if fetch.isReplaced, let entry = fetch.validated {
                CacheVerdict.serveStale(entry)
            } else {
                CacheVerdict.on(
                    outcome, of: cacheRequest, validating: fetch.validated, isConditional: fetch.isConditional,
                    isBackground: fetch.isBackground, count: fetch.storing?.receiver.count, now: now)
            }
        switch verdict {
        case .pass: pass(outcome, fetch)
        case .serveStale(let entry):
            guard !fetch.isForwarded, fetch.isReplaced || isCurrent(fetch), change({ $0.willWork() }) else {
                return pass(outcome, fetch)
            }
            cache.count { $0.staleResponses += 1 }
            (status.ttl, status.refusal) = (entry.ttl(at: now), nil)
            found(HeldResponse(entry, to: cacheRequest, at: now, status: status) ?? .notStored)
        case .refetch where fetch.isForwarded: pass(outcome, fetch)
        case .refetch:
            guard change({ $0.willWork() }) else { return finish(stopped(outcome)) }
            Task {
                cache.discard([cacheRequest.key])
                startFetch(because: fetch.reason)
            }
        // A body that a reader receives is stored only if it was written meanwhile, and cannot be joined.
        case .join where fetch.isForwarded && !fetch.isCollected: pass(outcome, fetch)
        // A body that ended before it was requested is empty.
        case .store where outcome.error == nil && !fetch.isBodyRequested: store(outcome, verdict, fetch, now)
        case .store where fetch.isForwarded && !fetch.isCollected && fetch.storing == nil:
            if outcome.replacesStored { store(outcome, .drop, fetch, now) } else { pass(outcome, fetch) }
        case .replace(let keys) where fetch.isForwarded && !fetch.isCollected && fetch.storing == nil:
            store(outcome, .forget(keys), fetch, now)
        // The handler receives complete responses only.
        case .store where outcome.error != nil && options.willStore != nil: pass(outcome, fetch)
        case .store, .drop, .freshen, .join, .compareHead, .forget, .replace: store(outcome, verdict, fetch, now)
        }
    }

    /// Delivers the server's response and stores nothing; a head that was held back is delivered first.
    private func pass(_ outcome: ExchangeOutcome, _ fetch: Fetch) {
        countMiss(outcome, fetch)
        // The answer to the next request may be different after a failure of the server.
        if outcome.error == nil, outcome.response.map({ $0.statusCode < 500 }) ?? false {
            owner.note(cacheRequest, isStored: false)
        }
        discard(fetch.storing)
        guard options.pausesBody, !fetch.isForwarded, outcome.error == nil, change({ $0.willWork() }) else {
            return finish(outcome)
        }
        found(HeldResponse(outcome))
    }

    /// Ends the writing of a body that is not stored.
    private func discard(_ storing: Storing?) {
        guard let storing else { return }
        Task { if let file = await storing.end()?.file { cache.disk?.abandon(file) } }
    }

    /// Applies the verdict on the global executor, before the outcome is delivered.
    private func store(_ outcome: ExchangeOutcome, _ verdict: CacheVerdict, _ fetch: Fetch, _ now: Date) {
        guard change({ $0.willWork() }) else {
            discard(fetch.storing)
            switch verdict {
            case .forget(let keys), .replace(let keys):
                Task {
                    cache.forget(keys)
                    finish(outcome)
                }
            // The response is only the response to the cache's own condition or range.
            case .freshen, .join: finish(stopped(outcome))
            default: finish(outcome)
            }
            return
        }
        let task = Task {
            let answer = await stored(outcome, verdict, fetch, now)
            if options.pausesBody, !fetch.isForwarded {
                found(answer, inTask: true)
            } else {
                finish(answer.wholeOutcome())
            }
        }
        if change({ $0.workBegan { task.cancel() } }) { task.cancel() }
    }

    private func stored(
        _ outcome: ExchangeOutcome, _ verdict: CacheVerdict, _ fetch: Fetch, _ now: Date
    ) async -> HeldResponse {
        guard let response = outcome.response else { return HeldResponse(outcome) }
        switch verdict {
        case .store:
            countMiss(outcome, fetch)
            return HeldResponse(await storeResponse(response, outcome, fetch, now))
        case .replace(let keys):
            var fetch = fetch
            guard let epoch = cache.forget(keys, and: cacheRequest.key, since: fetch.epoch) else {
                discard(fetch.storing)
                break
            }
            fetch.epoch = epoch
            return HeldResponse(await storeResponse(response, outcome, fetch, now))
        case .join(let entry):
            countMiss(outcome, fetch)
            let joined = entry.joined(
                with: response, outcome.body, to: cacheRequest, requestTime: fetch.began, responseTime: now)
            guard let joined else { break }
            let isStored = update(entry, to: joined, fetch)
            if outcome.error == nil { return answer(by: joined, outcome, .network, now, isStored) }
        case .drop:
            countMiss(outcome, fetch)
            owner.note(cacheRequest, isStored: false)
            cache.discard([cacheRequest.key])
        case .freshen(let entry):
            if !fetch.isBackground { cache.count { $0.validations += 1 } }
            let fresh = Freshening.freshened(entry, by: response, requestTime: fetch.began, responseTime: now)
            let isStored = update(entry, to: fresh, fetch)
            // The response was validated for this request, even if the new fields prevent another use.
            return answer(by: fresh ?? entry, outcome, .validated, now, isStored)
        case .compareHead: compare(response, fetch, now)
        case .forget(let keys):
            discard(fetch.storing)
            cache.forget(keys)
        case .pass, .serveStale, .refetch: break
        }
        return HeldResponse(outcome)
    }

    /// Replaces a stored response by its update, or removes it if the update prevents another use.
    private func update(_ entry: StoredResponse, to fresh: StoredResponse?, _ fetch: Fetch) -> Bool {
        guard let fresh, !fresh.control.forbidsStoring else {
            cache.drop(entry.selector, for: cacheRequest.key)
            return false
        }
        return cache.store(fresh, for: cacheRequest.key, since: fetch.epoch)
    }

    /// Returns the answer with a response that was just updated.
    private func answer(
        by entry: StoredResponse, _ outcome: ExchangeOutcome, _ source: ResponseSource, _ now: Date, _ isStored: Bool
    ) -> HeldResponse {
        owner.note(cacheRequest, isStored: isStored)
        let status = isStored ? outcome.cacheStatus?.stored(ttl: entry.ttl(at: now)) : outcome.cacheStatus
        return HeldResponse(
            entry, to: cacheRequest, at: nil, source: source, metrics: outcome.metrics, status: status)
            ?? HeldResponse(outcome)
    }

    /// Stores a response in the form that the handler returns; returns the outcome with the new status.
    ///
    /// The handler cannot change the body of a stream or a download, which is already written.
    private func storeResponse(
        _ response: HTTPResponse, _ outcome: ExchangeOutcome, _ fetch: Fetch, _ now: Date
    ) async -> ExchangeOutcome {
        let written = await fetch.storing?.end()
        var kept: CachedResponse? = CachedResponse(response: response, data: outcome.body)
        if fetch.storing != nil, written == nil { kept = nil }
        if let willStore = options.willStore, let offered = kept { kept = await willStore(offered) }
        let entry = kept.flatMap { kept in
            StoredResponse(
                kept.response,
                body: written?.body ?? .memory(kept.data.withoutSlack(expected: response.expectedContentLength)),
                to: cacheRequest, requestTime: fetch.began, responseTime: now, storagePolicy: kept.storagePolicy,
                isComplete: outcome.error == nil)
        }
        var isStored = false
        if let kept, let entry, kept.storagePolicy != .notAllowed, !Task.isCancelled,
            Storability.allows(
                statusCode: kept.response.statusCode, headers: kept.response.headers, for: cacheRequest)
        {
            isStored = cache.store(entry, in: written?.file, for: cacheRequest.key, since: fetch.epoch)
        } else {
            if let file = written?.file { cache.disk?.abandon(file) }
            if outcome.replacesStored, !Task.isCancelled { cache.discard([cacheRequest.key]) }
        }
        if isStored || !Task.isCancelled { owner.note(cacheRequest, isStored: isStored) }
        return outcome.with(
            isStored ? entry.map { outcome.cacheStatus?.stored(ttl: $0.ttl(at: now)) } ?? nil : outcome.cacheStatus)
    }

    /// Updates the stored response from the response to a HEAD request (RFC 9111 §4.3.5).
    private func compare(_ response: HTTPResponse, _ fetch: Fetch, _ now: Date) {
        let candidates = cache.inMemory(cacheRequest) + cache.onDisk(cacheRequest, inPieces: true)
        guard let entry = CacheDecision.newest(candidates, for: cacheRequest) else { return }
        let fresh = Freshening.freshened(entry, by: response, requestTime: fetch.began, responseTime: now)
        _ = update(entry, to: Freshening.isSame(entry, response) ? fresh : nil, fetch)
    }

    private func countMiss(_ outcome: ExchangeOutcome, _ fetch: Fetch) {
        if cacheRequest.mayBeAnswered, outcome.error == nil, !fetch.isBackground { cache.count { $0.misses += 1 } }
    }
}

extension HTTPResponse {
    /// Whether the status code is a failure of the server for which a stale response may be used (RFC 5861 §4).
    var isServerFailure: Bool { [500, 502, 503, 504].contains(statusCode) }
}

extension ExchangeOutcome {
    /// Whether the response makes the stored response outdated, even if it is not stored itself.
    fileprivate var replacesStored: Bool {
        error == nil && response.map { (200...299).contains($0.statusCode) && $0.statusCode != 206 } ?? false
    }
}

extension CacheStatus {
    /// Returns the status of a response that was stored with a lifetime.
    fileprivate func stored(ttl: Int) -> CacheStatus {
        var status = self
        (status.ttl, status.isStored, status.refusal) = (ttl, true, nil)
        return status
    }
}

extension StoredResponse {
    /// Returns the seconds for which the response is still fresh; negative if it is stale.
    func ttl(at now: Date) -> Int { Int(-freshness.staleness(at: now)) }
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
