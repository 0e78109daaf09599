import CCurl

/// Prevents HTTP/2 streams without TLS from sharing a connection if libcurl does not support that.
///
/// With 7.88, a second stream fails, and a paused stream can hang indefinitely. Libcurl's HTTP/2 was rewritten in
/// 8.1.0. For earlier versions, such requests have their own multi handle, which does not multiplex and uses each
/// connection only once.
struct CleartextHTTP2Streams {
    /// Whether the installed libcurl has the defect.
    static let isGuarded = Libcurl.version < 0x08_01_00

    /// The multi handle for all other requests.
    private(set) var main: MultiHandle?
    private(set) var unmultiplexed: MultiHandle?

    /// Returns the multi handle for a version of HTTP, which is created when it is first needed.
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

    /// Makes a transfer share connections if libcurl supports that.
    static func apply(to easy: EasyHandle) {
        easy.set(isGuarded ? CURLOPT_FORBID_REUSE : CURLOPT_PIPEWAIT, 1)
    }
}
