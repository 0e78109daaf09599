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
    /// The running evaluations, with numbers that distinguish their results from those of earlier, cancelled ones.
    private var evaluations: [TrustCache.Key: (number: Int, task: Task<Void, Never>)] = [:]
    private var evaluationCount = 0

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
        case isAccepted(TrustCache.Key)
        /// The transfer has waited too often.
        case isRefused
    }

    /// Makes a transfer wait for a result, unless the server has already been accepted.
    func await(_ trust: ServerTrust, for transfer: Transfer) -> HandshakeAdmission {
        guard transfer.trust.mayAwaitVerdict() else { return .isRefused }
        let key = TrustCache.Key(trust)
        guard !verdicts.cache.hasAccepted(trust) else { return .isAccepted(key) }
        waiting[key, default: []].insert(transfer.id)
        return .waits(key)
    }

    /// Starts an evaluation unless it is already running; the closure receives its number.
    func startEvaluation(_ trust: ServerTrust, _ makeTask: (Int) -> Task<Void, Never>) {
        let key = TrustCache.Key(trust)
        guard evaluations[key] == nil else { return }
        evaluationCount += 1
        evaluations[key] = (evaluationCount, makeTask(evaluationCount))
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

/// Handles the results of asynchronous evaluators.
extension TransferEngine {
    /// Evaluates a server outside the loop, and opens the connection again if the server is accepted.
    func awaitVerdict(
        on trust: ServerTrust, by evaluator: any ServerTrustEvaluating, for transfer: Transfer
    ) {
        guard let coordinator = self.trust else { return finish(transfer, with: RequestError(.trust(.notEvaluated))) }
        switch coordinator.await(trust, for: transfer) {
        case .waits(let key): transfer.life.awaitsVerdict(key)
        case .isAccepted(let key):
            transfer.life.awaitsVerdict(key)
            return perform(transfer.life.accepted(), on: transfer)
        case .isRefused:
            return finish(
                transfer, with: RequestError(.trust(.notEvaluated), detail: "the server's certificates change"))
        }
        let verdicts = coordinator.verdicts
        coordinator.startEvaluation(trust) { number in
            Task {
                let error = await verdicts.verdict(on: trust, by: evaluator)
                self.received(error, from: number, on: trust)
            }
        }
    }

    private func received(_ error: RequestError?, from number: Int, on trust: ServerTrust) {
        guard !isShutDown, let coordinator = self.trust else { return }
        shared.now = MonotonicClock.now()
        let key = TrustCache.Key(trust)
        for id in coordinator.decided(number, trust) {
            guard let transfer = transfers[id], case .awaitingVerdict(key, _) = transfer.life.place else { continue }
            if let error { finish(transfer, with: error) } else { perform(transfer.life.accepted(), on: transfer) }
        }
        notifyObservers()
    }
}
