package import FoundationEssentials

/// Retries requests after temporary failures, with a growing delay.
///
/// The policy retries a failed request if all of these conditions hold:
/// - The request has been retried fewer than `retryLimit` times. Retries by other retriers count too.
/// - The request's method is one of `retryableHTTPMethods`. By default, these are the idempotent methods: sending such
///   a request twice has the same effect as sending it once (RFC 9110 §9.2.2).
/// - The request's body can be sent again (``RequestBody/isReplayable``).
/// - The status code of the response is one of `retryableHTTPStatusCodes`, or the error is one of
///   `retryableErrorKinds`.
/// - The delay in the response's `Retry-After` field, if there is one, is at most `maximumRetryAfter`.
/// - The `budget`, if there is one, allows the retry.
///
/// If the request was redirected, the conditions for the method and the body apply to every redirected request as well.
///
/// The delay before the first retry is `exponentialBackoffScale` seconds. Each further retry multiplies the delay by
/// `exponentialBackoffBase`, up to `maximumDelay`. With ``Jitter/full``, the actual delay is a random duration between
/// zero and the computed delay. A `Retry-After` field can make the delay longer, but never shorter.
///
/// A status code alone is not a failure. Without `validate()`, a 503 response is delivered like any other response, and
/// no retrier is called. The policy does not retry a ``DataStreamRequest`` after its response head has been accepted,
/// because a reader of the stream would receive the first bytes twice.
///
/// Some requests are sent again on another connection even without this policy: requests that the server has not
/// processed (RFC 9113 §8.7), and idempotent requests whose connection has ended without a response. The article
/// <doc:Uploading> lists the cases. These repetitions do not count as retries. If the server refuses the request each
/// time, the policy does not retry it. ``RequestError/isSafeToRetry`` tells your own retrier that the server has not
/// processed a request, which may then be retried whatever its method.
///
/// If a request fails because its whole HTTP/2 connection has failed, the policy retries the request at most once.
///
/// Without a network, all retries soon fail. To wait for the network, put an `OfflineRetrier` of the module
/// BluebonnetReachability before the policy.
public struct RetryPolicy: RequestInterceptor {
    /// The default retry limit: 2.
    public static let defaultRetryLimit: UInt = 2

    /// The default base of the exponential backoff: 2.
    public static let defaultExponentialBackoffBase: UInt = 2

    /// The default of ``exponentialBackoffScale``: 0.5.
    ///
    /// The delay before the first retry is then 0.5 seconds before the jitter is applied.
    public static let defaultExponentialBackoffScale = 0.5

    /// The default maximum of the computed delay: 30 seconds.
    public static let defaultMaximumDelay: Duration = .seconds(30)

    /// The default maximum of the delay in a `Retry-After` field: 60 seconds.
    public static let defaultMaximumRetryAfter: Duration = .seconds(60)

    /// The common methods that are idempotent: DELETE, GET, HEAD, OPTIONS, PUT and TRACE.
    public static let defaultRetryableHTTPMethods: Set<HTTPMethod> = [.delete, .get, .head, .options, .put, .trace]

    /// The status codes of failures that may be temporary: 408, 429, 500, 502, 503 and 504.
    public static let defaultRetryableHTTPStatusCodes: Set<Int> = [408, 429, 500, 502, 503, 504]

    /// The kinds of errors that may be temporary.
    ///
    /// These are failed name lookups, failed or lost connections, failed TLS handshakes, the timeouts `connect`, `idle`
    /// and `total`, and incomplete, malformed or undecodable responses. Certificates that have expired or are not yet
    /// valid are also included, because the system clock may not be set yet.
    public static let defaultRetryableErrorKinds: Set<RequestError.Kind> = [
        .connection(.nameNotResolved), .connection(.proxyNameNotResolved), .connection(.refused), .connection(.lost),
        .connection(.http2), .connection(.http3), .connection(.failed),
        .timedOut(.connect), .timedOut(.idle), .timedOut(.total),
        .trust(.handshake), .trust(.certificateExpired),
        .invalidResponse(.malformed), .invalidResponse(.truncated), .invalidResponse(.undecodableContent),
        .invalidResponse(.http2Stream), .invalidResponse(.http3Stream),
    ]

