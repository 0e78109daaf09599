import Synchronization

/// Holds exchanges of a session back that would need too many connections.
///
/// Libcurl opens a connection for every exchange that it receives, or tries all waiting exchanges again and again. It
/// therefore receives only the exchanges that may run. While a session has few exchanges and connections, and no limits
/// of its own, its exchanges pass without being counted.
final class ConnectionGate: Sendable {
    /// The number of exchanges up to which none is counted, for sessions without limits of their own.
    private static let uncounted = 32
    /// The default limits for connections to a host and to all hosts.
    static let defaultPerHost = 256
    static let defaultTotal = 1024

    private let queue: Locked<RequestQueue>
    private let budget: ConnectionBudget
    /// Whether every exchange is counted.
    private let hasOwnLimits: Bool
    private let unended = Atomic<Int>(0)
    /// Whether exchanges wait, or have waited since the last call of ``next(now:)``.
    private let mayHaveWaiting = Atomic<Bool>(false)
    let perHost: Int
    let total: Int

    init(_ limits: Session.Configuration.ConnectionLimits, _ budget: ConnectionBudget = .shared) {
        hasOwnLimits = limits.perHost != nil || limits.total != nil
        perHost = limits.perHost ?? Self.defaultPerHost
        total = limits.total ?? Self.defaultTotal
        queue = Locked(RequestQueue(perHost: perHost, total: total))
        self.budget = budget
    }

    /// The number of exchanges that wait.
    var waitingCount: Int { queue.withLock { $0.waitingCount } }

    /// Whether the next exchange may have to wait.
    var isCounting: Bool {
        hasOwnLimits || unended.load(ordering: .relaxed) > Self.uncounted || !budget.isRelaxed
    }

    func began() { unended.add(1, ordering: .relaxed) }
    func ended() { unended.subtract(1, ordering: .relaxed) }

    /// Adds a new exchange; returns whether it runs immediately instead of waiting.
    func enters(_ id: TransferID, to host: Origin, urgency: Int, now: Int64) -> Bool {
        let hasRoom = budget.hasRoom
        let multiplexing: RequestQueue.Multiplexing = host.scheme == "https" ? .unknown : .none
        let runs = change { $0.enters(id, to: host, urgency: urgency, multiplexing, hasRoom: hasRoom, now: now) }
        if !runs { mayHaveWaiting.store(true, ordering: .relaxed) }
        return runs
    }

    /// Returns a waiting exchange that runs from now on; `nil` if no waiting exchange may run.
    func next(now: Int64, for group: EngineGroup) -> TransferID? {
        guard mayHaveWaiting.load(ordering: .relaxed) else { return nil }
        let hasRoom = budget.hasRoom
        if let id = change({ $0.next(hasRoom: hasRoom, now: now) }) { return id }
        if waitingCount == 0 {
            mayHaveWaiting.store(false, ordering: .relaxed)
            // An exchange of another loop may have begun to wait in the meantime.
            if waitingCount > 0 { mayHaveWaiting.store(true, ordering: .relaxed) }
        } else if !hasRoom {
            budget.wake(group)
        }
        return nil
    }

    func sent(to host: Origin, isMultiplexed: Bool) { change { $0.sent(to: host, isMultiplexed: isMultiplexed) } }

    func left(_ id: TransferID, to host: Origin, wasSent: Bool) {
        change { $0.left(id, to: host, wasSent: wasSent) }
    }

    func isWaiting(_ id: TransferID) -> Bool { queue.withLock { $0.isWaiting(id) } }

    func lastActivity(beside host: Origin) -> Int64 { queue.withLock { $0.lastActivity(beside: host) } }

    /// Called when transfers have sent or received bytes.
    func progressed(_ transfers: [Transfer], at now: Int64) {
        guard mayHaveWaiting.load(ordering: .relaxed), !transfers.isEmpty else { return }
        let hosts = transfers.map { $0.countedOrigin }
        queue.withLock { $0.progressed(hosts, at: now) }
    }

