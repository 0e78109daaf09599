/// Says which version of HTTP a request should be sent in.
@nonexhaustive
public enum HTTPVersionPreference: Hashable, Sendable {
    /// HTTP/2 where TLS negotiates it (ALPN), HTTP/1.1 otherwise.
    case automatic
    /// HTTP/1.1 only.
    case http1_1
    /// HTTP/2 without asking, where there is no TLS (RFC 9113 §3.3).
    ///
    /// With TLS, it is the same as ``automatic``: the handshake says whether the server speaks HTTP/2 (§3.2).
    case http2PriorKnowledge
}