    /// The maximum number of retries of a request, including retries by other retriers.
    public let retryLimit: UInt

    /// The factor by which the delay grows from retry to retry.
    ///
    /// With 1, the delay stays constant. 0 is treated as 1.
    public let exponentialBackoffBase: UInt

    /// The computed delay before the first retry, in seconds.
    ///
    /// With ``Jitter/full``, the policy waits for a random part of this delay. A negative value is treated as 0.
    public let exponentialBackoffScale: Double

    /// The methods of requests that may be retried.
    public let retryableHTTPMethods: Set<HTTPMethod>

    /// The status codes that lead to a retry if the request fails.
    public let retryableHTTPStatusCodes: Set<Int>

    /// The kinds of errors that lead to a retry.
    package let retryableErrorKinds: Set<RequestError.Kind>

    /// The random part of the delay.
    package let jitter: Jitter

    /// The maximum delay that the policy computes.
    package let maximumDelay: Duration

    /// The maximum delay in a `Retry-After` field (RFC 9110 §10.2.3).
    ///
    /// If the server requests a longer delay, the policy does not retry the request. A retry before the end of the
    /// delay would ignore the server's wish. A retry after the delay would come later than most callers wait.
    package let maximumRetryAfter: Duration

    /// The limit on the retries of all requests together; `nil` for no limit.
    package let budget: RetryBudget?

    /// Returns a number from 0 up to, but not including, 1; tests replace it.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// Returns the time with which dates in `Retry-After` are compared; tests replace it.
    package var now: @Sendable () -> Date = { Date() }

    /// The part of a delay that is random.
    public enum Jitter: Hashable, Sendable {
        /// A random delay between zero and the computed delay.
        ///
        /// Clients that fail at the same time then do not retry at the same time.
        case full
        /// The computed delay, without a random part.
        case none
    }

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: The maximum number of retries of a request; 2 by default.
    ///   - exponentialBackoffBase: The factor by which the delay grows from retry to retry; 2 by default.
    ///   - exponentialBackoffScale: The computed delay before the first retry, in seconds; 0.5 by default. With the
    ///     jitter `.full`, the policy waits for a random part of this delay.
    ///   - retryableHTTPMethods: The methods of requests that may be retried; the idempotent methods by default.
    ///   - retryableHTTPStatusCodes: The status codes that lead to a retry if the request fails; 408, 429, 500, 502,
    ///     503 and 504 by default.
    ///   - retryableErrorKinds: The kinds of errors that lead to a retry; ``defaultRetryableErrorKinds`` by default.
    ///   - jitter: The random part of the delay; `.full` by default.
    ///   - maximumDelay: The maximum of the computed delay; 30 seconds by default.
    ///   - maximumRetryAfter: The maximum delay in a `Retry-After` field; 60 seconds by default.
    ///   - budget: The limit on the retries of all requests together; `nil`, the default, for no limit.
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

    /// Returns the request unchanged.
    ///
    /// If the policy has a ``RetryBudget``, the method adds to the budget before the first attempt of the request.
    ///
    /// - Parameters:
    ///   - request: The request that is about to be sent.
    ///   - state: The state of the request, such as its retry count.
    /// - Returns: The request, unchanged.
    /// - Throws: Nothing.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        if state.retryCount == 0 { budget?.deposit(for: request) }
        return request
    }

    /// Decides whether to retry the request, and after which delay.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - session: The session of the request.
    ///   - error: The error of the request.
    /// - Returns: `.retry`, `.retryWithDelay` or `.doNotRetry`.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        let delay = delay(after: RetryCase(request, error), now: now(), random: random())
        guard let delay, withdraws(for: request) else { return .doNotRetry }
        return delay > .zero ? .retryWithDelay(delay) : .retry
    }

    /// Takes a retry from the budget, if there is one; returns whether the request may be retried.
    private func withdraws(for request: any Request) -> Bool {
        guard let budget, let first = request.requests.first else { return true }
        return budget.withdraw(for: first)
    }

    /// Returns whether the policy would retry the request.
    ///
    /// The method does not check the ``RetryBudget``.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - error: The error of the request.
    /// - Returns: Whether the policy would retry the request.
    public func shouldRetry(request: any Request, dueTo error: any Error) -> Bool {
        delay(after: RetryCase(request, error), now: now(), random: 0) != nil
    }
}

