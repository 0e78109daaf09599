import FoundationEssentials

/// What a cache must forget after a request that may have changed something (RFC 9111 §4.4).
enum Invalidation {
    /// Finds what must be forgotten.
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - url: The request's URL.
    ///   - response: The response to it.
    /// - Returns: The keys; none if nothing may have changed.
    static func keys(method: HTTPMethod, url: URL, response: HTTPResponse) -> [CacheKey] {
        guard !isSafe(method), (200...399).contains(response.statusCode) else { return [] }
        let origin = Origin(of: url)
        var keys = [CacheKey(url)]
        for name in ["Location", "Content-Location"] {
            for value in response.headers.values(for: name) {
                // Another origin has no say in what is kept of this one.
                guard case .url(let target) = RedirectLocation.read([value], of: url),
                    Origin(of: target) == origin
                else { continue }
                keys.append(CacheKey(target))
            }
        }
        return keys
    }

    /// Whether a method changes nothing (RFC 9110 §9.2.1); unknown ones may.
    static func isSafe(_ method: HTTPMethod) -> Bool {
        switch method {
        case .get, .head, .options, .trace, .query: true
        default: false
        }
    }
}
