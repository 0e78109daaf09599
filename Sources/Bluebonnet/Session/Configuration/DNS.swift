extension Session.Configuration {
    /// Says where connections lead in place of what name lookup would say.
    public struct DNS: Hashable, Sendable {
        /// The addresses of hosts, by `host:port`; these names are not looked up.
        ///
        /// `["example.com:443": ["127.0.0.1", "::1"]]` has requests to `https://example.com` go to this machine, with the
        /// name in TLS and in the `Host` field unchanged. The host may be `*`, which is every host that has no entry of
        /// its own.
        public var overrides: [String: [String]] = [:]

        /// Where to connect instead, by `host:port`: another `host:port`, which is looked up.
        ///
        /// An empty host or port on the left stands for every one, on the right for that of the URL. The name in TLS and
        /// in the `Host` field stays that of the URL. IPv6 addresses are in brackets.
        public var connectTo: [String: String] = [:]

        /// The servers to ask, as `address` or `address:port`; those of the system when empty, as by default.
        ///
        /// This needs a libcurl built with c-ares, unlike Debian's. Without c-ares, requests fail with
        /// `.invalidRequest(.configuration)`, which names this option.
        public var servers: [String] = []

        /// Creates settings that change nothing.
        public init() {}
    }
}
