import FoundationEssentials

/// Stores the trust policy of each host, the results of evaluations, and the transfers that wait for a result.
///
/// An instance belongs to the engine and never leaves the loop's thread.
final class TrustCoordinator {
    /// The maximum number of hosts with stored policies.
    private static let policyLimit = 1024

    let verdicts: SharedVerdicts
    private let manager: ServerTrustManager
    private var policies: [Route: TrustPolicy] = [:]
    /// The evaluator of each host; each event loop asks the manager once.
    private var evaluators: [String: (any ServerTrustEvaluating)?] = [:]
    private var waiting: [TrustCache.Key: Set<TransferID>] = [:]
    private var evaluations: [TrustCache.Key: PendingEvaluation] = [:]
    private var evaluationCount = 0

    /// A running evaluation.
    private struct PendingEvaluation {
        /// The number of the evaluation, which distinguishes its result from the result of an earlier, cancelled
        /// evaluation.
        let number: Int
        let task: Task<Void, Never>
    }

    private struct Route: Hashable {
        /// The host of the URL, if TLS may be used with it.
        let host: String?
        let proxies: [String]
    }

    init(_ manager: ServerTrustManager, _ verdicts: SharedVerdicts) {
        self.verdicts = verdicts
        self.manager = manager
    }

    /// Returns the policy for the servers of a request's connection; `nil` if only libcurl checks them.
    func policy(
        for transfer: Transfer, _ options: TransferOptions
    ) throws(RequestError) -> TrustPolicy? {
        let host = HostName.canonical(transfer.url.host(percentEncoded: false) ?? "")
        let isSecure = transfer.isSecure
        let proxies = options.secureProxyHosts(for: transfer.request)
        guard isSecure || !proxies.isEmpty else { return nil }
        let hostEvaluator = isSecure ? try evaluator(forHost: host) : nil
        let route = Route(host: isSecure ? host : nil, proxies: proxies)
        if let policy = policies[route] { return policy.evaluatesHost || policy.evaluatesProxy ? policy : nil }
        // The connections of a removed policy are not used again: see Transfer.mayUseConnection().
        if policies.count >= Self.policyLimit { policies.removeAll() }
        if evaluators.count >= Self.policyLimit { evaluators.removeAll() }
        var proxyEvaluators: [String: (any ServerTrustEvaluating)?] = [:]
        for proxy in proxies { proxyEvaluators[proxy] = .some(try evaluator(forHost: proxy)) }
        let policy = TrustPolicy(
            host: route.host, evaluator: hostEvaluator, proxies: proxyEvaluators
        )
        policies[route] = policy
        return policy.evaluatesHost || policy.evaluatesProxy ? policy : nil
    }

    private func evaluator(forHost host: String) throws(RequestError) -> (any ServerTrustEvaluating)? {
        if let known = evaluators[host] { return known }
        let evaluator = try manager.serverTrustEvaluator(forHost: host)
        evaluators[host] = .some(evaluator)
        return evaluator
    }

    /// The result for a transfer whose handshake was aborted for an evaluation.
    enum HandshakeAdmission {
        case waits(TrustCache.Key)
        /// The server has been accepted in the meantime.
        case isAccepted
        /// The transfer has waited too often.
        case isRefused
    }

    /// Makes a transfer wait for a result, unless the server has already been accepted.
    func await(_ trust: ServerTrust, for transfer: Transfer) -> HandshakeAdmission {
        guard transfer.trust.mayAwaitVerdict() else { return .isRefused }
        guard !verdicts.cache.hasAccepted(trust) else { return .isAccepted }
        let key = TrustCache.Key(trust)
        waiting[key, default: []].insert(transfer.id)
        return .waits(key)
    }

    /// Starts an evaluation unless it is already running; the closure receives its number.
    func startEvaluation(_ trust: ServerTrust, _ makeTask: (Int) -> Task<Void, Never>) {
        let key = TrustCache.Key(trust)
        guard evaluations[key] == nil else { return }
        evaluationCount += 1
        evaluations[key] = PendingEvaluation(number: evaluationCount, task: makeTask(evaluationCount))
    }

    /// Records the result of an evaluation; returns the transfers that have waited for it.
    func decided(_ number: Int, _ trust: ServerTrust) -> Set<TransferID> {
        let key = TrustCache.Key(trust)
        // Another evaluation may be running, because the last transfer that waited for this evaluation may have
        // cancelled it.
        guard evaluations[key]?.number == number else { return [] }
        evaluations[key] = nil
        return waiting.removeValue(forKey: key) ?? []
    }

    /// Called when a transfer no longer waits; if it is the last transfer that waits, the evaluator's task is
    /// cancelled.
    func forget(_ id: TransferID, _ key: TrustCache.Key) {
        waiting[key]?.remove(id)
        guard waiting[key]?.isEmpty == true else { return }
        waiting[key] = nil
        evaluations.removeValue(forKey: key)?.task.cancel()
    }

    func close() {
        for evaluation in evaluations.values { evaluation.task.cancel() }
        evaluations.removeAll()
        waiting.removeAll()
        policies.removeAll()
        evaluators.removeAll()
    }
}

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

/// Handles the results of asynchronous evaluators.
extension TransferEngine {
    /// Evaluates a server outside the loop, and opens the connection again if the server is accepted.
    func awaitVerdict(
        on trust: ServerTrust, by evaluator: any ServerTrustEvaluating, for transfer: Transfer
    ) {
        guard let coordinator = self.trust else { return finish(transfer, with: RequestError(.trust(.notEvaluated))) }
        switch coordinator.await(trust, for: transfer) {
        case .waits(let key): transfer.life.awaitsVerdict(key)
        case .isAccepted: return add(transfer, continues: true)
        case .isRefused:
            return finish(
                transfer, with: RequestError(.trust(.notEvaluated), detail: "the server's certificates change"))
        }
        coordinator.startEvaluation(trust) { number in
            Task {
                let error = await coordinator.verdicts.verdict(on: trust, by: evaluator)
                self.received(error, from: number, on: trust)
            }
        }
    }

    private func received(_ error: RequestError?, from number: Int, on trust: ServerTrust) {
        guard !isShutDown, let coordinator = self.trust else { return }
        shared.now = MonotonicClock.now()
        let key = TrustCache.Key(trust)
        for id in coordinator.decided(number, trust) {
            guard let transfer = transfers[id], case .judged(key) = transfer.life.place else { continue }
            if let error { finish(transfer, with: error) } else { perform(transfer.life.accepted(), on: transfer) }
        }
        notifyObservers()
    }
}
