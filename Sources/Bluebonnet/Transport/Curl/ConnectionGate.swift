import Synchronization

/// Holds exchanges of an engine back that would need too many connections.
///
/// Libcurl opens a connection for every exchange that it receives, or tries all waiting exchanges again and again. It
/// therefore receives only the exchanges that may run. While the process has few exchanges and connections, and the
/// session has no limits of its own, exchanges pass without being counted.
struct ConnectionGate {
    /// The default limits for connections to a host and to all hosts.
    static let defaultPerHost = 256
    static let defaultTotal = 1024

    let perHost: Int
    let total: Int
    private let hasOwnLimits: Bool
    private let budget: ConnectionBudget
    private var queue: RequestQueue
    /// Whether the budget knows that exchanges wait for it.
    private var isStarved = false

    /// Creates a gate for one of several loops, whose share of the limits is passed.
    init(
        _ limits: Session.Configuration.ConnectionLimits, loops: Int = 1, loopsPerHost: Int = 1,
        budget: ConnectionBudget = .shared
    ) {
        hasOwnLimits = limits.perHost != nil || limits.total != nil
        perHost = limits.perHost ?? Self.defaultPerHost / loopsPerHost
        total = limits.total ?? Self.defaultTotal / loops
        queue = RequestQueue(perHost: perHost, total: total)
        self.budget = budget
    }

    /// The number of exchanges that wait.
    var waitingCount: Int { queue.waitingCount }

    /// Whether exchanges wait, or the budget still believes so.
    var isWaiting: Bool { queue.waitingCount > 0 || isStarved }

    /// Adds a new exchange; returns whether it runs immediately instead of waiting.
    mutating func enters(_ id: TransferID, to host: Origin, urgency: Int, now: Int64) -> Bool {
        let multiplexing: RequestQueue.Multiplexing = host.scheme == "https" ? .unknown : .none
        let room = room
        return change { $0.enters(id, to: host, urgency: urgency, multiplexing, room, now: now) }
    }

    /// Returns a waiting exchange that runs from now on; `nil` if no waiting exchange may run.
    ///
    /// If the budget is the reason, the engine is notified when there is room again.
    mutating func next(now: Int64, for engine: TransferEngine) -> TransferID? {
        guard isWaiting else { return nil }
        let room = room
        if let id = change({ $0.next(room, now: now) }) { return id }
        if !room.isFree, queue.wantsShare() {
            isStarved = true
            budget.starves(engine, shares: queue.running)
        } else if exchange(&isStarved, with: false) {
            budget.satisfied(engine)
        }
        return nil
    }

    private var room: RequestQueue.Room { budget.room(shares: queue.running, isStarved: isStarved) }

    /// Called when a running exchange was sent.
    mutating func sent(to host: Origin, on connection: IdleConnections.Connection?, isFirst: Bool) {
        let use = connection.map { $0.share.began(hasAnswered: $0.hasAnswered) } ?? .alone
        change { $0.sent(to: host, isMultiplexed: connection?.version == .multiplexed, on: use, isFirst: isFirst) }
    }

    /// Called when a running exchange has left its connection, because it is sent again.
    mutating func left(_ connection: IdleConnections.Connection?, of host: Origin) {
        let use = connection?.share.ended() ?? .alone
        change { $0.leftConnection(of: host, use) }
    }

    /// Called when a server has answered on a connection.
    mutating func answered(on connection: IdleConnections.Connection, of host: Origin) {
        let count = connection.share.answered()
        if count > 0 { change { $0.proved(count, of: host) } }
    }

    /// Called when a running or waiting exchange has ended.
    mutating func left(
        _ id: TransferID, to host: Origin, wasSent: Bool, on connection: IdleConnections.Connection?
    ) {
        let use = wasSent ? connection?.share.ended() ?? .alone : nil
        change { $0.left(id, to: host, use) }
    }

    /// Called when transfers have sent or received bytes.
    mutating func progressed(_ transfers: [Transfer], at now: Int64) {
        budget.progressed(at: now)
        guard queue.waitingCount > 0 || hasOwnLimits else { return }
        queue.progressed(transfers.lazy.map(\.countedOrigin), at: now)
    }

    func lastActivity(beside host: Origin) -> Int64 { max(queue.lastActivity(beside: host), budget.lastActivity) }

    private mutating func change<Result>(_ body: (inout RequestQueue) -> Result) -> Result {
        let before = queue.running
        defer { budget.changed(by: queue.running - before) }
        return body(&queue)
    }
}

extension TransferEngine {
    /// Whether the next exchange may have to wait for a connection; known on any thread.
    nonisolated var countsExchanges: Bool { limitsConnections || !ConnectionBudget.shared.isRelaxed }

    /// Returns whether an exchange may use a connection; otherwise, it waits until other exchanges have ended.
    func mayConnect(_ transfer: Transfer) -> Bool {
        guard transfer.connectionPlace == .outside else { return transfer.connectionPlace != .waiting }
        guard countsExchanges || gate.waitingCount > 0 else { return true }
        let urgency = transfer.request.priority?.urgency ?? 3
        if gate.enters(transfer.id, to: transfer.countedOrigin, urgency: urgency, now: shared.now) {
            transfer.connectionPlace = .running
            return true
        }
        transfer.connectionPlace = .waiting
        transfer.limits.waits(at: shared.now)
        return false
    }

    /// Called when an exchange has ended, or is suspended while it waits.
    func leaveGate(_ transfer: Transfer) {
        let place = exchange(&transfer.connectionPlace, with: .outside)
        guard place != .outside else { return }
        transfer.limits.leftGate(at: shared.now)
        let connection = exchange(&transfer.countedConnection, with: nil)
        gate.left(transfer.id, to: transfer.countedOrigin, wasSent: place == .sent, on: connection)
    }

