/// Decides when the loop's thread is started, woken and ended, as a value.
///
/// Events are reported under the inbox's lock; the actions they return are carried out after it is released.
struct LoopInbox {
    /// A piece of work.
    enum Entry {
        case closure(@Sendable () -> Void)
        /// A job of a task that prefers the loop.
        case job(UnownedJob)
        /// A job of an actor that lives on the loop.
        case isolatedJob(UnownedJob)
    }

    /// The next step of the reporter of an event.
    enum Action: Equatable {
        case nothing
        case wakeThread
        case startThread
    }

    /// The thread's next step.
    enum Wait: Equatable {
        /// There is more work: look at the sockets and come back.
        case poll
        /// Nothing to do: wait for sockets, timers or a wake-up.
        case sleep
        /// The thread is not needed.
        case stop
        /// The process ends: stay, and do nothing any more.
        case park
    }

    /// The state of the thread.
    private enum Phase: Equatable {
        /// There is no thread; work starts one.
        case stopped
        /// The thread will look into the inbox again before it waits.
        case awake
        /// The thread waits, and must be woken when work is brought; the first to do so makes it `awake`.
        case sleeping
        /// The process ends, and the thread does nothing more once it has looked into the inbox.
        case leaving
        /// The process ends, and nothing is done any more; so many threads are left for good.
        case parked(threads: Int)
    }

    private var phase = Phase.stopped
    private var clientCount = 0
    private var entries: [Entry] = []

    mutating func accepted(_ entry: Entry) -> Action {
        entries.append(entry)
        return wakeIfAsleep()
    }

    mutating func attached() -> Action {
        clientCount += 1
        return .nothing
    }

    mutating func detached() -> Action {
        precondition(clientCount > 0, "a loop was detached more often than attached")
        clientCount -= 1
        // A thread that is asleep has to notice that it may end.
        return clientCount == 0 && phase == .sleeping ? wakeIfAsleep() : .nothing
    }

    /// Hands the thread all that is there; `batch` has to be empty.
    mutating func took(into batch: inout [Entry]) {
        swap(&entries, &batch)
    }

    mutating func willWait() -> Wait {
        guard phase != .leaving else {
            phase = .parked(threads: 1)
            return .park
        }
        guard entries.isEmpty else { return .poll }
        guard clientCount > 0 else {
            phase = .stopped
            return .stop
        }
        phase = .sleeping
        return .sleep
    }

    /// The thread has waited; returns whether it may continue.
    mutating func woke() -> Bool {
        switch phase {
        case .leaving, .parked:
            phase = .parked(threads: 1)
            return false
        case .stopped, .awake, .sleeping:
            phase = .awake
            return true
        }
    }

    /// The process ends.
    mutating func exits() {
        switch phase {
        case .stopped: phase = .parked(threads: 0)
        case .sleeping: phase = .parked(threads: 1)
        case .awake: phase = .leaving
        case .leaving, .parked: break
        }
    }

    /// The thread was started when the process was about to end, and ends at once.
    mutating func barred() {
        phase = .parked(threads: 0)
    }

    /// Whether nothing is done any more, if there are so many threads: an earlier one may be about to end.
    func isParked(threads: Int) -> Bool { phase == .parked(threads: threads) }

    private mutating func wakeIfAsleep() -> Action {
        switch phase {
        case .stopped:
            phase = .awake
            return .startThread
        case .sleeping:
            phase = .awake
            return .wakeThread
        case .awake, .leaving, .parked:
            return .nothing
        }
    }
}
