/// Decides which exchanges run and which exchanges wait because of ``Session/Configuration/requestLimits``, or because
/// of ``Session/Configuration/connectionLimits``.
///
/// This is a value type without I/O and without a clock.
///
/// Limits for connections count shares: an exchange needs a connection, and many exchanges need one together if their
/// host multiplexes. Until this is known, each exchange counts. Before its server has answered, a connection may refuse
/// some of its streams. They then need other connections, so each of them counts.
///
/// Exchanges wait in the order of their urgency (RFC 9218 §4.1). Exchanges with the same urgency wait in the order of
/// their arrival. An exchange whose host is busy is held, and exchanges of other hosts can start before it.
struct RequestQueue {
    private struct Waiting {
        let host: Int
        let urgency: Int
        /// Whether the exchange is in ``ready``.
        var isReady = false
    }

    /// Waiting exchanges by urgency, oldest first; some of them may have ended.
    private struct UrgencyQueues {
        /// Empty until an exchange waits.
        private var queues: [ArraySlice<TransferID>] = []

        mutating func insert(_ id: TransferID, urgency: Int) {
            if queues.isEmpty { queues = Array(repeating: [], count: 8) }
            guard let last = queues[urgency].last, last > id else { return queues[urgency].append(id) }
            var (low, high) = (queues[urgency].startIndex, queues[urgency].endIndex)
            while low < high {
                let middle = low + (high - low) / 2
                if queues[urgency][middle] < id { low = middle + 1 } else { high = middle }
            }
            queues[urgency].insert(id, at: low)
        }

        /// Returns the first exchange that still waits, and removes the ended exchanges before it.
        mutating func first(of waiting: [TransferID: Waiting]) -> (id: TransferID, entry: Waiting)? {
            for urgency in queues.indices {
                while let id = queues[urgency].first {
                    if let entry = waiting[id] { return (id, entry) }
                    queues[urgency].removeFirst()
                }
            }
            return nil
        }

        /// Removes the first exchange, which has this urgency.
        mutating func removeFirst(urgency: Int) { queues[urgency].removeFirst() }

        mutating func removeAll(notIn waiting: [TransferID: Waiting]) {
            for urgency in queues.indices { queues[urgency].removeAll { waiting[$0] == nil } }
        }
    }

    /// Whether there is room for one more share in the process.
    struct Room {
        var isFree = true
        /// Whether a host that has no connection may have one.
        var hasReserve = true
    }

    /// How an exchange begins to use a connection, or leaves it; see ``ConnectionShare``.
    enum ConnectionUse: Equatable {
        /// No other counted exchange uses the connection.
        case alone
        /// The exchange shares the connection, and the server has not answered on it yet.
        case unproven
        case shared
    }

    /// How a host uses its connections.
    enum Multiplexing {
        case unknown
        /// Each exchange needs a connection, or the limits do not count connections.
        case none
        case streams
    }

    private struct Host {
        let origin: Origin
        var running = 0
        var waiting = 0
        var multiplexing: Multiplexing
        /// The number of exchanges that run, but have not been sent.
        var unsent = 0
        /// The number of connections on which the other exchanges run.
        private var connections = 0
        /// The number of exchanges that share connections on which the server has not answered yet.
        private var unproven = 0
        /// The number of unsettled exchanges that the connections are expected to have room for.
        ///
        /// The server's limit of streams is not known. It was reached if another connection was opened.
        private var allowance = unsentLimit
        /// When an exchange was last started, sent or received bytes.
        var lastActivity: Int64 = 0
        /// The exchanges of the host that wait.
        var queue = UrgencyQueues()

        init(origin: Origin, multiplexing: Multiplexing) { (self.origin, self.multiplexing) = (origin, multiplexing) }

        /// The connections of the streams, and those that they may still need.
        private var possibleConnections: Int { connections + unsent }
        /// The shares of the running exchanges.
        var shares: Int { multiplexing == .streams ? possibleConnections + unproven : running }
        /// Whether it is known for each running exchange which connection it needs.
        var isSettled: Bool { unsent + unproven == 0 }
        /// Whether one more exchange probably needs no further share.
        var hasRoom: Bool { multiplexing == .streams && connections > 0 && unsent + unproven < allowance }
        var isUsed: Bool { running > 0 || waiting > 0 }

