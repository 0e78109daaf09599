import FoundationEssentials

/// Decides what each event means for an exchange with a cache before it, as a value.
///
/// `working` (looks up the stored response) → `held` (that is the answer) → `ended` (the answer is delivered, at once
/// or when the exchange is resumed). `working` → `fetching` → `working` (stores the response, or must ask the server
/// again) → `ended` (the outcome is delivered). A cancellation ends every stage at once except `fetching`: it cancels
/// the inner exchange, whose end ends that stage.
///
/// Events of the inner exchange wait until that exchange is known here, since they may need it.
struct CachingExchangeState {
    enum Stage {
        /// What is stored is looked up, or what came is being stored; the closure interrupts that.
        case working((@Sendable () -> Void)?)
        /// The answer is there, and not told yet.
        case held(ExchangeOutcome)
        /// The inner exchange is under way; `nil` while it starts.
        case fetching((any Exchange)?)
        case ended
    }

    /// An event of the inner exchange.
    enum Event {
        case head(HTTPResponse)
        case outcome(ExchangeOutcome)
    }

    /// What to do about a cancellation.
    enum Action {
        case nothing
        /// Cancel the inner exchange.
        case cancel(any Exchange)
        /// Tell this, after the interruption of what is under way.
        case complete(ExchangeOutcome, interruption: (@Sendable () -> Void)?)
    }

    private(set) var stage = Stage.working(nil)
    /// Whether an answer that is there must wait.
    var isSuspended: Bool
    private var isCancelled = false
    private var events: [Event] = []
    /// Whether a thread is handling events; others only append theirs.
    private var isHandlingEvents = false

    init(isSuspended: Bool) {
        self.isSuspended = isSuspended
    }

    var inner: (any Exchange)? { if case .fetching(let exchange) = stage { exchange } else { nil } }

    /// The answer was found; returns whether it may be delivered at once.
    mutating func found(_ outcome: ExchangeOutcome) -> Bool {
        guard case .working = stage else { return false }
        stage = .held(outcome)
        return !isSuspended
    }

    /// The time has come to tell the answer; returns it, if that is still so.
    mutating func delivering() -> ExchangeOutcome? {
        guard case .held(let outcome) = stage, !isSuspended else { return nil }
        stage = .ended
        return outcome
    }

    /// The server is asked; returns whether that is still wanted, and whether the exchange begins suspended.
    mutating func willFetch() -> Bool? {
        guard case .working = stage else { return nil }
        stage = .fetching(nil)
        isHandlingEvents = true
        return isSuspended
    }

    /// The inner exchange is known; returns whether it is to be cancelled.
    mutating func exchangeStarted(_ exchange: any Exchange) -> Bool {
        guard case .fetching = stage else { return false }
        stage = .fetching(exchange)
        return isCancelled
    }

    /// An event of the inner exchange came; returns whether the caller is to handle the events.
    mutating func received(_ event: Event) -> Bool {
        events.append(event)
        guard !isHandlingEvents else { return false }
        isHandlingEvents = true
        return true
    }

    /// The next event to handle; `nil` when there is none, which ends the handling.
    mutating func nextEvent() -> Event? {
        guard !events.isEmpty else {
            isHandlingEvents = false
            return nil
        }
        let event = events.removeFirst()
        // Only another exchange can have more.
        if case .outcome = event { isHandlingEvents = false }
        return event
    }

    /// The inner exchange has ended; returns whether to deliver its outcome, which is no longer awaited after the end.
    mutating func ended() -> Bool {
        if case .ended = stage { return false }
        stage = .ended
        return true
    }

    /// The inner exchange has ended, and work precedes the outcome; returns whether to do that work.
    mutating func willWork() -> Bool {
        guard case .fetching = stage, !isCancelled else { return false }
        stage = .working(nil)
        return true
    }

    /// What is being done can be interrupted; returns whether it is to be.
    mutating func workBegan(endedBy interruption: @escaping @Sendable () -> Void) -> Bool {
        guard case .working = stage else { return isCancelled }
        stage = .working(interruption)
        return false
    }

    /// The exchange is no longer wanted, or may not go on.
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
