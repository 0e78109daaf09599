/// Who may send a request to which host, and who waits for it, as a value.
struct RateLimiterState: Sendable {
    /// Those who wait for a host, first come first, and its tokens.
    private struct Lane {
        var bucket: TokenBucket
        var waiting: [Int] = []
    }

    /// What becomes of somebody who wants to send a request.
    enum Arrival: Hashable {
        /// It may go.
        case go
        /// It waits; somebody else sees to it that time passes.
        case wait
        /// It waits, and is the first to: after that long, somebody is to look.
        case waitAndWatch(Duration)
    }

    private let requestsPerSecond: Double
    private let burst: Int
    private var lanes: [String: Lane] = [:]

    /// More hosts than that are looked through for those that can be forgotten.
    private static let manyLanes = 1000

    init(requestsPerSecond: Double, burst: Int) {
        self.requestsPerSecond = requestsPerSecond
        self.burst = burst
    }

    /// How many wait for a host.
    func waitingCount(for host: String) -> Int { lanes[host]?.waiting.count ?? 0 }

    /// How many hosts are known.
    var hostCount: Int { lanes.count }

    /// Somebody wants to send a request.
    mutating func arrived(_ id: Int, at host: String, now: Duration) -> Arrival {
        if lanes[host] == nil, lanes.count >= Self.manyLanes { forgetIdleHosts(now) }
        var lane =
            lanes[host]
            ?? Lane(bucket: TokenBucket(tokensPerSecond: requestsPerSecond, capacity: burst, now: now))
        defer { lanes[host] = lane }
        // Nobody overtakes those who wait.
        guard lane.waiting.isEmpty else {
            lane.waiting.append(id)
            return .wait
        }
        guard !lane.bucket.take(now: now) else { return .go }
        lane.waiting.append(id)
        return .waitAndWatch(lane.bucket.wait(now: now))
    }

    /// Somebody does not want to wait any longer; returns whether it did.
    mutating func left(_ id: Int, host: String) -> Bool {
        guard let index = lanes[host]?.waiting.firstIndex(of: id) else { return false }
        lanes[host]?.waiting.remove(at: index)
        return true
    }

    /// Time has passed: returns who may go, and after how long somebody is to look again, if anybody still waits.
    mutating func timePassed(at host: String, now: Duration) -> (released: [Int], wait: Duration?) {
        guard var lane = lanes[host] else { return ([], nil) }
        var count = 0
        while count < lane.waiting.count, lane.bucket.take(now: now) { count += 1 }
        let released = Array(lane.waiting.prefix(count))
        lane.waiting.removeFirst(count)
        lanes[host] = lane
        return (released, lane.waiting.isEmpty ? nil : lane.bucket.wait(now: now))
    }

    private mutating func forgetIdleHosts(_ now: Duration) {
        lanes = lanes.filter { !$0.value.waiting.isEmpty || !$0.value.bucket.isFull(now: now) }
    }
}
