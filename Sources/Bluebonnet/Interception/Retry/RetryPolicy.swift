package import FoundationEssentials

/// Tries requests again that failed for reasons that may pass, after a delay that grows.
///
/// Asked about a failure, it retries when all of these hold:
/// - the request was tried again less often than `retryLimit`, by whomever;
/// - the method is one of `retryableHTTPMethods`, which are idempotent by default (RFC 9110 §9.2.2), so that nothing is
///   done twice that must not be, and the body can be sent a second time (``RequestBody/isReplayable``). Of a request that
///   was redirected, that goes for all the requests on its way;
/// - the status code of the response is one of `retryableHTTPStatusCodes`, or the error is one of
///   `retryableErrorKinds`;
/// - a `Retry-After` asks for no more patience than `maximumRetryAfter`;
/// - the `budget`, if there is one, allows it.
///
/// The delay is `exponentialBackoffScale` seconds times `exponentialBackoffBase` to the power of the number of retries so
/// far, at most `maximumDelay`, and with ``Jitter/full`` a random part of that. A `Retry-After` makes it longer if need
/// be, and never shorter.
///
/// A response is not a failure: without `validate()`, a 503 is the answer, and no retrier is asked. A stream whose head
/// was accepted is not retried, since its reader would get the beginning twice.
///
/// Libcurl tries some requests again by itself, on a new connection: those that were sent on a kept connection that turned
/// out to be dead, and, once, those whose HTTP/2 stream was refused (REFUSED_STREAM, RFC 9113 §8.7), which were not
/// processed. None of these counts as a retry here, and a request that was given up after that is not retried. On a kept
/// connection the two look alike, so that a body whose method is not idempotent is not sent again there. A request that
/// fails with its HTTP/2 connection, as by GOAWAY, is retried once only.
///
/// Without a network, the time that the policy waits is soon over: put an `OfflineRetrier` before it, which waits for the
/// network itself.
public struct RetryPolicy: RequestInterceptor {
    /// How often a request may be tried again unless something else is said: 2.
    @usableFromInline package static let defaultRetryLimit: UInt = 2

    /// The default base of the exponential back-off: 2.
    @usableFromInline package static let defaultExponentialBackoffBase: UInt = 2

    /// How long the first delay is at most unless something else is said, in seconds: 0.5.
    @usableFromInline package static let defaultExponentialBackoffScale = 0.5

    /// The longest delay of the policy's own making unless something else is said: 30 s.
    @usableFromInline package static let defaultMaximumDelay: Duration = .seconds(30)

    /// The longest delay that a server may ask for unless something else is said: 60 s.
    @usableFromInline package static let defaultMaximumRetryAfter: Duration = .seconds(60)

    /// The methods that are idempotent by their definition, and used: DELETE, GET, HEAD, OPTIONS, PUT, TRACE.
    public static let defaultRetryableHTTPMethods: Set<HTTPMethod> = [.delete, .get, .head, .options, .put, .trace]

    /// The status codes that may pass: 408, 429, 500, 502, 503, 504.
    public static let defaultRetryableHTTPStatusCodes: Set<Int> = [408, 429, 500, 502, 503, 504]

    /// The failures that may pass: of name lookup, connections and their HTTP, time limits, TLS handshakes, and
    /// certificates whose time has not come or is over, which a clock that is being set may cause.
    public static let defaultRetryableErrorKinds: Set<RequestError.Kind> = [
        .connection(.nameNotResolved), .connection(.proxyNameNotResolved), .connection(.refused), .connection(.lost),
        .connection(.http2), .connection(.failed),
        .timedOut(.connect), .timedOut(.idle), .timedOut(.total),
        .trust(.handshake), .trust(.certificateExpired),
        .invalidResponse(.malformed), .invalidResponse(.truncated), .invalidResponse(.undecodableContent),
        .invalidResponse(.http2Stream),
    ]

    /// How often a request may be tried again, other retriers' retries included.
    package let retryLimit: UInt

    /// The base of the exponential back-off, by which each delay is multiplied; 1 keeps it constant, and 0 counts as 1.
    package let exponentialBackoffBase: UInt

    /// How long the first delay is at most, in seconds; less than 0 counts as 0.
    package let exponentialBackoffScale: Double

    /// The methods of requests that may be sent twice.
    package let retryableHTTPMethods: Set<HTTPMethod>

    /// The status codes of responses that are retried when they fail.
    package let retryableHTTPStatusCodes: Set<Int>

    /// The failures that are retried.
    package let retryableErrorKinds: Set<RequestError.Kind>

