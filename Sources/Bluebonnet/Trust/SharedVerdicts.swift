/// The evaluations of servers that are running, so that the loops of a session do not evaluate a server twice.
final class SharedVerdicts: Sendable {
    /// The servers that were accepted.
    let cache = TrustCache()
    private let evaluations = Locked<[TrustCache.Key: (task: Task<RequestError?, Never>, waiting: Int)]>([:])

    /// Returns the verdict on a server; an evaluation ends early when all tasks that wait for it are cancelled.
    func verdict(on trust: ServerTrust, by evaluator: any ServerTrustEvaluating) async -> RequestError? {
        let key = TrustCache.Key(trust)
        let running: Task<RequestError?, Never>? = evaluations.withLock { evaluations in
            // An evaluation may have ended since the handshake. The result is in the cache before it is removed here.
            if evaluations[key] == nil, cache.hasAccepted(trust) { return nil }
            var evaluation = evaluations[key] ?? (Task { await evaluator.awaitedVerdict(on: trust) }, 0)
            evaluation.waiting += 1
            evaluations[key] = evaluation
            return evaluation.task
        }
        guard let task = running else { return nil }
        return await withTaskCancellationHandler {
            let error = await task.value
            // The result of an evaluation that was cancelled does not count.
            let isCurrent = evaluations.withLock { $0[key]?.task == task }
            if isCurrent, error == nil { cache.accept(trust) }
            evaluations.withLock { if $0[key]?.task == task { $0[key] = nil } }
            return error
        } onCancel: {
            let isLast = evaluations.withLock { evaluations in
                guard evaluations[key]?.task == task else { return false }
                evaluations[key]?.waiting -= 1
                guard evaluations[key]?.waiting == 0 else { return false }
                evaluations[key] = nil
                return true
            }
            if isLast { task.cancel() }
        }
    }
}
