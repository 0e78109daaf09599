public import FoundationEssentials

/// Lets no more requests go to a host than so many in a second.
///
/// As an adapter it holds a request back until it is its turn, first come first served for each host and port. Each
/// attempt counts, so that retries are limited, too; redirects do not. Waiting takes no thread, is not part of any time
/// limit, and ends when the request is cancelled.
///
/// It goes last of the adapters, so that what others add to a request, such as a token, is not old when it is sent. One
/// limiter may be shared by several sessions.
public final class RateLimiter: RequestInterceptor {
    private struct Mailbox {
        var state: RateLimiterState
        var lastID = 0
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
        /// The hosts for which somebody looks from time to time.
        var watched: Set<String> = []
    }

    private let mailbox: Locked<Mailbox>
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
        mailbox = Locked(Mailbox(state: RateLimiterState(requestsPerSecond: requestsPerSecond, burst: burst)))
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
    public func waitingCount(for url: URL) -> Int {
        mailbox.withLock { $0.state.waitingCount(for: Self.host(of: url)) }
    }

    private static func host(of url: URL) -> String {
        "\(url.host?.lowercased() ?? "")\(url.port.map { ":\($0)" } ?? "")"
    }

    private func turn(at host: String) async throws {
        try Task.checkCancellation()
        let id = mailbox.withLock { mailbox in
            mailbox.lastID += 1
            return mailbox.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                arrived(id, at: host, continuation)
            }
        } onCancel: {
            let continuation = mailbox.withLock { mailbox in
                mailbox.state.left(id, host: host) ? mailbox.waiting.removeValue(forKey: id) : nil
            }
            continuation?.resume(throwing: CancellationError())
        }
    }

    private func arrived(_ id: Int, at host: String, _ continuation: CheckedContinuation<Void, any Error>) {
        let now = now()
        let (answer, delay) = mailbox.withLock { mailbox -> (Result<Void, any Error>?, Duration?) in
            // Whoever cancels later than this finds the continuation.
            guard !Task.isCancelled else { return (.failure(CancellationError()), nil) }
            let arrival = mailbox.state.arrived(id, at: host, now: now)
            guard arrival != .go else { return (.success(()), nil) }
            mailbox.waiting[id] = continuation
            guard case .waitAndWatch(let delay) = arrival, mailbox.watched.insert(host).inserted else {
                return (nil, nil)
            }
            return (nil, delay)
        }
        if let answer { continuation.resume(with: answer) }
        if let delay { watch(host, after: delay) }
    }

    /// Looks at a host whenever a token comes in, for as long as anybody waits for it.
    private func watch(_ host: String, after delay: Duration) {
        Task { [self] in
            var delay = delay
            while true {
                await sleep(delay)
                let now = now()
                let (continuations, next) = mailbox.withLock { mailbox in
                    let (released, next) = mailbox.state.timePassed(at: host, now: now)
                    if next == nil { mailbox.watched.remove(host) }
                    return (released.compactMap { mailbox.waiting.removeValue(forKey: $0) }, next)
                }
                for continuation in continuations { continuation.resume() }
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
    public static func rateLimiter(requestsPerSecond: Double, burst: Int = 1) -> RateLimiter {
        RateLimiter(requestsPerSecond: requestsPerSecond, burst: burst)
    }
}