    /// How much of the delay is left to chance.
    package let jitter: Jitter

    /// The longest delay of the policy's own making.
    package let maximumDelay: Duration

    /// The longest delay that a server may ask for with `Retry-After` (RFC 9110 §10.2.3).
    ///
    /// A request whose server wants to be left alone for longer is not retried: sooner would be against its wish, and
    /// later is more than a caller waits for.
    package let maximumRetryAfter: Duration

    /// What limits the retries of all requests together; `nil` for no such limit.
    package let budget: RetryBudget?

    /// Makes a number from 0 up to 1; for tests.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// Tells the time that dates in `Retry-After` are compared with; for tests.
    package var now: @Sendable () -> Date = { Date() }

    /// Says how much of a delay is left to chance.
    public enum Jitter: Hashable, Sendable {
        /// All of it: any delay up to the computed one, so that clients which failed together do not come back together.
        case full
        /// Nothing.
        case none
    }

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: How often a request may be tried again.
    ///   - exponentialBackoffBase: The factor by which the delay grows from retry to retry.
    ///   - exponentialBackoffScale: How long the first delay is at most, in seconds.
    ///   - retryableHTTPMethods: The methods of requests that may be sent twice.
    ///   - retryableHTTPStatusCodes: The status codes of responses that are retried when they fail.
    ///   - retryableErrorKinds: The failures that are retried.
    ///   - jitter: How much of the delay is left to chance; all of it by default.
    ///   - maximumDelay: The longest delay of the policy's own making.
    ///   - maximumRetryAfter: The longest delay that a server may ask for.
    ///   - budget: What limits the retries of all requests together; `nil`, the default, for no such limit.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableErrorKinds: Set<RequestError.Kind> = RetryPolicy.defaultRetryableErrorKinds,
        jitter: Jitter = .full, maximumDelay: Duration = RetryPolicy.defaultMaximumDelay,
        maximumRetryAfter: Duration = RetryPolicy.defaultMaximumRetryAfter, budget: RetryBudget? = nil
    ) {
        self.retryLimit = retryLimit
        self.exponentialBackoffBase = exponentialBackoffBase
        self.exponentialBackoffScale = exponentialBackoffScale
        self.retryableHTTPMethods = retryableHTTPMethods
        self.retryableHTTPStatusCodes = retryableHTTPStatusCodes
        self.retryableErrorKinds = retryableErrorKinds
        self.jitter = jitter
        self.maximumDelay = maximumDelay
        self.maximumRetryAfter = maximumRetryAfter
        self.budget = budget
    }

    /// Returns the request as it is, and tells the budget of it, if there is one.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - state: Whose request it is.
    /// - Returns: The request.
    /// - Throws: Nothing.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        if state.retryCount == 0 { budget?.deposit() }
        return request
    }

    /// Decides whether the request is tried again, and when.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: Its session.
    ///   - error: Why it failed.
    /// - Returns: `.retry` or `.retryWithDelay`, or else `.doNotRetry`.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        let delay = delay(after: RetryCase(request, error), now: now(), random: random())
        guard let delay, budget?.withdraw() ?? true else { return .doNotRetry }
        return delay > .zero ? .retryWithDelay(delay) : .retry
    }

    /// Returns whether the policy would have the request tried again, as far as that does not depend on its budget.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - error: Why it failed.
    /// - Returns: Whether it is tried again.
    public func shouldRetry(request: any Request, dueTo error: any Error) -> Bool {
        delay(after: RetryCase(request, error), now: now(), random: 0) != nil
    }
}

extension RequestRetrier where Self == RetryPolicy {
    /// A policy with the defaults.
    public static var retryPolicy: RetryPolicy { RetryPolicy() }

    /// A policy of which the most usual is said, and the rest has its default; `RetryPolicy(…)` says all of it.
    ///
    /// - Parameters:
    ///   - retryLimit: How often a request may be tried again.
    ///   - retryableHTTPMethods: The methods of requests that may be sent twice.
    ///   - jitter: How much of the delay is left to chance; all of it by default.
    ///   - maximumDelay: The longest delay of the policy's own making.
    /// - Returns: The policy.
    package static func retryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        jitter: RetryPolicy.Jitter = .full, maximumDelay: Duration = RetryPolicy.defaultMaximumDelay
    ) -> RetryPolicy {
        RetryPolicy(
            retryLimit: retryLimit, retryableHTTPMethods: retryableHTTPMethods, jitter: jitter,
            maximumDelay: maximumDelay)
    }
}

