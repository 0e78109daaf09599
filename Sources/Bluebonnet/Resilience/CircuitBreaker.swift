/// A transport that stops sending requests to a server that fails.
///
/// The breaker wraps another transport. It counts the failures of the requests, separately for each key. The key is the
/// host and the port of the URL by default. Each key has a circuit, which is in one of three states:
///
/// - Closed: All requests are sent. After enough failures (``Policy/trip``), the circuit opens.
/// - Open: All requests fail immediately with `.circuitOpen(retryAfter:)`. Nothing is sent.
/// - Half-open: After ``Policy/openDuration``, a few requests are sent as probes, and all others fail immediately.
///   If all probes succeed, the circuit closes. If a probe fails, the circuit opens again. If the probes do not end
///   within ``Policy/openDuration``, other requests are sent as probes.
///
/// ```swift
/// let session = Session(transport: CircuitBreaker(CurlTransport()))
/// ```
///
/// A session looks in its cache before it uses the breaker, so a stored response is used even if the circuit is open.
/// The outcome of a request counts only if the circuit has not changed its state since the request was sent. If the
/// head of a response is delivered before the body, for example for a stream, the head alone decides whether the
/// request has succeeded.
///
/// By default, a ``RetryPolicy`` does not retry requests that the breaker refuses.
public final class CircuitBreaker: WrappingTransport {
    /// The rules of a circuit breaker.
    public struct Policy: Sendable {
        /// The failures that open a circuit; 5 failures in a row by default.
        public var trip: Trip = .consecutiveFailures(5)
        /// The time until an open circuit sends its first probe; 30 seconds by default.
        public var openDuration: Duration = .seconds(30)
        /// The number of probes that must succeed, which is also the maximum number of probes that run at the same
        /// time; 1 by default.
        public var probes = 1
        /// The maximum number of keys; 1,000 by default.
        ///
        /// A further key replaces the least recently used key.
        public var maximumKeys = 1000
        /// A closure that returns the key of a request, for example the value of a tag; the host and the port of the
        /// URL by default.
        ///
        /// The closure runs when the request is passed to the transport. It must return quickly.
        public var key: @Sendable (_ request: HTTPRequest) -> String = { $0.hostAndPort }
        /// A closure that returns the verdict on the server after an exchange; ``Verdict/init(on:)`` by default.
        ///
        /// The closure runs on a thread that the transport chooses. It must return quickly and must not block.
        public var verdict: @Sendable (_ outcome: ExchangeOutcome) -> Verdict = { Verdict(on: $0) }
        /// Returns the time; tests replace it.
        package var now: @Sendable () -> Duration = { .nanoseconds(MonotonicClock.now()) }

        /// Creates the default rules.
        public init() {}
    }

    /// The failures that open a circuit.
    @nonexhaustive
    public enum Trip: Hashable, Sendable {
        /// This number of failures, without a success between them.
        case consecutiveFailures(Int)
        /// This fraction of failed requests, from 0 to 1, among the requests that ended in the last `window`.
        ///
        /// There must be at least `minimumRequests` requests. The window moves in steps of a tenth of its length.
        case failureRate(Double, window: Duration, minimumRequests: Int)
    }

    /// A verdict on the server after an exchange.
    public enum Verdict: Hashable, Sendable {
        /// The server works.
        case success
        /// The server does not work.
        case failure
        /// The outcome does not depend on the server, for example because the request was cancelled.
        case ignored

        /// Creates the usual verdict on an outcome.
        ///
        /// A failure is a status code from 500 to 599, a failed or lost connection, a truncated response, or an
        /// exceeded time limit. There is one exception: if ``Timeouts/queue`` or ``Timeouts/pool`` is exceeded, the
        /// outcome is ignored. Every other outcome with a response is a success. Every other outcome without a response
        /// is ignored.
        ///
        /// - Parameter outcome: The outcome of an exchange.
        public init(on outcome: ExchangeOutcome) {
            let isServerError = outcome.response.map { 500...599 ~= $0.statusCode } ?? false
            self =
                switch outcome.error?.kind {
                case .timedOut(.queue), .timedOut(.pool): .ignored
                case .connection, .timedOut, .invalidResponse(.truncated): .failure
                case _ where isServerError: .failure
                default: outcome.response == nil ? .ignored : .success
                }
        }
    }

    /// The wrapped transport.
    public let inner: any Transport

    private let policy: Policy
    private let table: Locked<BreakerTable>

    /// Creates a breaker in which all circuits are closed.
    ///
    /// - Parameters:
    ///   - inner: The transport that sends the requests.
    ///   - policy: The rules of the breaker; the default rules by default.
    public init(_ inner: any Transport, policy: Policy = Policy()) {
        self.inner = inner
        self.policy = policy
        table = Locked(BreakerTable(policy: policy))
    }

    /// Starts an exchange, or refuses the request.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - options: The options for this exchange only.
    ///   - observer: The observer. If the request is refused, it receives the error on the global executor.
    /// - Returns: The handle of the exchange.
    public func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange {
        let (key, now) = (policy.key(request), policy.now())
        do throws(RequestError) {
            let phase = try table.withLock { table throws(RequestError) in try table.requestArrived(key, now: now) }
            let isCounted = Locked(false)
            let counting = FilteringObserver(observer) { [self] event in
                let outcome: ExchangeOutcome? =
                    switch event {
                    case .head(let response): ExchangeOutcome(response: response)
                    case .outcome(let outcome): outcome
                    case .sentBytes, .informational, .receivedBytes: nil
                    }
                guard let outcome, !isCounted.withLock({ exchange(&$0, with: true) }) else { return true }
                let (verdict, end) = (policy.verdict(outcome), policy.now())
                table.withLock { $0.requestEnded(key, phase: phase, verdict, now: end) }
                return true
            }
            return inner.start(request, options: options, observer: counting)
        } catch {
            Task { observer.exchangeDidComplete(ExchangeOutcome(response: nil, error: error)) }
            return RefusedExchange()
        }
    }
}

/// An exchange that has failed already.
private struct RefusedExchange: Exchange {
    func cancel() {}
    func suspend() {}
    func resume() {}
    func receiveBody(with receiver: (any BodyReceiver)?) {}
    func receiveMore() {}
}
