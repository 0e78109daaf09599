/// Says which version of HTTP a request should be sent in.
@nonexhaustive
public enum HTTPVersionPreference: Hashable, Sendable {
    /// HTTP/2 where TLS negotiates it (ALPN), HTTP/1.1 otherwise.
    case automatic
    /// HTTP/1.1 only.
    case http1_1
    /// HTTP/2 without asking, also without TLS (RFC 9113 §3.3).
    case http2PriorKnowledge
}
