import BluebonnetLibc
import Synchronization

/// The connections of all sessions in the process, which leave the program its share of descriptors.
///
/// Exchanges in the ``ConnectionGate`` of a session take shares of the budget. If there is none left, the gates wait
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
    private let groups = Locked(Groups())

    private struct Groups {
        struct Member { weak var group: EngineGroup? }

        var members: [ObjectIdentifier: Member] = [:]
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

    // MARK: The sessions

    func add(_ group: EngineGroup) { groups.withLock { $0.members[ObjectIdentifier(group)] = .init(group: group) } }

    func remove(_ group: EngineGroup) {
        groups.withLock { groups in
            groups.members[ObjectIdentifier(group)] = nil
            groups.starved.remove(ObjectIdentifier(group))
        }
    }

    /// Wakes a session when there is room again.
    func wake(_ group: EngineGroup) {
        groups.withLock { _ = $0.starved.insert(ObjectIdentifier(group)) }
        // A share may have been returned in the meantime.
        if hasRoom { feed() }
    }

    private func feed() {
        let starved = groups.withLock { groups in
            let starved = groups.starved.compactMap { groups.members[$0]?.group }
            groups.starved = []
            return starved
        }
        for group in starved { group.startQueued() }
    }

    /// Lets all sessions close their unused connections, at most ten times a second.
    private func trim() {
        let now = MonotonicClock.now()
        let last = lastTrim.load(ordering: .relaxed)
        guard now - last > 100_000_000,
            lastTrim.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
        else { return }
        for group in groups.withLock({ $0.members.values.compactMap(\.group) }) { group.closeUnusedConnections() }
    }
}
