import CCurl

/// Prevents HTTP/2 streams without TLS from sharing a connection if libcurl does not support this.
///
/// With 7.88, a second stream fails, and a paused stream can hang indefinitely. Libcurl's HTTP/2 code was rewritten in
/// 8.1.0. With earlier versions, requests for such streams have their own multi handle. It does not multiplex, and uses
/// each connection only once.
///
/// Libcurl 8.13 to 8.15 waits for the first response on a connection before it sends other requests on it. With
/// `CURLOPT_PIPEWAIT`, a server that answers the first one late would delay them all. They open further connections
/// instead. Other versions wait only until the connection is open.
struct CleartextHTTP2Streams {
    /// Whether the installed libcurl has the defect.
    static let isGuarded = Libcurl.version < 0x08_01_00

    /// The multi handle for all other requests.
    private(set) var main: MultiHandle?
    private(set) var unmultiplexed: MultiHandle?
    /// The multi handles that exist.
    var all: [MultiHandle] { [main, unmultiplexed].compactMap(\.self) }

    /// Calls a closure with each multi handle that exists; allocates nothing.
    func forEach(_ body: (MultiHandle) -> Void) {
        if let main { body(main) }
        if let unmultiplexed { body(unmultiplexed) }
    }

    /// The multi handle for an HTTP version; `nil` before its first use.
    subscript(version: HTTPVersionPreference) -> MultiHandle? {
        get { Self.multiplexes(version) ? main : unmultiplexed }
        set { if Self.multiplexes(version) { main = newValue } else { unmultiplexed = newValue } }
    }

    static func multiplexes(_ version: HTTPVersionPreference) -> Bool { version != .http2PriorKnowledge || !isGuarded }

    /// Lets a transfer share connections if libcurl supports this.
    static func apply(to easy: EasyHandle) {
        switch Libcurl.version {
        case ..<0x08_01_00: easy.set(CURLOPT_FORBID_REUSE, 1)
        case 0x08_0d_00..<0x08_10_00: break
        default: easy.set(CURLOPT_PIPEWAIT, 1)
        }
    }
}
