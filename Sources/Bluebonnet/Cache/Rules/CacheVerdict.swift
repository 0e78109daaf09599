import FoundationEssentials

/// Decides how a cache handles the outcome of an exchange.
enum CacheVerdict {
    /// Does nothing; a stored response stays.
    case pass
    /// Stores the response.
    case store
    /// Removes all responses for the URL, because the server sent a new response that must not be stored.
    case drop
    /// Delivers the stored response, with the header fields of the 304 response.
    case freshen(StoredResponse)
    /// Stores and delivers the stored part together with the 206 response.
    case join(StoredResponse)
    /// Sends the request again without a condition, because the 304 or 206 response refers to a different response.
    case refetch
    /// Delivers the stored response although it is stale, because the server failed.
    case serveStale(StoredResponse)
    /// Updates or removes the stored response, depending on the response to a HEAD request.
    case compareHead
    /// Removes the responses that the request may have made outdated.
    case forget([CacheKey])
    /// Removes the responses that the request may have made outdated, and stores the response for GET requests.
    case replace([CacheKey])

    /// Decides how to handle an outcome.
    ///
    /// - Parameters:
    ///   - outcome: The outcome of the exchange.
    ///   - request: The properties of the request.
    ///   - entry: The stored response to validate, if there is one.
    ///   - isConditional: Whether the request contained the validators of the stored response.
    ///   - isBackground: Whether a stale response was delivered before, which the outcome now validates (RFC 5861 §3).
    ///   - count: The number of bytes of content that were received; `nil` if the outcome contains them.
    ///   - now: The current time.
    /// - Returns: The decision.
    static func on(
        _ outcome: ExchangeOutcome, of request: CacheRequest, validating entry: StoredResponse?, isConditional: Bool,
        isBackground: Bool = false, count: Int? = nil, now: Date
    ) -> CacheVerdict {
        let count = count ?? outcome.body.count
        // The head alone shows that the server has changed something (RFC 9111 §4.4).
        let outdated = outcome.response.map {
            Invalidation.keys(method: request.method, url: request.url, response: $0)
        }
        let stale = entry.flatMap { $0.mayServeStale(for: request, at: now) ? $0 : nil }
        if let error = outcome.error {
            let isLost = error.isConnectionFailure || error.isTimeout || error.kind == .invalidResponse(.truncated)
            guard isLost, !isBackground, outdated?.isEmpty ?? true else {
                return outdated.map { $0.isEmpty ? .pass : .forget($0) } ?? .pass
            }
            // The received bytes are a part, or extend one; a later request completes it (§3.3).
            let isKept = outcome.response.map { response in
                entry.map { count > 0 && $0.extent(joining: response, count: count, to: request) != nil }
                    ?? (request.mayBeAnswered
                        && Storability.allows(statusCode: response.statusCode, headers: response.headers, for: request)
                        && response.stored(count: count, for: request, at: now, isComplete: false) != nil)
            }
            return stale.map { .serveStale($0) } ?? (isKept == true ? entry.map { .join($0) } ?? .store : .pass)
        }
        guard let response = outcome.response else { return .pass }
        let status = response.statusCode
        let isStorable = Storability.allows(statusCode: status, headers: response.headers, for: request)
        if isBackground, status >= 500 {
            return .pass
        } else if let stale, [500, 502, 503, 504].contains(status) {
            return .serveStale(stale)
        } else if let entry, isConditional, status == 304 {
            return Freshening.isAbout(entry, response) ? .freshen(entry) : .refetch
        } else if let entry, let whole = entry.extent(joining: response, count: count, to: request),
            whole.isWhole || request.range != nil
        {
            return .join(entry)
        } else if let entry, request.range == nil,
            status == 206 || entry.isPart && ([400, 412, 416].contains(status) || entry.isContradicted(by: response))
        {
            // The range was the cache's own.
            return .refetch
        } else if request.method == .get {
            // A new response replaces the stored one, except if it is an error (§4.3.3) or a part.
            let isNew = isBackground || (200...299).contains(status) && status != 206
            let replacesStored = isNew && !request.hasUnusualRange && !request.control.noStore
            return isStorable ? .store : replacesStored ? .drop : .pass
        } else if request.method == .head {
            return status == 200 && !request.isConditional && !request.control.noStore ? .compareHead : .pass
        } else {
            let keys = outdated ?? []
            return keys.isEmpty ? .pass : isStorable ? .replace(keys) : .forget(keys)
        }
    }
}

