import BluebonnetLibc
import Synchronization

/// The connections of all sessions in the process, which leave the program its share of descriptors.
///
/// Exchanges in the ``ConnectionGate`` of an engine take shares of the budget. If no share is left, the gates wait
/// until a share is returned. While several gates wait, none of them takes more than its part. Sockets are counted too,
/// because small numbers of exchanges, WebSockets and unused connections do not pass through a gate.
final class ConnectionBudget: Sendable {
    static let shared = ConnectionBudget(.shared)

    /// The number of connections that may be in use.
    ///
    /// As many connections may be unused.
    var limit: Int { descriptors.limit }
    /// The number of sockets above which unused connections are closed.
    var socketLimit: Int { 2 * limit }
    private let descriptors: DescriptorShares
    /// The number of exchanges up to which none is counted, for sessions without limits of their own.
    private let uncounted: Int
    /// The number of exchanges that may run however many sockets there are.
    private static let guaranteed = 16

    private let shares = Atomic<Int>(0)
    private let sockets = Atomic<Int>(0)
    private let lastTrim = Atomic<Int64>(0)
    /// The exchanges of all sessions that have not ended, whether they pass through a gate or not.
    private let exchanges = Atomic<Int>(0)
    /// The number of gates whose exchanges wait for the budget.
    private let starvedCount = Atomic<Int>(0)
    private let activity = Atomic<Int64>(0)
    private let engines = Locked(Engines())

    private struct Engines {
        var all: [ObjectIdentifier: TransferEngine] = [:]
        var starved = StarvedGates()
    }

    init(_ descriptors: DescriptorShares) {
        self.descriptors = descriptors
        uncounted = min(64, descriptors.descriptors / 16)
    }

    convenience init(descriptors: Int) { self.init(DescriptorShares(descriptors: descriptors)) }

    /// Whether one more exchange may run.
    var hasRoom: Bool {
        let shares = shares.load(ordering: .sequentiallyConsistent)
        return shares < limit
            && (shares < Self.guaranteed || sockets.load(ordering: .sequentiallyConsistent) < socketLimit)
    }

    /// The room for one more exchange of a gate.
    func room(shares: Int, isStarved: Bool) -> RequestQueue.Room {
        let gates = starvedCount.load(ordering: .relaxed) + (isStarved ? 0 : 1)
        return RequestQueue.Room(
            isFree: hasRoom && shares < StarvedGates.part(of: limit, gates: gates),
            hasReserve: self.shares.load(ordering: .relaxed) < limit + limit / 4
                && sockets.load(ordering: .relaxed) < socketLimit + limit)
    }

    /// When a session last sent or received bytes while exchanges of any session waited for the budget.
    var lastActivity: Int64 { activity.load(ordering: .relaxed) }

    func progressed(at now: Int64) {
        if starvedCount.load(ordering: .relaxed) > 0 { activity.store(now, ordering: .relaxed) }
    }

    /// Whether there are so few exchanges and connections that not every exchange has to be counted.
    var isRelaxed: Bool {
        exchanges.load(ordering: .relaxed) <= uncounted && sockets.load(ordering: .relaxed) < limit
    }

    func exchangeBegan() { exchanges.add(1, ordering: .relaxed) }
    func exchangeEnded() { exchanges.subtract(1, ordering: .relaxed) }

    /// Called when a gate has taken shares, or has returned some.
    func changed(by count: Int) {
        guard count != 0 else { return }
        let change = shares.add(count, ordering: .sequentiallyConsistent)
        guard count < 0 else { return }
        if change.newValue >= limit {
            if change.newValue < limit + limit / 4 { offerReserve() }
        } else if change.oldValue >= limit || change.newValue < Self.guaranteed {
            feed()
        }
    }

    func socketOpened() {
        if sockets.add(1, ordering: .sequentiallyConsistent).newValue >= socketLimit { trim() }
    }

    /// Called when the system has refused a socket, because descriptors are used up.
    func socketRefused() { trim() }

