import FoundationEssentials

/// Decides who may say what in an exchange with a cache before it, as a value.
///
/// `lookingUp` → `held`, when what is stored is the answer: → `ended`, when it is told, at once or when it is resumed.
/// `lookingUp` → `fetching` → `lookingUp` again when the server must be asked anew, or → `storing` when a response came
/// that may be stored, → `ended`, when the outcome is told. `cancelled` ends all of them but `fetching`, whose exchange it
/// cancels, and which ends by that.
///
/// What the inner exchange tells before it is known here waits, so that nothing that follows from it is lost.
struct CachingExchangeState {
    enum Stage {
        /// It is found out what is stored.
        case lookingUp
        /// The answer is there, and not told yet.
        case held(ExchangeOutcome)
        /// The inner exchange is under way; `nil` while it starts.
        case fetching((any Exchange)?)
        /// What came is being stored; the closure interrupts that.
        case storing((@Sendable () -> Void)?)
        case ended
    }

    /// What the inner exchange tells.
    enum Event {
        case head(HTTPResponse)
        case outcome(ExchangeOutcome)
    }

    /// What a call from outside comes to.
    enum Action {
        case nothing
        /// Cancel the inner exchange.
        case cancel(any Exchange)
        /// Tell this, after the interruption of what is under way.
        case tell(ExchangeOutcome, interruption: (@Sendable () -> Void)?)
    }

    private(set) var stage = Stage.lookingUp
    private(set) var isSuspended: Bool
    private var isCancelled = false
    private var events: [Event] = []
    /// Whether somebody tells an event, whom others leave theirs.
    private var isTelling = false

    init(isSuspended: Bool) {
        self.isSuspended = isSuspended
    }

    var inner: (any Exchange)? { if case .fetching(let exchange) = stage { exchange } else { nil } }

    /// The answer was found; returns whether it may be told at once.
    mutating func found(_ outcome: ExchangeOutcome) -> Bool {
        guard case .lookingUp = stage else { return false }
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
        guard case .lookingUp = stage else { return nil }
        stage = .fetching(nil)
        isTelling = true
        return isSuspended
    }

    /// The inner exchange is known; returns whether it is to be cancelled.
    mutating func isFetching(_ exchange: any Exchange) -> Bool {
        guard case .fetching = stage else { return false }
        stage = .fetching(exchange)
        return isCancelled
    }

    /// The inner exchange tells something; returns whether it is to be told now, by the caller.
    mutating func received(_ event: Event) -> Bool {
        events.append(event)
        guard !isTelling else { return false }
        isTelling = true
        return true
    }

    /// What is to be told next by the one who tells.
    mutating func nextEvent() -> Event? {
        guard !events.isEmpty else {
            isTelling = false
            return nil
        }
        let event = events.removeFirst()
        // Nothing follows it, but what another exchange may tell.
        if case .outcome = event { isTelling = false }
        return event
    }

    /// The inner exchange has ended; returns whether there is an outcome to be told, rather than that nobody waits.
    mutating func ended() -> Bool {
        if case .ended = stage { return false }
        stage = .ended
        return true
    }

    /// The inner exchange has ended, and something is to be done before the outcome is told; returns whether it is.
    mutating func willStore() -> Bool {
        guard case .fetching = stage, !isCancelled else { return false }
        stage = .storing(nil)
        return true
    }

    /// What is being done can be interrupted; returns whether it is to be.
    mutating func isStoring(_ interruption: @escaping @Sendable () -> Void) -> Bool {
        guard case .storing = stage else { return isCancelled }
        stage = .storing(interruption)
        return false
    }

    /// The server has to be asked anew; returns whether that is still wanted.
    mutating func willFetchAnew() -> Bool {
        guard case .fetching = stage, !isCancelled else { return false }
        stage = .lookingUp
        return true
    }

    /// The exchange is no longer wanted, or may not go on.
    mutating func stopped(with error: RequestError) -> Action {
        switch stage {
        case .ended: return .nothing
        case .fetching(let exchange):
            isCancelled = true
            return exchange.map(Action.cancel) ?? .nothing
        case .storing(let interruption):
            isCancelled = true
            stage = .ended
            return .tell(ExchangeOutcome(response: nil, error: error), interruption: interruption)
        case .lookingUp, .held:
            isCancelled = true
            stage = .ended
            return .tell(ExchangeOutcome(response: nil, error: error), interruption: nil)
        }
    }

    mutating func suspended() { isSuspended = true }

    mutating func resumed() { isSuspended = false }
}
