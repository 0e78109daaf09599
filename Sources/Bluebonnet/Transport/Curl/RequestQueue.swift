/// Decides which exchanges run and which exchanges wait because of ``Session/Configuration/requestLimits``, or because
/// of ``Session/Configuration/connectionLimits``.
///
/// This is a value type without I/O and without a clock.
///
/// Limits for connections count shares: an exchange needs a connection, and many exchanges need one together if their
/// host multiplexes. Until this is known, each exchange counts.
///
/// Exchanges wait in the order of their urgency (RFC 9218 §4.1). Exchanges with the same urgency wait in the order of
/// their arrival. An exchange whose host is busy is held, and exchanges of other hosts can start before it.
struct RequestQueue {
    private struct Waiting {
        let host: Origin
        let urgency: Int
    }

    /// Waiting exchanges by urgency, oldest first; some of them may have ended.
    private struct UrgencyQueues {
        private var queues = [ArraySlice<TransferID>](repeating: [], count: 8)

        mutating func insert(_ id: TransferID, urgency: Int) {
            guard let last = queues[urgency].last, last > id else { return queues[urgency].append(id) }
            var (low, high) = (queues[urgency].startIndex, queues[urgency].endIndex)
            while low < high {
                let middle = low + (high - low) / 2
                if queues[urgency][middle] < id { low = middle + 1 } else { high = middle }
            }
            queues[urgency].insert(id, at: low)
        }

        /// Returns the first exchange that still waits, and removes the ended exchanges before it.
        mutating func first(of waiting: [TransferID: Waiting]) -> (id: TransferID, entry: Waiting, urgency: Int)? {
            for urgency in queues.indices {
                while let id = queues[urgency].first {
                    if let entry = waiting[id] { return (id, entry, urgency) }
                    queues[urgency].removeFirst()
                }
            }
            return nil
        }

        /// Takes the first exchange of a host.
        mutating func popFirst(of host: Origin, _ waiting: [TransferID: Waiting]) -> (id: TransferID, entry: Waiting)? {
            for urgency in queues.indices {
                for (index, id) in zip(queues[urgency].indices, queues[urgency]) {
                    guard let entry = waiting[id], entry.host == host else { continue }
                    queues[urgency].remove(at: index)
                    return (id, entry)
                }
            }
            return nil
        }

        /// Takes the first exchange that still waits.
        mutating func popFirst(of waiting: [TransferID: Waiting]) -> (id: TransferID, entry: Waiting)? {
            guard let first = first(of: waiting) else { return nil }
            queues[first.urgency].removeFirst()
            return (first.id, first.entry)
        }

        mutating func removeAll(notIn waiting: [TransferID: Waiting]) {
            for urgency in queues.indices { queues[urgency].removeAll { waiting[$0] == nil } }
        }
    }

    /// The place of an exchange, which is stored in its transfer.
    enum Place {
        case outside
        case waiting
        case running
        /// The exchange runs, and its request was sent; only for limits of connections.
        case sent
    }

    /// Whether there is room for one more share in the process.
    struct Room {
        var isFree = true
        /// Whether a host that has no connection may have one.
        var hasReserve = true
    }

    /// How a host uses its connections.
    enum Multiplexing {
        case unknown
        /// Each exchange needs a connection, or the limits do not count connections.
        case none
        case streams
    }

    private struct Host {
        var running = 0
        var waiting = 0
        var multiplexing: Multiplexing
        /// The number of exchanges that run, but have not been sent.
        var unsent = 0
        /// The number of exchanges that need one share.
        var streams: Int { multiplexing == .streams ? RequestQueue.streamsPerConnection : 1 }
        /// When an exchange was last started, sent or received bytes.
        var lastActivity: Int64 = 0
        var shares: Int { (running + streams - 1) / streams }
        /// Whether one more exchange needs no further share.
        var hasRoom: Bool { !running.isMultiple(of: streams) }
        /// The exchanges that wait until another exchange of the host ends.
        var held = UrgencyQueues()
    }

