/// The way in which a session's cache handled a request, as in the `Cache-Status` field (RFC 9211).
public struct CacheStatus: Hashable, Sendable, CustomStringConvertible {
    /// The reasons why a cache sends a request to the server (RFC 9211 §2.2).
    @nonexhaustive
    public enum Forward: String, Hashable, Sendable {
        /// The cache did not look for a stored response.
        case bypass
        /// The request method cannot be answered by a stored response.
        case method
        /// There was no stored response for the URL.
        ///
        /// This case also applies if all stored responses for the URL are in files, and the request's fields select
        /// none of them.
        case uriMiss = "uri-miss"
        /// There were stored responses for the URL, but the request's fields selected none of them.
        case varyMiss = "vary-miss"
        /// There was no stored response that could be used.
        case miss
        /// There was a fresh stored response, but the request did not allow its use.
        case request
        /// There was a stored response, but it was stale, or had to be validated.
        case stale
        /// There was a stored response, but it did not contain all requested bytes.
        case partial
    }

    /// The reasons why a cache does not store a response (RFC 9111 §3).
    @nonexhaustive
    public enum Refusal: String, Hashable, Sendable {
        /// The request or the response has the directive `no-store`.
        case noStore = "no-store"
        /// The responses to this request method are not stored.
        case method
        /// The responses with this status code are not stored.
        case status
        /// The response is a part whose position is unknown or that is sent as the whole, or the request has an unusual
        /// range.
        case range
        /// The response has a content coding that the cache does not know.
        case coding
        /// The `Vary` field has a `*`, or names a field whose value the cache does not know.
        case vary
        /// The response has no lifetime, and the status code allows no heuristic lifetime (RFC 9111 §4.2.2).
        case lifetime
    }

    /// The reason why the cache sent the request to the server; `nil` if the stored response was used.
    ///
    /// For a request that waited for the response to another request, this is the reason why it waited.
    public internal(set) var forward: Forward?

    /// The status code of the server's response; `nil` if there is none.
    public internal(set) var forwardStatus: Int?

    /// Whether the cache stored the server's response, or updated a stored response from it.
    public internal(set) var isStored = false

    /// The reason why the cache does not store the server's response.
    ///
    /// The value is `nil` if ``isStored`` is `true`, and if the response may be stored but was not, for example because
    /// it is too large.
    public internal(set) var refusal: Refusal?

    /// Whether the request waited for the response to another request.
    public internal(set) var isCollapsed = false

    /// The number of seconds for which the stored response is still fresh; negative if it is stale.
    ///
    /// The value is `nil` if the response is not stored.
    public internal(set) var ttl: Int?

    /// Creates the status of a request that was sent to the server, or was answered with a stored response.
    ///
    /// - Parameters:
    ///   - forward: The reason why the request was sent; `nil` if the stored response was used.
    ///   - status: The status code of the server's response.
    ///   - ttl: The seconds for which the stored response is fresh.
    ///   - isCollapsed: Whether the request waited for the response to an equal request.
    package init(forward: Forward?, status: Int? = nil, ttl: Int? = nil, isCollapsed: Bool = false) {
        self.forward = forward
        forwardStatus = status
        self.ttl = ttl
        self.isCollapsed = isCollapsed
    }

    /// Whether the stored response was used without a request to the server; `false` if ``isCollapsed`` is `true`.
    public var isHit: Bool { forward == nil }

    /// The member of a `Cache-Status` field, such as `Bluebonnet; hit; ttl=30`.
    public var description: String {
        var text = "Bluebonnet; " + (forward.map { "fwd=\($0.rawValue)" } ?? "hit")
        if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
        if let ttl { text += "; ttl=\(ttl)" }
        if isStored { text += "; stored" }
        if isCollapsed { text += "; collapsed" }
        if let refusal { text += "; detail=\(refusal.rawValue)" }
        return text
    }
}
