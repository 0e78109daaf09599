import FoundationEssentials

/// What a cache does with what came of an exchange.
enum CacheVerdict {
    /// Nothing.
    case pass
    /// Stores the response.
    case store
    /// Has nothing for the URL any more: the server gave something else, which may not be stored.
    case drop
    /// Answers with the stored response, with the fields of the 304.
    case freshen(StoredResponse)
    /// Asks anew, without a condition: the 304 is about another response.
    case fetchAnew
    /// Answers with the stored response although it is stale: the server could not answer.
    case standIn(StoredResponse)
    /// Freshens what is stored, or drops it: that is what a GET would get.
    case compareHead
    /// Forgets what may have been changed.
    case forget([CacheKey])

    /// Decides.
    ///
    /// - Parameters:
    ///   - outcome: What came of the exchange.
    ///   - request: The request.
    ///   - entry: The stored response that was to be validated.
    ///   - isConditional: Whether the server was told of it.
    ///   - now: The present.
    init(
        _ outcome: ExchangeOutcome, of request: CacheRequest, validating entry: StoredResponse?, isConditional: Bool,
        now: Date
    ) {
        let stale = entry.flatMap { $0.mayStandIn(for: request, at: now) ? $0 : nil }
        if let error = outcome.error {
            self = if let stale, error.isConnectionFailure || error.isTimeout { .standIn(stale) } else { .pass }
            return
        }
        guard let response = outcome.response else {
            self = .pass
            return
        }
        let status = response.statusCode
        if let stale, [500, 502, 503, 504].contains(status) {
            self = .standIn(stale)
        } else if let entry, isConditional, status == 304 {
            self = Freshening.isAbout(entry, response) ? .freshen(entry) : .fetchAnew
        } else if request.method == .get {
            let isStorable = Storability.allows(statusCode: status, headers: response.headers, for: request)
            let isOther = (200...299).contains(status) && !request.isPartial && !request.control.noStore
            self = isStorable ? .store : isOther ? .drop : .pass
        } else if request.method == .head {
            self = status == 200 && !request.isConditional ? .compareHead : .pass
        } else {
            let keys = Invalidation.keys(method: request.method, url: request.url, response: response)
            self = keys.isEmpty ? .pass : .forget(keys)
        }
    }
}
