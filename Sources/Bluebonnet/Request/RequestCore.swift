import FoundationEssentials
import Synchronization

/// What all kinds of request share: the lifecycle, what was attached, and what became of it.
///
/// Opaque outside Bluebonnet. Everything here may be called from any thread. The state is a mailbox behind one lock; the
/// effects of what is put into it are carried out after the lock is released, and the attempt loop
/// (`RequestCore+AttemptLoop.swift`) is the only one to answer a request that has begun.
public final class RequestCore: Sendable {
    /// Numbers the requests of the process in the order of their creation.
    let id: RequestID
    let context: SessionContext
    /// Makes the request anew for every attempt.
    let convertible: any HTTPRequestConvertible
    /// Whether making the request runs code of the user's, or opens something, which may take its time.
    private let runsUserCode: Bool
    /// Where the bodies of the responses go.
    let sink: ResponseSink
    let mailbox = Locked(RequestMailbox())
    private let monitored = LazyReference<RequestEvents>()
    private let creationEpoch: Int
    /// Whether the request may still need its session's transport.
    private let needsTransport = Atomic<Bool>(true)

    init(
        convertible: any HTTPRequestConvertible, runsUserCode: Bool? = nil, context: SessionContext,
        sink: ResponseSink = .memory, interceptor: (any RequestInterceptor)? = nil
    ) {
        if let interceptor { mailbox.withLock { $0.interceptors = [interceptor] } }
        self.convertible = convertible
        self.runsUserCode = runsUserCode ?? convertible.runsUserCode
        self.context = context
        self.sink = sink
        if let dispatcher = context.events { _ = monitored.storeIfNil(RequestEvents(dispatcher)) }
        id = RequestID.next()
        creationEpoch = context.cancellationEpoch
        context.retained()
    }

    deinit {
        // Nobody can start a request any more that is gone; who watches it learns that here.
        finishSequences()
        releaseTransport()
    }

    /// Tells the monitors what happens; `nil` if there are none.
    var events: RequestEvents? { monitored.load() }

    /// Has a monitor told, beside the session's, what happens to the request from now on.
    func add(_ monitor: any RequestEventHandler, for request: any Request) {
        let events = monitored.load() ?? monitored.storeIfNil(RequestEvents(nil))
        events.adopt(request)
        events.add(monitor)
        // Should it end between these, that was told to all there were, and nothing is kept.
        if mailbox.withLock({ $0.isRegistered && !$0.lifecycle.isSettled }) { events.begin(request) }
    }

    /// The request as it would be made now, if it can be.
    var validRequest: HTTPRequest? {
        guard let request = try? convertible.asHTTPRequest(), (try? request.validate()) != nil else { return nil }
        return request
    }

    // MARK: Control

    /// Starts the request, or lets it go on.
    func resume(_ request: any Request) {
        perform(changed { $0.lifecycle.resumed() }, for: request)
    }

    func suspend() {
        perform(changed { $0.lifecycle.suspended() }, for: nil)
    }

    func cancel() {
        perform(changed { $0.lifecycle.cancelled() }, for: nil)
    }

    /// Ends a request that waits for its start when the session goes.
    func refuse() {
        perform(mailbox.withLock { $0.lifecycle.refused() }, error: RequestError(.sessionShutDown), for: nil)
    }

    /// Someone reads the body as it comes, which starts the request if that is how the session works.
    func observe(_ request: any Request) {
        perform(
            changed { $0.lifecycle.serializerAttached(startsImmediately: context.startsRequestsImmediately) },
            for: request)
    }

    /// Attaches a serializer, and starts the request if that is how the session works.
    func attach(_ slot: SerializationSlot, startsImmediately: Bool, for request: any Request) {
        let action = changed { mailbox in
            let action = mailbox.lifecycle.serializerAttached(startsImmediately: startsImmediately)
            if action != .serializeOutcome { mailbox.slots.append(slot) }
            return action
        }
        action == .serializeOutcome ? serializeOutcomeInTask(into: slot) : perform(action, for: request)
    }

    @inline(never)
    private func serializeOutcomeInTask(into slot: SerializationSlot) {
        Task { await serializeOutcome(into: slot) }
    }

