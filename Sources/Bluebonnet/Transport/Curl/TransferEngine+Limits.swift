import CCurl

/// The time limits of transfers.
extension TransferEngine {
    func checkLimits() {
        guard let due = nextCheck, due <= shared.now else { return }
        nextCheck = nil
        for transfer in transfers.values { checkLimits(of: transfer) }
    }

    /// Ends the transfer if a limit has run out, or sees to it that it is looked at again.
    func checkLimits(of transfer: Transfer) {
        if let easy = transfer.easy, !transfer.isFresh {
            // Bytes that do not come by here one by one: sent from libcurl's buffers, or received but not decoded yet.
            let (sent, received) = (easy.offset(CURLINFO_SIZE_UPLOAD_T), easy.offset(CURLINFO_SIZE_DOWNLOAD_T))
            if sent != transfer.lastSentBytes || received != transfer.lastReceivedBytes || !transfer.wasSent {
                transfer.reception.lastActivity = shared.now
            }
            // Libcurl reads the body of a challenge to its end before it answers, and hands nothing over.
            if transfer.isChallenged, transfer.reception.state.receivedBytes == 0,
                let limit = options.configuration.maximumResponseBytes, received > limit
            {
                return finish(transfer, with: RequestError(.invalidResponse(.bodyTooLarge(limit: limit))))
            }
            transfer.lastSentBytes = sent
            transfer.lastReceivedBytes = received
        }
        // The limit for silence is for the network, not for those who read and write the bodies.
        let isSuspended = transfer.reception.state.isHeldUp
        if isSuspended { transfer.reception.lastActivity = shared.now }
        let situation = TransferLimits.Situation(
            now: shared.now, isSuspended: isSuspended, wasSent: transfer.wasSent,
            lastActivity: transfer.reception.lastActivity)
        switch transfer.limits.verdict(in: situation) {
        case .within(let lookAgain):
            if let lookAgain { nextCheck = min(nextCheck ?? lookAgain, lookAgain) }
        case .exceeded(let stage):
            finish(transfer, with: error(.timedOut(stage), transfer.limits.words(for: stage), of: transfer))
        }
    }
}