extension RequestRetrier where Self == RetryPolicy {
    /// A policy with the default settings.
    public static var retryPolicy: RetryPolicy { RetryPolicy() }

    /// Creates a policy from the settings that are changed most often; all other settings have their default values.
    ///
    /// - Parameters:
    ///   - retryLimit: The maximum number of retries of a request; 2 by default.
    ///   - retryableHTTPMethods: The methods of requests that may be retried; the idempotent methods by default.
    ///   - jitter: The random part of the delay; `.full` by default.
    ///   - maximumDelay: The maximum of the computed delay; 30 seconds by default.
    /// - Returns: A policy with these settings.
    public static func retryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        jitter: RetryPolicy.Jitter = .full, maximumDelay: Duration = RetryPolicy.defaultMaximumDelay
    ) -> RetryPolicy {
        RetryPolicy(
            retryLimit: retryLimit, retryableHTTPMethods: retryableHTTPMethods, jitter: jitter,
            maximumDelay: maximumDelay)
    }
}

/// Retries only requests that fail because their connection is lost.
///
/// A connection is lost if it is closed or reset before the response is complete. With HTTP/3, the policy also retries
/// a request whose connection cannot be made, because the error is `.connection(.http3)` in both cases. The policy does
/// not retry requests because of the status code of the response. All other rules of ``RetryPolicy`` apply.
public struct ConnectionLostRetryPolicy: RequestInterceptor {
    /// The policy that makes the decisions.
    package let policy: RetryPolicy

    /// The kinds of errors that lead to a retry.
    @usableFromInline package static let retryableErrorKinds: Set<RequestError.Kind> = [
        .connection(.lost), .connection(.http2), .connection(.http3), .invalidResponse(.truncated),
    ]

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: The maximum number of retries of a request; 2 by default.
    ///   - exponentialBackoffBase: The factor by which the delay grows from retry to retry; 2 by default.
    ///   - exponentialBackoffScale: The computed delay before the first retry, in seconds; 0.5 by default. With the
    ///     jitter `.full`, the policy waits for a random part of this delay.
    ///   - retryableHTTPMethods: The methods of requests that may be retried; the idempotent methods by default.
    ///   - jitter: The random part of the delay; `.full` by default.
    ///   - maximumDelay: The maximum of the computed delay; 30 seconds by default.
    ///   - budget: The limit on the retries of all requests together; `nil`, the default, for no limit.
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

    /// Returns the request unchanged.
    ///
    /// If the policy has a ``RetryBudget``, the method adds to the budget before the first attempt of the request.
    ///
    /// - Parameters:
    ///   - request: The request that is about to be sent.
    ///   - state: The state of the request, such as its retry count.
    /// - Returns: The request, unchanged.
    /// - Throws: Nothing.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        try await policy.adapt(request, using: state)
    }

    /// Decides whether to retry the request, and after which delay.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - session: The session of the request.
    ///   - error: The error of the request.
    /// - Returns: `.retry`, `.retryWithDelay` or `.doNotRetry`.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await policy.retry(request, for: session, dueTo: error)
    }
}

extension RequestRetrier where Self == ConnectionLostRetryPolicy {
    /// A policy for lost connections with the default settings.
    public static var connectionLostRetryPolicy: ConnectionLostRetryPolicy { ConnectionLostRetryPolicy() }
}

