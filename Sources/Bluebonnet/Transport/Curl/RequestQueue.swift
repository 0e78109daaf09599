/// Decides which exchanges run and which wait because of ``Session/Configuration/requestLimits``, as a value.
///
/// Exchanges wait in the order of their urgency (RFC 9218 §4.1), and those of one urgency in the order of their arrival.
/// An exchange whose host is busy is set aside, and lets the others pass.
struct RequestQueue {
    /// The waiting exchanges by urgency; some of them may have ended.
    private struct Line {
        private var lanes = [ArraySlice<TransferID>](repeating: [], count: 8)

        var isEmpty: Bool { lanes.allSatisfy(\.isEmpty) }

        mutating func append(_ id: TransferID, urgency: Int) { lanes[urgency].append(id) }

        mutating func popFirst(urgency: Int) -> TransferID? { lanes[urgency].popFirst() }

        mutating func removeAll(where isRemoved: (TransferID) -> Bool) {
            for urgency in lanes.indices { lanes[urgency].removeAll(where: isRemoved) }
        }
    }

    /// The place of an exchange, which is stored in its transfer.
    enum Place { case outside, waiting, running }

    private struct Waiting {
        let host: Origin
        let urgency: Int
    }

    private struct Host {
        var running = 0
        var waiting = 0
        /// The exchanges that wait until another one of the host ends.
        var aside = Line()
    }

    private let total: Int
    private let perHost: Int
    private var running = 0
    private var hosts: [Origin: Host] = [:]
    private var waiting: [TransferID: Waiting] = [:]
    /// The exchanges that wait for their turn, and those that were set aside before.
    private var line = Line()
    private var returned = Line()
    /// The number of exchanges that ended while they waited and are still in a line.
    private var endedCount = 0

    /// Creates an empty queue; `nil` if there are no limits.
    init?(_ limits: Session.Configuration.RequestLimits) {
        guard limits.total != nil || limits.perHost != nil else { return nil }
        total = limits.total ?? .max
        perHost = limits.perHost ?? .max
    }

    /// Whether a new exchange runs at once; otherwise, it waits.
    mutating func enters(_ id: TransferID, to host: Origin, urgency: Int) -> Bool {
        var state = hosts[host] ?? Host()
        defer { hosts[host] = state }
        let isHostFree = state.running < perHost
        if isHostFree, running < total, line.isEmpty, returned.isEmpty {
            running += 1
            state.running += 1
            return true
        }
        waiting[id] = Waiting(host: host, urgency: urgency)
        state.waiting += 1
        isHostFree ? line.append(id, urgency: urgency) : state.aside.append(id, urgency: urgency)
        return false
    }

    /// Returns a waiting exchange that runs from now on; `nil` if all that wait must go on waiting.
    mutating func next() -> TransferID? {
        guard running < total, !waiting.isEmpty else { return nil }
        for urgency in 0..<8 {
            while let id = returned.popFirst(urgency: urgency) ?? line.popFirst(urgency: urgency) {
                guard let entry = waiting[id], var host = hosts[entry.host] else { continue }
                guard host.running < perHost else {
                    hosts[entry.host]?.aside.append(id, urgency: urgency)
                    continue
                }
                waiting[id] = nil
                running += 1
                host.running += 1
                host.waiting -= 1
                hosts[entry.host] = host
                return id
            }
        }
        return nil
    }

    /// Called when an exchange has ended, which ran or waited.
    mutating func left(_ id: TransferID, to host: Origin) {
        guard var state = hosts[host] else { return }
        if waiting.removeValue(forKey: id) != nil {
            state.waiting -= 1
            endedCount += 1
        } else {
            running -= 1
            state.running -= 1
        }
        if let (id, urgency) = firstAside(of: &state) { returned.append(id, urgency: urgency) }
        hosts[host] = state.running == 0 && state.waiting == 0 ? nil : state
        removeEnded()
    }

    /// Takes the first exchange that was set aside and still waits, if the host is no longer busy.
    private func firstAside(of host: inout Host) -> (TransferID, urgency: Int)? {
        guard host.running < perHost else { return nil }
        for urgency in 0..<8 {
            while let id = host.aside.popFirst(urgency: urgency) {
                if waiting[id] != nil { return (id, urgency) }
            }
        }
        return nil
    }

    /// Removes the exchanges that have ended from the lines when they are more than the others.
    private mutating func removeEnded() {
        guard endedCount > waiting.count + 64 else { return }
        endedCount = 0
        let live = waiting
        line.removeAll { live[$0] == nil }
        returned.removeAll { live[$0] == nil }
        for host in hosts.keys { hosts[host]?.aside.removeAll { live[$0] == nil } }
    }
}

/// Lets exchanges wait that the limits for running requests do not allow yet.
extension TransferEngine {
    /// Whether an exchange may run; otherwise, it waits until others have ended.
    func mayRun(_ transfer: Transfer) -> Bool {
        guard queue != nil, transfer.place != .running else { return true }
        guard transfer.place == .outside else { return false }
        let host = Origin(of: transfer.request.url)
        let urgency = transfer.request.priority?.urgency ?? 3
        if queue?.enters(transfer.id, to: host, urgency: urgency) == true {
            transfer.place = .running
            return true
        }
        transfer.place = .waiting
        transfer.limits.queued(at: shared.now)
        return false
    }

    /// Starts the exchanges that no longer have to wait.
    func startQueued() {
        while let id = queue?.next() {
            guard let transfer = transfers[id] else { continue }
            transfer.place = .running
            transfer.limits.leftQueue(at: shared.now)
            transfer.responseBuffer.lastActivity = shared.now
            let isSuspended = transfer.responseBuffer.state.isSuspended
            // A suspended exchange is added when it is resumed.
            isSuspended ? transfer.responseBuffer.state.withdrawn() : add(transfer)
            if transfers[id] != nil { checkLimits(of: transfer) }
        }
    }

    /// Called when an exchange has ended.
    func leaveQueue(_ transfer: Transfer) {
        guard transfer.place != .outside else { return }
        queue?.left(transfer.id, to: Origin(of: transfer.request.url))
    }
}
