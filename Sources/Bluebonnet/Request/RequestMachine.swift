import FoundationEssentials

/// The state of a request as a value: its phase, the state that the user requested, and the record of its attempts.
///
/// A request has one, behind its lock. Each event is a method; it returns the action to carry out when the lock is released.
/// No method calls anything, and none releases what may be the user's: what an event replaces is returned.
///
///     idle ─► beginning ─► preparing ─► exchanging ─► deciding ─► serializing ─► settled
///      │          │            ▲ └────────────────────▲ │ │            │            ▲
///      │          │            └────── retry ───────────┼─┴────────────┤            │
///      │          │                 exchanging ◄─────────┘ redirect    │            │
///      │          └─► exchanging (nothing to prepare)                  └────────────┤
///      └─ cancelled, or refused by the session ─────────────────────────────────────┘
///
/// From `preparing` to `serializing` one task, the driver, moves the request on; see ``AttemptLoop``. Generic over what
/// resumes it, so that a test needs no tasks.
struct RequestMachine<Waiter: Sendable> {
    /// How far the request is.
    enum Phase {
        /// It was not started.
        case idle
        /// It was started, and is being registered with its session.
        case beginning
        /// The driver makes the request of the next attempt.
        case preparing
        /// The transport was asked, or is being asked, until the driver takes the outcome.
        case exchanging(RunningExchange)
        /// The driver decides what follows from the outcome.
        case deciding
        /// The driver serves the serializers.
        case serializing
        /// Everyone was answered, or is being answered.
        case settled
    }

    /// The driver of the request.
    enum Driver {
        case none
        /// A task is being made for it.
        case called
        case running
        /// The driver waits for the next event of the exchange.
        case waiting(Waiter)
        /// The driver awaits the user's code, which this ends.
        case asking(@Sendable () -> Void)
    }

    /// The state that the user requested, whatever the phase.
    enum RequestedState {
        case resumed
        case suspended
        case cancelled
    }

    /// The action for the reporter of an event.
    enum Action {
        case nothing
        /// Tell the session. If that refuses, report ``registrationRefused()``; if the request has to be prepared,
        /// ``registered()``; otherwise make the request, send it, and report ``sent(_:isRedirect:now:)`` or
        /// ``notSent(_:)``.
        case begin(hasInterceptors: Bool, hasCredential: Bool)
        /// Make a task that drives, unless another drives by then.
        case callDriver
        /// Resume the driver.
        case wake(Waiter, ExchangeEvent)
        /// Tell the exchange whether the request is suspended.
        case alignExchange
        /// End the exchange and the user's code, as far as there are any.
        indirect case interrupt((any Exchange)?, (@Sendable () -> Void)?)
        /// Answer everyone: nothing was under way.
        indirect case settle(PendingCompletions)
        /// Serialize the outcome that is there.
        case serializeOutcome
    }

    private(set) var phase = Phase.idle
    private(set) var driver = Driver.none
    private(set) var requestedState = RequestedState.resumed
    /// The settings that were chained.
    var setup = RequestSetup()
    /// The record of the request.
    var record = RequestHistory()
    /// Serializers that are to be served, in the order in which they were attached.
    private var slots = TinyArray<SerializationSlot>()

    /// The public state.
    var state: RequestState {
        switch (requestedState, phase) {
        case (.cancelled, _): .cancelled
        case (_, .settled): .finished
        case (.suspended, _): .suspended
        case (.resumed, .idle): .initialized
        case (.resumed, _): .resumed
        }
    }

    var isIdle: Bool { if case .idle = phase { true } else { false } }

    var isSettled: Bool { if case .settled = phase { true } else { false } }

    /// Whether the user has cancelled the request.
    var isCancelled: Bool { requestedState == .cancelled }

    /// Whether the session knows of the request, and its answer is still to come.
    var isUnderWay: Bool {
        switch phase {
        case .idle, .beginning, .settled: false
        case .preparing, .exchanging, .deciding, .serializing: true
        }
    }

    /// The exchange under way.
    var exchange: (any Exchange)? { if case .exchanging(let exchanging) = phase { exchanging.exchange } else { nil } }

    // MARK: The user

