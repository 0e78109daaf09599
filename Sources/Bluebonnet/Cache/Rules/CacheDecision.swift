import FoundationEssentials

/// What a cache does about a request (RFC 9111 §4).
enum CacheDecision {
    /// Have the request sent as it is.
    case network
    /// Answer with this.
    case stored(StoredResponse)
    /// Ask the server whether this is still good, with these fields; without any, ask for all of it anew.
    case validate(StoredResponse, conditions: HTTPHeaders)
    /// Nothing is stored that would do, and the network must not be asked.
    case unsatisfiable

    /// Decides.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - candidates: What is stored for its URL.
    ///   - now: The present.
    init(_ request: CacheRequest, candidates: [StoredResponse], now: Date) {
        guard request.mayBeAnswered,
            let entry = Self.newest(candidates, for: request)
        else {
            self = request.isForCacheOnly ? .unsatisfiable : .network
            return
        }
        if Self.mayUse(entry, for: request, at: now) {
            self = .stored(entry)
        } else if request.isForCacheOnly {
            self = .unsatisfiable
        } else if request.method == .head {
            // Its answer freshens what is stored, or shows that it is outdated (§4.3.5).
            self = .network
        } else {
            self = .validate(entry, conditions: Self.conditions(entry))
        }
    }

    /// The newest of those that the request's fields choose (§4.1).
    static func newest(_ candidates: [StoredResponse], for request: CacheRequest) -> StoredResponse? {
        candidates.filter { $0.matches(request) }
            .max { ($0.date, $0.responseTime) < ($1.date, $1.responseTime) }
    }

    /// Whether an answer need not be validated (§4.2, §5.2).
    private static func mayUse(_ entry: StoredResponse, for request: CacheRequest, at now: Date) -> Bool {
        let (asked, stored) = (request.control, entry.control)
        let age = entry.freshness.age(at: now)
        switch request.policy {
        case .returnCacheElseLoad, .returnCacheDontLoad: return true
        case .reloadIgnoringCache: return false
        // RFC 8246 §2.
        case .reloadRevalidating: return stored.isImmutable && !stored.noCache && age < entry.freshness.lifetime
        case .useProtocolCachePolicy: break
        }
        guard !asked.noCache, !stored.noCache else { return false }
        if let limit = asked.maxAge, age > Double(limit) || limit == 0 { return false }
        if let margin = asked.minFresh { return age + Double(margin) <= entry.freshness.lifetime }
        let staleness = entry.freshness.staleness(at: now)
        guard staleness >= 0 else { return true }
        guard !stored.mustRevalidate, let limit = asked.maxStale else { return false }
        return limit == CacheControl.anyAge || staleness <= Double(limit)
    }

    /// The fields that have the server compare what it has with what is stored (§4.3.1).
    private static func conditions(_ entry: StoredResponse) -> HTTPHeaders {
        var fields = HTTPHeaders()
        if let tag = entry.entityTag { fields.add(name: "If-None-Match", value: tag) }
        if let date = entry.lastModified { fields.add(name: "If-Modified-Since", value: date) }
        return fields
    }
}

extension StoredResponse {
    /// Whether this may be used although it is stale, since the server could not answer (RFC 5861 §4).
    func mayStandIn(for request: CacheRequest, at now: Date) -> Bool {
        guard !control.noCache, !control.mustRevalidate, !request.control.noCache,
            request.policy == .useProtocolCachePolicy,
            let limit = [control.staleIfError, request.control.staleIfError].compactMap(\.self).max()
        else { return false }
        return freshness.staleness(at: now) <= Double(limit)
    }
}