/// Decides whether a private cache may store a response (RFC 9111 §3).
enum Storability {
    /// Returns whether a response to a request may be stored.
    ///
    /// - Parameters:
    ///   - statusCode: The status code of a complete response.
    ///   - headers: The header fields of the response.
    ///   - request: The properties of the request.
    /// - Returns: Whether the response may be stored.
    static func allows(statusCode: Int, headers: HTTPHeaders, for request: CacheRequest) -> Bool {
        refusal(statusCode: statusCode, headers: headers, for: request) == nil
    }

    /// Returns the reason why a response must not be stored; `nil` if it may be stored.
    static func refusal(statusCode: Int, headers: HTTPHeaders, for request: CacheRequest) -> CacheStatus.Refusal? {
        guard !request.control.noStore else { return .noStore }
        guard !request.hasUnusualRange else { return .range }
        guard request.hasUsualCodings(headers) else { return .coding }
        let control = CacheControl(headers.value(for: "Cache-Control"))
        let isExplicit = control.maxAge != nil || headers.contains("Expires")
        switch (request.method, statusCode) {
        // A 304 response has no content (§4.3.4). A 412 or 416 response depends on the request's condition or range.
        case (.get, 304), (.get, 412), (.get, 416): return .status
        // A part is stored only if its position is known, and it does not replace a response that was not looked up.
        case (.get, 206):
            guard request.range != nil, request.mayBeAnswered,
                headers["Content-Type"]?.lowercased().hasPrefix("multipart/byteranges") != true,
                case .bytes(_, _, _?)? = headers["Content-Range"].flatMap(ContentRange.init)
            else { return .range }
        // Some servers send a part as a whole. The field has no meaning here (RFC 9110 §14.4), and is a warning.
        case (.get, 200) where headers["Content-Range"].flatMap(ContentRange.init)?.isPart == true: return .range
        case (.get, 200...599): break
        // RFC 9110 §9.3.3.
        case (.post, 200):
            guard isExplicit, let location = headers["Content-Location"],
                case .url(let target) = RedirectLocation.read([location], of: request.url),
                CacheKey(target) == request.key
            else { return .method }
        case (.get, _): return .status
        default: return .method
        }
        if control.mustUnderstand {
            guard understood.contains(statusCode) else { return .status }
        } else if control.noStore {
            return .noStore
        }
        guard let varyFields = VaryFields(headers, control), request.wasSelected(by: varyFields) else { return .vary }
        let hasLifetime =
            control.isPublic || control.isPrivate || isExplicit || isHeuristicallyCacheable(statusCode)
        return hasLifetime ? nil : .lifetime
    }

    /// Whether a response with this status code may have a heuristic lifetime (RFC 9110 §15.1).
    static func isHeuristicallyCacheable(_ statusCode: Int) -> Bool { cacheableByDefault.contains(statusCode) }

    private static let cacheableByDefault: Set<Int> = [
        200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501,
    ]

    /// The status codes whose caching rules this cache implements: all codes of RFC 9110 except 304.
    private static let understood: Set<Int> = Set(200...206).union(300...303).union([307, 308]).union(400...417)
        .union([421, 422, 426]).union(500...505)
}

/// The responses to invalidate after a request with an unsafe method (RFC 9111 §4.4).
enum Invalidation {
    /// Returns the keys whose responses must be invalidated.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - url: The URL of the request.
    ///   - response: The response to the request.
    /// - Returns: The keys; empty if nothing has to be invalidated.
    static func keys(method: HTTPMethod, url: URL, response: HTTPResponse) -> [CacheKey] {
        guard !safeMethods.contains(method), (200...399).contains(response.statusCode) else { return [] }
        let origin = Origin(of: url)
        var keys = [CacheKey(url)]
        for name in ["Location", "Content-Location"] {
            for value in response.headers.values(for: name) {
                // A server must not invalidate responses of another origin.
                guard case .url(let target) = RedirectLocation.read([value], of: url),
                    Origin(of: target) == origin
                else { continue }
                keys.append(CacheKey(target))
            }
        }
        return keys
    }

    /// The safe methods (RFC 9110 §9.2.1); an unknown method is not one.
    private static let safeMethods: [HTTPMethod] = [.get, .head, .options, .trace, .query]
}