    /// `resume()` was called.
    mutating func resumed() -> Action {
        switch (phase, requestedState) {
        case (.settled, _), (_, .cancelled): return .nothing
        case (.idle, _): return begins()
        case (_, .resumed): return .nothing
        case (_, .suspended):
            requestedState = .resumed
            return .alignExchange
        }
    }

    /// `suspend()` was called.
    ///
    /// A request that was not started is not before it is resumed.
    mutating func suspended() -> Action {
        switch (phase, requestedState) {
        case (.settled, _), (_, .cancelled), (_, .suspended): return .nothing
        case (.idle, .resumed):
            requestedState = .suspended
            return .nothing
        case (_, .resumed):
            requestedState = .suspended
            return .alignExchange
        }
    }

    /// `cancel()` was called, or something else ends the request in the same way.
    mutating func cancelled() -> Action {
        switch (phase, requestedState) {
        case (.settled, _), (_, .cancelled): return .nothing
        case (.idle, _):
            requestedState = .cancelled
            return settles(with: RequestError(.cancelled))
        // The code that starts the request, or its exchange, sees that it was cancelled.
        case (_, _):
            requestedState = .cancelled
            return .interrupt(exchange, answered())
        }
    }

    /// A serializer was attached, or a stream is about to be read.
    mutating func attached(_ slot: SerializationSlot?, startsImmediately: Bool) -> Action {
        if isSettled { return .serializeOutcome }
        if let slot { slots.append(slot) }
        guard isIdle, requestedState == .resumed, startsImmediately else { return .nothing }
        return begins()
    }

    private mutating func begins() -> Action {
        requestedState = .resumed
        phase = .beginning
        return .begin(hasInterceptors: !setup.interceptors.isEmpty, hasCredential: setup.credential != nil)
    }

    // MARK: The session

    /// The session knows of the request, which has to be prepared before it is sent.
    mutating func registered() -> Action {
        guard case .beginning = phase else { preconditionFailure("a request was registered while \(phase)") }
        phase = .preparing
        driver = .called
        return .callDriver
    }

    /// The session was shut down before the request was started.
    mutating func registrationRefused() -> Action {
        guard case .beginning = phase else { preconditionFailure("a request was refused while \(phase)") }
        return settles(with: RequestError(.sessionShutDown))
    }

    /// The session is shut down: a request that waits for its start would wait indefinitely.
    mutating func refused() -> Action {
        isIdle ? settles(with: RequestError(.sessionShutDown)) : .nothing
    }

    /// Ends a request of which nothing was under way.
    private mutating func settles(with error: RequestError) -> Action {
        let attempt = CompletedAttempt(request: nil, outcome: nil, error: error.during(nil, attempts: 0), attempts: 0)
        return .settle(settlement(attempt))
    }

    // MARK: The transport

    /// The transport has returned the exchange, which may be over; returns what the user wants by now, too.
    mutating func exchangeReturned(_ exchange: any Exchange) -> (Action, RequestedState) {
        guard case .exchanging(let exchanging) = phase, exchanging.isStarting else {
            preconditionFailure("an exchange was returned while \(phase)")
        }
        exchanging.handle = exchanging.outcome == nil ? .underWay(exchange) : .ended
        return (wakes(), requestedState)
    }

    /// The head is there, and the body is held back.
    mutating func headReceived(_ response: HTTPResponse) -> Action {
        guard case .exchanging(let exchanging) = phase, exchanging.outcome == nil else { return .nothing }
        exchanging.head = .head(response)
        return wakes()
    }

    /// The exchange has ended; returns what was kept of it.
    ///
    /// The body ends at once with the exchange: the caller that finds it ended is the only one to end the body.
    mutating func outcomeReceived(_ outcome: ExchangeOutcome) -> (Action, exchange: (any Exchange)?, body: BodyFanOut?)
    {
        guard case .exchanging(let exchanging) = phase, exchanging.outcome == nil else { return (.nothing, nil, nil) }
        let (exchange, body) = (exchanging.exchange, exchanging.fileBody.take())
        if exchange != nil { exchanging.handle = .ended }
        exchanging.outcome = outcome
        return (wakes(), exchange, body)
    }

