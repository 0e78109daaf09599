import FoundationEssentials

/// Decides whether a stored response is used for a request (RFC 9111 §4).
enum CacheDecision {
    /// Send the request unchanged, for this reason.
    case network(CacheStatus.Forward)
    /// Use the stored response.
    case stored(StoredResponse)
    /// Use the stored response, and validate it with these conditions in the background (RFC 5861 §3).
    case storedWhileRevalidating(StoredResponse, conditions: HTTPHeaders)
    /// Validate the stored response with these conditions; without conditions, fetch the response again.
    case validate(StoredResponse, conditions: HTTPHeaders, CacheStatus.Forward)
    /// Add these fields to the request, and join its 206 response with the stored part (§3.4).
    case complete(StoredResponse, conditions: HTTPHeaders)
    /// No suitable response is stored, and the request must not use the network.
    case unsatisfiable

    /// Decides how to handle a request.
    ///
    /// - Parameters:
    ///   - request: The request to handle.
    ///   - candidates: The stored responses for its URL.
    ///   - now: The current time.
    init(_ request: CacheRequest, candidates: [StoredResponse], now: Date) {
        guard request.mayBeAnswered, let entry = Self.newest(candidates, for: request) else {
            let reason = Self.bypass(request) ?? (candidates.isEmpty ? .uriMiss : .varyMiss)
            self = request.isForCacheOnly ? .unsatisfiable : .network(reason)
            return
        }
        switch Self.usability(entry, for: request, at: now) {
        case .usable: self = .stored(entry)
        case .unusable where request.isForCacheOnly: self = .unsatisfiable
        case .usableWhileRevalidating: self = .storedWhileRevalidating(entry, conditions: Self.conditions(entry))
        case .unusable(.partial):
            self = entry.completion(for: request).map { .complete(entry, conditions: $0) } ?? .network(.partial)
        // The response to HEAD freshens the stored response, or shows that it is outdated (§4.3.5).
        case .unusable(let reason) where request.method == .head: self = .network(reason)
        case .unusable(let reason): self = .validate(entry, conditions: Self.conditions(entry), reason)
        }
    }

    /// Returns the reason why no stored response is looked up for a request; `nil` if the lookup is possible.
    static func bypass(_ request: CacheRequest) -> CacheStatus.Forward? {
        guard request.method == .get || request.method == .head else { return .method }
        return request.mayBeAnswered ? nil : .bypass
    }

    /// Returns the newest of the responses that the request's fields select (§4.1).
    static func newest(_ candidates: [StoredResponse], for request: CacheRequest) -> StoredResponse? {
        candidates.filter { $0.matches(request) }
            .max { ($0.date, $0.responseTime) < ($1.date, $1.responseTime) }
    }

    /// Whether a stored response can be used.
    private enum Usability {
        case usable, usableWhileRevalidating
        case unusable(CacheStatus.Forward)
    }

    /// Determines whether a stored response can be used without validation (§4.2, §5.2).
    private static func usability(_ entry: StoredResponse, for request: CacheRequest, at now: Date) -> Usability {
        guard entry.bytes(for: request) != nil else { return .unusable(.partial) }
        let (asked, stored) = (request.control, entry.control)
        let age = entry.freshness.age(at: now)
        let staleness = entry.freshness.staleness(at: now)
        let refused = Usability.unusable(staleness < 0 && !stored.noCache ? .request : .stale)
        switch request.policy {
        case .returnCacheElseLoad, .returnCacheDontLoad: return .usable
        case .reloadIgnoringCache: return refused
        // RFC 8246 §2.
        case .reloadRevalidating: return stored.isImmutable && !stored.noCache && staleness < 0 ? .usable : refused
        case .useProtocolCachePolicy: break
        }
        guard !asked.noCache, !stored.noCache else { return refused }
        if let limit = asked.maxAge, age > Double(limit) || limit == 0 { return refused }
        if let margin = asked.minFresh { return age + Double(margin) <= entry.freshness.lifetime ? .usable : refused }
        if staleness < 0 { return .usable }
        guard !stored.mustRevalidate else { return refused }
        if let limit = asked.maxStale, limit == CacheControl.anyAge || staleness <= Double(limit) { return .usable }
        let mayRevalidate =
            request.method == .get && request.range == nil && asked.maxAge == nil && !request.isForCacheOnly
        guard mayRevalidate, let limit = stored.staleWhileRevalidate, staleness <= Double(limit) else { return refused }
        return .usableWhileRevalidating
    }

