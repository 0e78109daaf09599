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
    mutating func left(_ id: TransferID, to host: Origin, from place: Admission.ConnectionPlace) {
        let use: RequestQueue.ConnectionUse? =
            if case .sent(let connection) = place { connection?.share.ended() ?? .alone } else { nil }
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

/// The places of an exchange among those that the limits count.
struct Admission {
    /// The place among the exchanges that ``Session/Configuration/requestLimits`` count.
    enum RequestPlace { case outside, waiting, running }

    /// The place among the exchanges that pass through a ``ConnectionGate``.
    enum ConnectionPlace {
        case outside, waiting, running
        /// The request was sent on a connection; `nil` if Bluebonnet does not know the connection.
        case sent(IdleConnections.Connection?)
    }

    fileprivate(set) var request = RequestPlace.outside
    fileprivate(set) var connection = ConnectionPlace.outside

    /// Whether the gate counts the exchange.
    var isCounted: Bool {
        switch connection {
        case .outside, .waiting: false
        case .running, .sent: true
        }
    }
}

extension TransferEngine {
    /// Whether the next exchange may have to wait for a connection; known on any thread.
    nonisolated var countsExchanges: Bool { limitsConnections || !ConnectionBudget.shared.isRelaxed }

    /// Returns whether an exchange may use a connection; otherwise, it waits until other exchanges have ended.
    func mayConnect(_ transfer: Transfer) -> Bool {
        guard case .outside = transfer.admission.connection else { return transfer.admission.isCounted }
        guard countsExchanges || gate.waitingCount > 0 else { return true }
        let urgency = transfer.request.priority?.urgency ?? 3
        if gate.enters(transfer.id, to: transfer.countedOrigin, urgency: urgency, now: shared.now) {
            transfer.admission.connection = .running
            return true
        }
        transfer.admission.connection = .waiting
        transfer.limits.waits(at: shared.now)
        return false
    }

    /// Called when an exchange has ended, or is suspended while it waits.
    func leaveGate(_ transfer: Transfer) {
        let place = exchange(&transfer.admission.connection, with: .outside)
        if case .outside = place { return }
        transfer.limits.leftGate(at: shared.now)
        gate.left(transfer.id, to: transfer.countedOrigin, from: place)
    }

    /// Tells the gate what has happened in this turn on the connections of the exchanges that it counts.
    func noteConnections() {
        for (transfer, event) in exchange(&shared.connectionEvents, with: []) {
            let host = transfer.countedOrigin
            switch event {
            case .isNeeded: leaveConnection(transfer)
            case .isUsed(let connection, let isFirst):
                switch transfer.admission.connection {
                case .outside, .waiting: continue
                case .sent(let counted) where counted === connection: continue
                case .sent, .running: leaveConnection(transfer)
                }
                transfer.admission.connection = .sent(connection)
                gate.sent(to: host, on: connection, isFirst: isFirst)
            case .hasAnswered(let connection): gate.answered(on: connection, of: host)
            }
        }
    }

    private func leaveConnection(_ transfer: Transfer) {
        guard case .sent(let connection) = transfer.admission.connection else { return }
        transfer.admission.connection = .running
        gate.left(connection, of: transfer.countedOrigin)
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
            transfer.admission.connection = .running
            begin(transfer)
        }
    }
}

/// Holds exchanges back while the limits for running requests are reached.
extension TransferEngine {
    /// Returns whether an exchange may run; otherwise, it waits until other exchanges have ended.
    func mayRun(_ transfer: Transfer) -> Bool {
        guard limitsRequests, transfer.admission.request != .running else { return mayConnect(transfer) }
        guard transfer.admission.request == .outside else { return false }
        let host = transfer.countedOrigin
        let urgency = transfer.request.priority?.urgency ?? 3
        if group.queue?.withLock({ $0.enters(transfer.id, to: host, urgency: urgency) }) == true {
            transfer.admission.request = .running
            return mayConnect(transfer)
        }
        transfer.admission.request = .waiting
        transfer.limits.queued(at: shared.now)
        return false
    }

    /// Starts an exchange that no longer has to wait for other exchanges.
    ///
    /// The exchange may have ended, or may wait again, since another loop has granted it.
    func granted(_ id: TransferID) {
        guard let transfer = transfers[id], transfer.admission.request == .waiting,
            group.queue?.withLock({ $0.isWaiting(id) }) == false
        else { return }
        transfer.admission.request = .running
        transfer.limits.leftQueue(at: shared.now)
        if mayConnect(transfer) { begin(transfer) } else { checkLimits(of: transfer) }
    }

    private func begin(_ transfer: Transfer) {
        transfer.responseBuffer.lastActivity = shared.now
        perform(transfer.life.admitted(opensBody: transfer.upload.isUnopened), on: transfer)
        if !transfer.hasEnded { checkLimits(of: transfer) }
    }

    /// Opens the body of an exchange that may run.
    func openBody(of transfer: Transfer) {
        guard let open = transfer.upload.opens() else { return }
        let id = transfer.id
        Task.detached { self.accept(.opened(id, Result { () throws(RequestError) in try open() })) }
    }

    func opened(_ transfer: Transfer, _ upload: Result<UploadBody, RequestError>) {
        do throws(RequestError) {
            transfer.upload.opened(try upload.get())
        } catch {
            return finish(transfer, with: error)
        }
        perform(transfer.life.bodyOpened(), on: transfer)
        if !transfer.hasEnded { checkLimits(of: transfer) }
    }

    /// Ends the exchanges that wait, because the session is shut down.
    func refuseWaiting() {
        for transfer in transfers.values where transfer.life.isQueued {
            finish(transfer, with: RequestError(.sessionShutDown))
        }
    }

    /// Called when an exchange has ended, or is suspended while it waits.
    func leaveQueues(_ transfer: Transfer) {
        leaveGate(transfer)
        guard transfer.admission.request != .outside else { return }
        transfer.admission.request = .outside
        transfer.limits.leftQueue(at: shared.now)
        group.queue?.withLock { $0.left(transfer.id, to: transfer.countedOrigin) }
    }
}
