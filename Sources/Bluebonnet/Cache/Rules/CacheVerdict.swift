import FoundationEssentials

/// Decides how a cache handles the outcome of an exchange.
enum CacheVerdict {
    /// Does nothing.
    case pass
    /// Stores the response.
    case store
    /// Removes all responses for the URL, because the server sent a new response that must not be stored.
    case drop
    /// Delivers the stored response, with the header fields of the 304 response.
    case freshen(StoredResponse)
    /// Sends the request again without a condition, because the 304 response refers to a different response.
    case refetch
    /// Delivers the stored response although it is stale, because the server failed.
    case serveStale(StoredResponse)
    /// Updates or removes the stored response, depending on the response to a HEAD request.
    case compareHead
    /// Removes the responses that the request may have made outdated.
    case forget([CacheKey])

    /// Decides how to handle an outcome.
    ///
    /// - Parameters:
    ///   - outcome: The outcome of the exchange.
    ///   - request: The properties of the request.
    ///   - entry: The stored response to validate, if there is one.
    ///   - isConditional: Whether the request contained the validators of the stored response.
    ///   - now: The current time.
    init(
        _ outcome: ExchangeOutcome, of request: CacheRequest, validating entry: StoredResponse?, isConditional: Bool,
        now: Date
    ) {
        let stale = entry.flatMap { $0.mayServeStale(for: request, at: now) ? $0 : nil }
        if let error = outcome.error {
            self = if let stale, error.isConnectionFailure || error.isTimeout { .serveStale(stale) } else { .pass }
            return
        }
        guard let response = outcome.response else {
            self = .pass
            return
        }
        let status = response.statusCode
        if let stale, [500, 502, 503, 504].contains(status) {
            self = .serveStale(stale)
        } else if let entry, isConditional, status == 304 {
            self = Freshening.isAbout(entry, response) ? .freshen(entry) : .refetch
        } else if request.method == .get {
            let isStorable = Storability.allows(statusCode: status, headers: response.headers, for: request)
            let replacesStored = (200...299).contains(status) && !request.isPartial && !request.control.noStore
            self = isStorable ? .store : replacesStored ? .drop : .pass
        } else if request.method == .head {
            self = status == 200 && !request.isConditional ? .compareHead : .pass
        } else {
            let keys = Invalidation.keys(method: request.method, url: request.url, response: response)
            self = keys.isEmpty ? .pass : .forget(keys)
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
        guard request.method == .get, !request.control.noStore, !request.isPartial else { return false }
        let control = CacheControl(headers.value(for: "Cache-Control"))
        // This cache does not combine partial responses (§3.3). A 304 response has no content (§4.3.4).
        guard (200...599).contains(statusCode), statusCode != 206, statusCode != 304 else { return false }
        if control.mustUnderstand {
            guard understood.contains(statusCode) else { return false }
        } else if control.noStore {
            return false
        }
        guard let varyFields = VaryFields(headers), request.selects(by: varyFields) else { return false }
        return control.isPublic || control.isPrivate || control.maxAge != nil || headers.contains("Expires")
            || isHeuristicallyCacheable(statusCode)
    }

    /// Whether a response with this status code may have a heuristic lifetime (RFC 9110 §15.1).
    static func isHeuristicallyCacheable(_ statusCode: Int) -> Bool { cacheableByDefault.contains(statusCode) }

    private static let cacheableByDefault: Set<Int> = [
        200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501,
    ]

    /// The status codes whose caching rules this cache implements: all codes of RFC 9110 except 206 and 304.
    private static let understood: Set<Int> = Set(200...205).union(300...303).union([307, 308]).union(400...417)
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
        guard !isSafe(method), (200...399).contains(response.statusCode) else { return [] }
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

    /// Whether a method is safe (RFC 9110 §9.2.1); `false` for unknown methods.
    static func isSafe(_ method: HTTPMethod) -> Bool {
        switch method {
        case .get, .head, .options, .trace, .query: true
        default: false
        }
    }
}
