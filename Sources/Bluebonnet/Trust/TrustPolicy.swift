import FoundationEssentials

/// Assigns evaluators to the servers of a transfer's connection: the host of its URL, and HTTPS proxies.
///
/// There is one object per host and session. The same object therefore means the same evaluation.
final class TrustPolicy: Sendable {
    private let host: String?
    private let evaluator: (any ServerTrustEvaluating)?
    private let proxies: [String: (any ServerTrustEvaluating)?]

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - host: The host of the URL; `nil` if TLS is not used with it.
    ///   - evaluator: The host's evaluator; `nil` if libcurl checks the host.
    ///   - proxies: The evaluators of the HTTPS proxies that the connection may use; `nil` values if libcurl checks
    ///     them.
    init(
        host: String?, evaluator: (any ServerTrustEvaluating)?, proxies: [String: (any ServerTrustEvaluating)?] = [:]
    ) {
        self.host = host
        self.evaluator = evaluator
        self.proxies = proxies
    }

    /// Whether the host of the URL has an evaluator; otherwise, libcurl checks the host.
    var evaluatesHost: Bool { evaluator != nil }

    /// Whether an HTTPS proxy has an evaluator.
    var evaluatesProxy: Bool { proxies.values.contains { $0 != nil } }

    /// Returns the host of a handshake by its server name; `nil` if the host cannot be determined.
    ///
    /// A handshake contains no addresses as names (RFC 6066 §3), so two addresses cannot be distinguished.
    func host(named name: String?) -> String? {
        guard !proxies.isEmpty else { return host }
        guard let name = name.map(HostName.canonical) else {
            let nameless = Set(proxies.keys).union(host.map { [$0] } ?? []).filter(IPAddress.isAddress)
            return nameless.count == 1 ? nameless.first : nil
        }
        return proxies.keys.contains(name) ? name : host
    }

    /// Returns the evaluator of a handshake by its server name; `nil` if the host cannot be determined.
    func evaluator(named name: String?) -> (any ServerTrustEvaluating)? {
        guard let evaluatedHost = host(named: name) else { return nil }
        return (proxies[evaluatedHost] ?? (evaluatedHost == host ? evaluator : nil)) ?? DefaultTrustEvaluator()
    }
}

/// Stores for some time which servers asynchronous evaluators have accepted.
///
/// The loops of a session share an instance.
final class TrustCache: Sendable {
    /// A server, identified by all properties that an evaluator may have checked.
    ///
    /// The server may later be revoked, may have expired, or may use an older version of TLS.
    struct Key: Hashable {
        let host: String
        let chain: Data
        let builtChain: Data
        let verdict: ServerTrust.Verdict
        let staple: Data?
        let protocolVersion: String
        let cipher: String

        init(_ trust: ServerTrust) {
            host = trust.host
            chain = Self.digests(of: trust.chain)
            builtChain = Self.digests(of: trust.builtChain)
            verdict = trust.verdict
            staple = trust.stapledResponse.map(Digest.sha256)
            protocolVersion = trust.protocolVersion
            cipher = trust.cipher
        }

        private static func digests(of chain: [Certificate]) -> Data {
            chain.reduce(into: Data()) { $0 += Digest.sha256(of: $1.derRepresentation) }
        }
    }

    /// The duration for which an acceptance is valid, in nanoseconds.
    static let lifetime: Int64 = 300_000_000_000
    private static let limit = 1024

    private let accepted = Locked<[Key: Int64]>([:])
    private let now: @Sendable () -> Int64

    init(now: @escaping @Sendable () -> Int64 = { MonotonicClock.now() }) {
        self.now = now
    }

    func hasAccepted(_ trust: ServerTrust) -> Bool {
        let key = Key(trust)
        return accepted.withLock { $0[key] }.map { now() - $0 < Self.lifetime } ?? false
    }

    func accept(_ trust: ServerTrust) {
        let (key, time) = (Key(trust), now())
        accepted.withLock { accepted in
            if accepted.count >= Self.limit { accepted = accepted.filter { time - $0.value < Self.lifetime } }
            if accepted.count >= Self.limit { accepted.removeAll() }
            accepted[key] = time
        }
    }
}
