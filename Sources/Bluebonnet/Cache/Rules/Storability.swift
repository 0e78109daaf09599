/// Decides whether a response may be stored, by a private cache (RFC 9111 §3).
enum Storability {
    /// Looks at a response and at what it answers.
    ///
    /// - Parameters:
    ///   - statusCode: The status code of a complete response.
    ///   - headers: Its fields.
    ///   - request: What it answers.
    /// - Returns: Whether it may.
    static func allows(statusCode: Int, headers: HTTPHeaders, for request: CacheRequest) -> Bool {
        guard request.method == .get, !request.control.noStore, !request.isPartial else { return false }
        let control = CacheControl(headers.value(for: "Cache-Control"))
        // Parts are not put together here, and a 304 answers for something else (§3.3, §4.3.4).
        guard (200...599).contains(statusCode), statusCode != 206, statusCode != 304 else { return false }
        if control.mustUnderstand {
            guard understood.contains(statusCode) else { return false }
        } else if control.noStore {
            return false
        }
        guard let variation = Variation(headers), request.selects(by: variation) else { return false }
        return control.isPublic || control.isPrivate || control.maxAge != nil || headers.contains("Expires")
            || isHeuristicallyCacheable(statusCode)
    }

    /// Whether a lifetime may be guessed for a response with this status code (RFC 9110 §15.1).
    static func isHeuristicallyCacheable(_ statusCode: Int) -> Bool { cacheableByDefault.contains(statusCode) }

    private static let cacheableByDefault: Set<Int> = [
        200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501,
    ]

    /// The status codes whose caching is understood here: those of RFC 9110 but for 206 and 304.
    private static let understood: Set<Int> = Set(200...205).union(300...303).union([307, 308]).union(400...417)
        .union([421, 422, 426]).union(500...505)
}