    /// Tells the gate what has happened in this turn on the connections of the exchanges that it counts.
    func noteConnections() {
        for (transfer, event) in exchange(&shared.connectionEvents, with: []) {
            let (host, isSent) = (transfer.countedOrigin, transfer.connectionPlace == .sent)
            switch event {
            case .isNeeded: leaveConnection(transfer)
            case .isUsed(let connection, let isFirst):
                guard transfer.connectionPlace == .running || isSent && transfer.countedConnection !== connection else {
                    continue
                }
                leaveConnection(transfer)
                (transfer.connectionPlace, transfer.countedConnection) = (.sent, connection)
                gate.sent(to: host, on: connection, isFirst: isFirst)
            case .hasAnswered(let connection): gate.answered(on: connection, of: host)
            }
        }
    }

    private func leaveConnection(_ transfer: Transfer) {
        guard transfer.connectionPlace == .sent else { return }
        transfer.connectionPlace = .running
        gate.left(exchange(&transfer.countedConnection, with: nil), of: transfer.countedOrigin)
    }

    /// When an exchange that needs the same connections as this one was last active; `nil` if this one does not wait.
    func lastActivity(beside transfer: Transfer) -> Int64? {
        guard transfer.limits.isWaiting else { return nil }
        // Until then, the time does not matter.
        guard transfer.limits.mayBeStalled(at: shared.now) else { return 0 }
        return gate.lastActivity(beside: transfer.countedOrigin)
    }

    /// The error message for a limit that a transfer has exceeded.
    func message(for stage: RequestError.TimeoutStage, of transfer: Transfer) -> String {
        let message = transfer.limits.message(for: stage)
        guard stage == .pool else { return message }
        return "\(message); connectionLimits.perHost is \(gate.perHost), connectionLimits.total \(gate.total), and the "
            + "process may use \(ConnectionBudget.shared.limit) connections"
    }

    /// Starts the exchanges that no longer have to wait, on this loop or on others.
    func startQueued() {
        if limitsRequests {
            while let id = group.queue?.withLock({ $0.next() }) {
                let index = EngineGroup.loop(of: id)
                if index == loopIndex { granted(id) } else { group.engine(ofLoop: index)?.accept(.granted(id)) }
            }
        }
        while let id = gate.next(now: shared.now, for: self) {
            guard let transfer = transfers[id] else { continue }
            transfer.connectionPlace = .running
            begin(transfer)
        }
    }
}

/// Holds exchanges back while the limits for running requests are reached.
extension TransferEngine {
    /// Returns whether an exchange may run; otherwise, it waits until other exchanges have ended.
    func mayRun(_ transfer: Transfer) -> Bool {
        guard limitsRequests, transfer.place != .running else { return mayConnect(transfer) }
        guard transfer.place == .outside else { return false }
        let host = transfer.countedOrigin
        let urgency = transfer.request.priority?.urgency ?? 3
        if group.queue?.withLock({ $0.enters(transfer.id, to: host, urgency: urgency) }) == true {
            transfer.place = .running
            return mayConnect(transfer)
        }
        transfer.place = .waiting
        transfer.limits.queued(at: shared.now)
        return false
    }

    /// Starts an exchange that no longer has to wait for other exchanges.
    ///
    /// The exchange may have ended, or may wait again, since another loop has granted it.
    func granted(_ id: TransferID) {
        guard let transfer = transfers[id], transfer.place == .waiting,
            group.queue?.withLock({ $0.isWaiting(id) }) == false
        else { return }
        transfer.place = .running
        transfer.limits.leftQueue(at: shared.now)
        if mayConnect(transfer) { begin(transfer) } else { checkLimits(of: transfer) }
    }

    private func begin(_ transfer: Transfer) {
        transfer.responseBuffer.lastActivity = shared.now
        addWhenOpen(transfer)
        if transfers[transfer.id] != nil { checkLimits(of: transfer) }
    }

    /// Opens the body of an exchange that may run, and then adds the exchange to libcurl.
    func addWhenOpen(_ transfer: Transfer) {
        guard case .unopened(let open) = transfer.upload else { return add(transfer) }
        transfer.upload = .opening
        let id = transfer.id
        Task.detached { self.accept(.opened(id, Result { () throws(RequestError) in try open() })) }
    }

    func opened(_ transfer: Transfer, _ upload: Result<UploadBody, RequestError>) {
        do throws(RequestError) {
            transfer.upload = try upload.get()
        } catch {
            return finish(transfer, with: error)
        }
        guard transfer.responseBuffer.state.isSuspended else {
            add(transfer)
            if !transfer.hasEnded { checkLimits(of: transfer) }
            return
        }
        leaveQueues(transfer)
        transfer.responseBuffer.state.withdrawn()
    }

    /// Ends the exchanges that wait, because the session is shut down.
    func refuseWaiting() {
        for transfer in transfers.values where transfer.place == .waiting || transfer.connectionPlace == .waiting {
            finish(transfer, with: RequestError(.sessionShutDown))
        }
    }

    /// Called when an exchange has ended, or is suspended while it waits.
    func leaveQueues(_ transfer: Transfer) {
        leaveGate(transfer)
        guard transfer.place != .outside else { return }
        transfer.place = .outside
        transfer.limits.leftQueue(at: shared.now)
        group.queue?.withLock { $0.left(transfer.id, to: transfer.countedOrigin) }
    }
}
