/// Decides which of a transfer's time limits has run out, as a value; times are nanoseconds of the monotonic clock.
///
/// Libcurl keeps limits too, but not for a transfer that waits for a connection, and its limits begin again when a
/// transfer is added again.
struct TransferLimits: Equatable {
    /// The state of the transfer when its limits are checked.
    struct TransferSnapshot: Equatable {
        var now: Int64
        var isSuspended = false
        /// Whether the connection was there and the request was about to go out.
        var wasSent = false
        /// When bytes were last seen, in either direction.
        var lastActivity: Int64 = 0
    }

    enum Verdict: Equatable {
        /// No limit has run out; look again at the given time, if at all.
        case within(nextCheck: Int64?)
        case exceeded(RequestError.TimeoutStage)
    }

    let timeouts: Timeouts
    private(set) var startedAt: Int64
    /// When libcurl was given the transfer, the last time.
    private var addedAt: Int64
    /// Since when it connects; `nil` while it waits for a free connection.
    private var connectingSince: Int64?
    /// The limits in nanoseconds, since they are asked for often.
    private let pool: Int64?
    private let connect: Int64?
    private let idle: Int64?
    private let total: Int64?

    /// Creates limits for a transfer, both of whose bodies may be in memory.
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

    /// The same limits for a transfer that starts now.
    func starting(at now: Int64) -> TransferLimits {
        var limits = self
        limits.startedAt = now
        limits.added(at: now, mayWait: false)
        return limits
    }

    /// Libcurl was given the transfer, which connects at once or waits until the limits of connections allow it.
    mutating func added(at now: Int64, mayWait: Bool) {
        addedAt = now
        connectingSince = mayWait ? nil : now
    }

    /// A connection is looked up or opened for the transfer.
    mutating func connectionBegan(at now: Int64) {
        connectingSince = connectingSince ?? now
    }

    /// No transfer is checked more often than this.
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
            // The limit for silence holds from when the request goes out, which is not known before one looks.
            if let idle { next = min(next ?? .max, snapshot.now + Self.interval(idle)) }
            return .within(nextCheck: next)
        }
        if let idle {
            guard snapshot.now - snapshot.lastActivity < idle else { return .exceeded(.idle) }
            next = min(next ?? .max, snapshot.now + Self.interval(idle))
        }
        return .within(nextCheck: next.map { max($0, snapshot.now + Self.shortestInterval) })
    }

    /// The error text for a limit that has run out.
    func message(for stage: RequestError.TimeoutStage) -> String {
        switch stage {
        case .pool: "there was no free connection after \(timeouts.pool ?? .zero)"
        case .connect: "there was no connection after \(timeouts.connect ?? .zero)"
        case .idle: "no data was sent or received for \(timeouts.idle ?? .zero)"
        case .total: "the exchange did not finish within \(Duration.nanoseconds(total ?? 0))"
        }
    }

    /// Silence is noticed to an eighth of its limit, so that the limit costs nothing while bytes flow.
    private static func interval(_ limit: Int64) -> Int64 { max(shortestInterval, limit / 8) }
}