    /// The transport is not asked, after all.
    mutating func notSent(_ error: RequestError) -> Action {
        let exchanging: RunningExchange
        switch phase {
        case .beginning:
            exchanging = RunningExchange()
            phase = .exchanging(exchanging)
            record.attempts += 1
        case .exchanging(let starting) where starting.isStarting: exchanging = starting
        case .idle, .preparing, .exchanging, .deciding, .serializing, .settled:
            preconditionFailure("a request was not sent while \(phase)")
        }
        exchanging.handle = .ended
        exchanging.outcome = ExchangeOutcome(response: nil, error: error)
        return wakes()
    }

    /// Ensures that a driver receives the pending event.
    private mutating func wakes() -> Action {
        guard case .exchanging(let exchanging) = phase else { return .nothing }
        switch driver {
        case .waiting(let waiter):
            guard let event = takeEvent(exchanging) else { return .nothing }
            return .wake(waiter, event)
        case .none:
            guard !exchanging.isStarting, exchanging.head != nil || exchanging.outcome != nil else { return .nothing }
            driver = .called
            return .callDriver
        case .called, .running, .asking: return .nothing
        }
    }

    private mutating func takeEvent(_ exchanging: RunningExchange) -> ExchangeEvent? {
        guard let event = exchanging.takeEvent() else { return nil }
        if case .outcome = event { phase = .deciding }
        driver = .running
        return event
    }

    // MARK: The driver

    /// The first step of a driver.
    enum DriverStart {
        /// The request is to be made.
        case prepare
        /// The exchange is under way.
        case await
    }

    /// A task offers to drive; returns its work, if there is any.
    mutating func claimed() -> DriverStart? {
        switch driver {
        case .none, .called: break
        case .running, .waiting, .asking: return nil
        }
        switch phase {
        case .idle, .beginning, .deciding, .serializing, .settled: return nil
        case .preparing:
            driver = .running
            return .prepare
        case .exchanging:
            driver = .running
            return .await
        }
    }

    /// Whether the event is reported by the driver itself.
    private var isDriving: Bool { if case .running = driver { true } else { false } }

    /// The driver awaits the user's code; returns whether it may, and keeps what ends it.
    mutating func asked(_ interruption: @escaping @Sendable () -> Void) -> Bool {
        guard isDriving else { preconditionFailure("the user's code was asked while \(driver)") }
        guard requestedState != .cancelled else { return false }
        driver = .asking(interruption)
        return true
    }

    /// The user's code has answered; returns what would have ended it.
    mutating func answered() -> (@Sendable () -> Void)? {
        guard case .asking(let interruption) = driver else { return nil }
        driver = .running
        return interruption
    }

    /// The request of an attempt cannot be sent.
    mutating func preparationFailed() {
        guard isDriving, case .preparing = phase else {
            preconditionFailure("a request could not be made while \(phase), \(driver)")
        }
        phase = .deciding
        record.attempts += 1
    }

    /// A request is about to be handed to the transport.
    mutating func sent(_ request: HTTPRequest, isRedirect: Bool, now: Int64) -> SendContext {
        switch (phase, isRedirect) {
        case (.beginning, false): break
        case (.preparing, false) where isDriving: break
        case (.deciding, true) where isDriving: break
        default: preconditionFailure("a request was sent while \(phase), \(driver)")
        }
        phase = .exchanging(RunningExchange())
        record.sent(request, isRedirect: isRedirect, now: now)
        return SendContext(
            requestedState: requestedState, hasHeadHandlers: !setup.headHandlers.isEmpty, attempt: record.attempts,
            cachedResponseHandler: setup.cachedResponseHandler, requests: record.sequences.requests)
    }

    /// The state that the sender needs.
    struct SendContext {
        let requestedState: RequestedState
        let hasHeadHandlers: Bool
        let attempt: Int
        let cachedResponseHandler: (any CachedResponseHandler)?
        let requests: Broadcast<HTTPRequest>?
    }

    /// The driver wants to hear what happens next in the exchange.
    mutating func awaited(by waiter: Waiter) -> Action {
        guard isDriving, case .exchanging(let exchanging) = phase else {
            preconditionFailure("an exchange was awaited while \(phase), \(driver)")
        }
        if let event = takeEvent(exchanging) { return .wake(waiter, event) }
        driver = .waiting(waiter)
        return .nothing
    }

