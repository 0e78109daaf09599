import CCurl
import FoundationEssentials

/// The transfers that wait for a free connection, and which of them libcurl has to retry.
///
/// Libcurl keeps one list of waiting transfers for all hosts. When a transfer ends, libcurl before 8.14 and since 8.16
/// retries only the first of them (8.14 and 8.15 retry all). If this transfer waits for another host, the free
/// connection remains unused until another transfer ends. The engine therefore adds the transfer that can use the
/// connection to libcurl again, and libcurl retries it.
struct WaitingTransfers {
    /// The transfers to one origin.
    private struct Host {
        /// The waiting transfers, oldest first, and possibly some that no longer wait.
        var queue: ArraySlice<TransferID> = []
        var waitingCount = 0
        var connectedCount = 0
    }

    private struct Entry {
        let origin: Origin
        var isWaiting = true
    }

    private let limits: Session.Configuration.ConnectionLimits
    private var entries: [TransferID: Entry] = [:]
    private var hosts: [Origin: Host] = [:]
    /// How many transfers have released their connections since the last retry.
    private var releases: [Origin: Int] = [:]

    /// Creates an empty list; returns `nil` if libcurl retries all transfers, or if no transfer ever waits, since there
    /// are no limits.
    init?(_ limits: Session.Configuration.ConnectionLimits, version: UInt32 = Libcurl.version) {
        let retriesAll = (0x08_0e_00..<0x08_10_00).contains(version)
        guard !retriesAll, limits.perHost != nil || limits.total != nil else { return nil }
        self.limits = limits
    }

    /// Called when a transfer was added to libcurl.
    mutating func added(_ id: TransferID, to url: URL) {
        let origin = Origin(of: url)
        entries[id] = Entry(origin: origin)
        hosts[origin, default: Host()].queue.append(id)
        hosts[origin]?.waitingCount += 1
    }

    /// Called when a transfer opens a connection, or when its request is sent on a connection.
    mutating func connected(_ id: TransferID) {
        guard let entry = entries[id], entry.isWaiting else { return }
        entries[id]?.isWaiting = false
        hosts[entry.origin]?.connectedCount += 1
        endWait(at: entry.origin)
    }

    /// Called when a transfer leaves libcurl.
    mutating func left(_ id: TransferID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        if entry.isWaiting {
            endWait(at: entry.origin)
        } else {
            hosts[entry.origin]?.connectedCount -= 1
            releases[entry.origin, default: 0] += 1
        }
        if let host = hosts[entry.origin], host.waitingCount == 0, host.connectedCount == 0 {
            hosts[entry.origin] = nil
        }
    }

    /// Returns the transfers that can use the connections released since the last call.
    ///
    /// Without a total limit, these are the oldest waiting transfers to the same hosts. With a total limit, a
    /// connection may go to any host that has not reached its own limit, and the oldest transfer gets it.
    mutating func takeRetries() -> [TransferID] {
        guard !releases.isEmpty else { return [] }
        let released = exchange(&releases, with: [:])
        guard limits.total != nil else { return released.flatMap { waiting(for: $0, upTo: $1) } }
        let count = released.values.reduce(0, +)
        let candidates = hosts.flatMap { origin, host in
            let room = max((limits.perHost ?? .max) - host.connectedCount, released[origin] ?? 0)
            return waiting(for: origin, upTo: min(count, room))
        }
        return Array(candidates.sorted().prefix(count))
    }

    private func waiting(for origin: Origin, upTo count: Int) -> [TransferID] {
        guard let host = hosts[origin], host.waitingCount > 0 else { return [] }
        return Array(host.queue.lazy.filter(isWaiting).prefix(count))
    }

    private func isWaiting(_ id: TransferID) -> Bool { entries[id]?.isWaiting == true }

    /// Removes transfers that no longer wait from a queue, when they are at its beginning or more than the others.
    private mutating func endWait(at origin: Origin) {
        guard var host = hosts.removeValue(forKey: origin) else { return }
        host.waitingCount -= 1
        while let first = host.queue.first, !isWaiting(first) { host.queue.removeFirst() }
        if host.queue.count > 2 * host.waitingCount { host.queue.removeAll { !isWaiting($0) } }
        hosts[origin] = host
    }
}

extension TransferEngine {
    /// Lets libcurl retry the transfers for which connections have become free.
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
