package import FoundationEssentials

/// Lets no more requests go to a host than so many in a second.
///
/// As an adapter it holds a request back until it is its turn, first come first served for each host and port. Each
/// attempt counts, so that retries are limited, too; redirects do not. Waiting takes no thread, is not part of any time
/// limit, and ends when the request is cancelled.
///
/// It goes last of the adapters, so that what others add to a request, such as a token, is not old when it is sent. One
/// limiter may be shared by several sessions.
public final class RateLimiter: RequestInterceptor {
    private struct LimiterState {
        var state: RateLimiterState
        var lastID = 0
        var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
        /// The hosts that a task checks from time to time.
        var watched: Set<String> = []
    }

    private let shared: Locked<LimiterState>
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async -> Void

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - requestsPerSecond: How many requests a second may go to one host in the long run.
    ///   - burst: How many may go at once after a while without any; 1 by default.
    public convenience init(requestsPerSecond: Double, burst: Int = 1) {
        let clock = ContinuousClock()
        let start = clock.now
        self.init(
            requestsPerSecond: requestsPerSecond, burst: burst, now: { start.duration(to: clock.now) },
            sleep: { try? await clock.sleep(for: $0) })
    }

    /// Creates a limiter with a clock of a test's.
    package init(
        requestsPerSecond: Double, burst: Int, now: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async -> Void
    ) {
        shared = Locked(LimiterState(state: RateLimiterState(requestsPerSecond: requestsPerSecond, burst: burst)))
        self.now = now
        self.sleep = sleep
    }

    /// Waits until it is the request's turn.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - state: Whose request it is.
    /// - Returns: The request.
    /// - Throws: `CancellationError` as soon as its task is cancelled.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        try await turn(at: Self.host(of: request.url))
        return request
    }

    /// How many requests to the host of a URL wait for their turn.
    ///
    /// - Parameter url: The URL.
    /// - Returns: Their number.
    package func waitingCount(for url: URL) -> Int {
        shared.withLock { $0.state.waitingCount(for: Self.host(of: url)) }
    }

    private static func host(of url: URL) -> String {
        "\(url.host?.lowercased() ?? "")\(url.port.map { ":\($0)" } ?? "")"
    }

    private func turn(at host: String) async throws {
        try Task.checkCancellation()
        let (turn, continuation) = AsyncStream<Void>.makeStream()
        let now = now()
        let (id, delay) = shared.withLock { shared -> (Int?, Duration?) in
            shared.lastID += 1
            let id = shared.lastID
            let arrival = shared.state.arrived(id, at: host, now: now)
            guard arrival != .go else { return (nil, nil) }
            shared.waiting[id] = continuation
            guard case .waitAndWatch(let delay) = arrival, shared.watched.insert(host).inserted else {
                return (id, nil)
            }
            return (id, delay)
        }
        guard let id else { return }
        if let delay { watch(host, after: delay) }
        for await _ in turn { return }
        // The task was cancelled; if its turn came first, it still takes it.
        let wasRemoved = shared.withLock { shared in
            shared.waiting[id] = nil
            return shared.state.left(id, host: host)
        }
        if wasRemoved { throw CancellationError() }
    }

    /// Checks a host whenever a token is added, for as long as requests wait for it.
    private func watch(_ host: String, after delay: Duration) {
        Task { [self] in
            var delay = delay
            while true {
                await sleep(delay)
                let now = now()
                let (continuations, next) = shared.withLock { shared in
                    let (released, next) = shared.state.timePassed(at: host, now: now)
                    if next == nil { shared.watched.remove(host) }
                    return (released.compactMap { shared.waiting.removeValue(forKey: $0) }, next)
                }
                for continuation in continuations { continuation.yield() }
                guard let next else { return }
                delay = next
            }
        }
    }
}