    var state: RequestState {
        // A request that the session's `cancelAllRequests()` could not know of, since it had not begun.
        let isStale = creationEpoch != context.cancellationEpoch
        return mailbox.withLock { mailbox in
            let state = mailbox.lifecycle.state
            return isStale && state == .initialized ? .cancelled : state
        }
    }

    /// Someone awaits the request; if it has not begun, its session has to know of it, or nobody would answer.
    func awaitedUnbegun(_ request: any Request) {
        guard mailbox.withLock({ !$0.lifecycle.hasBegun && !$0.lifecycle.isSettled }) else { return }
        if creationEpoch != context.cancellationEpoch { return cancel() }
        if !context.register(request) { return refuse() }
        // It may have been answered, or the session cancelled, since the first look.
        if mailbox.withLock({ $0.lifecycle.isSettled }) { return context.remove(id) }
        if creationEpoch != context.cancellationEpoch { cancel() }
    }

    /// Carries out what the lifecycle decided; the request is needed where it may begin.
    private func perform(_ action: RequestLifecycle.Action, error: RequestError? = nil, for request: (any Request)?) {
        switch action {
        case .nothing, .serializeOutcome: break
        case .begin: if let request { begin(request) }
        case .alignExchange: alignExchange()
        case .interrupt: interrupt()
        case .settle: settleUnbegun(with: error ?? RequestError(.cancelled))
        }
    }

    /// Makes the first attempt's exchange, or has a task do it when code of the user's takes part.
    private func begin(_ request: any Request) {
        events?.begin(request)
        guard context.register(request) else {
            return exchangeDidComplete(ExchangeOutcome(response: nil, error: RequestError(.sessionShutDown)))
        }
        // After it is registered: either this sees that all were cancelled, or those who cancel see the request.
        if creationEpoch != context.cancellationEpoch { cancel() }
        // Not by whoever starts the request where code of the user's takes part, or a file.
        let startsOffCaller = runsUserCode || !context.adapters.isEmpty
        let start = mailbox.withLock { mailbox -> Start in
            mailbox.isRegistered = true
            guard sink.needsPreparation || startsOffCaller || !mailbox.interceptors.isEmpty else { return .plain }
            mailbox.needsStart = true
            return sink.needsPreparation ? .driven : .queued
        }
        switch start {
        case .plain: startPlainExchange()
        case .queued: context.startQueue.add(self)
        case .driven: if claimDriving() { driveInTask() }
        }
    }

    /// Who starts the first exchange.
    private enum Start {
        /// Whoever starts the request.
        case plain
        /// The driver, if there soon is one, or else a task: it has to be made ready first.
        case queued
        /// The driver.
        case driven
    }

    /// Ends the exchange or the user's code that is being awaited.
    func interrupt() {
        let (exchange, interruption) = mailbox.withLock { ($0.exchange, $0.interruption.take()) }
        exchange?.cancel()
        interruption?()
    }

    /// Tells the exchange whether the request is suspended, until it was told the newest.
    ///
    /// Two threads may be here at once; whoever told the exchange something older than the newest tells it again.
    func alignExchange() {
        while true {
            let (exchange, wish) = mailbox.withLock { ($0.exchange, $0.lifecycle.state) }
            guard let exchange, wish == .resumed || wish == .suspended else { return }
            if wish == .suspended { exchange.suspend() } else { exchange.resume() }
            if mailbox.withLock({ $0.lifecycle.state }) == wish { return }
        }
    }

    private func settleUnbegun(with error: RequestError) {
        let error = error.during(mailbox.withLock { $0.requests.last }, attempts: 0)
        let (slots, _) = mailbox.withLock { mailbox in
            (mailbox.takeSlots(), exchange(&mailbox.error, with: error))
        }
        let outcome = CompletedAttempt(request: nil, outcome: nil, error: error, attempts: 0)
        for slot in slots { slot.fail(outcome, error) }
        tellEnd(of: slots)
        for slot in slots { slot.deliver(isOnPool: false) }
        finishSequences()
        answerHeadWaiters()
        sink.finish(with: error)
        ended()
    }

    /// Takes the request out of its session's books.
    func ended() {
        context.remove(id)
        releaseTransport()
    }

    private func releaseTransport() {
        if needsTransport.exchange(false, ordering: .acquiringAndReleasing) { context.released() }
    }
}
