package import FoundationEssentials

/// Limits how many requests per second are sent to each host, or with each value of a ``RequestTag``.
///
/// The limiter is an adapter that delays a request until its turn. Each request has a key, which is the host and the
/// port of the URL by default. Each key has its own queue. Requests leave a queue in the order in which they arrived.
/// Retries also wait in the queue and count towards the limit. Redirects do not wait and do not count.
///
/// Several sessions can share one limiter. The limit then applies to their requests together.
///
/// A waiting request does not block a thread, and the wait does not count towards any timeout. The wait ends early if
/// the request is cancelled.
///
/// Add the limiter before adapters that add a token or another value that expires. The value is then added after the
/// wait, so it is fresh when the request is sent.
public final class RateLimiter: RequestInterceptor {
    private struct LimiterState {
        var state: RateLimiterState
        var lastID = 0
        var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
        /// The hosts that a task checks periodically.
        var watched: Set<String> = []
    }

    private let shared: Locked<LimiterState>
    private let requestsPerSecond: Double
    private let key: @Sendable (HTTPRequest) -> String
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async -> Void

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - requestsPerSecond: The average number of requests per second that may be sent with one key. If this is not
    ///     more than 0, the limiter refuses each request, which would never be sent.
    ///   - burst: The number of requests that may be sent without a delay after an idle period; 1 by default.
    ///   - key: A closure that returns the key of a request, for example the value of a tag. The closure must return
    ///     quickly. By default, the key is the host and the port of the URL.
    public convenience init(
        requestsPerSecond: Double, burst: Int = 1, key: (@Sendable (_ request: HTTPRequest) -> String)? = nil
    ) {
        let clock = ContinuousClock()
        let start = clock.now
        self.init(
            requestsPerSecond: requestsPerSecond, burst: burst, key: key, now: { start.duration(to: clock.now) },
            sleep: { try? await clock.sleep(for: $0) })
    }

    /// Creates a limiter with a test clock.
    package init(
        requestsPerSecond: Double, burst: Int, key: (@Sendable (HTTPRequest) -> String)? = nil,
        now: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async -> Void
    ) {
        self.requestsPerSecond = requestsPerSecond
        shared = Locked(LimiterState(state: RateLimiterState(requestsPerSecond: requestsPerSecond, burst: burst)))
        self.key = key ?? { $0.hostAndPort }
        self.now = now
        self.sleep = sleep
    }

    /// Waits for the request's turn.
    ///
    /// - Parameters:
    ///   - request: The request to delay.
    ///   - state: The state of the request; the limiter does not use it.
    /// - Returns: The request, unchanged.
    /// - Throws: `CancellationError` if the task is cancelled before the request's turn, or a ``RequestError`` if the
    ///   limiter permits no requests.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        // The comparison is also false for a value that is not a number.
        guard requestsPerSecond > 0 else {
            let issue = "a rate limiter permits \(requestsPerSecond) requests per second, but needs more than 0"
            throw RequestError(.invalidRequest(.configuration(issue)))
        }
        try await turn(at: key(request))
        return request
    }

    /// Returns the number of requests to a URL's host that are waiting for their turn.
    ///
    /// - Parameter url: A URL with the host and the port to look up.
    /// - Returns: The number of waiting requests.
    package func waitingCount(for url: URL) -> Int {
        let key = key(HTTPRequest(url: url))
        return shared.withLock { $0.state.waitingCount(for: key) }
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
        // The task was cancelled. If the request's turn came first, the request is sent anyway.
        let wasRemoved = shared.withLock { shared in
            shared.waiting[id] = nil
            return shared.state.left(id, host: host)
        }
        if wasRemoved { throw CancellationError() }
    }

    /// Checks a host each time a token becomes available, as long as requests to the host are waiting.
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

/// Decides when requests may be sent to their hosts.
///
/// This is a value type without I/O and without a clock.
struct RateLimiterState: Sendable {
    /// The requests that wait for a host, in order of arrival, and the host's token bucket.
    private struct HostQueue {
        var bucket: TokenBucket
        var waiting: [Int] = []
    }

    /// The decision about a request that has arrived.
    enum Arrival: Hashable {
        /// The request may be sent now.
        case go
        /// The request waits. The task of an earlier request already watches the host.
        case wait
        /// The request is the first to wait. The host must be checked after this duration.
        case waitAndWatch(Duration)
    }

    private let requestsPerSecond: Double
    private let burst: Int
    private var lanes: [String: HostQueue] = [:]

    /// The number of known hosts above which idle hosts are removed.
    private static let manyLanes = 1000

    init(requestsPerSecond: Double, burst: Int) {
        self.requestsPerSecond = requestsPerSecond
        self.burst = burst
    }

    /// The number of requests that are waiting for a host.
    func waitingCount(for host: String) -> Int { lanes[host]?.waiting.count ?? 0 }

    /// The number of known hosts.
    var hostCount: Int { lanes.count }

    /// Records that a request is ready to be sent.
    mutating func arrived(_ id: Int, at host: String, now: Duration) -> Arrival {
        if lanes[host] == nil, lanes.count >= Self.manyLanes { forgetIdleHosts(now) }
        var lane =
            lanes[host]
            ?? HostQueue(bucket: TokenBucket(tokensPerSecond: requestsPerSecond, capacity: burst, now: now))
        defer { lanes[host] = lane }
        // A new request never overtakes waiting requests.
        guard lane.waiting.isEmpty else {
            lane.waiting.append(id)
            return .wait
        }
        guard !lane.bucket.take(now: now) else { return .go }
        lane.waiting.append(id)
        return .waitAndWatch(lane.bucket.wait(now: now))
    }

    /// Removes a waiting request; returns whether it was waiting.
    mutating func left(_ id: Int, host: String) -> Bool {
        guard let index = lanes[host]?.waiting.firstIndex(of: id) else { return false }
        lanes[host]?.waiting.remove(at: index)
        return true
    }

    /// Returns the requests that may be sent now, and the time until the next check if other requests are still
    /// waiting.
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

/// A token bucket.
///
/// Tokens arrive at a steady rate, and each request takes one token.
struct TokenBucket: Hashable, Sendable {
    private let tokensPerSecond: Double
    private let capacity: Double
    private var tokens: Double
    private var updated: Duration

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - tokensPerSecond: The rate at which tokens arrive, limited to a range from 1e-8 to 1e9. NaN counts as 1e-8.
    ///   - capacity: The maximum number of tokens, at least 1.
    ///   - now: The current time, measured from any fixed point.
    init(tokensPerSecond: Double, capacity: Int, now: Duration) {
        self.tokensPerSecond = tokensPerSecond.isNaN ? Self.least : min(max(tokensPerSecond, Self.least), Self.most)
        self.capacity = Double(max(1, capacity))
        tokens = self.capacity
        updated = now
    }

    /// The minimum rate: one token in about three years.
    ///
    /// In practice, this rate is a pause without end.
    private static let least = 1e-8
    private static let most = 1e9

    /// Takes a token; returns whether a token was available.
    mutating func take(now: Duration) -> Bool {
        update(now)
        guard isReady else { return false }
        tokens = max(0, tokens - 1)
        return true
    }

    /// The time until a token is available.
    func wait(now: Duration) -> Duration {
        var later = self
        later.update(now)
        guard !later.isReady else { return .zero }
        // The extra nanosecond prevents checks that come too early because of rounding.
        return .seconds((1 - later.tokens) / tokensPerSecond) + .nanoseconds(1)
    }

    /// Whether the bucket contains the maximum number of tokens.
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
