extension HTTPRequest {
    /// Says what a response cache may do for a request; of no meaning without one, but for ``returnCacheDontLoad``.
    ///
    /// The request's `Cache-Control` field counts beside it (RFC 9111 §5.2.1). No policy changes what is sent, but for the
    /// conditions with which a stored response is validated.
    @nonexhaustive
    public enum CachePolicy: Hashable, Sendable {
        /// Answers with a stored response when that is fresh, and validates one that is not (RFC 9111 §4).
        case useProtocolCachePolicy
        /// Asks the network whatever is stored, and stores the answer.
        case reloadIgnoringCache
        /// Answers with a stored response however old it is, and asks the network when there is none.
        case returnCacheElseLoad
        /// Answers with a stored response however old it is, and never asks the network.
        ///
        /// A request for which nothing is stored fails with `.cache(.notStored)`; so do streams and downloads, and
        /// requests of a session that has no cache.
        case returnCacheDontLoad
        /// Asks the server whether a stored response is still good, unless it is fresh and `immutable` (RFC 8246).
        case reloadRevalidating
    }
}
