import FoundationEssentials

/// The proxy options of libcurl, as a value.
struct ProxyRoute: Equatable {
    /// The proxy's URL; empty for none, `nil` for the environment's: see ``ProxyEnvironment``.
    var url: String?
    /// The hosts that are reached without it, in libcurl's form; `nil` for the environment's.
    var exclusions: String?
    /// The credential for its challenges, or for its handshake if it speaks SOCKS.
    var credential: Credential?
    /// Whether the proxy speaks SOCKS rather than HTTP.
    var isSocks = false
    /// Whether the connections that lead through it are this request's alone.
    ///
    /// A libcurl without the fixes of 2026, which Debian's 7.88 has, tells tunnels through HTTP proxies apart by the
    /// proxy's host and port, and not by the credential that opened them.
    var isPrivate = false

    /// Decides.
    ///
    /// - Parameters:
    ///   - proxy: The request's own proxy, if it has one.
    ///   - session: That of the session.
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
            exclusions = excluded.contains("*") ? "*" : excluded.joined(separator: ",")
            isSocks = Self.isSocks(url)
        }
        guard let proxy, proxy != session, !isSocks, url?.isEmpty == false else { return }
        isPrivate = proxy.hasCredential || session.hasCredential
    }

    /// The mistake in a proxy's configuration, if it can be found without a connection.
    private static func flaw(_ url: String, _ credential: Credential?, _ excluded: [String]) -> String? {
        // Libcurl treats an empty URL as no proxy, and would go to the server itself.
        guard !url.trimmed.isEmpty else { return "the proxy's URL is empty" }
        guard !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }) else {
            return "the proxy's URL holds white space or a control character"
        }
        guard !excluded.contains(where: { $0.utf8.contains { $0 <= 0x20 || $0 == 0x2c } || $0.isEmpty }) else {
            return "an entry of the proxy's excluded hosts is not a host"
        }
        guard let credential else { return nil }
        guard !hasUserInfo(url) else { return "the proxy's URL has user info, and there is a credential beside it" }
        guard !credential.username.utf8.contains(0), !credential.password.utf8.contains(0) else {
            return "the proxy's credential holds a NUL"
        }
        return nil
    }

    /// Whether the proxy at a URL speaks SOCKS rather than HTTP.
    static func isSocks(_ url: String) -> Bool {
        guard url.prefix(5).lowercased() == "socks" else { return false }
        return parts(of: url)?.scheme.hasPrefix("socks") ?? false
    }

    /// The hosts of the proxies that are spoken to with TLS; only an environment can have several.
    static func secureHosts(
        of proxy: Session.Configuration.Proxy, in environment: ProxyEnvironment
    ) -> [String] {
        switch proxy {
        case .none: []
        case .url(let url, _, _): secureHost(in: url).map { [$0] } ?? []
        case .environment: environment.secureHosts
        }
    }

    /// The host of a proxy's URL if that speaks TLS.
    static func secureHost(in url: String) -> String? {
        guard url.prefix(6).lowercased() == "https:", let parts = parts(of: url), parts.scheme == "https"
        else { return nil }
        return parts.host
    }

    static func hasUserInfo(_ url: String) -> Bool { url.utf8.contains(0x40) }
}

extension Session.Configuration.Proxy {
    /// Whether the proxy gets a credential, as far as is known.
    fileprivate var hasCredential: Bool {
        guard case .url(let url, let credential, _) = self else { return false }
        return credential != nil || ProxyRoute.hasUserInfo(url)
    }
}

/// The environment's proxies, read once for each session: reading it is slow, and not safe beside its changing.
///
/// Libcurl gets the values that were read, and does not look itself: it would for each transfer, and could find a proxy
/// that was never evaluated.
struct ProxyEnvironment: Sendable {
    /// The proxy for URLs without TLS, and that for those with it; `nil` for none.
    let plain: String?
    let secure: String?
    /// Which hosts do without.
    let exclusions: String
    /// Whether there are other proxies for URLs with TLS than for those without.
    let isSplit: Bool
    /// The hosts of the proxies that are spoken to with TLS, in the order of their names.
    let secureHosts: [String]

    /// Whether there is no proxy in it.
    var isEmpty: Bool { plain == nil && secure == nil }

    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        func first(_ names: String...) -> String? {
            names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        // As libcurl does: a client of a CGI program can set HTTP_PROXY by a field.
        plain = first("http_proxy", "all_proxy", "ALL_PROXY")
        secure = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        exclusions = first("no_proxy", "NO_PROXY") ?? ""
        isSplit = plain != secure
        secureHosts = Set([plain, secure].compactMap { $0.flatMap(ProxyRoute.secureHost) }).sorted()
    }

    /// The proxy for URLs with TLS, or without.
    func url(isSecure: Bool) -> String? { isSecure ? secure : plain }
}
