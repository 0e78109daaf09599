import FoundationEssentials

/// Keeps, for the engine, who judges which host, what was decided, and who waits for what is not.
///
/// Belongs to the engine; never leaves the loop's thread.
final class TrustDesk {
    /// How often a transfer's connection is made anew for the sake of a verdict.
    private static let verdictLimit = 8
    /// How many hosts' policies are kept.
    private static let policyLimit = 1024

    let memory = TrustMemory()
    private let manager: ServerTrustManager
    private var policies: [Route: TrustPolicy] = [:]
    /// What the manager has said of each host, which it is asked about once.
    private var evaluators: [String: (any ServerTrustEvaluating)?] = [:]
    private var waiting: [TrustMemory.Key: Set<TransferID>] = [:]
    private var questions: [TrustMemory.Key: Question] = [:]
    private var questionCount = 0

    /// An evaluator that is being asked.
    private struct Question {
        /// Tells its answer from that of an earlier one, which nobody waits for any more.
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

    /// Who judges the servers that a request's connection leads to; `nil` if libcurl alone does.
    func policy(
        for request: HTTPRequest, _ options: TransferOptions
    ) throws(RequestError) -> TrustPolicy? {
        let host = HostName.canonical(request.url.host(percentEncoded: false) ?? "")
        let isSecure = request.url.scheme?.lowercased() == "https"
        // A host that wants TLS is spoken to with it, whatever the URL says; an address cannot want it (RFC 6797 §8.3).
        let mayBeSecure = isSecure || options.configuration.hsts != .off && !IPAddress.isAddress(host)
        let proxies = options.secureProxyHosts(for: request)
        guard mayBeSecure || !proxies.isEmpty else { return nil }
        if isSecure { _ = try evaluator(forHost: host) }
        let route = Route(host: mayBeSecure ? host : nil, proxies: proxies)
        if let policy = policies[route] { return policy.judgesHost || policy.judgesProxy ? policy : nil }
        // Connections of a policy that is forgotten are not used again: see Transfer.mayUseConnection().
        if policies.count >= Self.policyLimit { policies.removeAll() }
        if evaluators.count >= Self.policyLimit { evaluators.removeAll() }
        var judges: [String: (any ServerTrustEvaluating)?] = [:]
        for proxy in proxies { judges[proxy] = .some(try evaluator(forHost: proxy)) }
        let policy = TrustPolicy(
            host: route.host, evaluator: mayBeSecure ? evaluatorOrRefusal(forHost: host) : nil, proxies: judges)
        policies[route] = policy
        return policy.judgesHost || policy.judgesProxy ? policy : nil
    }

    /// The evaluator of a host that may not need one, or one that says in a handshake that there is none.
    private func evaluatorOrRefusal(forHost host: String) -> (any ServerTrustEvaluating)? {
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

    /// What becomes of a transfer whose handshake was broken off for a verdict.
    enum Admission {
        case waits
        /// The server was accepted while the handshake came to its end.
        case isAccepted
        /// It has waited often enough.
        case isRefused
    }

    /// Has a transfer wait for a verdict, if it is still to come.
    func await(_ trust: ServerTrust, for transfer: Transfer) -> Admission {
        guard transfer.verdicts < Self.verdictLimit else { return .isRefused }
        transfer.verdicts += 1
        guard !memory.hasAccepted(trust) else { return .isAccepted }
        let key = TrustMemory.Key(trust)
        transfer.awaitedVerdict = key
        waiting[key, default: []].insert(transfer.id)
        return .waits
    }

    /// Has the evaluator asked, unless it is being asked already; the question gets its number.
    func ask(_ trust: ServerTrust, _ question: (Int) -> Task<Void, Never>) {
        let key = TrustMemory.Key(trust)
        guard questions[key] == nil else { return }
        questionCount += 1
        questions[key] = Question(number: questionCount, task: question(questionCount))
    }

    /// Notes the answer to a question; returns the transfers that have waited for it.
    func decided(_ number: Int, _ trust: ServerTrust, isAccepted: Bool) -> Set<TransferID> {
        let key = TrustMemory.Key(trust)
        // Another question may be under way since the last who waited for this one has gone, and had it cancelled.
        guard questions[key]?.number == number else { return [] }
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
        questions.removeValue(forKey: key)?.task.cancel()
    }

    func close() {
        for question in questions.values { question.task.cancel() }
        questions.removeAll()
        waiting.removeAll()
        policies.removeAll()
        evaluators.removeAll()
    }
}
