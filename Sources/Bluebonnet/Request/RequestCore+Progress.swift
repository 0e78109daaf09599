extension RequestCore {
    /// Takes note of progress and tells whoever watches.
    func report(_ progress: TransferProgress) {
        let updates = mailbox.withLock { mailbox in
            mailbox.progress = progress
            return mailbox.progressUpdates
        }
        updates?.send(progress)
    }

    /// The progress from now on, beginning with the latest; over when the request is.
    func progressUpdates(_ bufferingPolicy: StreamBufferingPolicy) -> StreamOf<TransferProgress> {
        let (updates, isSettled) = mailbox.withLock { mailbox in
            if let updates = mailbox.progressUpdates { return (updates, false) }
            // Made with the latest value under the lock, lest that overtake a newer one.
            let updates = mailbox.progress.map { Broadcast(latest: $0) } ?? Broadcast(replaysLatest: true)
            mailbox.progressUpdates = updates
            return (updates, mailbox.lifecycle.isSettled)
        }
        if isSettled { updates.finish() }
        return updates.stream(bufferingPolicy: bufferingPolicy)
    }

    /// Ends every sequence that was asked for.
    func finishSequences() {
        mailbox.withLock { $0.progressUpdates }?.finish()
    }
}