    /// Called when the session ends: no waiting exchange runs any more.
    func close() { queue.withLock { $0.close() } }

    private func change<Result: Sendable>(_ body: (inout RequestQueue) -> Result) -> Result {
        let (result, shares) = queue.withLock { queue in
            let before = queue.running
            return (body(&queue), queue.running - before)
        }
        budget.changed(by: shares)
        return result
    }
}

extension TransferEngine {
    /// Returns whether an exchange may use a connection; otherwise, it waits until other exchanges have ended.
    func mayConnect(_ transfer: Transfer) -> Bool {
        let gate = group.connections
        guard transfer.connectionPlace == .outside else { return transfer.connectionPlace != .waiting }
        guard gate.isCounting else { return true }
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
        group.connections.left(transfer.id, to: transfer.countedOrigin, wasSent: place == .sent)
    }

    /// Tells the gate the versions of the connections on which requests were sent in this turn.
    func noteConnected() {
        guard !shared.connected.isEmpty else { return }
        for (transfer, isMultiplexed) in exchange(&shared.connected, with: [])
        where transfer.connectionPlace == .running {
            transfer.connectionPlace = .sent
            group.connections.sent(to: transfer.countedOrigin, isMultiplexed: isMultiplexed)
        }
    }

    /// When an exchange that needs the same connections as this one was last active; `nil` if this one does not wait.
    func lastActivity(beside transfer: Transfer) -> Int64? {
        guard transfer.connectionPlace == .waiting, transfer.limits.mayBeStalled(at: shared.now) else {
            return transfer.connectionPlace == .waiting ? 0 : nil
        }
        return group.connections.lastActivity(beside: transfer.countedOrigin)
    }

    /// The error message for a limit that a transfer has exceeded.
    func message(for stage: RequestError.TimeoutStage, of transfer: Transfer) -> String {
        let message = transfer.limits.message(for: stage)
        guard stage == .pool, transfer.connectionPlace == .waiting else { return message }
        let gate = group.connections
        return "\(message); connectionLimits.perHost is \(gate.perHost), connectionLimits.total \(gate.total), and the "
            + "process may use \(ConnectionBudget.shared.limit) connections"
    }

    /// Starts the exchanges that no longer have to wait, on this loop or on others.
    func startQueued() {
        if limitsRequests { while let id = group.queue?.withLock({ $0.next() }) { grant(id) } }
        while let id = group.connections.next(now: shared.now, for: group) { grant(id) }
    }

    private func grant(_ id: TransferID) {
        let index = EngineGroup.loop(of: id)
        if index == loopIndex { granted(id) } else { group.engine(ofLoop: index)?.accept(.granted(id)) }
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

    /// Starts an exchange that no longer has to wait.
    ///
    /// The exchange may have ended, or may wait again, since another loop has granted it.
    func granted(_ id: TransferID) {
        guard let transfer = transfers[id] else { return }
        if transfer.place == .waiting {
            guard group.queue?.withLock({ $0.isWaiting(id) }) == false else { return }
            transfer.place = .running
            transfer.limits.leftQueue(at: shared.now)
            guard mayConnect(transfer) else { return checkLimits(of: transfer) }
        } else {
            guard transfer.connectionPlace == .waiting, !group.connections.isWaiting(id) else { return }
            transfer.connectionPlace = .running
        }
        transfer.responseBuffer.lastActivity = shared.now
        addWhenOpen(transfer)
        if transfers[id] != nil { checkLimits(of: transfer) }
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

    /// Called when an exchange has ended, or is suspended while it waits.
    func leaveQueues(_ transfer: Transfer) {
        leaveGate(transfer)
        guard transfer.place != .outside else { return }
        transfer.place = .outside
        transfer.limits.leftQueue(at: shared.now)
        group.queue?.withLock { $0.left(transfer.id, to: transfer.countedOrigin) }
    }
}
