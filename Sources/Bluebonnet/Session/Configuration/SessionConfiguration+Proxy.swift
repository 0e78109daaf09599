extension Session.Configuration {
    /// The proxy for connections.
    ///
    /// A request uses its own ``HTTPRequest/proxy``, or the session's proxy if it has none. A `Proxy-Authorization`
    /// field is only sent to HTTP proxies, whether the request or the session sets it. Descriptions contain neither
    /// user info nor credentials.
    @nonexhaustive
    public enum Proxy: Hashable, Sendable {
        /// The proxy in the environment variables.
        ///
        /// These are `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, and the upper-case forms of all but the
        /// first. They are read when a session is created; later changes only affect later sessions.
        case environment

        /// No proxy; the environment variables are ignored.
        case none

        /// The proxy at a URL, such as `http://user:password@127.0.0.1:3128` or `socks5h://127.0.0.1:1080`.
        ///
        /// The scheme is `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`; without a scheme, it is `http`.
        /// With `socks4a` and `socks5h`, the proxy looks up the names of hosts.
        ///
        /// User info in the URL must be percent-encoded. An HTTP proxy receives it with the first request, as Basic
        /// authentication. An HTTP proxy receives the `credential` only after a challenge, with the scheme that it asks
        /// for. A SOCKS 5 proxy receives either as user name and password; a SOCKS 4 proxy receives only the user name.
        /// Requests fail with `.invalidRequest(.configuration)` if the URL cannot be used, or if there is both user
        /// info and a credential.
        ///
        /// The excluded hosts are reached without the proxy. `example.com` stands for itself and its subdomains,
        /// `10.0.0.0/8` for a network, and `*` for all hosts. The `no_proxy` variable only applies to the proxies of
        /// the environment, not to this proxy.
        case url(String, credential: Credential? = nil, excluding: [String] = [])
    }
}

extension Session.Configuration.Proxy: SecretKeeping {
    /// The proxy, without secrets.
    package var text: String {
        switch self {
        case .environment: "the environment's proxy"
        case .none: "no proxy"
        case .url(let url, _, _): redactedURL(url)
        }
    }
}
