/// Who judges the servers that a transfer's connection leads to: the host of its URL, and HTTPS proxies.
///
/// One per host and session: that it is the same one says that the same evaluation applies.
final class TrustPolicy: Sendable {
    private let host: String?
    private let evaluator: (any ServerTrustEvaluating)?
    private let proxies: [String: (any ServerTrustEvaluating)?]

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - host: The host of the URL; `nil` if that is not spoken to with TLS.
    ///   - evaluator: Its evaluator; `nil` if libcurl judges it.
    ///   - proxies: The HTTPS proxies that the connection may lead through, with the same.
    init(
        host: String?, evaluator: (any ServerTrustEvaluating)?, proxies: [String: (any ServerTrustEvaluating)?] = [:]
    ) {
        self.host = host
        self.evaluator = evaluator
        self.proxies = proxies
    }

    /// Whether the host of the URL has an evaluator; libcurl judges it if not.
    var judgesHost: Bool { evaluator != nil }

    /// Whether an HTTPS proxy has an evaluator.
    var judgesProxy: Bool { proxies.values.contains { $0 != nil } }

    /// The host of a handshake, by the name that it asks for; `nil` if it cannot be told.
    ///
    /// Addresses are not named (RFC 6066 §3), so two of them look the same.
    func host(named name: String?) -> String? {
        guard !proxies.isEmpty else { return host }
        guard let name = name.map(HostName.canonical) else {
            let nameless = Set(proxies.keys).union(host.map { [$0] } ?? []).filter(IPAddress.isAddress)
            return nameless.count == 1 ? nameless.first : nil
        }
        return proxies.keys.contains(name) ? name : host
    }

    /// The evaluator of a handshake, by the name that it asks for; `nil` if that cannot be told.
    func evaluator(named name: String?) -> (any ServerTrustEvaluating)? {
        guard let judged = host(named: name) else { return nil }
        return (proxies[judged] ?? (judged == host ? evaluator : nil)) ?? DefaultTrustEvaluator()
    }
}
