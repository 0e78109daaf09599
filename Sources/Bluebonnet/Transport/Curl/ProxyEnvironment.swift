import FoundationEssentials

/// What the environment says of proxies, read once for each session: reading it is slow, and not safe beside its changing.
///
/// Which of its proxies a request takes, and which hosts do without, is libcurl's to say.
struct ProxyEnvironment: Sendable {
    /// Whether there is no proxy in it.
    let isEmpty: Bool
    /// The hosts of the proxies that are spoken to with TLS, in the order of their names.
    let secureHosts: [String]

    private static let names = ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"]

    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        let urls = Self.names.compactMap { environment[$0] }.filter { !$0.isEmpty }
        isEmpty = urls.isEmpty
        secureHosts = Set(urls.compactMap { ProxyRoute.secureHost(in: $0) }).sorted()
    }
}
