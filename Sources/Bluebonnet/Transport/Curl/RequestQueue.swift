/// Decides which exchanges run and which exchanges wait because of ``Session/Configuration/requestLimits``.
///
/// This is a value type without I/O and without a clock.
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
    enum Place { case outside, waiting, running }

    private struct Host {
        var running = 0
        var waiting = 0
        /// The exchanges that wait until another exchange of the host ends.
        var held = UrgencyQueues()
    }

    private let total: Int
    private let perHost: Int
    private var isClosed = false
    private var running = 0
    private var hosts: [Origin: Host] = [:]
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
        total = max(1, limits.total ?? .max)
        perHost = max(1, limits.perHost ?? .max)
    }

    /// The number of exchanges that wait.
    var waitingCount: Int { waiting.count }

    /// Adds a new exchange; returns whether it runs immediately instead of waiting.
    mutating func enters(_ id: TransferID, to host: Origin, urgency: Int) -> Bool {
        // The host is removed from the dictionary during the change, so that its queues are not copied.
        var state = hosts.removeValue(forKey: host) ?? Host()
        defer { hosts[host] = state }
        let isBusy = state.running >= perHost
        if !isBusy, running < total, !isClosed, ready.first(of: waiting) == nil {
            running += 1
            state.running += 1
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
    mutating func next() -> TransferID? {
        guard running < total, !waiting.isEmpty, !isClosed else { return nil }
        while let (id, entry) = ready.popFirst(of: waiting) {
            guard var host = hosts.removeValue(forKey: entry.host) else { continue }
            defer { hosts[entry.host] = host }
            guard host.running < perHost else {
                host.held.insert(id, urgency: entry.urgency)
                continue
            }
            waiting[id] = nil
            running += 1
            host.running += 1
            host.waiting -= 1
            makeReady(&host)
            return id
        }
        return nil
    }

    func isWaiting(_ id: TransferID) -> Bool { waiting[id] != nil }

    /// Called when a running or waiting exchange has ended.
    mutating func left(_ id: TransferID, to host: Origin) {
        guard var state = hosts.removeValue(forKey: host) else { return }
        if waiting.removeValue(forKey: id) != nil {
            state.waiting -= 1
            endedCount += 1
        } else {
            running -= 1
            state.running -= 1
        }
        makeReady(&state)
        if state.running > 0 || state.waiting > 0 { hosts[host] = state }
        removeEnded()
    }

    /// Makes the first held exchange of a host ready, if the host is no longer busy.
    private mutating func makeReady(_ host: inout Host) {
        guard host.running < perHost, let (id, entry) = host.held.popFirst(of: waiting) else { return }
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

/// Holds exchanges back while the limits for running requests are reached.
extension TransferEngine {
    /// Returns whether an exchange may run; otherwise, it waits until other exchanges have ended.
    func mayRun(_ transfer: Transfer) -> Bool {
        guard limitsRequests, transfer.place != .running else { return true }
        guard transfer.place == .outside else { return false }
        let host = Origin(of: transfer.request.url)
        let urgency = transfer.request.priority?.urgency ?? 3
        if group.queue?.withLock({ $0.enters(transfer.id, to: host, urgency: urgency) }) == true {
            transfer.place = .running
            return true
        }
        transfer.place = .waiting
        transfer.limits.queued(at: shared.now)
        return false
    }

    /// Starts the exchanges that no longer have to wait, on this loop or on others.
    func startQueued() {
        while let id = group.queue?.withLock({ $0.next() }) {
            let index = EngineGroup.loop(of: id)
            if index == loopIndex { granted(id) } else { group.engine(ofLoop: index)?.accept(.granted(id)) }
        }
    }

    /// Starts an exchange that no longer has to wait.
    ///
    /// The exchange may have ended, or may wait again, since another loop has granted it.
    func granted(_ id: TransferID) {
        guard let transfer = transfers[id], transfer.place == .waiting,
            group.queue?.withLock({ $0.isWaiting(id) }) == false
        else { return }
        transfer.place = .running
        transfer.limits.leftQueue(at: shared.now)
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
        leaveQueue(transfer)
        transfer.responseBuffer.state.withdrawn()
    }

    /// Called when an exchange has ended, or is suspended while it waits.
    func leaveQueue(_ transfer: Transfer) {
        guard transfer.place != .outside else { return }
        transfer.place = .outside
        transfer.limits.leftQueue(at: shared.now)
        group.queue?.withLock { $0.left(transfer.id, to: Origin(of: transfer.request.url)) }
    }
}
