import CCurl

/// What the engine does before the loop waits: it takes what has ended, and tells the observers.
// Safety: a finished transfer's context is its handle, kept until `finish`.
extension TransferEngine {
    nonisolated func loopWillWait() -> Int64? {
        assumeIsolated { $0.turn() }
    }

    func turn() -> Int64? {
        shared.now = MonotonicClock.now()
        let isReading = shared.forgotten.areDue(at: shared.now)
        if isReading {
            multis.main?.readAll()
            multis.unmultiplexed?.readAll()
        }
        runAll()
        if endUploads() { runAll() }
        for transfer in fresh { transfer.isFresh = false }
        fresh.removeAll(keepingCapacity: true)
        checkLimits()
        decodeRests()
        resumeWaiting()
        endRefusedUploads()
        cookieJar?.settle()
        reportHeads()
        reportProgress()
        tellObservers()
        shared.forgotten.turnEnds(at: shared.now, wasReading: isReading, isIdle: transfers.isEmpty)
        guard shared.progressed.isEmpty, shared.toBeDecoded.transfers.isEmpty, shared.uploadEnds.isEmpty else {
            return 0
        }
        let deadline = Self.earlier(multis.main?.deadline, multis.unmultiplexed?.deadline)
        return Self.earlier(deadline, Self.earlier(nextCheck, shared.forgotten.due))
    }

    /// Lets the bodies go on that had had their share of the turn.
    private func resumeWaiting() {
        for transfer in shared.intake.turnEnds() where transfers[transfer.id] != nil {
            perform(transfer.reception.state.turnBegins(), on: transfer)
            transfer.noteDecoding()
        }
    }

    private static func earlier(_ one: Int64?, _ other: Int64?) -> Int64? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    private func runAll() {
        if let multi = multis.main { run(multi) }
        if let multi = multis.unmultiplexed { run(multi) }
    }

    /// Has libcurl do what is due, and takes what has ended.
    private func run(_ multi: MultiHandle) {
        multi.runTimeouts(now: shared.now)
        unsafe multi.takeFinished { context, code in
            let easy = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            guard let transfer = easy.transfer else { return }
            // It may have begun and ended in this very turn.
            transfer.isFresh = false
            finish(transfer, with: code, of: multi)
        }
    }

    func reportHeads() {
        guard !shared.withHeads.isEmpty else { return }
        for transfer in shared.withHeads {
            if let response = transfer.response { transfer.observer.exchangeDidReceiveHead(response) }
        }
        shared.withHeads.removeAll(keepingCapacity: true)
    }

    func reportProgress() {
        guard !shared.progressed.isEmpty else { return }
        var growing = 0
        var index = 0
        // What is handed over may make room for more, which libcurl then has ready: the list may grow.
        while index < shared.progressed.count {
            let transfer = shared.progressed[index]
            index += 1
            // What has ended is told with the outcome.
            guard transfers[transfer.id] != nil else { continue }
            if transfer.isPieceGrowing() {
                shared.progressed[growing] = transfer
                growing += 1
                continue
            }
            transfer.hasUnreportedProgress = false
            // First the bytes: who begins to read when it sees the progress is too late for them.
            if transfer.receiver != nil { deliver(transfer) }
            reportProgress(of: transfer)
        }
        shared.progressed.removeSubrange(growing...)
    }

    func reportProgress(of transfer: Transfer) {
        reportSent(Int64(transfer.uploadOffset), by: transfer)
        let state = transfer.reception.state
        if state.receivedBytes != transfer.reportedReceivedBytes {
            transfer.reportedReceivedBytes = state.receivedBytes
            transfer.observer.exchangeDidReceive(state.receivedBytes, ofExpected: transfer.reception.expectedBytes)
        }
    }

    func reportSent(_ sent: Int64, by transfer: Transfer) {
        guard sent != transfer.reportedSentBytes else { return }
        transfer.reportedSentBytes = sent
        transfer.observer.exchangeDidSend(sent, ofExpected: transfer.upload.length)
    }

    /// Hands over what has come in for a receiver.
    func deliver(_ transfer: Transfer) {
        transfer.handPieceOver()
        if transfer.isStopped { finish(transfer, with: RequestError(.cancelled)) }
    }

    func tellObservers() {
        // An exchange's head is told before its end, whoever calls this.
        while !ended.isEmpty {
            reportHeads()
            var outcomes: [(any ExchangeObserver, ExchangeOutcome)] = []
            swap(&outcomes, &ended)
            for (observer, outcome) in outcomes { observer.exchangeDidComplete(outcome) }
            outcomes.removeAll(keepingCapacity: true)
            // The memory is used again.
            if ended.isEmpty { swap(&outcomes, &ended) }
        }
    }
}