    /// Returns the fields with which the server can validate the stored response (§4.3.1).
    private static func conditions(_ entry: StoredResponse) -> HTTPHeaders {
        var fields = HTTPHeaders()
        if let tag = entry.entityTag { fields.append(name: "If-None-Match", value: tag) }
        if let date = entry.lastModified { fields.append(name: "If-Modified-Since", value: date) }
        return fields
    }
}

extension StoredResponse {
    /// Whether a stale response may be used because the server failed (RFC 5861 §4).
    func mayServeStale(for request: CacheRequest, at now: Date) -> Bool {
        guard !control.noCache, !control.mustRevalidate, !request.control.noCache,
            request.policy == .useProtocolCachePolicy, bytes(for: request) != nil,
            let limit = [control.staleIfError, request.control.staleIfError].compactMap(\.self).max()
        else { return false }
        return freshness.staleness(at: now) <= Double(limit)
    }
}

/// Updates a stored response from a 304 response or from the response to a HEAD request.
enum Freshening {
    /// Returns whether a 304 response refers to this stored response (RFC 9111 §4.3.4).
    static func isAbout(_ stored: StoredResponse, _ notModified: HTTPResponse) -> Bool {
        guard let tag = notModified.headers.values(for: "ETag").first, let own = stored.entityTag else { return true }
        return opaque(tag) == opaque(own)
    }

    /// Returns the stored response with the fields of a 304 or 206 response, or of the response to a HEAD request
    /// (§3.2).
    static func freshened(
        _ stored: StoredResponse, by response: HTTPResponse, requestTime: Date, responseTime: Date
    ) -> StoredResponse? {
        let update = response.headers.stored(at: responseTime).filter { !kept.contains($0.name.lowercased()) }
        let names = Set(update.map { $0.name.lowercased() })
        // The age is computed from the new response, which may lack this field.
        var fields = stored.response.headers.filter { field in
            let name = field.name.lowercased()
            return !names.contains(name) && name != "age"
        }
        fields += update
        return StoredResponse(
            stored.response.with(HTTPHeaders(fields)), body: stored.body, selector: stored.selector,
            requestTime: requestTime, responseTime: responseTime, storagePolicy: stored.storagePolicy)
    }

    /// Returns whether the response to a HEAD request matches the stored response.
    ///
    /// If it does not match, the stored response is outdated (§4.3.5).
    static func isSame(_ stored: StoredResponse, _ head: HTTPResponse) -> Bool {
        // The response to HEAD has status code 200.
        guard [200, 206].contains(stored.response.statusCode) else { return false }
        for name in ["ETag", "Last-Modified", "Content-Length"] {
            guard let new = head.headers.values(for: name).first else { continue }
            let whole = stored.isPart && name == "Content-Length" ? String(stored.extent.total) : nil
            guard let old = whole ?? stored.response.headers.values(for: name).first else { return false }
            guard name == "ETag" ? opaque(old) == opaque(new) : old == new else { return false }
        }
        return true
    }

    /// Returns an entity tag without its weakness prefix, for weak comparison (RFC 9110 §8.8.3.2).
    private static func opaque(_ tag: String) -> Substring {
        let tag = tag.trimmed
        return tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }

    /// The fields of the stored response that are kept.
    ///
    /// These are the fields for framing and coding, and the entity tag. §3.2 requires this, except for the entity tag.
    /// The media type is kept too, because many servers send a wrong media type without content.
    private static let kept: Set<String> = [
        "content-length", "content-encoding", "content-range", "content-type", "etag",
    ]
}
