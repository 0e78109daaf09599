import FoundationEssentials

/// Decides how an exchange with a cache in front of it reacts to events, as a pure value.
///
/// There are two paths:
///
/// - `working` (looks up the stored response), `held` (a stored response is the answer), `ended` (the answer has been
///   delivered, at once or when the exchange was resumed);
/// - `working`, `fetching`, `working` (stores the response, or prepares another request), `ended` (the outcome has been
///   delivered).
///
/// A cancellation ends every stage immediately except `fetching`: it cancels the inner exchange, and the end of that
/// exchange ends the stage.
///
/// Events of the inner exchange wait until the exchange is known, because they may need it.
struct CachingExchangeState {
    enum Stage {
        /// The stored response is being looked up, or the received response is being stored; the closure interrupts the
        /// work.
        case working((@Sendable () -> Void)?)
        /// The answer is available, but has not been delivered.
        case held(ExchangeOutcome)
        /// The inner exchange is running; `nil` while it starts.
        case fetching((any Exchange)?)
        case ended
    }

    /// An event of the inner exchange.
    enum Event {
        case head(HTTPResponse)
        case outcome(ExchangeOutcome)
    }

    /// How to react to a cancellation.
    enum Action {
        case nothing
        /// Cancel the inner exchange.
        case cancel(any Exchange)
        /// Deliver the outcome, after interrupting the current work.
        case complete(ExchangeOutcome, interruption: (@Sendable () -> Void)?)
    }

    private(set) var stage = Stage.working(nil)
    /// Whether an available answer must wait.
    var isSuspended: Bool
    private var isCancelled = false
    private var events: [Event] = []
    /// Whether a thread is handling events; other threads only append theirs.
    private var isHandlingEvents = false

    init(isSuspended: Bool) {
        self.isSuspended = isSuspended
    }

    var inner: (any Exchange)? { if case .fetching(let exchange) = stage { exchange } else { nil } }

    /// Notes the answer; returns whether it may be delivered at once.
    mutating func found(_ outcome: ExchangeOutcome) -> Bool {
        guard case .working = stage else { return false }
        stage = .held(outcome)
        return !isSuspended
    }

    /// Returns the answer for delivery, unless it must wait or is no longer needed.
    mutating func delivering() -> ExchangeOutcome? {
        guard case .held(let outcome) = stage, !isSuspended else { return nil }
        stage = .ended
        return outcome
    }

    /// Starts fetching; returns whether the exchange starts suspended, or `nil` if it is no longer wanted.
    mutating func willFetch() -> Bool? {
        guard case .working = stage else { return nil }
        stage = .fetching(nil)
        isHandlingEvents = true
        return isSuspended
    }

    /// Notes the inner exchange; returns whether to cancel it.
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

    /// Returns the next event to handle; `nil` if there is none, which ends the handling.
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

    /// Ends the exchange; returns whether to deliver its outcome, which is not the case after an earlier end.
    mutating func ended() -> Bool {
        if case .ended = stage { return false }
        stage = .ended
        return true
    }

    /// Begins work that precedes the outcome of the inner exchange; returns whether to do it.
    mutating func willWork() -> Bool {
        guard case .fetching = stage, !isCancelled else { return false }
        stage = .working(nil)
        return true
    }

    /// Notes how to interrupt the current work; returns whether to interrupt it at once.
    mutating func workBegan(endedBy interruption: @escaping @Sendable () -> Void) -> Bool {
        guard case .working = stage else { return isCancelled }
        stage = .working(interruption)
        return false
    }

    /// Stops the exchange, because it is cancelled or the transport is shut down.
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
