import FoundationEssentials

/// The state machine of a request, without I/O and without a clock.
///
/// The state consists of the phase, the state that the user requested, and the record of the attempts. A lock of the
/// request protects the machine. Each method reports an event, and returns the action that the caller must perform
/// after the lock is released. The methods call no user code. They return replaced values to the caller, because
/// releasing these values may run user code.
///
///     idle ─► beginning ─► preparing ─► exchanging ─► deciding ─► serializing ─► settled
///      │          │            ▲ └────────────────────▲ │ │            │            ▲
///      │          │            └────── retry ───────────┼─┴────────────┤            │
///      │          │                 exchanging ◄─────────┘ redirect    │            │
///      │          └─► exchanging (nothing to prepare)                  └────────────┤
///      └─ cancelled, or refused by the session ─────────────────────────────────────┘
///
/// From `preparing` to `serializing`, one task runs the request as its driver; see ``AttemptLoop``. The type of the
/// value that resumes the driver is generic, so that tests need no tasks.
struct RequestMachine<Waiter: Sendable> {
    /// The phase of the request.
    enum Phase {
        /// The request was not started.
        case idle
        /// The request was started and is being registered with its session.
        case beginning
        /// The driver creates the request of the next attempt.
        case preparing
        /// The request was passed or will be passed to the transport.
        ///
        /// The phase ends when the driver receives the outcome.
        case exchanging(RunningExchange)
        /// The driver handles the outcome.
        case deciding
        /// The driver runs the serializers.
        case serializing
        /// The outcome was delivered, or is being delivered.
        case settled
    }

    /// The state of the task that runs the request.
    enum Driver {
        case none
        /// A task for the driver is being created.
        case called
        case running
        /// The driver waits for the next event of the exchange.
        case waiting(Waiter)
        /// The driver awaits user code, and this closure ends the wait.
        case asking(@Sendable () -> Void)
    }

    /// The state that the user requested, in any phase.
    enum RequestedState {
        case resumed
        case suspended
        case cancelled
    }

    /// The action that the caller of an event must perform.
    enum Action {
        case nothing
        /// Register the request with its session, and report the result.
        ///
        /// If the session refuses the request, call ``registrationRefused(_:)``. If the request can be created at once,
        /// send it, and call ``sent(_:isRedirect:now:)``. Otherwise, call ``registered()``.
        case begin(hasInterceptors: Bool, hasAdditions: Bool)
        /// Create a task that runs the request, unless another task already runs it.
        case callDriver
        /// Resume the driver.
        case wake(Waiter, ExchangeEvent)
        /// Suspend or resume the exchange.
        case alignExchange
        /// End the running exchange and the running user code.
        indirect case interrupt((any Exchange)?, (@Sendable () -> Void)?)
        /// Deliver the outcome of a request that was not started.
        indirect case settle(PendingCompletions)
        /// Run the serializer on the existing outcome.
        case serializeOutcome
    }

    private(set) var phase = Phase.idle
    private(set) var driver = Driver.none
    private(set) var requestedState = RequestedState.resumed
    /// The settings that chained calls made.
    private(set) var setup = RequestSetup()
    /// The attempts and the progress so far.
    private(set) var record = RequestHistory()
    private var creationError: RequestError?
    /// The serializers that have not been run, in the order in which they were attached.
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

    /// Whether the request is registered with its session and has not finished.
    var isUnderWay: Bool {
        switch phase {
        case .idle, .beginning, .settled: false
        case .preparing, .exchanging, .deciding, .serializing: true
        }
    }

    /// The running exchange.
    var exchange: (any Exchange)? { if case .exchanging(let exchanging) = phase { exchanging.exchange } else { nil } }

    // MARK: The user

    /// A chained call changes a setting, and may return the replaced value.
    mutating func configured<Result>(_ change: (inout RequestSetup) -> Result) -> Result { change(&setup) }

    /// `resume()` was called.
    mutating func resumed() -> Action {
        guard !isSettled, !isCancelled else { return .nothing }
        if isIdle { return begins() }
        guard requestedState == .suspended else { return .nothing }
        requestedState = .resumed
        return .alignExchange
    }

    /// `suspend()` was called.
    ///
    /// If the request was not started, it then waits for `resume()`.
    mutating func suspended() -> Action {
        guard !isSettled, requestedState == .resumed else { return .nothing }
        requestedState = .suspended
        return isIdle ? .nothing : .alignExchange
    }

    /// `cancel()` was called, or another event cancels the request.
    mutating func cancelled() -> Action {
        guard !isSettled, !isCancelled else { return .nothing }
        requestedState = .cancelled
        // The code that starts the request or its exchange checks whether the request was cancelled.
        return isIdle ? settles(with: RequestError(.cancelled)) : .interrupt(exchange, answered())
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
        return .begin(hasInterceptors: !setup.interceptors.isEmpty, hasAdditions: !setup.additions.isEmpty)
    }

    // MARK: The session

