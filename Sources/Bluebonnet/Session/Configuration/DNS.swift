public import FoundationEssentials

extension Session.Configuration {
    /// The settings that override name lookup.
    public struct DNS: Hashable, Sendable {
        /// The IP addresses to use for hosts, by `host:port`; empty by default.
        ///
        /// The session does not look up the names of these hosts. With `["example.com:443": ["127.0.0.1", "::1"]]`,
        /// requests to `https://example.com` go to the local machine. TLS and the `Host` field still use the name in
        /// the URL. An entry for the host `*` applies to all hosts that have no entry of their own.
        public var overrides: [String: [String]] = [:]

        /// The hosts and ports to connect to instead of the original `host:port`; empty by default.
        ///
        /// Keys are original hosts and ports, and values are their replacements. Connections go to the replacement. If
        /// the replacement host is a name, the session looks up that name. In a key, an empty host matches all hosts,
        /// and an empty port matches all ports. In a value, an empty host or port stands for the host or port in the
        /// URL. TLS and the `Host` field still use the name in the URL. Write IPv6 addresses in brackets.
        public var connectTo: [String: String] = [:]

        /// The DNS servers, as `address` or `address:port`; empty, the default, for the system's servers.
        ///
        /// This option requires a libcurl that is built with c-ares. Debian's libcurl is built without c-ares. Without
        /// c-ares, requests fail with `.invalidRequest(.configuration)`.
        public var servers: [String] = []

        /// The URL of a server for DNS over HTTPS (RFC 8484); `nil`, the default, for lookups by the system.
        ///
        /// The URL's own host is looked up by the system, unless it is an IP address. The server is checked with the
        /// authorities of ``TLS/caFile`` or of the system; a session's trust evaluators are not asked. Connections to it
        /// do not use the session's proxy, but libcurl's: the one that `https_proxy` or `all_proxy` names in the
        /// environment, unless `no_proxy` excludes the server. The time of a lookup counts as part of ``Timeouts/connect``. If the server
        /// cannot be reached or does not know a name, the request fails with `.connection(.nameNotResolved)`: the system
        /// is not asked instead. Other URLs than `https` URLs are refused with `.invalidRequest(.configuration)`, and with libcurl before
        /// 8.9.0 a limit of all connections, ``ConnectionLimits/total``, too. Libcurl 8.5.0, which may crash when a lookup
        /// is cancelled, is refused.
        public var overHTTPS: URL?

        /// Creates the default settings.
        public init() {}
    }
}
