public import FoundationEssentials

extension Session.Configuration {
    /// The settings that override name lookup.
    public struct DNS: Hashable, Sendable {
        /// The IP addresses to use for each `host:port`; empty by default.
        ///
        /// The session does not look up the names of these hosts. With `["example.com:443": ["127.0.0.1", "::1"]]`,
        /// requests to `https://example.com` go to the local machine. TLS and the `Host` field still use the name in
        /// the URL. The key `*:443` applies to port 443 of all hosts without their own entry.
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
        /// The system looks up only the host of this URL. If the server cannot be reached or does not know a name, the
        /// request fails with `.connection(.nameNotResolved)`. The system then does not look up the name. The time of a
        /// lookup counts as part of ``Timeouts/connect``.
        ///
        /// For connections to this server, libcurl does not use all settings of the session. It checks the server with
        /// the session's authorities. It does not use the session's trust evaluators, TLS versions, ciphers, interface
        /// or address family. Instead of the session's proxy, it uses the proxy in the environment variable
        /// `https_proxy` or `all_proxy`, unless `no_proxy` excludes the server. The names of proxies are also looked up
        /// with this server.
        ///
        /// Requests fail with `.invalidRequest(.configuration)` in these cases:
        ///
        /// - The URL is not an `https` URL, or is a template (`{?dns}`).
        /// - The installed libcurl is 8.5.0 to 8.8.0, which may crash.
        /// - The installed libcurl is older than 8.5.0, and ``ConnectionLimits/total`` is set.
        public var httpsServer: URL?

        /// Creates the default settings.
        public init() {}
    }
}

extension Session.Configuration.DNS: SecretKeeping {
    /// The settings, with a redacted URL.
    package var text: String {
        let server = httpsServer?.redactedDescription ?? "none"
        return "overrides: \(overrides), connectTo: \(connectTo), servers: \(servers), httpsServer: \(server)"
    }
}