    /// The session has registered the request, which has to be prepared before it is sent.
    ///
    /// If the request could not be created, the driver takes the error.
    mutating func registered(failure: RequestError? = nil) -> Action {
        guard case .beginning = phase else { preconditionFailure("a request was registered while \(phase)") }
        phase = .preparing
        driver = .called
        creationError = failure
        return .callDriver
    }

    /// Returns the error of a request that could not be created before there was a driver.
    mutating func takeCreationError() -> RequestError? { creationError.take() }

    /// The session does not accept the request, for example because it was shut down.
    mutating func registrationRefused(_ error: RequestError) -> Action {
        guard case .beginning = phase else { preconditionFailure("a request was refused while \(phase)") }
        return settles(with: error)
    }

    /// A request that was not started must end, for example because the session is being shut down.
    mutating func refused(_ error: RequestError) -> Action { isIdle ? settles(with: error) : .nothing }

    /// Ends a request that was not started.
    private mutating func settles(with error: RequestError) -> Action {
        let attempt = CompletedAttempt(request: nil, outcome: nil, error: error.during(nil, attempts: 0), attempts: 0)
        return .settle(settlement(attempt))
    }

    // MARK: The transport

    /// The transport has returned the exchange, which may have ended.
    ///
    /// The method also returns the requested state.
    mutating func exchangeReturned(_ exchange: any Exchange) -> (Action, RequestedState) {
        guard case .exchanging(let exchanging) = phase, exchanging.isStarting else {
            preconditionFailure("an exchange was returned while \(phase)")
        }
        exchanging.handle = exchanging.outcome == nil ? .underWay(exchange) : .ended
        return (wakes(), requestedState)
    }

    /// The head has arrived, and the body is not received yet.
    mutating func headReceived(_ response: HTTPResponse) -> Action {
        guard case .exchanging(let exchanging) = phase, exchanging.outcome == nil else { return .nothing }
        exchanging.head = .head(response)
        return wakes()
    }

    /// The exchange has ended.
    ///
    /// The method returns the exchange and its body, which the caller must end.
    mutating func outcomeReceived(_ outcome: ExchangeOutcome) -> (Action, exchange: (any Exchange)?, body: BodyFanOut?)
    {
        guard case .exchanging(let exchanging) = phase, exchanging.outcome == nil else { return (.nothing, nil, nil) }
        let (exchange, body) = (exchanging.exchange, exchanging.fileBody.take())
        if exchange != nil { exchanging.handle = .ended }
        exchanging.outcome = outcome
        return (wakes(), exchange, body)
    }