    private let total: Int
    private let perHost: Int
    private var isClosed = false
    /// The shares of the running exchanges.
    private(set) var running = 0
    private var lastActivity: Int64 = 0
    private var hosts: [Origin: Host] = [:]
    /// The hosts whose connections have room for more streams.
    private var hostsWithRoom: Set<Origin> = []
    private var waiting: [TransferID: Waiting] = [:]
    /// The waiting exchanges whose hosts are not busy.
    ///
    /// A held exchange of such a host must not start before the ready exchange of the host.
    private var ready = UrgencyQueues()
    /// An upper bound for the number of ended exchanges that are still in the queues.
    private var endedCount = 0

    /// Creates an empty queue; `nil` if there are no limits.
    ///
    /// With an invalid limit, every request fails when it starts.
    init?(_ limits: Session.Configuration.RequestLimits) {
        guard limits.total != nil || limits.perHost != nil else { return nil }
        self.init(perHost: limits.perHost ?? .max, total: limits.total ?? .max)
    }

    init(perHost: Int, total: Int) {
        self.total = max(1, total)
        self.perHost = max(1, perHost)
    }

    /// The number of streams that are expected to share a connection.
    static let streamsPerConnection = 100
    /// The number of exchanges that a multiplexing host with as many streams receives before they are sent.
    ///
    /// If its connections are full, libcurl before 8.14 may open a connection for each of them.
    private static let unsentLimit = 8

    /// The number of exchanges that wait.
    var waitingCount: Int { waiting.count }

    /// Adds a new exchange; returns whether it runs immediately instead of waiting.
    mutating func enters(
        _ id: TransferID, to host: Origin, urgency: Int, _ multiplexing: Multiplexing = .none, _ room: Room = Room(),
        now: Int64 = 0
    ) -> Bool {
        // The host is removed from the dictionary during the change, so that its queues are not copied.
        var state = hosts.removeValue(forKey: host) ?? Host(multiplexing: multiplexing)
        defer { store(state, host) }
        let isBusy = isBusy(state)
        var takesShare = running < total && mayTakeShare(state, room)
        if takesShare, !waiting.isEmpty, let first = ready.first(of: waiting) {
            // The reserve is not for the exchange that has waited longest, if its host has a connection.
            takesShare =
                !room.isFree && state.waiting == 0 && hosts[first.entry.host].map { !mayTakeShare($0, room) } == true
        }
        if !isClosed, !isBusy, takesShare || state.hasRoom && state.waiting == 0 {
            start(&state, now)
            return true
        }
        waiting[id] = Waiting(host: host, urgency: urgency)
        state.waiting += 1
        if isBusy { state.held.insert(id, urgency: urgency) } else { ready.insert(id, urgency: urgency) }
        return false
    }

    /// Called when the session ends: no waiting exchange runs any more.
    mutating func close() { isClosed = true }

    /// Returns a waiting exchange that runs from now on; `nil` if no waiting exchange may run.
    mutating func next(_ room: Room = Room(), now: Int64 = 0) -> TransferID? {
        guard !waiting.isEmpty, !isClosed else { return nil }
        while let (id, entry) = mayTakeShare(room) ? ready.popFirst(of: waiting) : popFirstStream() {
            guard var host = hosts.removeValue(forKey: entry.host) else { continue }
            defer { store(host, entry.host) }
            guard !isBusy(host) else {
                host.held.insert(id, urgency: entry.urgency)
                continue
            }
            waiting[id] = nil
            start(&host, now)
            host.waiting -= 1
            makeReady(&host)
            return id
        }
        return nil
    }

    private func mayTakeShare(_ host: Host, _ room: Room) -> Bool {
        room.isFree || room.hasReserve && host.running == 0
    }

