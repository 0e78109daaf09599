extension Session.Configuration {
    /// The settings that override name lookup.
    public struct DNS: Hashable, Sendable {
        /// The IP addresses of hosts by `host:port`; empty by default.
        ///
        /// For these hosts, there is no name lookup. With `["example.com:443": ["127.0.0.1", "::1"]]`, requests to
        /// `https://example.com` go to the local machine. TLS and the `Host` field still use the name in the URL. The
        /// host `*` matches all hosts without their own entry.
        public var overrides: [String: [String]] = [:]

        /// The replacements for hosts and ports, by the original `host:port`; empty by default.
        ///
        /// Connections go to the replacement, whose name is looked up. An empty host or port in a key matches all hosts
        /// or ports. An empty host or port in a value stands for the host or port in the URL. TLS and the `Host` field
        /// still use the name in the URL. IPv6 addresses are written in brackets.
        public var connectTo: [String: String] = [:]

        /// The DNS servers, as `address` or `address:port`; empty, the default, for the system's servers.
        ///
        /// This option requires libcurl with c-ares, which Debian's libcurl does not use. Without c-ares, requests fail
        /// with `.invalidRequest(.configuration)`.
        public var servers: [String] = []

        /// Creates the default settings.
        public init() {}
    }
}
