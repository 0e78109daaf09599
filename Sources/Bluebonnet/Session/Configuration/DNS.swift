extension Session.Configuration {
    /// Settings that override name lookup.
    public struct DNS: Hashable, Sendable {
        /// The addresses of hosts, by `host:port`; empty by default.
        ///
        /// These hosts are not looked up. With `["example.com:443": ["127.0.0.1", "::1"]]`, requests to
        /// `https://example.com` go to the local machine. The name in TLS and in the `Host` field does not change. The
        /// host `*` stands for every host without its own entry.
        public var overrides: [String: [String]] = [:]

        /// The hosts and ports to connect to instead, by the `host:port` that they replace; empty by default.
        ///
        /// The new host is looked up. In a key, an empty host or port matches all hosts or ports. In a value, an empty
        /// host or port means that of the URL. The name in TLS and in the `Host` field does not change. IPv6 addresses
        /// are written in brackets.
        public var connectTo: [String: String] = [:]

        /// The DNS servers, as `address` or `address:port`; empty, the default, for those of the system.
        ///
        /// This requires a libcurl that was built with c-ares, unlike Debian's. Without c-ares, requests fail with
        /// `.invalidRequest(.configuration)`, whose text names this option.
        public var servers: [String] = []

        /// Creates the default settings, which override nothing.
        public init() {}
    }
}
