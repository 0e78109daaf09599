import FoundationEssentials

/// What the environment says of proxies, read once for each session: reading it is slow, and not safe beside its changing.
///
/// Libcurl is told what was read, and does not look itself: it would for each transfer, and could find a proxy that nobody
/// has judged.
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
        // As libcurl does: HTTP_PROXY is what a client of a CGI program has sent as a field.
        plain = first("http_proxy", "all_proxy", "ALL_PROXY")
        secure = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        exclusions = first("no_proxy", "NO_PROXY") ?? ""
        isSplit = plain != secure
        secureHosts = Set([plain, secure].compactMap { $0.flatMap(ProxyRoute.secureHost) }).sorted()
    }

    /// The proxy for URLs with TLS, or without.
    func url(isSecure: Bool) -> String? { isSecure ? secure : plain }
}
