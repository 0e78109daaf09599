import FoundationEssentials

/// Keeps, for the engine, who judges which host, what was decided, and who waits for what is not.
///
/// Belongs to the engine; never leaves the loop's thread.
final class TrustDesk {
    /// How often a transfer's connection is made anew for the sake of a verdict.
    private static let verdictLimit = 8
    /// How many hosts' policies are kept.
    private static let policyLimit = 4096

    let memory = TrustMemory()
    private let manager: ServerTrustManager
    private var policies: [Route: TrustPolicy] = [:]
    private var waiting: [TrustMemory.Key: Set<TransferID>] = [:]
    private var questions: [TrustMemory.Key: Task<Void, Never>] = [:]

    private struct Route: Hashable {
        let host: String
        let proxy: String?
    }

    init(_ manager: ServerTrustManager) {
        self.manager = manager
    }

    /// Who judges the servers that a request's connection leads to; `nil` if libcurl alone does.
    func policy(
        for request: HTTPRequest, _ options: TransferOptions
    ) throws(RequestError) -> TrustPolicy? {
        let isSecure = request.url.scheme?.lowercased() == "https"
        let proxy = ProxyRoute.secureHost(
            of: request.proxy ?? options.configuration.proxy, in: options.environment)
        guard isSecure || proxy != nil else { return nil }
        let route = Route(host: HostName.canonical(request.url.host(percentEncoded: false) ?? ""), proxy: proxy)
        if let policy = policies[route] { return policy.judgesHost || policy.judgesProxy ? policy : nil }
        let evaluator = isSecure ? try manager.serverTrustEvaluator(forHost: route.host) : nil
        var through: (host: String, evaluator: (any ServerTrustEvaluating)?)?
        if let proxy { through = (proxy, try manager.serverTrustEvaluator(forHost: proxy)) }
        let policy = TrustPolicy(host: route.host, evaluator: evaluator, proxy: through)
        // Connections of a policy that was forgotten are not used again, which is safe.
        if policies.count >= Self.policyLimit { policies.removeAll() }
        policies[route] = policy
        return policy.judgesHost || policy.judgesProxy ? policy : nil
    }

    /// Has a transfer wait for a verdict; returns `false` if it has waited often enough.
    func await(_ trust: ServerTrust, for transfer: Transfer) -> Bool {
        guard transfer.verdicts < Self.verdictLimit else { return false }
        transfer.verdicts += 1
        let key = TrustMemory.Key(trust)
        transfer.awaitedVerdict = key
        waiting[key, default: []].insert(transfer.id)
        return true
    }

    /// Has the evaluator asked, unless it is being asked already.
    func ask(_ trust: ServerTrust, _ question: () -> Task<Void, Never>) {
        let key = TrustMemory.Key(trust)
        if questions[key] == nil { questions[key] = question() }
    }

    /// Notes the answer; returns the transfers that have waited for it.
    func decided(_ trust: ServerTrust, isAccepted: Bool) -> Set<TransferID> {
        let key = TrustMemory.Key(trust)
        if isAccepted { memory.accept(trust) }
        questions[key] = nil
        return waiting.removeValue(forKey: key) ?? []
    }

    /// A transfer waits no more; the last one to go has the evaluator told.
    func forget(_ transfer: Transfer) {
        guard let key = transfer.awaitedVerdict else { return }
        transfer.awaitedVerdict = nil
        waiting[key]?.remove(transfer.id)
        guard waiting[key]?.isEmpty == true else { return }
        waiting[key] = nil
        questions.removeValue(forKey: key)?.cancel()
    }

    func close() {
        for question in questions.values { question.cancel() }
        questions.removeAll()
        waiting.removeAll()
        policies.removeAll()
    }
}