    /// Whether a request may keep a further socket while it connects.
    var hasRoomForAttempt: Bool { sockets.load(ordering: .relaxed) < socketLimit }

    func socketClosed() {
        let before = sockets.subtract(1, ordering: .sequentiallyConsistent).oldValue
        if before == socketLimit { feed() } else if before == socketLimit + limit { offerReserve() }
    }

    // MARK: The engines

    /// Called when an engine starts its first exchange, and when it has ended.
    func add(_ engine: TransferEngine) {
        engines.withLock { $0.all[ObjectIdentifier(engine)] = engine }
        descriptors.engineBegan()
    }

    func remove(_ engine: TransferEngine) {
        engines.withLock { $0.all[ObjectIdentifier(engine)] = nil }
        descriptors.engineEnded()
        satisfied(engine)
    }

    /// Called when exchanges of an engine wait for the budget; the engine is notified when there is room.
    func starves(_ engine: TransferEngine, shares: Int) {
        change { $0.insert(ObjectIdentifier(engine), shares: shares) }
        if sockets.load(ordering: .relaxed) >= socketLimit { trim() }
        // A share may have been returned in the meantime.
        if hasRoom { feed() }
    }

    /// Called when no exchange of an engine waits for the budget any more.
    func satisfied(_ engine: TransferEngine) {
        change { $0.remove(ObjectIdentifier(engine)) }
        if hasRoom { feed() }
    }

    private func change(_ body: (inout StarvedGates) -> Void) {
        engines.withLock { engines in
            body(&engines.starved)
            // Ordered before the caller looks for room, and as in ``feed()`` after a share was returned. Otherwise,
            // neither might see the other.
            starvedCount.store(engines.starved.count, ordering: .sequentiallyConsistent)
        }
    }

    /// Notifies one engine that there is room; when it has looked, the next engine is notified.
    private func feed() {
        guard starvedCount.load(ordering: .sequentiallyConsistent) > 0 else { return }
        activity.store(MonotonicClock.now(), ordering: .relaxed)
        let next = engines.withLock { engines in engines.starved.popFirst(of: limit).flatMap { engines.all[$0] } }
        next?.accept(.startQueued)
    }

    /// Notifies all engines that hosts without a connection may have one.
    private func offerReserve() {
        guard starvedCount.load(ordering: .sequentiallyConsistent) > 0 else { return }
        let notified = engines.withLock { engines in engines.starved.takeAll().compactMap { engines.all[$0] } }
        for engine in notified { engine.accept(.startQueued) }
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

/// The gates whose exchanges wait for the budget, and which share it evenly.
struct StarvedGates {
    private var gates: Set<ObjectIdentifier> = []
    /// The gates that were not notified since they last looked, in their order, with the shares that they have.
    private var unnotified: [(gate: ObjectIdentifier, shares: Int)] = []

    var count: Int { gates.count }

    /// The shares of a budget that each of some gates may have; together, they may have all.
    static func part(of limit: Int, gates: Int) -> Int { gates < 2 ? .max : (limit + gates - 1) / gates }

    /// Adds a gate that has looked and found no room.
    mutating func insert(_ gate: ObjectIdentifier, shares: Int) {
        gates.insert(gate)
        if let index = unnotified.firstIndex(where: { $0.gate == gate }) {
            unnotified[index].shares = shares
        } else {
            unnotified.append((gate, shares))
        }
    }

    mutating func remove(_ gate: ObjectIdentifier) {
        gates.remove(gate)
        unnotified.removeAll { $0.gate == gate }
    }

    /// Takes the gates that were not notified.
    mutating func takeAll() -> [ObjectIdentifier] { exchange(&unnotified, with: []).map(\.gate) }

    /// Takes the first gate that may have one more share, so that it can be notified.
    mutating func popFirst(of limit: Int) -> ObjectIdentifier? {
        let part = Self.part(of: limit, gates: count)
        guard let index = unnotified.firstIndex(where: { $0.shares < part }) else { return nil }
        return unnotified.remove(at: index).gate
    }
}
