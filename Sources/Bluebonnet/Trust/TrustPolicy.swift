/// Who judges the servers that a transfer's connection leads to: the host of its URL, and that of an HTTPS proxy.
///
/// One per host and session: that it is the same one says that the same evaluation applies.
final class TrustPolicy: Sendable {
    private let host: String
    private let evaluator: (any ServerTrustEvaluating)?
    private let proxy: (host: String, evaluator: (any ServerTrustEvaluating)?)?

    init(
        host: String, evaluator: (any ServerTrustEvaluating)?,
        proxy: (host: String, evaluator: (any ServerTrustEvaluating)?)? = nil
    ) {
        self.host = host
        self.evaluator = evaluator
        self.proxy = proxy
    }

    /// Whether the host of the URL has an evaluator; libcurl judges it if not.
    var judgesHost: Bool { evaluator != nil }

    /// Whether an HTTPS proxy has an evaluator.
    var judgesProxy: Bool { proxy?.evaluator != nil }

    /// The host of a handshake, by the name that it asks for; `nil` if it cannot be told.
    func host(named name: String?) -> String? {
        guard let proxy else { return host }
        return isProxy(name).map { $0 ? proxy.host : host }
    }

    /// The evaluator of a handshake, by the name that it asks for; `nil` if that cannot be told.
    func evaluator(named name: String?) -> (any ServerTrustEvaluating)? {
        guard let isProxy = isProxy(name) else { return nil }
        return (isProxy ? proxy?.evaluator : evaluator) ?? DefaultTrustEvaluator()
    }

    /// Whether a handshake is with the proxy.
    ///
    /// Addresses are not named (RFC 6066 §3), so two of them look the same.
    private func isProxy(_ name: String?) -> Bool? {
        guard let proxy else { return false }
        if proxy.host == host { return false }
        if let name { return HostName.canonical(name) == proxy.host }
        switch (HostName.isAddress(host), HostName.isAddress(proxy.host)) {
        case (true, false): return false
        case (false, true): return true
        default: return nil
        }
    }
}