/// Tries requests again whose connection was lost, and no others.
///
/// That is, when it was closed or reset before the response was complete. Whatever the status code of a response, it is
/// not retried. The rest is as with ``RetryPolicy``.
public struct ConnectionLostRetryPolicy: RequestInterceptor {
    /// The policy that decides.
    package let policy: RetryPolicy

    /// The failures that are retried.
    @usableFromInline package static let retryableErrorKinds: Set<RequestError.Kind> = [
        .connection(.lost), .connection(.http2), .invalidResponse(.truncated),
    ]

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: How often a request may be tried again.
    ///   - exponentialBackoffBase: The factor by which the delay grows from retry to retry.
    ///   - exponentialBackoffScale: How long the first delay is at most, in seconds.
    ///   - retryableHTTPMethods: The methods of requests that may be sent twice.
    ///   - jitter: How much of the delay is left to chance; all of it by default.
    ///   - maximumDelay: The longest delay.
    ///   - budget: What limits the retries of all requests together; `nil`, the default, for no such limit.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        jitter: RetryPolicy.Jitter = .full, maximumDelay: Duration = RetryPolicy.defaultMaximumDelay,
        budget: RetryBudget? = nil
    ) {
        policy = RetryPolicy(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: [], retryableErrorKinds: Self.retryableErrorKinds, jitter: jitter,
            maximumDelay: maximumDelay, budget: budget)
    }

    /// Returns the request as it is, and tells the budget of it, if there is one.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - state: Whose request it is.
    /// - Returns: The request.
    /// - Throws: Nothing.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        try await policy.adapt(request, using: state)
    }

    /// Decides whether the request is tried again, and when.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: Its session.
    ///   - error: Why it failed.
    /// - Returns: `.retry` or `.retryWithDelay`, or else `.doNotRetry`.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await policy.retry(request, for: session, dueTo: error)
    }
}

extension RequestRetrier where Self == ConnectionLostRetryPolicy {
    /// A policy for lost connections with the defaults.
    package static var connectionLostRetryPolicy: ConnectionLostRetryPolicy { ConnectionLostRetryPolicy() }
}

/// Limits the retries of many requests together, so that a server that fails is not finished off by them.
///
/// Each request that is made for the first time earns a part of a retry, each retry costs a whole one, and when nothing
/// is left there is none. With the default ratio of 0.1, a server that fails everything sees 1.1 times the requests
/// instead of three times as many, once what had been saved up is spent.
///
/// One budget is shared by all copies of a policy, and by as many policies as are given it. A policy tells it of
/// requests as an adapter: in ``Session``'s `interceptor:`, or with ``Request/interceptor(_:)``. A policy used only as
/// a retrier spends from the budget and does not add to it.
public final class RetryBudget: Sendable {
    private let state: Locked<RetryBudgetState>

    /// Creates a budget with all that can be saved up.
    ///
    /// - Parameters:
    ///   - ratio: How many retries each request earns, from 0 to 1; 0.1 by default.
    ///   - reserve: How many retries can be saved up; 10 by default.
    public init(ratio: Double = 0.1, reserve: UInt = 10) {
        state = Locked(RetryBudgetState(ratio: ratio, reserve: reserve))
    }

    /// How many retries could be made now.
    package var balance: Int { state.withLock { $0.balance } }

    /// Earns a part of a retry; called for each request that is made for the first time.
    package func deposit() { state.withLock { $0.requestBegan() } }

    /// Takes a retry.
    ///
    /// - Returns: Whether there was one.
    package func withdraw() -> Bool { state.withLock { $0.retryWanted() } }
}

/// Counts thousandths of retries, as a value.
struct RetryBudgetState: Hashable, Sendable {
    private let depositPerRequest: Int
    private let reserve: Int
    private var saved: Int

    init(ratio: Double, reserve: UInt) {
        depositPerRequest = Int((min(max(0, ratio.isNaN ? 0 : ratio), 1) * Double(Self.unit)).rounded())
        self.reserve = Int(min(reserve, 1_000_000_000)) * Self.unit
        saved = self.reserve
    }

    private static let unit = 1000

    /// How many retries could be made now.
    var balance: Int { saved / Self.unit }

    /// A request was made for the first time.
    mutating func requestBegan() {
        // What a single retry costs can be saved up even if there is no reserve.
        saved = min(saved + depositPerRequest, max(reserve, Self.unit))
    }

    /// A request is to be tried again; returns whether it may.
    mutating func retryWanted() -> Bool {
        guard saved >= Self.unit else { return false }
        saved -= Self.unit
        return true
    }
}
