/// Decides on which event loop an exchange runs.
///
/// This is a value type without I/O and without a clock.
///
/// An exchange goes to a loop with an idle connection to its destination, or to the loop with the least work, also if
/// the other loop has much more work. The connections are not counted, but estimated: with HTTP/1.1, a loop keeps as
/// many connections as it has used at the same time. A wrong estimate costs a handshake, but no request.
struct LoopChoice {
    private struct Destination {
        /// The numbers of running exchanges and of connections, by loop.
        var running: [Int]
        var connections: [Int]
        /// Whether a connection carries many exchanges; HTTPS servers are expected to support this.
        var isMultiplexed: Bool
        var lastUse: Int64

        /// The number of exchanges for which a loop opens no further connection.
        func room(on loop: Int) -> Int { connections[loop] * (isMultiplexed ? LoopChoice.streams : 1) }
    }

    /// The number of exchanges on a multiplexed connection at which another loop opens a connection, too.
    static let streams = 32
    /// The difference of work up to which a loop with an idle HTTP/1.1 connection is preferred.
    private static let tolerance = 4
    /// The number of destinations at which idle ones are forgotten.
    private static let limit = 1024

    private let loopsPerHost: Int
    private let limitsHosts: Bool
    private let idleLifetime: Int64
    private var load: [Int]
    private var destinations: [ConnectionDestination: Destination] = [:]
    private var running: [UInt64: ConnectionDestination] = [:]
    private var nextCleanup = Self.limit

    init(_ shares: LoopShares, idleLifetime: Duration) {
        loopsPerHost = shares.loopsPerHost
        limitsHosts = shares.limitsHosts
        self.idleLifetime = idleLifetime.nanoseconds
        load = Array(repeating: 0, count: shares.loops)
    }

    /// Returns the loop for a new exchange.
    mutating func choose(
        for number: UInt64, to key: ConnectionDestination, mayMultiplex: Bool, now: Int64
    ) -> Int {
        if destinations.count >= nextCleanup { forgetIdle() }
        var destination =
            destinations.removeValue(forKey: key)
            ?? Destination(
                running: load.map { _ in 0 }, connections: load.map { _ in 0 }, isMultiplexed: mayMultiplex,
                lastUse: now)
        if now - destination.lastUse > idleLifetime { destination.connections = destination.running }
        destination.lastUse = now
        let loops = loops(of: key)
        // With a limit, the exchanges of a destination wait for each other, whatever else its loops do.
        func work(_ loop: Int) -> Int { limitsHosts ? destination.running[loop] : load[loop] }
        func leastBusy(_ loops: [Int]) -> Int? { loops.min { work($0) < work($1) } }
        let idlest = leastBusy(loops) ?? 0
        var loop = leastBusy(loops.filter { destination.running[$0] < destination.room(on: $0) }) ?? idlest
        let tolerance = destination.isMultiplexed ? Self.streams : Self.tolerance
        if work(loop) - work(idlest) > max(tolerance, work(loop) / 8) { loop = idlest }
        load[loop] += 1
        destination.running[loop] += 1
        destination.connections[loop] = max(
            destination.connections[loop], destination.isMultiplexed ? 1 : destination.running[loop])
        destinations[key] = destination
        running[number] = key
        return loop
    }

    /// Called when an exchange has ended, with the version of its response.
    mutating func ended(_ number: UInt64, on loop: Int, isMultiplexed: Bool?) {
        guard let key = running.removeValue(forKey: number), var destination = destinations.removeValue(forKey: key) else {
            return
        }
        load[loop] -= 1
        if let isMultiplexed, isMultiplexed != destination.isMultiplexed {
            destination.isMultiplexed = isMultiplexed
            let running = destination.running
            destination.connections = isMultiplexed ? running.map { min($0, 1) } : running
        }
        destination.running[loop] -= 1
        destinations[key] = destination
    }

    /// The loops that a destination uses; the first is different for each destination.
    private func loops(of key: ConnectionDestination) -> [Int] {
        guard loopsPerHost < load.count else { return Array(load.indices) }
        let first = Int(UInt(bitPattern: key.hashValue) % UInt(load.count))
        return (0..<loopsPerHost).map { (first + $0) % load.count }
    }

    private mutating func forgetIdle() {
        destinations = destinations.filter { $0.value.running.contains { $0 > 0 } }
        nextCleanup = max(Self.limit, 2 * destinations.count)
    }
}
