/// Decides on which event loop an exchange runs.
///
/// This is a value type without I/O and without a clock.
///
/// An exchange goes to a loop with an idle connection to its destination. Without one, or if that loop has much more
/// work, it goes to the loop with the least work. The connections are not counted, but estimated: with HTTP/1.1, a loop
/// keeps as many connections as it has used at the same time. A wrong estimate costs a handshake, but no request.
struct LoopChoice {
    private struct Destination {
        /// The first of the loops that the destination uses, which is different for each destination.
        let firstLoop: Int
        /// The numbers of running exchanges and of connections, by loop.
        var running: [Int]
        var connections: [Int]
        /// Whether a connection carries many exchanges; HTTPS servers are expected to support this.
        var isMultiplexed: Bool
        var lastUse: Int64

        var isIdle: Bool { running.allSatisfy { $0 == 0 } }

        /// Whether a loop needs no further connection for another exchange.
        func hasRoom(on loop: Int) -> Bool {
            running[loop] < connections[loop] * (isMultiplexed ? LoopChoice.streams : 1)
        }
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
    /// The numbers of running exchanges, by loop.
    private var load: [Int]
    private var destinations: [Destination] = []
    private var indices: [ConnectionDestination: Int] = [:]
    private var freeIndices: [Int] = []
    /// The destinations of the running exchanges.
    private var running: [Int: Int] = [:]
    private var nextCleanup = Self.limit

    init(_ shares: LoopShares, idleLifetime: Duration) {
        loopsPerHost = shares.loopsPerHost
        limitsHosts = shares.limitsHosts
        self.idleLifetime = idleLifetime.nanoseconds
        load = Array(repeating: 0, count: shares.loops)
    }

    /// Returns the loop for a new exchange.
    mutating func choose(for number: Int, to key: ConnectionDestination, mayMultiplex: Bool, now: Int64) -> Int {
        let index = index(of: key, mayMultiplex: mayMultiplex, now: now)
        if now - destinations[index].lastUse > idleLifetime {
            destinations[index].connections = destinations[index].running
        }
        destinations[index].lastUse = now
        let loop = choose(for: destinations[index])
        load[loop] += 1
        running[number] = index
        destinations[index].running[loop] += 1
        let needed = destinations[index].isMultiplexed ? 1 : destinations[index].running[loop]
        destinations[index].connections[loop] = max(destinations[index].connections[loop], needed)
        return loop
    }

    private func choose(for destination: Destination) -> Int {
        // With a limit, the exchanges of a destination wait for each other, whatever else its loops do.
        func work(_ loop: Int) -> Int { limitsHosts ? destination.running[loop] : load[loop] }
        var idlest = destination.firstLoop
        var connected: Int?
        for offset in 0..<loopsPerHost {
            let loop = (destination.firstLoop + offset) % load.count
            if work(loop) < work(idlest) { idlest = loop }
            if destination.hasRoom(on: loop), connected.map({ work(loop) < work($0) }) ?? true { connected = loop }
        }
        guard let connected else { return idlest }
        let tolerance = destination.isMultiplexed ? Self.streams : Self.tolerance
        return work(connected) - work(idlest) > max(tolerance, work(connected) / 8) ? idlest : connected
    }

    private mutating func index(of key: ConnectionDestination, mayMultiplex: Bool, now: Int64) -> Int {
        if let index = indices[key] { return index }
        if indices.count >= nextCleanup { forgetIdle() }
        let zeros = Array(repeating: 0, count: load.count)
        let isShared = loopsPerHost == load.count
        let destination = Destination(
            firstLoop: isShared ? 0 : Int(UInt(bitPattern: key.hashValue) % UInt(load.count)), running: zeros,
            connections: zeros, isMultiplexed: mayMultiplex, lastUse: now)
        let index = freeIndices.popLast() ?? destinations.count
        if index < destinations.count { destinations[index] = destination } else { destinations.append(destination) }
        indices[key] = index
        return index
    }

    private mutating func forgetIdle() {
        for (key, index) in indices where destinations[index].isIdle {
            indices[key] = nil
            freeIndices.append(index)
        }
        nextCleanup = max(Self.limit, 2 * indices.count)
    }

    /// Called when an exchange has ended; `isMultiplexed` tells whether the connection of its response was.
    mutating func ended(_ number: Int, on loop: Int, isMultiplexed: Bool?) {
        guard let index = running.removeValue(forKey: number) else { return }
        load[loop] -= 1
        if let isMultiplexed, isMultiplexed != destinations[index].isMultiplexed {
            let running = destinations[index].running
            destinations[index].isMultiplexed = isMultiplexed
            destinations[index].connections = isMultiplexed ? running.map { min($0, 1) } : running
        }
        destinations[index].running[loop] -= 1
    }
}