    /// Whether the first exchange that waits may take a share.
    private mutating func mayTakeShare(_ room: Room) -> Bool {
        guard running < total else { return false }
        guard !room.isFree, let first = ready.first(of: waiting) else { return true }
        return hosts[first.entry.host].map { mayTakeShare($0, room) } ?? true
    }

    /// Takes the first exchange of a host whose connections have room.
    private mutating func popFirstStream() -> (id: TransferID, entry: Waiting)? {
        for host in hostsWithRoom where hosts[host].map({ $0.waiting > 0 }) == true {
            if let first = ready.popFirst(of: host, waiting) { return first }
        }
        return nil
    }

    func isWaiting(_ id: TransferID) -> Bool { waiting[id] != nil }

    /// Called when a running or waiting exchange has ended.
    mutating func left(_ id: TransferID, to host: Origin, wasSent: Bool = true) {
        guard var state = hosts.removeValue(forKey: host) else { return }
        if waiting.removeValue(forKey: id) != nil {
            state.waiting -= 1
            endedCount += 1
        } else {
            let shares = state.shares
            state.running -= 1
            if !wasSent { state.unsent -= 1 }
            running += state.shares - shares
        }
        makeReady(&state)
        store(state, host)
        removeEnded()
    }

    /// Called when a running exchange was first sent, on a connection whose version is known.
    mutating func sent(to host: Origin, isMultiplexed: Bool) {
        guard var state = hosts.removeValue(forKey: host) else { return }
        let shares = state.shares
        state.unsent -= 1
        // A single request may ask for HTTP/1.1, and does not change what the streams of the host need.
        if isMultiplexed {
            state.multiplexing = .streams
        } else if state.multiplexing == .unknown {
            state.multiplexing = .none
        }
        hostsWithRoom.remove(host)
        running += state.shares - shares
        makeReady(&state)
        store(state, host)
    }

    /// Called when exchanges have sent or received bytes.
    mutating func progressed(_ hosts: some Sequence<Origin>, at now: Int64) {
        lastActivity = now
        for host in hosts { self.hosts[host]?.lastActivity = now }
    }

    /// When an exchange for which the exchanges of a host wait was last active.
    func lastActivity(beside host: Origin) -> Int64 {
        guard let host = hosts[host], isBusy(host) else { return lastActivity }
        return host.lastActivity
    }

    private func isBusy(_ host: Host) -> Bool {
        switch host.multiplexing {
        case .unknown: host.running >= min(perHost, Self.streamsPerConnection)
        case .none: host.running >= perHost
        case .streams:
            host.running >= Self.streamsPerConnection
                && (host.unsent >= Self.unsentLimit || host.shares >= perHost && !host.hasRoom)
        }
    }

    private mutating func store(_ state: Host, _ host: Origin) {
        if state.running > 0 || state.waiting > 0 { hosts[host] = state }
        guard state.streams > 1 else { return }
        if state.hasRoom { hostsWithRoom.insert(host) } else { hostsWithRoom.remove(host) }
    }

    private mutating func start(_ host: inout Host, _ now: Int64) {
        let shares = host.shares
        host.running += 1
        host.unsent += 1
        (host.lastActivity, lastActivity) = (now, now)
        running += host.shares - shares
    }

    /// Makes the first held exchange of a host ready, if the host is no longer busy.
    private mutating func makeReady(_ host: inout Host) {
        guard host.waiting > 0, !isBusy(host), let (id, entry) = host.held.popFirst(of: waiting) else { return }
        ready.insert(id, urgency: entry.urgency)
    }

    /// Removes the ended exchanges from the queues when there are more of them than waiting exchanges.
    private mutating func removeEnded() {
        guard endedCount > waiting.count + 64 else { return }
        endedCount = 0
        ready.removeAll(notIn: waiting)
        for host in hosts.keys { hosts[host]?.held.removeAll(notIn: waiting) }
    }
}
