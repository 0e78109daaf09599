extension RequestCore {
    /// Awaits the user's code for as long as the request is not cancelled; returns whether it came to its end.
    ///
    /// The code runs in a task of its own. When the request is cancelled that task is, and this returns at once: code
    /// that does not heed its cancellation keeps nobody waiting.
    func interruptible(_ work: @escaping @Sendable () async -> Void) async -> Bool {
        await raced(work) { interruption in
            let (isCancelled, _) = mailbox.withLock { mailbox in
                (mailbox.lifecycle.state == .cancelled, exchange(&mailbox.interruption, with: interruption))
            }
            return isCancelled
        }
    }

    /// As ``interruptible(_:)``, for a serializer of a request that can no longer be cancelled: its own task can.
    func interruptible(by slot: SerializationSlot, _ work: @escaping @Sendable () async -> Void) async -> Bool {
        await raced(work) { slot.setInterruption($0) }
    }

    /// Awaits the work or its interruption; `keep` keeps what ends the wait, and returns whether it is to be ended now.
    @inline(never)
    private func raced(
        _ work: @escaping @Sendable () async -> Void, keep: (@escaping @Sendable () -> Void) -> Bool
    ) async -> Bool {
        await withResumption { continuation in
            let race = InterruptionRace(continuation)
            let task = Task {
                await work()
                race.end(with: true)
            }
            let interruption: @Sendable () -> Void = {
                task.cancel()
                race.end(with: false)
            }
            if keep(interruption) { interruption() }
        }
    }
}

/// Lets the first of two ends win.
private final class InterruptionRace: Sendable {
    private let waiting: Locked<Resumption<Bool>?>

    init(_ continuation: Resumption<Bool>) {
        waiting = Locked(continuation)
    }

    func end(with answer: Bool) {
        waiting.withLock { $0.take() }?.resume(returning: answer)
    }
}
