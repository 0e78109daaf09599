import FoundationEssentials

/// Keeps, for the engine, the policy of each host, the verdicts, and the transfers that wait for a verdict.
///
/// Belongs to the engine; never leaves the loop's thread.
final class TrustCoordinator {
    /// How often a transfer's connection is made again for the sake of a verdict.
    private static let verdictLimit = 8
    /// How many hosts' policies are kept.
    private static let policyLimit = 1024

    let cache = TrustCache()
    private let manager: ServerTrustManager
    private var policies: [Route: TrustPolicy] = [:]
    /// The manager's evaluator for each host, which it is asked for once.
    private var evaluators: [String: (any ServerTrustEvaluating)?] = [:]
    private var waiting: [TrustCache.Key: Set<TransferID>] = [:]
    private var evaluations: [TrustCache.Key: PendingEvaluation] = [:]
    private var evaluationCount = 0

    /// An evaluator that is being asked.
    private struct PendingEvaluation {
        /// Tells its answer from that of an earlier one, for which no transfer waits any more.
        let number: Int
        let task: Task<Void, Never>
    }

    private struct Route: Hashable {
        /// The host of the URL, if that may be spoken to with TLS.
        let host: String?
        let proxies: [String]
    }

    init(_ manager: ServerTrustManager) {
        self.manager = manager
    }

    /// The policy for the servers that a request's connection leads to; `nil` if only libcurl checks them.
    func policy(
        for request: HTTPRequest, _ options: TransferOptions
    ) throws(RequestError) -> TrustPolicy? {
        let written = request.url.host(percentEncoded: false) ?? ""
        let host = HostName.canonical(written)
        let isSecure = request.url.scheme?.lowercased() == "https"
        // TLS is used with a host that demands it (HSTS), whatever the URL's scheme is; an address cannot demand it
        // (RFC 6797 §8.3). To libcurl, `127.1.` is a name, and in some versions `0X7F.1` is: only what is certain to be
        // an address counts.
        let mayBeSecure = isSecure || options.configuration.hsts != .off && !IPAddress.isAddress(written)
        let proxies = options.secureProxyHosts(for: request)
        guard mayBeSecure || !proxies.isEmpty else { return nil }
        if isSecure { _ = try evaluator(forHost: host) }
        let route = Route(host: mayBeSecure ? host : nil, proxies: proxies)
        if let policy = policies[route] { return policy.evaluatesHost || policy.evaluatesProxy ? policy : nil }
        // Connections of a policy that is forgotten are not used again: see Transfer.mayUseConnection().
        if policies.count >= Self.policyLimit { policies.removeAll() }
        if evaluators.count >= Self.policyLimit { evaluators.removeAll() }
        var proxyEvaluators: [String: (any ServerTrustEvaluating)?] = [:]
        for proxy in proxies { proxyEvaluators[proxy] = .some(try evaluator(forHost: proxy)) }
        let policy = TrustPolicy(
            host: route.host, evaluator: mayBeSecure ? evaluatorOrFailing(forHost: host) : nil, proxies: proxyEvaluators
        )
        policies[route] = policy
        return policy.evaluatesHost || policy.evaluatesProxy ? policy : nil
    }

    /// The evaluator of a host that may not need one, or an evaluator that refuses in a handshake since there is none.
    private func evaluatorOrFailing(forHost host: String) -> (any ServerTrustEvaluating)? {
        do throws(RequestError) {
            return try evaluator(forHost: host)
        } catch {
            return ClosureTrustEvaluator { _, _ in throw error }
        }
    }

    private func evaluator(forHost host: String) throws(RequestError) -> (any ServerTrustEvaluating)? {
        if let known = evaluators[host] { return known }
        let evaluator = try manager.serverTrustEvaluator(forHost: host)
        evaluators[host] = .some(evaluator)
        return evaluator
    }

    /// The result for a transfer whose handshake was aborted for a verdict.
    enum HandshakeAdmission {
        case waits
        /// The server was accepted while the handshake came to its end.
        case isAccepted
        /// It has waited often enough.
        case isRefused
    }

    /// Has a transfer wait for a verdict, if it is still to come.
    func await(_ trust: ServerTrust, for transfer: Transfer) -> HandshakeAdmission {
        guard transfer.verdicts < Self.verdictLimit else { return .isRefused }
        transfer.verdicts += 1
        guard !cache.hasAccepted(trust) else { return .isAccepted }
        let key = TrustCache.Key(trust)
        transfer.awaitedVerdict = key
        waiting[key, default: []].insert(transfer.id)
        return .waits
    }

    /// Starts an evaluation, unless one is under way already; it gets its number.
    func startEvaluation(_ trust: ServerTrust, _ makeTask: (Int) -> Task<Void, Never>) {
        let key = TrustCache.Key(trust)
        guard evaluations[key] == nil else { return }
        evaluationCount += 1
        evaluations[key] = PendingEvaluation(number: evaluationCount, task: makeTask(evaluationCount))
    }

