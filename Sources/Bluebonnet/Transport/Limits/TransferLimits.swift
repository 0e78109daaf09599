/// Decides which time limit of a transfer has been exceeded.
///
/// This is a value type without I/O and without a clock.
///
/// Times are in nanoseconds on the monotonic clock. Libcurl has its own time limits, but they do not apply while a
/// transfer waits for a connection. Libcurl's limits also start again when the transfer is added to libcurl again.
struct TransferLimits: Equatable {
    /// The state of the transfer when its limits are checked.
    struct TransferSnapshot: Equatable {
        var now: Int64
        var isSuspended = false
        /// Whether the head of an event stream has arrived.
        var isEventStream = false
        /// When bytes were last transferred, in either direction.
        var lastActivity: Int64 = 0
        /// When a transfer that needs the same connections was last active; `nil` if the transfer does not wait for a
        /// connection.
        var othersActivity: Int64?
    }

    enum Verdict: Equatable {
        /// No limit has been exceeded. Check again at the given time, if there is one.
        case within(nextCheck: Int64?)
        case exceeded(RequestError.TimeoutStage)
    }

    /// The phase of the transfer before it is first added to libcurl, or since it was last added.
    private enum Phase: Equatable {
        /// The transfer waits for other transfers to end.
        case queued(since: Int64)
        /// The transfer waits for a free connection, in the gate or in libcurl.
        case waiting(since: Int64)
        case connecting(since: Int64)
        /// The request was sent, or is about to be.
        case sent
    }

    private(set) var startedAt: Int64
    /// The time before the transfer was last added to libcurl, which libcurl does not count.
    private(set) var uncounted = Duration.zero
    /// The total time that the transfer waited for other transfers to end; `nil` if it did not wait.
    private(set) var waitedNanoseconds: Int64?
    private var phase: Phase
    /// The limits in nanoseconds.
    private let queue: Int64?
    private let pool: Int64?
    private let connect: Int64?
    private var idle: Int64?
    private let idleBeforeEvents: Int64?
    /// Whether the idle limit depends on the head of the response.
    var awaitsEvents: Bool { idleBeforeEvents != nil }
    private var total: Int64?

    /// Creates limits for a transfer; `isInMemory` states whether both of its bodies are in memory.
    init(timeouts: Timeouts, isInMemory: Bool, startedAt: Int64) {
        self.startedAt = startedAt
        phase = .connecting(since: startedAt)
        queue = timeouts.queue?.nanoseconds
        pool = timeouts.pool?.nanoseconds
        connect = timeouts.connect?.nanoseconds
        idle = timeouts.idle?.nanoseconds
        idleBeforeEvents = timeouts.idleBeforeEvents?.nanoseconds
        total = timeouts.total(isInMemory: isInMemory)?.nanoseconds
    }

    /// Returns the same limits with a start at the given time.
    func starting(at now: Int64) -> TransferLimits {
        var limits = self
        limits.startedAt = now
        limits.added(at: now, mayWait: false)
        return limits
    }

    /// Called when the transfer has to wait for other transfers to end.
    mutating func queued(at now: Int64) { phase = .queued(since: now) }

    /// Called when the transfer no longer waits for other transfers, because it starts or is suspended.
    mutating func leftQueue(at now: Int64) {
        guard case .queued = phase else { return }
        waitedNanoseconds = waited(until: now)
        self = starting(at: now)
    }

    /// The time that the transfer has waited for other transfers; `nil` if it did not wait.
    func queueTime(at now: Int64) -> Duration? { waited(until: now).map { .nanoseconds($0) } }

    private func waited(until now: Int64) -> Int64? {
        guard case .queued(let since) = phase else { return waitedNanoseconds }
        return (waitedNanoseconds ?? 0) + now - since
    }

    /// Called when the transfer has to wait for a connection before it is added to libcurl.
    mutating func waits(at now: Int64) { phase = .waiting(since: now) }

    /// Called when the transfer no longer waits for a connection, because it is suspended or has ended.
    mutating func leftGate(at now: Int64) { if isWaiting { phase = .connecting(since: now) } }

    /// Called when the transfer was added to libcurl.
    ///
    /// The transfer then connects immediately, or waits for a connection if the connection limits require this. If it
    /// continues to connect after its server was evaluated, the time until then counts.
    mutating func added(at now: Int64, mayWait: Bool, continues: Bool = false) {
        if continues, case .connecting = phase { return retried(at: now) }
        if !mayWait { phase = .connecting(since: now) } else if !isWaiting { phase = .waiting(since: now) }
        retried(at: now)
    }

