/// Decides which of a transfer's time limits has been exceeded, as a value.
///
/// Times are in nanoseconds on the monotonic clock. Libcurl has its own time limits, but they do not apply while a
/// transfer waits for a connection. They also start again when a transfer is added again.
struct TransferLimits: Equatable {
    /// The state of the transfer when its limits are checked.
    struct TransferSnapshot: Equatable {
        var now: Int64
        var isSuspended = false
        /// Whether the request was ready to be sent on a connection.
        var wasSent = false
        /// The time at which bytes were last transferred, in either direction.
        var lastActivity: Int64 = 0
    }

    enum Verdict: Equatable {
        /// No limit has been exceeded. Check again at the given time, if there is one.
        case within(nextCheck: Int64?)
        case exceeded(RequestError.TimeoutStage)
    }

    let timeouts: Timeouts
    private(set) var startedAt: Int64
    /// When the transfer was last added to libcurl.
    private var addedAt: Int64
    /// When the transfer began to connect; `nil` while it waits for a free connection.
    private var connectingSince: Int64?
    /// The limits in nanoseconds, stored because they are read often.
    private let pool: Int64?
    private let connect: Int64?
    private let idle: Int64?
    private let total: Int64?

    /// Creates limits for a transfer; `isInMemory` states whether both of its bodies are in memory.
    init(timeouts: Timeouts, isInMemory: Bool, startedAt: Int64) {
        self.timeouts = timeouts
        self.startedAt = startedAt
        addedAt = startedAt
        connectingSince = startedAt
        pool = timeouts.pool?.nanoseconds
        connect = timeouts.connect?.nanoseconds
        idle = timeouts.idle?.nanoseconds
        total = timeouts.total(isInMemory: isInMemory)?.nanoseconds
    }

    /// Returns the same limits with a start at the given time.
    func starting(at now: Int64) -> TransferLimits {
        var limits = self
        limits.startedAt = now
        limits.added(at: now, mayWait: false)
        return limits
    }

    /// Called when the transfer was added to libcurl.
    ///
    /// The transfer then connects immediately, or waits for a connection if the connection limits require this.
    mutating func added(at now: Int64, mayWait: Bool) {
        addedAt = now
        connectingSince = mayWait ? nil : now
    }

    /// Called when a connection is looked up or opened for the transfer.
    mutating func connectionBegan(at now: Int64) {
        connectingSince = connectingSince ?? now
    }

    /// The minimum interval between two checks.
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
        if isOver(total, since: startedAt) { return .exceeded(.total) }
        guard !snapshot.isSuspended else { return .within(nextCheck: next) }
        guard snapshot.wasSent else {
            if let connectingSince {
                if isOver(connect, since: connectingSince) { return .exceeded(.connect) }
            } else if isOver(pool, since: addedAt) {
                return .exceeded(.pool)
            }
            // The idle timeout starts when the request is sent, which is known only at the next check.
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
        switch stage {
        case .pool: "there was no free connection after \(timeouts.pool ?? .zero)"
        case .connect: "there was no connection after \(timeouts.connect ?? .zero)"
        case .idle: "no data was sent or received for \(timeouts.idle ?? .zero)"
        case .total: "the exchange did not finish within \(Duration.nanoseconds(total ?? 0))"
        }
    }

    /// The interval between two checks of the idle timeout.
    ///
    /// It is an eighth of the timeout, so checks take little time while bytes arrive.
    private static func interval(_ limit: Int64) -> Int64 { max(shortestInterval, limit / 8) }
}
