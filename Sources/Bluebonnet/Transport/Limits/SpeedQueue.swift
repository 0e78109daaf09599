/// Decides when a speed limit allows bytes.
///
/// This is a value type without I/O and without a clock.
///
/// Times are in nanoseconds on the monotonic clock.
struct ByteAllowance: Equatable {
    /// The maximum length of an earlier pause whose unused bytes are still allowed, in nanoseconds.
    private static let longestPause: Int64 = 50_000_000
    /// The maximum number of bytes that are allowed at once.
    static let largestBurst: Int64 = 512 * 1024

    let bytesPerSecond: Int64
    /// The time until which the allowed bytes are used.
    private(set) var usedUntil: Int64

    /// Creates an allowance that begins at the given time.
    init(bytesPerSecond: Int64, since start: Int64) {
        self.bytesPerSecond = max(1, bytesPerSecond)
        usedUntil = start
    }

    /// Returns the time at which `count` bytes are allowed, if they have been wanted since `start`.
    func time(for count: Int, wantedSince start: Int64) -> Int64 {
        let pause = min(Self.longestPause, duration(of: Self.largestBurst))
        return max(usedUntil, start - pause) + duration(of: Int64(count))
    }

    /// Uses `count` bytes that have been wanted since `start`.
    mutating func take(_ count: Int, wantedSince start: Int64) {
        usedUntil = time(for: count, wantedSince: start)
    }

    /// Gives bytes back that were taken, but not used.
    mutating func giveBack(_ count: Int) {
        usedUntil -= duration(of: Int64(count))
    }

    private func duration(of count: Int64) -> Int64 {
        let (time, overflow) = count.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max / 4 : time / bytesPerSecond
    }
}

/// The transfers that wait because of speed limits, in one direction and in the order of their arrival.
///
/// This is a value type without I/O and without a clock.
///
/// The session's allowance goes to the first transfer whose own limit allows its bytes. The transfers thus take turns,
/// because each of them waits for one part of its body at a time.
struct SpeedQueue {
    private struct Entry {
        let id: TransferID
        let count: Int
        /// The time at which the transfer's own limit allows the bytes.
        let start: Int64
    }

    /// The allowance of the session; `nil` if it has no limit.
    private(set) var allowance: ByteAllowance?
    private var entries: [Entry] = []
    /// The time at which ``takeAdmitted(now:)`` must be called; `nil` if no transfer waits.
    private(set) var due: Int64?

    init(bytesPerSecond: Int64?, now: Int64) {
        allowance = bytesPerSecond.map { ByteAllowance(bytesPerSecond: $0, since: now) }
    }

    /// Returns whether a transfer may pass bytes now; otherwise, the transfer waits.
    ///
    /// The transfer's own limit allows the bytes from `start` on.
    mutating func admits(_ count: Int, of id: TransferID, from start: Int64, now: Int64) -> Bool {
        let entry = Entry(id: id, count: count, start: start)
        // Transfers that wait for the session's limit come first.
        let isContended = allowance != nil && entries.contains { $0.start <= now }
        if !isContended, take(entry, now: now) { return true }
        entries.append(entry)
        due = min(due ?? .max, time(for: entry))
        return false
    }

    /// Returns the transfers that may continue now, and no longer wait.
    mutating func takeAdmitted(now: Int64) -> [TransferID] {
        guard let due, due <= now else { return [] }
        var admitted: [TransferID] = []
        var next: Int64?
        var isSpent = false
        var waiting: [Entry] = []
        for entry in entries {
            if !isSpent {
                if take(entry, now: now) {
                    admitted.append(entry.id)
                    continue
                }
                // No other transfer may overtake a transfer that waits for the session's limit.
                isSpent = entry.start <= now
                next = min(next ?? .max, time(for: entry))
            }
            waiting.append(entry)
        }
        entries = waiting
        self.due = next
        return admitted
    }

    /// Removes a transfer; the next turn determines which transfer may continue next.
    mutating func remove(_ id: TransferID) {
        entries.removeAll { $0.id == id }
        due = entries.isEmpty ? nil : 0
    }

    /// Gives bytes back to the session that a transfer did not use.
    mutating func giveBack(_ count: Int) { allowance?.giveBack(count) }

    private func time(for entry: Entry) -> Int64 {
        max(entry.start, allowance?.time(for: entry.count, wantedSince: entry.start) ?? entry.start)
    }

    /// Takes an entry's bytes from the allowance, if they are allowed.
    private mutating func take(_ entry: Entry, now: Int64) -> Bool {
        guard time(for: entry) <= now else { return false }
        allowance?.take(entry.count, wantedSince: entry.start)
        return true
    }
}
