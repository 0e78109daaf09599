import CCurl

/// Keeps HTTP/2 streams without TLS from sharing a connection where libcurl cannot do that.
///
/// On 7.88 a second one fails, and a paused one can hang for good; libcurl's HTTP/2 was rewritten for 8.1.0. Before,
/// such requests have a multi handle of their own, which does not multiplex, and connections that are used once.
struct CleartextHTTP2Streams {
    /// Whether this libcurl has the fault.
    static let isGuarded = Libcurl.version < 0x08_01_00

    /// For everything else.
    private(set) var main: MultiHandle?
    private(set) var unmultiplexed: MultiHandle?

    /// The multi handle for a version of HTTP, made when it is first needed.
    mutating func multi(for version: HTTPVersionPreference, make: (_ isMultiplexing: Bool) -> MultiHandle?)
        -> MultiHandle?
    {
        if version == .http2PriorKnowledge, Self.isGuarded {
            if unmultiplexed == nil { unmultiplexed = make(false) }
            return unmultiplexed
        }
        if main == nil { main = make(true) }
        return main
    }

    /// Has a transfer share connections as far as that is possible.
    static func apply(to easy: EasyHandle) {
        easy.set(isGuarded ? CURLOPT_FORBID_REUSE : CURLOPT_PIPEWAIT, 1)
    }
}
