/// A transport that sends a request again if the response takes long, and uses the first response.
///
/// The transport wraps another transport. If a request has received no part of a response after the delay, the
/// transport sends the same request again. As soon as one try has received a head or a part of the body, the transport
/// cancels the other tries. The observer receives one head, one body and one outcome. If a try fails while another try
/// is running, the transport waits for the other try.
///
/// ```swift
/// let hedging = HedgingTransport(CurlTransport(), policy: .init(delay: .milliseconds(200)))
/// let session = Session(transport: hedging)
/// ```
///
/// The transport sends a request again only if its method is idempotent (RFC 9110 §9.2.2) and its body, if there is
/// one, is in memory. It sends all other requests once. A budget limits the additional load.
///
/// The cache belongs to the session and not to the transport, so the cache stores at most one response. Cookies of a
/// response that is not used may be stored. The progress of an upload is reported only after a try has received a part
/// of a response. A suspended request is not sent again. A request that starts suspended is sent once. If the body is
/// collected in memory, the head alone does not count as a response. The time in the queue of
/// ``Session/Configuration/requestLimits`` is part of the delay.
public final class HedgingTransport: WrappingTransport {
    /// The rules of a hedging transport.
    public struct Policy: Sendable {
        /// The time without a response after which a request is sent again, and the time between further tries.
        ///
        /// A good delay is the time in which 95% of the responses arrive.
        public var delay: Duration
        /// The maximum number of additional tries of one request; 1 by default.
        public var extraTries = 1
        /// The number of additional tries that each request adds to its budget; 0.1 by default.
        ///
        /// With 0.1, ten requests pay for one additional try. The server receives at most 10% more requests, in
        /// addition to the ``reserve``.
        public var budgetRatio = 0.1
        /// The initial number of additional tries in each budget, which is also the maximum; 10 by default.
        public var reserve: UInt = 10
        /// Returns the key of a request, which selects the budget; the host and the port of the URL by default.
        ///
        /// There are at most 1,000 budgets. The closure runs when the request is passed to the transport. It must
        /// return quickly.
        public var key: @Sendable (_ request: HTTPRequest) -> String = { $0.hostAndPort }
        /// Waits for the delay, and throws if its task is cancelled; tests replace it.
        package var sleep: @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }

        /// Creates rules with one additional try.
        ///
        /// - Parameter delay: The time without a response after which a request is sent again.
        public init(delay: Duration) {
            self.delay = delay
        }
    }

    /// The wrapped transport.
    public let inner: any Transport

    private let policy: Policy
    private let budget: RetryBudget

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - inner: The transport that sends the requests.
    ///   - policy: The rules for additional tries.
    public init(_ inner: any Transport, policy: Policy) {
        self.inner = inner
        self.policy = policy
        budget = RetryBudget(ratio: policy.budgetRatio, reserve: policy.reserve, key: policy.key)
    }

    /// Starts an exchange; see ``Transport/start(_:options:observer:)``.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - options: The options for this exchange only.
    ///   - observer: The observer, which receives the events of one try.
    /// - Returns: The handle of the exchange, which controls all of its tries.
    public func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange {
        guard policy.extraTries > 0, request.method.isIdempotent, options.upgrade == nil,
            !request.hasBody || request.body?.data != nil
        else {
            return inner.start(request, options: options, observer: observer)
        }
        budget.deposit(for: request)
        let exchange = HedgedExchange(observer, isSuspended: options.startsSuspended) { [inner] observer in
            // A try starts suspended, so that no head arrives before its handle is recorded.
            var options = options
            options.startsSuspended = true
            return inner.start(request, options: options, observer: observer)
        }
        exchange.startTry()
        exchange.keep(
            Task { [self] in
                for _ in 1...policy.extraTries {
                    guard (try? await policy.sleep(policy.delay)) != nil, exchange.mayStart,
                        budget.withdraw(for: request)
                    else { return }
                    exchange.startTry()
                }
            })
        return exchange
    }
}

/// An exchange with several tries, of which one answers.
private final class HedgedExchange: Exchange {
    private let observer: any ExchangeObserver
    private let start: @Sendable (any ExchangeObserver) -> any Exchange
    private let state: Locked<HedgeState<any Exchange>>
    /// The receiver of a body that was requested before a try has won.
    private let early = Locked<EarlyReceiver?>(nil)

    private struct EarlyReceiver: Sendable {
        let receiver: (any BodyReceiver)?
    }
    /// The task that starts additional tries; `nil` after a try has answered.
    private let timer = Locked<Task<Void, Never>?>(nil)

    init(
        _ observer: any ExchangeObserver, isSuspended: Bool,
        start: @escaping @Sendable (any ExchangeObserver) -> any Exchange
    ) {
        self.observer = observer
        self.start = start
        state = Locked(HedgeState(isSuspended: isSuspended))
    }

    var mayStart: Bool { state.withLock { $0.mayStart } }

    /// Starts a try, unless the exchange no longer needs it.
    func startTry() {
        guard let number = state.withLock({ $0.willStart() }) else { return }
        let handle = start(FilteringObserver(observer) { [self] in forwards($0, of: number) })
        guard state.withLock({ $0.started(number, handle) }) else { return handle.cancel() }
        align()
        requestBody()
    }

    /// Passes an early receiver to the winner, if there is one.
    private func requestBody() {
        guard let winner = state.withLock({ $0.winner }), let body = early.withLock({ $0.take() }) else { return }
        winner.receiveBody(with: body.receiver)
    }

    /// Keeps the task that starts additional tries, until a try has answered.
    func keep(_ task: Task<Void, Never>) {
        timer.withLock { $0 = task }
        if !mayStart { stopTimer() }
    }

    private func stopTimer() { timer.withLock { $0.take() }?.cancel() }

    /// Applies an event of a try, and cancels the tries that have lost; returns whether the event is forwarded.
    private func forwards(_ event: ExchangeObserverEvent, of number: Int) -> Bool {
        // The handles of the earlier state are released outside the lock.
        let (losers, _) = state.withLock { state in
            let earlier = state
            return (state.received(event, from: number), earlier)
        }
        guard let losers else { return false }
        stopTimer()
        for loser in losers { loser.cancel() }
        requestBody()
        return true
    }

    // MARK: Exchange

    /// Suspends or resumes the tries until they match the state of the exchange.
    private func align() {
        while true {
            let (handles, isSuspended) = state.withLock { ($0.handles, $0.isSuspended) }
            for handle in handles { isSuspended ? handle.suspend() : handle.resume() }
            if state.withLock({ $0.isSuspended }) == isSuspended { return }
        }
    }

    func suspend() {
        state.withLock { $0.isSuspended = true }
        align()
    }

    func resume() {
        state.withLock { $0.isSuspended = false }
        align()
    }

    func cancel() {
        let handles = state.withLock { $0.cancelled() }
        stopTimer()
        for handle in handles { handle.cancel() }
    }

    func receiveBody(with receiver: (any BodyReceiver)?) {
        _ = early.withLock { exchange(&$0, with: EarlyReceiver(receiver: receiver)) }
        requestBody()
    }

    func receiveMore() { state.withLock({ $0.winner })?.receiveMore() }
}