    /// Called when the transfer is resumed while its server is evaluated.
    mutating func resumed(at now: Int64) { if case .connecting = phase { phase = .connecting(since: now) } }

    /// Whether the transfer has waited for a connection as long as the idle limit; see
    /// ``TransferSnapshot/othersActivity``.
    func mayBeStalled(at now: Int64) -> Bool {
        guard case .waiting(let since) = phase, pool == nil, let idle = idle ?? idleBeforeEvents else { return false }
        return now - since >= idle
    }

    /// Called when the transfer, which still waits, was added to libcurl again.
    mutating func retried(at now: Int64) { uncounted = .nanoseconds(now - startedAt) }

    /// Called when a connection is looked up or opened for the transfer, even if the request was sent on another
    /// connection.
    ///
    /// Returns the time of the next check, if it is earlier than before.
    mutating func connectionBegan(at now: Int64) -> Int64? {
        if case .connecting = phase { return nil }
        phase = .connecting(since: now)
        return connect.map { now + $0 }
    }

    /// Whether the transfer waits for a free connection.
    var isWaiting: Bool { if case .waiting = phase { true } else { false } }

    /// Called when the connection was upgraded: it has another idle limit from now on, and no end of its own.
    mutating func upgraded(idleTimeout: Duration?) { (idle, total) = (idleTimeout?.nanoseconds, nil) }

    /// Called when the connection is ready and the request is about to be sent.
    mutating func requestBegan() { phase = .sent }

    /// The shortest interval between two checks, which also limits the check of the idle timeout.
    private static let shortestInterval: Int64 = 5_000_000

    func verdict(in snapshot: TransferSnapshot) -> Verdict {
        var next: Int64?
        func isOver(_ limit: Int64?, since start: Int64) -> Bool {
            guard let limit else { return false }
            let end = start + limit
            guard end > snapshot.now else { return true }
            next = min(next ?? end, end)
            return false
        }
        if case .queued(let since) = phase {
            // The other limits begin when the transfer starts.
            return !snapshot.isSuspended && isOver(queue, since: since) ? .exceeded(.queue) : .within(nextCheck: next)
        }
        if isOver(total, since: startedAt) { return .exceeded(.total) }
        guard !snapshot.isSuspended else { return .within(nextCheck: next) }
        let idle = idle ?? (snapshot.isEventStream ? nil : idleBeforeEvents)
        switch phase {
        case .waiting(let since):
            if isOver(pool, since: since) { return .exceeded(.pool) }
            if pool == nil, let last = snapshot.othersActivity, isOver(idle, since: max(since, last)) {
                return .exceeded(.pool)
            }
        case .connecting(let since): if isOver(connect, since: since) { return .exceeded(.connect) }
        case .queued, .sent: break
        }
        guard phase == .sent else {
            // The idle timeout starts when the request is sent, which only the next check reveals.
            if let idle { next = min(next ?? .max, snapshot.now + Self.interval(idle)) }
            return .within(nextCheck: next)
        }
        if let idle {
            guard snapshot.now - snapshot.lastActivity < idle else { return .exceeded(.idle) }
            next = min(next ?? .max, snapshot.now + Self.interval(idle))
        }
        return .within(nextCheck: next.map { max($0, snapshot.now + Self.shortestInterval) })
    }

    /// The error message for a limit that was exceeded.
    func message(for stage: RequestError.TimeoutStage) -> String {
        func duration(_ limit: Int64?) -> Duration { .nanoseconds(limit ?? 0) }
        let idle = idle ?? idleBeforeEvents
        return switch stage {
        case .queue: "the request could not start within \(duration(queue)), the queue limit"
        case .pool:
            if let pool {
                "there was no free connection after \(duration(pool)), the pool limit"
            } else {
                "no connection became free for \(duration(idle)), the idle limit"
            }
        case .connect: "there was no connection after \(duration(connect)), the connect limit"
        case .idle: "no data was sent or received for \(duration(idle)), the idle limit"
        case .total: "the exchange did not finish within \(duration(total)), the total limit"
        }
    }

    /// The interval between two checks of the idle timeout.
    ///
    /// It is an eighth of the timeout, so checks take little time while bytes arrive.
    private static func interval(_ limit: Int64) -> Int64 { max(shortestInterval, limit / 8) }
}
