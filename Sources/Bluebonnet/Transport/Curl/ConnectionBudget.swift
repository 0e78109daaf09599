import BluebonnetLibc
import Synchronization

/// The connections of all sessions in the process, which leave the program its share of descriptors.
///
/// Exchanges in the ``ConnectionGate`` of an engine take shares of the budget. If no share is left, the gates wait
/// until a share is returned. Sockets are counted too, because small numbers of exchanges, WebSockets and unused
/// connections do not pass through a gate.
final class ConnectionBudget: Sendable {
    static let shared = ConnectionBudget(descriptors: descriptorLimit)

    /// The number of connections that may be in use; a quarter of the descriptors.
    ///
    /// As many connections may be unused, and a quarter is left for the files of downloads and uploads.
    let limit: Int
    /// The number of sockets above which unused connections are closed.
    let socketLimit: Int
    /// The number of exchanges that may run however many sockets there are.
    private static let guaranteed = 16

    private let shares = Atomic<Int>(0)
    private let sockets = Atomic<Int>(0)
    private let lastTrim = Atomic<Int64>(0)
    private let isStarving = Atomic<Bool>(false)
    private let activity = Atomic<Int64>(0)
    private let engines = Locked(Engines())

    private struct Engines {
        var all: [ObjectIdentifier: TransferEngine] = [:]
        /// The engines whose exchanges wait.
        var starved: Set<ObjectIdentifier> = []
    }

    init(descriptors: Int) {
        limit = max(8, descriptors / 4)
        socketLimit = 2 * limit
    }

    // Safety: the system writes into the value only within the call.
    private static var descriptorLimit: Int {
        var limits = rlimit()
        #if canImport(Musl)
            let code = unsafe getrlimit(RLIMIT_NOFILE, &limits)
        #else
            let code = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        #endif
        return code == 0 ? Int(clamping: limits.rlim_cur) : 1024
    }

    /// Whether one more exchange may run.
    var hasRoom: Bool {
        let shares = shares.load(ordering: .sequentiallyConsistent)
        return shares < limit
            && (shares < Self.guaranteed || sockets.load(ordering: .sequentiallyConsistent) < socketLimit)
    }

    var room: RequestQueue.Room {
        RequestQueue.Room(
            isFree: hasRoom,
            hasReserve: shares.load(ordering: .relaxed) < limit + limit / 4
                && sockets.load(ordering: .relaxed) < socketLimit + limit)
    }

    /// When a session last sent or received bytes while exchanges of any session waited for the budget.
    var lastActivity: Int64 { activity.load(ordering: .relaxed) }

    func progressed(at now: Int64) {
        if isStarving.load(ordering: .relaxed) { activity.store(now, ordering: .relaxed) }
    }

    /// Whether there are so few connections that not every exchange has to be counted.
    var isRelaxed: Bool { sockets.load(ordering: .relaxed) < limit }

    /// Called when a gate has taken shares, or has returned some.
    func changed(by count: Int) {
        guard count != 0 else { return }
        let change = shares.add(count, ordering: .sequentiallyConsistent)
        if count < 0, change.oldValue >= limit || change.newValue < Self.guaranteed { feed() }
    }

    func socketOpened() {
        if sockets.add(1, ordering: .sequentiallyConsistent).newValue >= socketLimit { trim() }
    }

    func socketClosed() {
        if sockets.subtract(1, ordering: .sequentiallyConsistent).oldValue == socketLimit { feed() }
    }

    // MARK: The engines

    /// Called when an engine starts its first exchange, and when it has ended.
    func add(_ engine: TransferEngine) { engines.withLock { $0.all[ObjectIdentifier(engine)] = engine } }
    func remove(_ engine: TransferEngine) {
        engines.withLock { engines in
            engines.all[ObjectIdentifier(engine)] = nil
            engines.starved.remove(ObjectIdentifier(engine))
        }
    }

    /// Tells an engine when there is room again.
    func wake(_ engine: TransferEngine) {
        engines.withLock { _ = $0.starved.insert(ObjectIdentifier(engine)) }
        isStarving.store(true, ordering: .relaxed)
        if sockets.load(ordering: .relaxed) >= socketLimit { trim() }
        // A share may have been returned in the meantime.
        if hasRoom { feed() }
    }

    private func feed() {
        let starved = engines.withLock { engines in
            defer { engines.starved = [] }
            return engines.starved.compactMap { engines.all[$0] }
        }
        isStarving.store(false, ordering: .relaxed)
        activity.store(MonotonicClock.now(), ordering: .relaxed)
        for engine in starved { engine.accept(.startQueued) }
    }

    /// Lets all engines close their unused connections, at most ten times a second.
    private func trim() {
        let now = MonotonicClock.now()
        let last = lastTrim.load(ordering: .relaxed)
        guard now - last > 100_000_000,
            lastTrim.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
        else { return }
        for engine in engines.withLock({ Array($0.all.values) }) { engine.accept(.closeUnused) }
    }
}
