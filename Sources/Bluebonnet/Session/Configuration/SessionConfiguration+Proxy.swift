extension Session.Configuration {
    /// Says through which proxy connections lead.
    ///
    /// A request uses its own ``HTTPRequest/proxy``, or that of the session. The `Proxy-Authorization` field is sent
    /// only to HTTP proxies, however it was set. Descriptions show neither user info nor credentials.
    @nonexhaustive
    public enum Proxy: Hashable, Sendable {
        /// The environment variables: `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`, in lower case, and the
        /// upper-case forms of all but the first. It is read when a session is made; what changes later is for others.
        case environment

        /// No proxy, whatever the environment says.
        case none

        /// The proxy at a URL, such as `http://user:password@127.0.0.1:3128` or `socks5h://127.0.0.1:1080`.
        ///
        /// The scheme is `http` (also when there is none), `https`, `socks4`, `socks4a`, `socks5` or `socks5h`; with
        /// `socks4a` and `socks5h` the proxy looks up the hosts' names. User info, percent-encoded, is sent at once: to an
        /// HTTP proxy with Basic. A credential is sent when an HTTP proxy asks, with what it asks for; to a SOCKS 5 proxy
        /// as name and password, and to a SOCKS 4 proxy as a name. A URL with user info and a credential beside it is
        /// refused, as is one that cannot be used, with `.invalidRequest(.configuration)`.
        ///
        /// The excluded hosts are reached without the proxy: `example.com` stands for itself and all below it,
        /// `10.0.0.0/8` for a network, `*` for all. The environment's `no_proxy` is for the environment's proxies and means
        /// nothing here.
        case url(String, credential: Credential? = nil, excluding: [String] = [])
    }
}

extension Session.Configuration.Proxy: SecretKeeping {
    /// Which proxy it is, without secrets.
    package var text: String {
        switch self {
        case .environment: "the environment's proxy"
        case .none: "no proxy"
        case .url(let url, _, _): redactedURL(url)
        }
    }
}
