/// Decides when the loop's thread is started, woken and ended.
///
/// This is a value type without I/O and without a clock.
///
/// Its methods are called under the inbox's lock. The returned actions are performed after the lock is released.
struct LoopInbox {
    /// A piece of work.
    enum Entry {
        case closure(@Sendable () -> Void)
        /// A job of a task that prefers the loop.
        case job(UnownedJob)
        /// A job of an actor that runs on the loop.
        case isolatedJob(UnownedJob)
    }

    /// The next step of the caller.
    enum Action: Equatable {
        case nothing
        case wakeThread
        case startThread
    }

    /// The next step of the thread.
    enum Wait: Equatable {
        /// There is more work, so poll the sockets and continue.
        case poll
        /// There is no work, so wait for sockets, timers or a wake-up.
        case sleep
        /// The thread is not needed.
        case stop
        /// The process exits, so keep the thread without further work.
        case park
    }

    /// The state of the thread.
    private enum Phase: Equatable {
        /// There is no thread; new work starts one.
        case stopped
        /// The thread will check the inbox again before it waits.
        case awake
        /// The thread waits and must be woken for new work; the first new work changes the phase to `awake`.
        case sleeping
        /// The process exits, and the thread stops after its next check of the inbox.
        case leaving
        /// The process exits, and all work has stopped; the given number of threads stay blocked.
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
        // A sleeping thread must check whether it may end.
        return clientCount == 0 && phase == .sleeping ? wakeIfAsleep() : .nothing
    }

    /// Passes all entries to the thread; `batch` must be empty.
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

    /// Called when the thread has waited; returns whether it may continue.
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

    /// Called when the process exits.
    mutating func exits() {
        switch phase {
        case .stopped: phase = .parked(threads: 0)
        case .sleeping: phase = .parked(threads: 1)
        case .awake: phase = .leaving
        case .leaving, .parked: break
        }
    }

    /// Called when a thread was started while the process exits; the thread ends immediately.
    mutating func barred() {
        phase = .parked(threads: 0)
    }

    /// Whether work has stopped and the given number of threads are left; an earlier thread may still be ending.
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
