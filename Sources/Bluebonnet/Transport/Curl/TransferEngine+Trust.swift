/// Verdicts of evaluators that are awaited.
extension TransferEngine {
    /// Has a server judged off the loop, and the connection made again if it is accepted.
    func awaitVerdict(
        on trust: ServerTrust, by evaluator: any ServerTrustEvaluating, for transfer: Transfer
    ) {
        guard let desk = self.trust else { return finish(transfer, with: RequestError(.trust(.notEvaluated))) }
        switch desk.await(trust, for: transfer) {
        case .waits: break
        case .isAccepted: return add(transfer)
        case .isRefused:
            return finish(
                transfer, with: RequestError(.trust(.notEvaluated), detail: "the server's certificates change"))
        }
        desk.ask(trust) { question in
            Task {
                let error = await evaluator.awaitedVerdict(on: trust)
                self.received(error, to: question, on: trust)
            }
        }
    }

    private func received(_ error: RequestError?, to question: Int, on trust: ServerTrust) {
        guard !isShutDown, let desk = self.trust else { return }
        shared.now = MonotonicClock.now()
        for id in desk.decided(question, trust, isAccepted: error == nil) {
            guard let transfer = transfers[id], transfer.awaitedVerdict == TrustMemory.Key(trust) else { continue }
            transfer.awaitedVerdict = nil
            if let error {
                finish(transfer, with: error)
            } else if !transfer.reception.state.isSuspended {
                add(transfer)
            }
        }
        tellObservers()
    }
}