    /// A head was accepted; returns the exchange if it has not ended, which ends the body of a file otherwise.
    mutating func accepted(_ response: HTTPResponse, fileBody: BodyFanOut?) -> ((any Exchange)?, [Resumption<Void>]) {
        record.response = response
        if case .exchanging(let exchanging) = phase, case .underWay = exchanging.handle {
            exchanging.fileBody = fileBody
        }
        return (exchange, record.takeHeadWaiters())
    }

    /// The attempt is to be made again; returns `nil` if the request was cancelled, and else what the last one came to.
    ///
    /// A download that resumes where it was interrupted keeps its progress.
    mutating func retried(keepingProgress: Bool = false) -> DiscardedAttempt? {
        switch phase {
        case .deciding where isDriving, .serializing where isDriving: break
        case .idle, .beginning, .preparing, .exchanging, .deciding, .serializing, .settled:
            preconditionFailure("retried while \(phase), \(driver)")
        }
        guard requestedState != .cancelled else { return nil }
        phase = .preparing
        return DiscardedAttempt(attempt: keepingProgress ? nil : record.forgetAttempt())
    }

    /// Serializers that were served are to be served again, with those that came meanwhile.
    mutating func reattached(_ served: inout TinyArray<SerializationSlot>) {
        served.append(contentsOf: slots.takeAll())
        slots = served.takeAll()
    }

    /// The driver serves the serializers, those that it has not served so far.
    mutating func serializationBegan() -> TinyArray<SerializationSlot> {
        switch phase {
        case .deciding where isDriving, .serializing where isDriving: phase = .serializing
        case .idle, .beginning, .preparing, .exchanging, .deciding, .serializing, .settled:
            preconditionFailure("serialized while \(phase), \(driver)")
        }
        return slots.takeAll()
    }

    /// All serializers were served; makes the outcome final, unless more came meanwhile.
    ///
    /// A request that was cancelled before this point was cancelled: what its serializers made is not handed out.
    mutating func served(_ attempt: CompletedAttempt) -> PendingCompletions? {
        guard isDriving, case .serializing = phase else {
            preconditionFailure("serializers were served while \(phase), \(driver)")
        }
        guard slots.isEmpty else { return nil }
        driver = .none
        return settlement(attempt)
    }

    private mutating func settlement(_ attempt: CompletedAttempt) -> PendingCompletions {
        phase = .settled
        let final = requestedState == .cancelled ? attempt.cancelled() : attempt
        return PendingCompletions(
            attempt: final, slots: slots.takeAll(), headWaiters: record.takeHeadWaiters(),
            sequences: record.sequences, replaced: DiscardedAttempt(attempt: record.came(to: final)))
    }

    /// The receivers of the end of a request, and its outcome.
    struct PendingCompletions {
        let attempt: CompletedAttempt
        /// The serializers that were not served.
        let slots: TinyArray<SerializationSlot>
        let headWaiters: [Resumption<Void>]
        let sequences: RequestSequences
        let replaced: DiscardedAttempt
    }

    /// The replaced record of an attempt, to be released without the lock.
    struct DiscardedAttempt {
        let attempt: CompletedAttempt?
    }
}

/// An exchange, and its events that the driver has not received.
///
/// An object of the one machine that has it, since copies of what is in here would cost more than all that is decided. Not
/// within the machine, which is generic: copies of the handle would ask the runtime for its type.
final class RunningExchange {
    fileprivate(set) var handle = Handle.starting
    fileprivate var head: ExchangeEvent?
    fileprivate var outcome: ExchangeOutcome?
    /// The body, on its way to a file.
    fileprivate var fileBody: BodyFanOut?

    enum Handle {
        /// The transport has not returned the exchange, so it cannot be controlled.
        case starting
        case underWay(any Exchange)
        case ended
    }

    var isStarting: Bool { if case .starting = handle { true } else { false } }

    var exchange: (any Exchange)? { if case .underWay(let exchange) = handle { exchange } else { nil } }

    /// The driver's next event, in order; `nil` while the transport has not returned the exchange.
    fileprivate func takeEvent() -> ExchangeEvent? {
        guard !isStarting else { return nil }
        return head.take() ?? outcome.take().map(ExchangeEvent.outcome)
    }
}
