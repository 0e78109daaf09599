extension HTTPRequest {
    /// The ways in which a request uses the session's ``ResponseCache``.
    ///
    /// The request can also have a `Cache-Control` field (RFC 9111 §5.2.1). With ``useProtocolCachePolicy``, all
    /// directives of this field apply. With the other policies, only `no-store` and `only-if-cached` apply.
    ///
    /// To validate a stored response, the session adds conditions such as `If-None-Match` to the request. With
    /// ``reloadIgnoringCache`` and ``reloadRevalidating``, the session also adds a `Cache-Control` field to a GET or
    /// HEAD request that has no such field. With this field, the policy also applies to caches between the session and
    /// the server. A session without a cache ignores all policies except ``returnCacheDontLoad``.
    @nonexhaustive
    public enum CachePolicy: Hashable, Sendable {
        /// Uses a stored response if it is fresh, and validates a stored response if it is stale (RFC 9111 §4).
        ///
        /// If there is no stored response, the session sends the request.
        case useProtocolCachePolicy
        /// Ignores stored responses, sends the request with `Cache-Control: no-cache`, and stores the new response if
        /// RFC 9111 §3 allows the storage.
        case reloadIgnoringCache
        /// Uses a stored response of any age, or sends the request if there is no stored response.
        ///
        /// A response with `no-cache` or `must-revalidate` is used, too.
        case returnCacheElseLoad
        /// Uses a stored response of any age, and never uses the network.
        ///
        /// A response with `no-cache` or `must-revalidate` is used, too.
        ///
        /// If there is no stored response, the request fails with `.cache(.notStored)`. These requests cannot receive a
        /// stored response, and always fail with this error:
        ///
        /// - requests with a method other than GET and HEAD;
        /// - requests with a `Range` field for several ranges, with a condition such as `If-None-Match`, or with the
        ///   `no-store` directive;
        /// - all requests of a session without a cache.
        case returnCacheDontLoad
        /// Validates a stored response with the server, even if the response is fresh.
        ///
        /// The request has `Cache-Control: max-age=0`.
        ///
        /// A fresh response with the `immutable` directive is used without validation (RFC 8246).
        case reloadRevalidating
    }
}