        func isBusy(_ limit: Int) -> Bool {
            switch multiplexing {
            case .unknown: running >= min(limit, streamsPerConnection)
            case .none: running >= limit
            case .streams:
                running >= streamsPerConnection && unsent >= unsentLimit || possibleConnections >= limit && !hasRoom
            }
        }

        /// An exchange was sent.
        mutating func sent(isMultiplexed: Bool, on use: ConnectionUse, isFirst: Bool) {
            unsent -= 1
            switch use {
            case .alone: connections += 1
            case .unproven: unproven += 1
            case .shared: break
            }
            // A single request may ask for HTTP/1.1, and does not change what the streams of the host need.
            guard isMultiplexed else {
                if multiplexing == .unknown { multiplexing = .none }
                return
            }
            multiplexing = .streams
            if isFirst, connections > 1 {
                allowance = 0
            } else if use == .shared {
                allowance = min(max(1, 2 * allowance), unsentLimit)
            }
        }

        /// The server has answered for the first time on a connection that some exchanges share.
        mutating func proved(_ count: Int) { unproven = max(0, unproven - count) }

        /// An exchange that was sent has left its connection, and so has made room.
        mutating func leftConnection(_ use: ConnectionUse) {
            unsent += 1
            switch use {
            case .alone: connections = max(0, connections - 1)
            case .unproven: proved(1)
            case .shared: break
            }
            allowance = max(1, allowance)
        }

        /// A running exchange that was not sent, or has left its connection, has ended.
        mutating func ended() {
            (running, unsent) = (running - 1, unsent - 1)
            if running == unsent { (connections, unproven, allowance) = (0, 0, unsentLimit) }
        }
    }

    /// The hosts that have exchanges, by numbers that other hosts receive later.
    private struct Hosts {
        private var numbers: [Origin: Int] = [:]
        private var states: [Host] = []
        private var unused: [Int] = []
        /// The host of the last exchange, which is often that of the next; a look-up takes 1,500 instructions.
        var last = 0

        subscript(number: Int) -> Host {
            _read { yield states[number] }
            _modify { yield &states[number] }
        }

        func number(of origin: Origin) -> Int? {
            if states.indices.contains(last), states[last].isUsed, states[last].origin == origin { return last }
            return numbers[origin]
        }

        mutating func add(_ origin: Origin, _ multiplexing: Multiplexing) -> Int {
            let host = Host(origin: origin, multiplexing: multiplexing)
            let number = unused.popLast() ?? states.count
            if number == states.count { states.append(host) } else { states[number] = host }
            numbers[origin] = number
            return number
        }

        mutating func remove(_ number: Int) {
            numbers[states[number].origin] = nil
            // The memory of the queues is released.
            states[number].queue = UrgencyQueues()
            unused.append(number)
        }

        mutating func removeAll(notIn waiting: [TransferID: Waiting]) {
            for number in numbers.values { states[number].queue.removeAll(notIn: waiting) }
        }
    }

