extension Session.Configuration {
    /// The proxy for connections.
    ///
    /// A request uses its own ``HTTPRequest/proxy``, or the session's proxy if the request has no proxy. A
    /// `Proxy-Authorization` field of a request or a session is sent only to HTTP proxies. The description of a proxy
    /// contains neither user info nor credentials.
    @nonexhaustive
    public enum Proxy: Hashable, Sendable {
        /// The proxy from the environment variables.
        ///
        /// The variables are `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`. Upper-case names are also used,
        /// except `HTTP_PROXY`. The session reads the variables when it is created.
        case environment

        /// No proxy; the environment variables are ignored.
        case none

        /// The proxy at a URL, such as `http://user:password@127.0.0.1:3128` or `socks5h://127.0.0.1:1080`.
        ///
        /// The scheme is `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`; without a scheme, it is `http`.
        /// With `socks4a` and `socks5h`, the proxy looks up host names. With `socks4` and `socks5`, libcurl looks them
        /// up, and only the first address is tried.
        ///
        /// User info in the URL must be percent-encoded. An HTTP proxy receives the user info in the first request, as
        /// Basic authentication. An HTTP proxy receives the `credential` only after the proxy has sent a challenge. The
        /// session then uses an authentication scheme that the proxy offers. A SOCKS 5 proxy receives the user name and
        /// the password. A SOCKS 4 proxy receives only the user name. Requests fail with
        /// `.invalidRequest(.configuration)` if the URL cannot be used. Requests also fail in this way if you pass both
        /// user info and a credential.
        ///
        /// Requests to the hosts in `excluding` do not use the proxy. `example.com` and `.example.com` match the domain
        /// and its subdomains, `*.example.com` only the subdomains, `10.0.0.0/8` and `fd00::/8` match networks, and `*`
        /// matches all hosts. `example.com:8080` matches only this port, and `https://example.com` only URLs with TLS.
        /// Requests fail with `.invalidRequest(.configuration)` if an entry has another form. The `no_proxy` variable
        /// does not apply to this proxy.
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