    /// The request was cancelled before it was passed to the transport.
    mutating func notSent() -> Action {
        guard case .exchanging(let exchanging) = phase, exchanging.isStarting else {
            preconditionFailure("a request was not sent while \(phase)")
        }
        exchanging.handle = .ended
        exchanging.outcome = ExchangeOutcome(response: nil, error: RequestError(.cancelled))
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

    // MARK: The record

    /// Something has happened that does not change the phase, such as progress.
    mutating func recorded<Result>(_ change: (inout RequestHistory) -> Result) -> Result { change(&record) }

    /// A task waits for an accepted head; the method returns whether it has to wait.
    mutating func headAwaited(by continuation: Resumption<Void>, as id: Int) -> Bool {
        guard record.response == nil, !isSettled else { return false }
        record.waits(continuation, as: id)
        return true
    }

    // MARK: The driver

    /// The current attempt, as its driver sees it.
    var attempt: AttemptContext {
        AttemptContext(
            request: record.requests.last, attempts: record.attempts, isCancelled: isCancelled, setup: setup)
    }

    struct AttemptContext {
        /// The latest request that was sent.
        let request: HTTPRequest?
        let attempts: Int
        let isCancelled: Bool
        let setup: RequestSetup
    }

    /// The first step of a driver.
    enum DriverStart {
        /// Create the request.
        case prepare
        /// Wait for the running exchange.
        case await
    }

    /// A task offers to run the request.
    ///
    /// The method returns the first step of the task, or `nil` if the task is not needed.
    mutating func claimed() -> DriverStart? {
        switch driver {
        case .none, .called: break
        case .running, .waiting, .asking: return nil
        }
        let start: DriverStart
        switch phase {
        case .preparing: start = .prepare
        case .exchanging: start = .await
        case .idle, .beginning, .deciding, .serializing, .settled: return nil
        }
        driver = .running
        return start
    }

    /// Whether the driver is running, so that it can report an event.
    private var isDriving: Bool { if case .running = driver { true } else { false } }

    /// The driver is about to await user code.
    ///
    /// The method stores the closure that ends the wait, or returns `false` if the request was cancelled.
    mutating func asked(_ interruption: @escaping @Sendable () -> Void) -> Bool {
        guard isDriving else { preconditionFailure("the user's code was asked while \(driver)") }
        guard requestedState != .cancelled else { return false }
        driver = .asking(interruption)
        return true
    }

    /// The user code has returned.
    ///
    /// The method returns the closure that would have ended the wait.
    mutating func answered() -> (@Sendable () -> Void)? {
        guard case .asking(let interruption) = driver else { return nil }
        driver = .running
        return interruption
    }

    /// The request of an attempt could not be created.
    mutating func preparationFailed() {
        guard isDriving, case .preparing = phase else {
            preconditionFailure("a request could not be made while \(phase), \(driver)")
        }
        phase = .deciding
        record.notCreated()
    }

    /// The adapters of an attempt are about to run, if there are any.
    mutating func adapting(_ request: HTTPRequest, hasAdapters: Bool) -> AttemptContext {
        guard isDriving, case .preparing = phase else {
            preconditionFailure("a request was adapted while \(phase), \(driver)")
        }
        if hasAdapters || !setup.interceptors.isEmpty { record.willAdapt(request) }
        return attempt
    }

    /// A request is about to be passed to the transport.
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

    /// The values that the sender needs.
    struct SendContext {
        let requestedState: RequestedState
        let hasHeadHandlers: Bool
        let attempt: Int
        let cachedResponseHandler: (any CachedResponseHandler)?
        let requests: Broadcast<HTTPRequest>?
    }

    /// The driver waits for the next event of the exchange.
    mutating func awaited(by waiter: Waiter) -> Action {
        guard isDriving, case .exchanging(let exchanging) = phase else {
            preconditionFailure("an exchange was awaited while \(phase), \(driver)")
        }
        if let event = takeEvent(exchanging) { return .wake(waiter, event) }
        driver = .waiting(waiter)
        return .nothing
    }

    /// The head of a response was accepted.
    ///
    /// The method returns the exchange if it has not ended, and the tasks that wait for the head. The end of the
    /// exchange also ends `fileBody`.
    mutating func accepted(_ response: HTTPResponse, fileBody: BodyFanOut?) -> ((any Exchange)?, [Resumption<Void>]) {
        record.accepted(response)
        if case .exchanging(let exchanging) = phase, case .underWay = exchanging.handle {
            exchanging.fileBody = fileBody
        }
        return (exchange, record.takeHeadWaiters())
    }

    /// An attempt has ended, and its result is about to be validated.
    ///
    /// A complete body in memory ends the progress of the download. The method returns the sequence to update.
    mutating func attemptEnded(_ bodyProgress: TransferProgress?) -> Broadcast<TransferProgress>? {
        guard isDriving, case .deciding = phase else {
            preconditionFailure("an attempt ended while \(phase), \(driver)")
        }
        return bodyProgress.flatMap { record.bodyCompleted($0) }
    }

    /// Another attempt begins.
    ///
    /// The method returns the result of the last attempt, or `nil` if the request was cancelled. A download that is
    /// resumed keeps its progress.
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

    /// Serializers have to be run again, together with serializers that were attached in the meantime.
    mutating func reattached(_ served: inout TinyArray<SerializationSlot>) {
        served.append(contentsOf: slots.takeAll())
        slots = served.takeAll()
    }

    /// The driver begins to run serializers, and receives the serializers that have not been run.
    mutating func serializationBegan() -> TinyArray<SerializationSlot> {
        switch phase {
        case .deciding where isDriving, .serializing where isDriving: phase = .serializing
        case .idle, .beginning, .preparing, .exchanging, .deciding, .serializing, .settled:
            preconditionFailure("serialized while \(phase), \(driver)")
        }
        return slots.takeAll()
    }

    /// All serializers have been run, so the outcome is final unless more serializers were attached.
    ///
    /// If the request was cancelled before, it ends as cancelled, and its values are not delivered.
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

    /// The outcome of a request and its receivers.
    struct PendingCompletions {
        let attempt: CompletedAttempt
        /// The serializers that were not run.
        let slots: TinyArray<SerializationSlot>
        let headWaiters: [Resumption<Void>]
        let sequences: RequestSequences
        let replaced: DiscardedAttempt
    }

    /// The replaced result of an attempt, which must be released after the lock.
    struct DiscardedAttempt {
        let attempt: CompletedAttempt?
    }
}

/// A running exchange, with the events that the driver has not received.
///
/// It is a class because copies of its content would be expensive. It is not nested in the generic machine, because
/// copies of the handle would then require a lookup of the type at run time.
final class RunningExchange {
    fileprivate(set) var handle = Handle.starting
    fileprivate var head: ExchangeEvent?
    fileprivate var outcome: ExchangeOutcome?
    /// The body that is written to a file.
    fileprivate var fileBody: BodyFanOut?

    enum Handle {
        /// The transport has not returned the exchange, so it cannot be controlled.
        case starting
        case underWay(any Exchange)
        case ended
    }

    var isStarting: Bool { if case .starting = handle { true } else { false } }

    var exchange: (any Exchange)? { if case .underWay(let exchange) = handle { exchange } else { nil } }

    /// Returns the next event for the driver, or `nil` if there is none or the transport has not returned the exchange.
    fileprivate func takeEvent() -> ExchangeEvent? {
        guard !isStarting else { return nil }
        return head.take() ?? outcome.take().map(ExchangeEvent.outcome)
    }
}