    private let total: Int
    private let perHost: Int
    private var isClosed = false
    /// The shares of the running exchanges.
    private(set) var running = 0
    private var lastActivity: Int64 = 0
    private var hosts = Hosts()
    /// The hosts whose connections have room for more streams.
    private var hostsWithRoom: Set<Int> = []
    private var waiting: [TransferID: Waiting] = [:]
    /// The first waiting exchange of each host that is not busy, and others that were the first, or whose hosts have
    /// become busy since.
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
        _ id: TransferID, to origin: Origin, urgency: Int, _ multiplexing: Multiplexing = .none, _ room: Room = Room(),
        now: Int64 = 0
    ) -> Bool {
        let host = hosts.number(of: origin) ?? hosts.add(origin, multiplexing)
        hosts.last = host
        if mayStart(host, room) {
            start(host, now)
            return true
        }
        waiting[id] = Waiting(host: host, urgency: urgency)
        hosts[host].waiting += 1
        hosts[host].queue.insert(id, urgency: urgency)
        makeReady(host)
        return false
    }

    /// Called when the session ends: no waiting exchange runs any more.
    mutating func close() { isClosed = true }

    /// Whether a new exchange of a host may start before those that wait.
    private mutating func mayStart(_ host: Int, _ room: Room) -> Bool {
        guard !isClosed, !isBusy(host) else { return false }
        if hosts[host].waiting == 0, mayStream(host, room) { return true }
        guard running < total, mayTakeShare(host, room) else { return false }
        guard !waiting.isEmpty, let first = ready.first(of: waiting) else { return true }
        // The reserve is not for the exchange that has waited longest, if its host has a connection.
        return !room.isFree && hosts[host].waiting == 0 && !mayTakeShare(first.entry.host, room)
    }

    /// Returns a waiting exchange that runs from now on; `nil` if no waiting exchange may run.
    mutating func next(_ room: Room = Room(), now: Int64 = 0) -> TransferID? {
        guard !waiting.isEmpty, !isClosed else { return nil }
        while running < total, let (id, entry) = ready.first(of: waiting) {
            guard mayTakeShare(entry.host, room) else { break }
            ready.removeFirst(urgency: entry.urgency)
            guard isBusy(entry.host) else { return start(id, entry, now) }
            waiting[id]?.isReady = false
        }
        guard let (id, entry) = firstStream(room) else { return nil }
        // The exchange is still among those that are ready.
        endedCount += 1
        return start(id, entry, now)
    }

    /// Starts the first waiting exchange of a host.
    private mutating func start(_ id: TransferID, _ entry: Waiting, _ now: Int64) -> TransferID {
        // Removes the ended exchanges before it.
        _ = hosts[entry.host].queue.first(of: waiting)
        waiting[id] = nil
        hosts[entry.host].waiting -= 1
        hosts[entry.host].queue.removeFirst(urgency: entry.urgency)
        start(entry.host, now)
        makeReady(entry.host)
        return id
    }

    /// Whether an exchange waits for a share, and not for other exchanges.
    mutating func wantsShare() -> Bool { running < total && ready.first(of: waiting) != nil }

    private func mayTakeShare(_ host: Int, _ room: Room) -> Bool {
        room.isFree || room.hasReserve && hosts[host].running == 0
    }

    /// Whether an exchange may start although there is no share for it; if it needs one after all, the next waits.
    private func mayStream(_ host: Int, _ room: Room) -> Bool {
        hosts[host].hasRoom && (room.isFree && running < total || hosts[host].isSettled)
    }

    /// The first exchange of the hosts whose connections have room.
    private mutating func firstStream(_ room: Room) -> (id: TransferID, entry: Waiting)? {
        var result: (id: TransferID, entry: Waiting)?
        for host in hostsWithRoom where hosts[host].waiting > 0 && mayStream(host, room) && !isBusy(host) {
            guard let first = hosts[host].queue.first(of: waiting) else { continue }
            if let result, (result.entry.urgency, result.id) < (first.entry.urgency, first.id) { continue }
            result = first
        }
        return result
    }

    func isWaiting(_ id: TransferID) -> Bool { waiting[id] != nil }

    /// Called when a running or waiting exchange has ended.
    ///
    /// - Parameters:
    ///   - id: The exchange.
    ///   - origin: Its host.
    ///   - use: How it has used its connection; `nil` if it was not sent.
    mutating func left(_ id: TransferID, to origin: Origin, _ use: ConnectionUse? = nil) {
        guard let host = hosts.number(of: origin) else { return }
        if !waiting.isEmpty, waiting.removeValue(forKey: id) != nil {
            hosts[host].waiting -= 1
            // It may be in two queues.
            endedCount += 2
        } else {
            change(host) {
                if let use { $0.leftConnection(use) }
                $0.ended()
            }
        }
        makeReady(host)
        if !hosts[host].isUsed { hosts.remove(host) }
        removeEnded()
    }

    /// Called when a running exchange was sent, on a connection whose version is known.
    ///
    /// - Parameters:
    ///   - origin: The host.
    ///   - isMultiplexed: Whether the connection can carry several exchanges.
    ///   - use: How the exchange uses the connection.
    ///   - isFirst: Whether libcurl has opened the connection for the exchange.
    mutating func sent(to origin: Origin, isMultiplexed: Bool, on use: ConnectionUse = .alone, isFirst: Bool = false) {
        guard let host = hosts.number(of: origin) else { return }
        change(host) { $0.sent(isMultiplexed: isMultiplexed, on: use, isFirst: isFirst) }
        makeReady(host)
    }

    /// Called when a running exchange has left its connection, because it is sent again.
    mutating func leftConnection(of origin: Origin, _ use: ConnectionUse) {
        guard let host = hosts.number(of: origin) else { return }
        change(host) { $0.leftConnection(use) }
        makeReady(host)
    }

    /// Called when a host has answered for the first time on a connection that some exchanges share.
    mutating func proved(_ count: Int, of origin: Origin) {
        guard let host = hosts.number(of: origin) else { return }
        change(host) { $0.proved(count) }
    }

    /// Called when exchanges have sent or received bytes.
    mutating func progressed(_ origins: some Sequence<Origin>, at now: Int64) {
        lastActivity = now
        for origin in origins {
            if let host = hosts.number(of: origin) { hosts[host].lastActivity = now }
        }
    }

    /// When an exchange for which the exchanges of a host wait was last active.
    func lastActivity(beside origin: Origin) -> Int64 {
        guard let host = hosts.number(of: origin), isBusy(host) else { return lastActivity }
        return hosts[host].lastActivity
    }

    private func isBusy(_ host: Int) -> Bool { hosts[host].isBusy(perHost) }

    private mutating func start(_ host: Int, _ now: Int64) {
        lastActivity = now
        change(host) {
            $0.running += 1
            $0.unsent += 1
            $0.lastActivity = now
        }
    }

    /// Changes the running exchanges of a host, and the shares that they need.
    private mutating func change(_ host: Int, _ body: (inout Host) -> Void) {
        let shares = hosts[host].shares
        body(&hosts[host])
        running += hosts[host].shares - shares
        guard hosts[host].multiplexing == .streams else { return }
        if hosts[host].hasRoom { hostsWithRoom.insert(host) } else { hostsWithRoom.remove(host) }
    }

    /// Makes the first waiting exchange of a host ready, if the host is not busy.
    private mutating func makeReady(_ host: Int) {
        guard hosts[host].waiting > 0, !isBusy(host), let (id, entry) = hosts[host].queue.first(of: waiting),
            !entry.isReady
        else { return }
        waiting[id]?.isReady = true
        ready.insert(id, urgency: entry.urgency)
    }

    /// Removes the ended exchanges from the queues when there are more of them than waiting exchanges.
    private mutating func removeEnded() {
        guard endedCount > waiting.count + 64 else { return }
        endedCount = 0
        ready.removeAll(notIn: waiting)
        hosts.removeAll(notIn: waiting)
    }
}

/// Counts the exchanges on a connection that pass through a ``ConnectionGate``.
struct ConnectionShare {
    private(set) var exchanges = 0
    /// The number of exchanges that began beside others before the server had answered.
    private var unproven = 0

    /// An exchange has begun to use the connection, on which the server has perhaps answered.
    mutating func began(hasAnswered: Bool) -> RequestQueue.ConnectionUse {
        exchanges += 1
        guard exchanges > 1 else { return .alone }
        guard !hasAnswered else { return .shared }
        unproven += 1
        return .unproven
    }

    /// An exchange has left the connection.
    ///
    /// The last one stands for the connection, and the others for what they counted in addition.
    mutating func ended() -> RequestQueue.ConnectionUse {
        exchanges -= 1
        guard exchanges > 0 else { return .alone }
        guard unproven > 0 else { return .shared }
        unproven -= 1
        return .unproven
    }

    /// The server has answered for the first time; returns the number of exchanges that are no longer unproven.
    mutating func answered() -> Int { exchange(&unproven, with: 0) }
}
