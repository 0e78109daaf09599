import CCurl
import FoundationEssentials

/// Records the transfers that may have to wait for a connection, and decides which of them libcurl has to retry.
///
/// Libcurl keeps one list of waiting transfers for all hosts. When a connection may have become usable, libcurl before
/// 8.14 and since 8.16 retries only the first of these transfers. If this transfer has to wait for another host, the
/// connection remains unused until the next such event. Libcurl 8.14 and 8.15 retry all waiting transfers, with one
/// exception: if a connection was opened for a request that allows only HTTP/1.1, they retry no transfer when the
/// version of the connection becomes known. The engine therefore adds a transfer that can use the connection to libcurl
/// again, and libcurl retries it.
///
/// The next transfer of a host is retried in three cases: a transfer that is not waiting leaves libcurl, a retried
/// transfer gets a connection, or a request is sent on a new connection, whose HTTP version is then known. Each
/// successful retry therefore leads to the next retry. Libcurl does not report that a transfer waits again after its
/// request was sent, so such a transfer is not retried.
struct WaitingTransfers {
    /// Whether a transfer is in the list; stored in the transfer.
    enum Membership {
        case none
        /// The transfer is listed only if its request is not sent in its first turn, because most transfers need no
        /// entry.
        case candidate(usesConnection: Bool)
        case listed(Entry)
    }

    /// A transfer in the list.
    final class Entry {
        fileprivate enum State { case waiting, retried, active }

        fileprivate let id: TransferID
        fileprivate unowned let host: Host
        fileprivate var state = State.waiting
        fileprivate var isWaiting: Bool { state != .active }

        fileprivate init(_ id: TransferID, _ host: Host) { (self.id, self.host) = (id, host) }
    }

    /// The transfers to one destination.
    fileprivate final class Host {
        let destination: ConnectionDestination
        /// The waiting transfers, oldest first.
        ///
        /// The queue may also contain transfers that no longer wait.
        var queue: ArraySlice<Entry> = []
        var waitingCount = 0
        var activeCount = 0
        /// The number of waiting transfers that can be retried.
        var chances = 0
        /// Whether the host is in ``WaitingTransfers/turns``.
        var isInTurns = false

        init(_ destination: ConnectionDestination) { self.destination = destination }

        func next(_ count: Int) -> [Entry] {
            waitingCount > 0 && count > 0 ? Array(queue.lazy.filter(\.isWaiting).prefix(count)) : []
        }

        /// Called when a transfer no longer waits; removes such transfers from the queue.
        ///
        /// They are removed if they are at the beginning of the queue, or if they are more than half of it.
        func endWait() {
            waitingCount -= 1
            while let first = queue.first, !first.isWaiting { queue.removeFirst() }
            if queue.count > 2 * waitingCount { queue.removeAll { !$0.isWaiting } }
        }
    }

    private let limits: Session.Configuration.ConnectionLimits
    private var hosts: [ConnectionDestination: Host] = [:]
    private var hostsWithChances: [Host] = []
    /// With a total limit, the hosts with waiting transfers, in the order in which they may use the connections of
    /// other hosts.
    private var turns: ArraySlice<Host> = []

    init(_ limits: Session.Configuration.ConnectionLimits) {
        self.limits = limits
    }

    /// Whether there are no transfers in the list.
    var isEmpty: Bool { hosts.isEmpty }

    /// Called for a transfer that was added to libcurl.
    mutating func list(_ id: TransferID, to destination: ConnectionDestination) -> Entry {
        let host = hosts[destination] ?? Host(destination)
        if host.waitingCount + host.activeCount == 0 { hosts[destination] = host }
        let entry = Entry(id, host)
        host.queue.append(entry)
        host.waitingCount += 1
        takeTurns(host)
        return entry
    }

    /// Called when a connection is looked up or opened for a transfer.
    mutating func connectionBegins(_ membership: inout Membership) {
        switch membership {
        case .none: break
        case .candidate: membership = .candidate(usesConnection: true)
        case .listed(let entry): becomesActive(entry)
        }
    }

    /// Called when a request is sent on a connection.
    mutating func requestBegins(_ membership: inout Membership, onNewConnection isNew: Bool) {
        connectionBegins(&membership)
        if isNew, case .listed(let entry) = membership { addChance(to: entry.host) }
    }

    private mutating func becomesActive(_ entry: Entry) {
        guard entry.isWaiting else { return }
        if exchange(&entry.state, with: .active) == .retried { addChance(to: entry.host) }
        entry.host.activeCount += 1
        entry.host.endWait()
    }

