import FoundationEssentials

/// The proxy options for libcurl.
struct ProxyRoute: Equatable {
    /// The proxy's URL; empty for no proxy, `nil` for the environment's proxy (see ``ProxyEnvironment``).
    var url: String?
    /// The credential for the challenges of an HTTP proxy, or for the handshake with a SOCKS proxy.
    var credential: Credential?
    /// Whether the proxy uses SOCKS instead of HTTP.
    var isSocks = false
    /// Whether the connections through the proxy may be used only by this request.
    ///
    /// A libcurl without the fixes of 2026, such as Debian's 7.88, distinguishes tunnels through HTTP proxies only by
    /// the proxy's host and port. It ignores the credential with which they were opened.
    var isPrivate = false

    /// Determines the proxy options of a request.
    ///
    /// - Parameters:
    ///   - proxy: The request's own proxy; `nil` if it has none.
    ///   - session: The session's proxy.
    /// - Throws: `.invalidRequest(.configuration)` for a proxy that cannot be used.
    init(_ proxy: Session.Configuration.Proxy?, session: Session.Configuration.Proxy) throws(RequestError) {
        switch proxy ?? session {
        case .environment:
            break
        case .none:
            url = ""
        case .url(let url, let credential, let excluded):
            if let flaw = Self.flaw(url, credential, excluded) {
                throw RequestError(.invalidRequest(.configuration(flaw)))
            }
            self.url = url
            self.credential = credential
            isSocks = Self.isSocks(url)
        }
        guard let proxy, proxy != session, !isSocks, url?.isEmpty == false else { return }
        isPrivate = proxy.hasCredential || session.hasCredential
    }

    /// Returns the mistake in a proxy's configuration that can be found without a connection; `nil` if there is none.
    private static func flaw(_ url: String, _ credential: Credential?, _ excluded: [String]) -> String? {
        // Libcurl treats an empty URL as no proxy, and would connect to the server without a proxy.
        guard !url.trimmed.isEmpty else { return "the proxy's URL is empty" }
        guard !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }) else {
            return "the proxy's URL holds white space or a control character"
        }
        if let entry = ProxyExclusions(excluded).misunderstood.first {
            return "the host \"\(entry)\", which the proxy excludes, is neither a host nor a network"
        }
        guard let credential else { return nil }
        guard !hasUserInfo(url) else { return "the proxy's URL has user info, and there is a credential beside it" }
        return credential.flaw.map { "the proxy's credential holds \($0)" }
    }

    /// Whether the proxy at a URL uses SOCKS instead of HTTP.
    static func isSocks(_ url: String) -> Bool {
        guard url.prefix(5).lowercased() == "socks" else { return false }
        return parts(of: url)?.scheme.hasPrefix("socks") ?? false
    }

    /// Returns the hosts of the HTTPS proxies; only an environment can have several.
    static func secureHosts(
        of proxy: Session.Configuration.Proxy, in environment: ProxyEnvironment
    ) -> [String] {
        switch proxy {
        case .none: []
        case .url(let url, _, _): secureHost(in: url).map { [$0] } ?? []
        case .environment: environment.secureHosts
        }
    }

    /// Returns the host of a proxy's URL if the proxy uses TLS.
    static func secureHost(in url: String) -> String? {
        guard url.prefix(6).lowercased() == "https:", let parts = parts(of: url), parts.scheme == "https"
        else { return nil }
        return parts.host
    }

    static func hasUserInfo(_ url: String) -> Bool { url.utf8.contains(0x40) }
}

extension Session.Configuration.Proxy {
    /// Whether the proxy receives a credential that is known here.
    fileprivate var hasCredential: Bool {
        guard case .url(let url, let credential, _) = self else { return false }
        return credential != nil || ProxyRoute.hasUserInfo(url)
    }
}

/// The proxies of the environment, which are read once for each session.
///
/// Reading the environment is slow, and unsafe while another thread changes it. Libcurl receives the values, and does
/// not read the environment itself. Otherwise, it would read the environment for each transfer, and could use a proxy
/// that was never evaluated.
struct ProxyEnvironment: Sendable {
    /// The proxies for URLs without TLS and for URLs with TLS; `nil` for none.
    let plain: String?
    let secure: String?
    /// The hosts that are reached without a proxy.
    let exclusions: ProxyExclusions
    /// Whether URLs with TLS use a different proxy than URLs without.
    let isSplit: Bool
    /// The hosts of the HTTPS proxies, sorted by name.
    let secureHosts: [String]

    /// Whether the environment contains no proxy.
    var isEmpty: Bool { plain == nil && secure == nil }

    /// Whether requests with a setting may use a proxy.
    func allowsUse(of proxy: Session.Configuration.Proxy) -> Bool {
        switch proxy {
        case .none: false
        case .environment: !isEmpty
        case .url: true
        }
    }

    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        func first(_ names: String...) -> String? {
            names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        // HTTP_PROXY is ignored, as in libcurl, because a client of a CGI program can set it with a header field.
        plain = first("http_proxy", "all_proxy", "ALL_PROXY")
        secure = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        exclusions = ProxyExclusions(list: first("no_proxy", "NO_PROXY") ?? "")
        isSplit = plain != secure
        secureHosts = Set([plain, secure].compactMap { $0.flatMap(ProxyRoute.secureHost) }).sorted()
    }

    /// Returns the proxy for URLs with or without TLS.
    func url(isSecure: Bool) -> String? { isSecure ? secure : plain }
}

/// The server that receives a request from Bluebonnet.
enum RequestRecipient: Equatable {
    /// The server in the URL or its replacement, directly or through a tunnel.
    case server
    /// A proxy that forwards the request.
    case proxy(String)
    /// The server or a proxy, as libcurl decides: another host may be reached through a tunnel.
    case unknown
}

extension TransferOptions {
    /// Returns the recipient of a request for which the options have been set.
    func recipient(of transfer: Transfer) -> RequestRecipient {
        guard transfer.isProxied, !transfer.url.isSecure else { return .server }
        let proxy: String? =
            switch transfer.request.proxy ?? configuration.proxy {
            case .none: nil
            case .environment: environment.url(isSecure: false)
            case .url(let url, _, _): url
            }
        guard let proxy, !ProxyRoute.isSocks(proxy) else { return .server }
        return configuration.dns.connectTo.isEmpty ? .proxy(proxy) : .unknown
    }
}
