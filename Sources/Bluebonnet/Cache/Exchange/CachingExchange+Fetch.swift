import FoundationEssentials

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
        guard let inner = state.withLock({ $0.inner }) else { return }
        let fetch = fetch.withLock { $0 }
        if isWorthCollecting(response, fetch) { return inner.receiveBody(with: nil) }
        if let entry = fetch.validated, response.isServerFailure, entry.mayServeStale(for: cacheRequest, at: cache.now()) {
            self.fetch.withLock { $0.servesStale = true }
            return inner.cancel()
        }
        let isStorable = Storability.allows(
            statusCode: response.statusCode, headers: response.headers, for: cacheRequest)
        self.fetch.withLock { fetch in
            fetch.isForwarded = true
            if isStorable { fetch.storable = response }
        }
        observer.exchangeDidReceiveHead(response)
    }

    /// Whether to receive the body before the observer receives the head.
    ///
    /// The body of a redirect is short, and is needed to store the response.
    private func isWorthCollecting(_ response: HTTPResponse, _ fetch: Fetch) -> Bool {
        if response.statusCode == 304 { return !options.pausesBody || fetch.isConditional }
        guard (300...399).contains(response.statusCode), let length = response.expectedContentLength,
            length <= Self.longestRedirect
        else { return false }
        return Storability.allows(statusCode: response.statusCode, headers: response.headers, for: cacheRequest)
    }

    private static let longestRedirect: Int64 = 64 * 1024

    /// Handles the end of the inner exchange.
    func completed(_ outcome: ExchangeOutcome) {
        let fetch = fetch.withLock { $0 }
        let now = cache.now()
        if fetch.servesStale, let entry = fetch.validated, change({ $0.willWork() }) {
            cache.count { $0.staleResponses += 1 }
            return found(answer(with: entry, at: now))
        }
        let verdict = CacheVerdict(
            outcome, of: cacheRequest, validating: fetch.validated, isConditional: fetch.isConditional, now: now)
        switch verdict {
        case .pass:
            countMiss(outcome)
            discard(fetch.storing)
            deliver(outcome, fetch)
        case .serveStale(let entry):
            guard !fetch.isForwarded, change({ $0.willWork() }) else { return deliver(outcome, fetch) }
            cache.count { $0.staleResponses += 1 }
            found(answer(with: entry, at: now))
        case .refetch:
            guard change({ $0.willWork() }) else { return finish(outcome) }
            Task {
                cache.drop(cacheRequest.key)
                startFetch(of: request)
            }
        case .store where fetch.isForwarded && !options.collectsBody && fetch.storing == nil:
            countMiss(outcome)
            finish(outcome)
        case .store, .drop, .freshen, .compareHead, .forget:
            store(outcome, verdict, fetch, now)
        }
    }

    /// Delivers the server's response; a head that the observer has not received is delivered first.
    private func deliver(_ outcome: ExchangeOutcome, _ fetch: Fetch) {
        guard options.pausesBody, !fetch.isForwarded, outcome.error == nil, change({ $0.willWork() }) else {
            return finish(outcome)
        }
        found(HeldResponse(outcome, body: outcome.body))
    }

    /// Ends the writing of a body that is not stored.
    private func discard(_ storing: Storing?) {
        guard let storing else { return }
        Task {
            _ = await storing.receiver.end()
            storing.writer.abandon()
        }
    }

    /// Applies the verdict on the global executor, before the outcome is delivered.
    private func store(_ outcome: ExchangeOutcome, _ verdict: CacheVerdict, _ fetch: Fetch, _ now: Date) {
        guard change({ $0.willWork() }) else {
            discard(fetch.storing)
            return finish(outcome)
        }
        let task = Task {
            let answer = await stored(outcome, verdict, fetch, now)
            if options.pausesBody, !fetch.isForwarded { found(answer) } else { finish(answer.wholeOutcome()) }
        }
        if change({ $0.workBegan { task.cancel() } }) { task.cancel() }
    }

    private func stored(
        _ outcome: ExchangeOutcome, _ verdict: CacheVerdict, _ fetch: Fetch, _ now: Date
    ) async -> HeldResponse {
        let unchanged = HeldResponse(outcome, body: outcome.body)
        guard let response = outcome.response else { return unchanged }
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
            else { return unchanged }
            cache.count { $0.validations += 1 }
            cache.store(fresh, for: cacheRequest.key, since: fetch.epoch)
            return HeldResponse(
                response: fresh.validatedResponse(url: request.url, keepsCoding: cacheRequest.keepsCoding),
                body: fresh.body, source: .validated, metrics: outcome.metrics)
        case .compareHead: compare(response, fetch, now)
        case .forget(let keys): cache.forget(keys)
        case .pass, .serveStale, .refetch: break
        }
        return unchanged
    }

    /// Stores a response in the form that the handler returns.
    private func storeResponse(_ response: HTTPResponse, _ body: Data, _ fetch: Fetch, _ now: Date) async {
        let isWritten = await fetch.storing?.receiver.end()
        var kept: CachedResponse? = CachedResponse(response: response, data: body)
        if isWritten != false, let willStore = options.willStore {
            // The handler cannot change the body of a stream or a download, which is already written.
            kept = await willStore(CachedResponse(response: response, data: body))
        }
        guard let kept, !Task.isCancelled, isWritten != false, kept.storagePolicy != .notAllowed,
            Storability.allows(
                statusCode: kept.response.statusCode, headers: kept.response.headers, for: cacheRequest)
        else {
            fetch.storing?.writer.abandon()
            return
        }
        if let storing = fetch.storing {
            storing.writer.finish(
                kept.response, request: cacheRequest, requestTime: fetch.began, responseTime: now,
                storagePolicy: kept.storagePolicy, since: fetch.epoch)
        } else if let entry = StoredResponse(
            kept.response, body: kept.data.withoutSlack(expected: response.expectedContentLength), to: cacheRequest,
            requestTime: fetch.began, responseTime: now, storagePolicy: kept.storagePolicy)
        {
            cache.store(entry, for: cacheRequest.key, since: fetch.epoch)
        }
    }

    /// Updates the stored response from the response to a HEAD request (RFC 9111 §4.3.5).
    private func compare(_ response: HTTPResponse, _ fetch: Fetch, _ now: Date) {
        let candidates = cache.inMemory(cacheRequest.key) + cache.onDisk(cacheRequest, inPieces: true)
        guard let entry = CacheDecision.newest(candidates, for: cacheRequest) else { return }
        guard
            Freshening.isSame(entry, response),
            let fresh = Freshening.freshened(entry, by: response, requestTime: fetch.began, responseTime: now)
        else { return cache.drop(entry, for: cacheRequest.key) }
        cache.store(fresh, for: cacheRequest.key, since: fetch.epoch)
    }

    private func countMiss(_ outcome: ExchangeOutcome) {
        if cacheRequest.mayBeAnswered, outcome.error == nil { cache.count { $0.misses += 1 } }
    }
}

extension HTTPResponse {
    /// Whether the status code is a failure of the server for which a stale response may be used (RFC 5861 §4).
    var isServerFailure: Bool { [500, 502, 503, 504].contains(statusCode) }
}

extension HeldResponse {
    /// Creates an answer from the server's outcome.
    fileprivate init(_ outcome: ExchangeOutcome, body: Data) {
        self.init(
            response: outcome.response, body: .memory(body), error: outcome.error, source: outcome.source,
            metrics: outcome.metrics)
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