    /// Called when a transfer leaves libcurl.
    mutating func left(_ membership: inout Membership) {
        guard case .listed(let entry) = exchange(&membership, with: .none) else { return }
        let host = entry.host
        let state = exchange(&entry.state, with: .active)
        if state == .active { host.activeCount -= 1 } else { host.endWait() }
        if state != .waiting { addChance(to: host) }
        if host.waitingCount + host.activeCount == 0 { hosts[host.destination] = nil }
    }

    private mutating func addChance(to host: Host) {
        if host.chances == 0 { hostsWithChances.append(host) }
        host.chances += 1
    }

    /// Returns the transfers to retry because of the events since the last call, oldest first.
    ///
    /// With a total limit, a connection may go to any host that has not reached its own limit. These hosts take turns.
    mutating func takeRetries() -> [TransferID] {
        guard !hostsWithChances.isEmpty else { return [] }
        var retries: [Entry] = []
        for host in exchange(&hostsWithChances, with: []) {
            let chances = exchange(&host.chances, with: 0)
            retries += host.next(chances)
            guard limits.total != nil else { continue }
            for _ in 0..<min(chances, turns.count) { retries += nextHost(except: host)?.next(1) ?? [] }
        }
        for entry in retries { entry.state = .retried }
        return Set(retries.map(\.id)).sorted()
    }

    private mutating func takeTurns(_ host: Host) {
        guard limits.total != nil, !host.isInTurns else { return }
        host.isInTurns = true
        turns.append(host)
    }

    /// Returns the next host with a waiting transfer and with room for another connection.
    private mutating func nextHost(except other: Host) -> Host? {
        for _ in turns.indices {
            let host = turns.removeFirst()
            host.isInTurns = host.waitingCount > 0
            guard host.isInTurns else { continue }
            turns.append(host)
            if host !== other, host.activeCount < limits.perHost ?? .max { return host }
        }
        return nil
    }
}

/// The host and port by which libcurl counts connections and shares them.
enum ConnectionDestination: Hashable {
    case server(host: String, port: Int)
    case proxy(String)
}

extension TransferOptions {
    /// Whether a transfer may have to wait for a connection, or may open a connection for which other transfers wait
    /// until its HTTP version is known.
    func mayBeListed(_ transfer: Transfer) -> Bool {
        if limitsConnections || transfer.isSecure { return true }
        return transfer.httpVersion == .http2PriorKnowledge && !CleartextHTTP2Streams.isGuarded
    }

    /// Returns the destination of a transfer whose options have been set.
    func destination(of transfer: Transfer) -> ConnectionDestination {
        if case .proxy(let url) = recipient(of: transfer) { return .proxy(url) }
        let origin = Origin(of: transfer.url)
        let host = configuration.dns.replacement(for: origin.host, origin.port) ?? origin.host
        return .server(host: host, port: origin.port)
    }
}

extension TransferEngine {
    /// Called when a transfer was added to libcurl.
    func wasAdded(_ transfer: Transfer) {
        guard options.mayBeListed(transfer) else { return }
        transfer.waitingMembership = .candidate(usesConnection: false)
        // With limits, all transfers of a host are counted.
        if options.limitsConnections { list(transfer) }
    }

    /// Called at the end of a transfer's first turn.
    func firstTurnEnds(of transfer: Transfer) {
        transfer.isFresh = false
        if !transfer.wasSent { list(transfer) }
    }

    /// Called when a transfer is about to leave its multi handle.
    func leaveMulti(_ transfer: Transfer) {
        // A transfer that was never listed may release a connection for a listed transfer.
        if shared.waiting?.isEmpty == false { list(transfer) }
        transfer.multiIsLeft()
    }

    private func list(_ transfer: Transfer) {
        guard case .candidate(let usesConnection) = transfer.waitingMembership,
            let entry = shared.waiting?.list(transfer.id, to: options.destination(of: transfer))
        else { return }
        transfer.waitingMembership = .listed(entry)
        if usesConnection { shared.waitingChanges(&transfer.waitingMembership) { $0?.connectionBegins(&$1) } }
    }

    /// Lets libcurl retry the transfers for which a connection may have become usable.
    func retryWaiting() {
        guard let retries = shared.waiting?.takeRetries() else { return }
        for id in retries {
            guard let transfer = transfers[id], let easy = transfer.easy, let multi = transfer.multi else { continue }
            multi.remove(easy)
            transfer.limits.retried(at: shared.now)
            guard multi.add(easy) != CURLM_OK else { continue }
            finish(transfer, with: RequestError(.internal, detail: "libcurl is out of memory"))
        }
    }
}