extension RequestAdapter where Self == RateLimiter {
    /// A limiter of how many requests a second go to a host.
    ///
    /// - Parameters:
    ///   - requestsPerSecond: How many requests a second may go to one host in the long run.
    ///   - burst: How many may go at once after a while without any; 1 by default.
    /// - Returns: The limiter.
    package static func rateLimiter(requestsPerSecond: Double, burst: Int = 1) -> RateLimiter {
        RateLimiter(requestsPerSecond: requestsPerSecond, burst: burst)
    }
}

/// Decides when requests may go to their hosts, as a value.
struct RateLimiterState: Sendable {
    /// The requests that wait for a host, in order of arrival, and its tokens.
    private struct HostQueue {
        var bucket: TokenBucket
        var waiting: [Int] = []
    }

    /// The answer to a request that is to be sent.
    enum Arrival: Hashable {
        /// It may go.
        case go
        /// It waits; another request's task watches the host.
        case wait
        /// It waits as the first: the host must be checked after that time.
        case waitAndWatch(Duration)
    }

    private let requestsPerSecond: Double
    private let burst: Int
    private var lanes: [String: HostQueue] = [:]

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

    /// A request is to be sent.
    mutating func arrived(_ id: Int, at host: String, now: Duration) -> Arrival {
        if lanes[host] == nil, lanes.count >= Self.manyLanes { forgetIdleHosts(now) }
        var lane =
            lanes[host]
            ?? HostQueue(bucket: TokenBucket(tokensPerSecond: requestsPerSecond, capacity: burst, now: now))
        defer { lanes[host] = lane }
        // No request overtakes those that wait.
        guard lane.waiting.isEmpty else {
            lane.waiting.append(id)
            return .wait
        }
        guard !lane.bucket.take(now: now) else { return .go }
        lane.waiting.append(id)
        return .waitAndWatch(lane.bucket.wait(now: now))
    }

    /// A request stops waiting; returns whether it was waiting.
    mutating func left(_ id: Int, host: String) -> Bool {
        guard let index = lanes[host]?.waiting.firstIndex(of: id) else { return false }
        lanes[host]?.waiting.remove(at: index)
        return true
    }

    /// Time has passed: returns the requests that may go, and when to look again if others still wait.
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

/// Counts how many requests may go now, as a value: tokens come in at a steady rate, and each request takes one.
struct TokenBucket: Hashable, Sendable {
    private let tokensPerSecond: Double
    private let capacity: Double
    private var tokens: Double
    private var updated: Duration

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - tokensPerSecond: How many tokens come in; an invalid rate counts as the least possible one.
    ///   - capacity: How many there is room for, at least one.
    ///   - now: The time, from any beginning.
    init(tokensPerSecond: Double, capacity: Int, now: Duration) {
        self.tokensPerSecond = tokensPerSecond.isNaN ? Self.least : min(max(tokensPerSecond, Self.least), Self.most)
        self.capacity = Double(max(1, capacity))
        tokens = self.capacity
        updated = now
    }

    /// One in three years; an hour's wait is already too long in practice.
    private static let least = 1e-8
    private static let most = 1e9

    /// Takes a token; returns whether there was one.
    mutating func take(now: Duration) -> Bool {
        update(now)
        guard isReady else { return false }
        tokens = max(0, tokens - 1)
        return true
    }

    /// How long it takes until there is a token.
    func wait(now: Duration) -> Duration {
        var later = self
        later.update(now)
        guard !later.isReady else { return .zero }
        // A little more, so that rounding does not make every check come too early.
        return .seconds((1 - later.tokens) / tokensPerSecond) + .nanoseconds(1)
    }

    /// Whether nothing was taken lately.
    func isFull(now: Duration) -> Bool {
        var later = self
        later.update(now)
        return later.tokens >= capacity
    }

    private var isReady: Bool { tokens >= 1 - 1e-9 }

    private mutating func update(_ now: Duration) {
        guard now > updated else { return }
        tokens = min(capacity, tokens + (now - updated) / .seconds(1) * tokensPerSecond)
        updated = now
    }
}