/// A limit on the retries of many requests together, so that retries do not overload a failing server.
///
/// The budget is a number of retries, which begins at 10 by default. The first attempt of each request adds a fraction
/// to the number, 0.1 by default. Each retry subtracts 1. If the number is less than 1, the policy does not retry
/// requests.
///
/// For example, assume that a server fails every request. Without a budget, the default retry limit of 2 triples the
/// number of requests that the server receives. With the default budget, the server receives at most 10% more requests
/// after the first 10 retries.
///
/// All copies of a policy share its budget, and several policies can share one budget. A policy adds to the budget only
/// if it is used as an adapter and a retrier. For this, pass the policy to ``Session``'s `interceptor:` or to
/// ``Request/interceptor(_:)``. A policy that is used only as a retrier takes from the budget and never adds to it.
///
/// A budget can have a separate number for each key, for example for each host or for each value of a tag. Then a
/// failing server does not use up the retries of the other servers.
public final class RetryBudget: Sendable {
    private let full: RetryBudgetState
    private let key: @Sendable (HTTPRequest) -> String
    private let states = Locked<[String: RetryBudgetState]>([:])

    /// Creates a full budget.
    ///
    /// - Parameters:
    ///   - ratio: The fraction of a retry that the first attempt of each request adds, from 0 to 1; 0.1 by default.
    ///   - reserve: The initial number of retries, which is also the maximum; 10 by default. With 0, the maximum is 1.
    ///   - key: Returns the key of a request; by default, all requests have the same key. The closure must return
    ///     quickly. The budget keeps the numbers of at most 1,000 keys, and a further key replaces an arbitrary one of
    ///     them.
    public init(
        ratio: Double = 0.1, reserve: UInt = 10,
        key: @escaping @Sendable (_ request: HTTPRequest) -> String = { _ in "" }
    ) {
        full = RetryBudgetState(ratio: ratio, reserve: reserve)
        self.key = key
    }

    /// Creates a full budget for each host and port.
    ///
    /// - Parameters:
    ///   - ratio: The fraction of a retry that the first attempt of each request adds, from 0 to 1; 0.1 by default.
    ///   - reserve: The initial number of retries for each host; 10 by default.
    /// - Returns: The budget.
    public static func perHost(ratio: Double = 0.1, reserve: UInt = 10) -> RetryBudget {
        RetryBudget(ratio: ratio, reserve: reserve) { $0.hostAndPort }
    }

    /// The number of keys with a number of their own.
    var keyCount: Int { states.withLock { $0.count } }

    /// The number of retries that are available for a request now.
    package func balance(for request: HTTPRequest) -> Int { change(request) { $0.balance } }

    /// Adds a fraction of a retry; a ``RetryPolicy`` calls this method before the first attempt of each request.
    package func deposit(for request: HTTPRequest) { change(request) { $0.requestBegan() } }

    /// Takes one retry from the budget.
    ///
    /// - Returns: Whether a retry was available.
    package func withdraw(for request: HTTPRequest) -> Bool { change(request) { $0.retryWanted() } }

    private func change<Result>(_ request: HTTPRequest, _ use: (inout RetryBudgetState) -> Result) -> Result {
        let key = key(request)
        return states.withLock { states in
            if states[key] == nil, states.count >= 1000, let other = states.keys.first { states[other] = nil }
            return use(&states[key, default: full])
        }
    }
}

/// The state of a budget, which counts in thousandths of a retry.
///
/// This is a value type without I/O and without a clock.
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

    /// The number of retries that are available now.
    var balance: Int { saved / Self.unit }

    /// Adds a fraction of a retry, for the first attempt of a request.
    mutating func requestBegan() {
        // A single retry can be saved even if the reserve is 0.
        saved = min(saved + depositPerRequest, max(reserve, Self.unit))
    }

    /// Takes one retry; returns whether a retry was available.
    mutating func retryWanted() -> Bool {
        guard saved >= Self.unit else { return false }
        saved -= Self.unit
        return true
    }
}