    /// Notes the result of an evaluation; returns the transfers that have waited for it.
    func decided(_ number: Int, _ trust: ServerTrust, isAccepted: Bool) -> Set<TransferID> {
        let key = TrustCache.Key(trust)
        // Another evaluation may be under way: the last transfer that waited for this one may have gone, and had it
        // cancelled.
        guard evaluations[key]?.number == number else { return [] }
        if isAccepted { cache.accept(trust) }
        evaluations[key] = nil
        return waiting.removeValue(forKey: key) ?? []
    }

    /// A transfer waits no more; when the last one goes, the evaluator's task is cancelled.
    func forget(_ transfer: Transfer) {
        guard let key = transfer.awaitedVerdict else { return }
        transfer.awaitedVerdict = nil
        waiting[key]?.remove(transfer.id)
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

/// Assigns evaluators to the servers that a transfer's connection leads to: the host of its URL, and HTTPS proxies.
///
/// There is one object per host and session: the same object means the same evaluation.
final class TrustPolicy: Sendable {
    private let host: String?
    private let evaluator: (any ServerTrustEvaluating)?
    private let proxies: [String: (any ServerTrustEvaluating)?]

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - host: The host of the URL; `nil` if that is not spoken to with TLS.
    ///   - evaluator: Its evaluator; `nil` if libcurl checks the host.
    ///   - proxies: The HTTPS proxies that the connection may lead through, with the same.
    init(
        host: String?, evaluator: (any ServerTrustEvaluating)?, proxies: [String: (any ServerTrustEvaluating)?] = [:]
    ) {
        self.host = host
        self.evaluator = evaluator
        self.proxies = proxies
    }

    /// Whether the host of the URL has an evaluator; libcurl checks the host if not.
    var evaluatesHost: Bool { evaluator != nil }

    /// Whether an HTTPS proxy has an evaluator.
    var evaluatesProxy: Bool { proxies.values.contains { $0 != nil } }

    /// The host of a handshake, by the name that it asks for; `nil` if it cannot be determined.
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

    /// The evaluator of a handshake, by the name that it asks for; `nil` if the host cannot be determined.
    func evaluator(named name: String?) -> (any ServerTrustEvaluating)? {
        guard let evaluatedHost = host(named: name) else { return nil }
        return (proxies[evaluatedHost] ?? (evaluatedHost == host ? evaluator : nil)) ?? DefaultTrustEvaluator()
    }
}

/// Remembers which servers evaluators that have to be awaited have accepted, for a while.
///
/// Belongs to the engine; never leaves the loop's thread.
final class TrustCache {
    /// A server, by all properties that an evaluator may have checked.
    ///
    /// It may show later that it was revoked, have expired, or speak an older version of TLS.
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

    /// For how many nanoseconds an answer holds.
    static let lifetime: Int64 = 300_000_000_000
    private static let limit = 1024

    private var accepted: [Key: Int64] = [:]
    private let now: () -> Int64

    init(now: @escaping () -> Int64 = { MonotonicClock.now() }) {
        self.now = now
    }

    func hasAccepted(_ trust: ServerTrust) -> Bool {
        accepted[Key(trust)].map { now() - $0 < Self.lifetime } ?? false
    }

    func accept(_ trust: ServerTrust) {
        let time = now()
        if accepted.count >= Self.limit { accepted = accepted.filter { time - $0.value < Self.lifetime } }
        if accepted.count >= Self.limit { accepted.removeAll() }
        accepted[Key(trust)] = time
    }
}

/// Verdicts of evaluators that are awaited.
extension TransferEngine {
    /// Has a server evaluated off the loop, and the connection made again if it is accepted.
    func awaitVerdict(
        on trust: ServerTrust, by evaluator: any ServerTrustEvaluating, for transfer: Transfer
    ) {
        guard let coordinator = self.trust else { return finish(transfer, with: RequestError(.trust(.notEvaluated))) }
        switch coordinator.await(trust, for: transfer) {
        case .waits: break
        case .isAccepted: return add(transfer)
        case .isRefused:
            return finish(
                transfer, with: RequestError(.trust(.notEvaluated), detail: "the server's certificates change"))
        }
        coordinator.startEvaluation(trust) { number in
            Task {
                let error = await evaluator.awaitedVerdict(on: trust)
                self.received(error, from: number, on: trust)
            }
        }
    }

    private func received(_ error: RequestError?, from number: Int, on trust: ServerTrust) {
        guard !isShutDown, let coordinator = self.trust else { return }
        shared.now = MonotonicClock.now()
        for id in coordinator.decided(number, trust, isAccepted: error == nil) {
            guard let transfer = transfers[id], transfer.awaitedVerdict == TrustCache.Key(trust) else { continue }
            transfer.awaitedVerdict = nil
            if let error {
                finish(transfer, with: error)
            } else if !transfer.responseBuffer.state.isSuspended {
                add(transfer)
            }
        }
        notifyObservers()
    }
}
