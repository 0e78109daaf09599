import FoundationEssentials

/// Decides how an exchange with a cache reacts to events.
///
/// This is a value type without I/O and without a clock.
///
/// An exchange has one of two sequences of stages:
///
/// - with a stored response: `working` (the lookup), `held` (the response waits for its delivery), `ended`;
/// - with the server: `working` (the lookup), `fetching`, `working` (storing the response or preparing another
///   request), `ended`.
///
/// A cancellation ends every stage immediately, except `fetching`. In this stage, the cancellation cancels the inner
/// exchange. The stage ends when the inner exchange ends.
///
/// Events of the inner exchange wait until the inner exchange is recorded, because their handling may need it.
struct CachingExchangeState {
    enum Stage {
        /// The stored response is being looked up, or the received response is being stored; the closure interrupts the
        /// work.
        case working((@Sendable () -> Void)?)
        /// The outcome is available, but has not been delivered.
        case held(ExchangeOutcome)
        /// The inner exchange is running. The value is `nil` until the inner exchange is recorded.
        case fetching((any Exchange)?)
        case ended
    }

    /// An event of the inner exchange.
    enum Event {
        case head(HTTPResponse)
        case outcome(ExchangeOutcome)
    }

    /// The reaction to a cancellation.
    enum Action {
        case nothing
        /// Cancel the inner exchange.
        case cancel(any Exchange)
        /// Deliver the outcome, after interrupting the current work.
        case complete(ExchangeOutcome, interruption: (@Sendable () -> Void)?)
    }

    private(set) var stage = Stage.working(nil)
    /// Whether an available outcome must wait.
    var isSuspended: Bool
    private var isCancelled = false
    private var events: [Event] = []
    /// Whether a thread is handling events; other threads only append their events.
    private var isHandlingEvents = false

    init(isSuspended: Bool) {
        self.isSuspended = isSuspended
    }

    var inner: (any Exchange)? { if case .fetching(let exchange) = stage { exchange } else { nil } }

    /// Records the outcome; returns whether it may be delivered immediately.
    mutating func found(_ outcome: ExchangeOutcome) -> Bool {
        guard case .working = stage else { return false }
        stage = .held(outcome)
        return !isSuspended
    }

    /// Returns the outcome to deliver; `nil` if the exchange is suspended or has no outcome to deliver.
    mutating func delivering() -> ExchangeOutcome? {
        guard case .held(let outcome) = stage, !isSuspended else { return nil }
        stage = .ended
        return outcome
    }

    /// Starts the fetch; returns whether the inner exchange starts suspended, or `nil` if it must not start.
    mutating func willFetch() -> Bool? {
        guard case .working = stage else { return nil }
        stage = .fetching(nil)
        isHandlingEvents = true
        return isSuspended
    }

    /// Records the inner exchange; returns whether to cancel it.
    mutating func exchangeStarted(_ exchange: any Exchange) -> Bool {
        guard case .fetching = stage else { return false }
        stage = .fetching(exchange)
        return isCancelled
    }

    /// Adds an event of the inner exchange; returns whether the caller must handle the events.
    mutating func received(_ event: Event) -> Bool {
        events.append(event)
        guard !isHandlingEvents else { return false }
        isHandlingEvents = true
        return true
    }

    /// Returns the next event; `nil` if there are no more events, which ends the handling.
    mutating func nextEvent() -> Event? {
        guard !events.isEmpty else {
            isHandlingEvents = false
            return nil
        }
        let event = events.removeFirst()
        // The outcome is the last event of an exchange; further events can only come from another exchange.
        if case .outcome = event { isHandlingEvents = false }
        return event
    }

    /// Ends the exchange; returns whether to deliver its outcome, which is `false` if the exchange had already ended.
    mutating func ended() -> Bool {
        if case .ended = stage { return false }
        stage = .ended
        return true
    }

    /// Begins work before the outcome is delivered; returns whether to do the work.
    mutating func willWork() -> Bool {
        guard case .fetching = stage, !isCancelled else { return false }
        stage = .working(nil)
        return true
    }

    /// Records how to interrupt the current work; returns whether to interrupt it immediately.
    mutating func workBegan(endedBy interruption: @escaping @Sendable () -> Void) -> Bool {
        guard case .working = stage else { return isCancelled }
        stage = .working(interruption)
        return false
    }

    /// Stops the exchange after a cancellation or a shutdown of the transport.
    mutating func stopped(with error: RequestError) -> Action {
        isCancelled = true
        var interruption: (@Sendable () -> Void)?
        switch stage {
        case .ended: return .nothing
        case .fetching(let exchange): return exchange.map(Action.cancel) ?? .nothing
        case .working(let closure): interruption = closure
        case .held: break
        }
        stage = .ended
        return .complete(ExchangeOutcome(response: nil, error: error), interruption: interruption)
    }
}
