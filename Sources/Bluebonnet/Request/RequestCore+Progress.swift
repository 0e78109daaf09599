extension RequestCore {
    /// Notes how much of the request's body was sent.
    public func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {
        let now = MonotonicClock.now()
        let (progress, updates) = mailbox.withLock { mailbox in
            let progress = mailbox.uploadMeter.update(completed: sent, total: expected, now: now)
            mailbox.uploadProgress = progress
            return (progress, mailbox.sequences.uploadProgress)
        }
        updates?.send(progress)
    }

    /// Notes how much of the body is there.
    public func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {
        let now = MonotonicClock.now()
        let (progress, updates) = mailbox.withLock { mailbox in
            let before = mailbox.bytesBefore
            let progress = mailbox.downloadMeter.update(
                completed: received + (before?.count ?? 0), total: before.map(\.total) ?? expected, now: now)
            mailbox.progress = progress
            return (progress, mailbox.sequences.downloadProgress)
        }
        updates?.send(progress)
    }

    /// Notes that a file is complete, if the progress does not say so: none of it, or nobody knew how much, was to come.
    func downloadDidComplete(_ size: Int64) {
        let now = MonotonicClock.now()
        let (progress, updates) = mailbox.withLock { mailbox in
            if let latest = mailbox.progress, latest.completed == size, latest.total == size {
                return (latest, nil as Broadcast<TransferProgress>?)
            }
            let progress = mailbox.downloadMeter.update(completed: size, total: size, now: now)
            mailbox.progress = progress
            return (progress, mailbox.sequences.downloadProgress)
        }
        updates?.send(progress)
    }

    /// The values of a kind from now on, beginning with the latest; over when the request is.
    func sequence<Value>(
        _ kept: any WritableKeyPath<RequestSequences, Broadcast<Value>?> & Sendable, _ policy: StreamBufferingPolicy,
        latest: (RequestMailbox) -> Value?
    ) -> StreamOf<Value> {
        let (updates, isSettled) = mailbox.withLock { mailbox in
            if let updates = mailbox.sequences[keyPath: kept] { return (updates, false) }
            // Made with the latest value under the lock, lest that overtake a newer one.
            let updates = latest(mailbox).map { Broadcast(latest: $0) } ?? Broadcast(replaysLatest: true)
            mailbox.sequences[keyPath: kept] = updates
            return (updates, mailbox.lifecycle.isSettled)
        }
        if isSettled { updates.finish() }
        return updates.stream(bufferingPolicy: policy)
    }

    /// Ends every sequence that was asked for.
    func finishSequences() {
        mailbox.withLock { $0.sequences.isEmpty ? nil : $0.sequences }?.finish()
    }
}
