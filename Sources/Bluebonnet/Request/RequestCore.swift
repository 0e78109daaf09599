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
    /// Where the bodies of the responses go.
    let sink: ResponseSink
    let mailbox = Locked(RequestMailbox())
    private let creationEpoch: Int
    /// Whether the request may still need its session's transport.
    private let needsTransport = Atomic<Bool>(true)

    init(
        convertible: any HTTPRequestConvertible, context: SessionContext, sink: ResponseSink = .memory,
        interceptor: (any RequestInterceptor)? = nil
    ) {
        if let interceptor { mailbox.withLock { $0.interceptors = [interceptor] } }
        self.convertible = convertible
        self.context = context
        self.sink = sink
        id = RequestID.next()
        creationEpoch = context.cancellationEpoch
        context.retained()
    }

    deinit {
        // Nobody can start a request any more that is gone; who watches it learns that here.
        finishSequences()
        releaseTransport()
    }

    /// The request as it would be made now, if it can be.
    var validRequest: HTTPRequest? {
        guard let request = try? convertible.asHTTPRequest(), (try? request.validate()) != nil else { return nil }
        return request
    }

    // MARK: Control

    /// Starts the request, or lets it go on.
    func resume(_ request: any Request) {
        perform(mailbox.withLock { $0.lifecycle.resumed() }, for: request)
    }

    func suspend() {
        perform(mailbox.withLock { $0.lifecycle.suspended() }, for: nil)
    }

    func cancel() {
        perform(mailbox.withLock { $0.lifecycle.cancelled() }, for: nil)
    }

    /// Ends a request that waits for its start when the session goes.
    func refuse() {
        perform(mailbox.withLock { $0.lifecycle.refused() }, error: RequestError(.sessionShutDown), for: nil)
    }

    /// Someone reads the body as it comes, which starts the request if that is how the session works.
    func observe(_ request: any Request) {
        perform(
            mailbox.withLock {
                $0.lifecycle.serializerAttached(startsImmediately: context.startsRequestsImmediately)
            }, for: request)
    }

    /// Attaches a serializer, and starts the request if that is how the session works.
    func attach(_ slot: SerializationSlot, startsImmediately: Bool, for request: any Request) {
        let action = mailbox.withLock { mailbox in
            let action = mailbox.lifecycle.serializerAttached(startsImmediately: startsImmediately)
            if action != .serializeOutcome { mailbox.slots.append(slot) }
            return action
        }
        guard action == .serializeOutcome else { return perform(action, for: request) }
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
        guard context.register(request) else {
            return exchangeDidComplete(ExchangeOutcome(response: nil, error: RequestError(.sessionShutDown)))
        }
        // After it is registered: either this sees that all were cancelled, or those who cancel see the request.
        if creationEpoch != context.cancellationEpoch { cancel() }
        // Not by whoever starts the request where code of the user's takes part, or a file.
        let startsOffCaller = convertible.runsUserCode || !context.adapters.isEmpty
        let start = mailbox.withLock { mailbox -> Start in
            mailbox.isRegistered = true
            if sink.needsPreparation {
                mailbox.needsStart = true
                return .driven
            }
            return startsOffCaller || !mailbox.interceptors.isEmpty ? .launched : .plain
        }
        switch start {
        case .plain: startPlainExchange()
        case .launched: launchAttempt()
        case .driven: if claimDriving() { Task { await drive() } }
        }
    }

    /// Who starts the first exchange.
    private enum Start {
        /// Whoever starts the request.
        case plain
        /// A task that makes it ready first.
        case launched
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
        let slots = mailbox.withLock { mailbox in
            mailbox.error = error
            return mailbox.takeSlots()
        }
        let outcome = CompletedAttempt(request: nil, outcome: nil, error: error, attempts: 0)
        for slot in slots {
            slot.fail(outcome, error)
            slot.deliver()
        }
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

/// What a request has been told and what it knows, behind its lock.
struct RequestMailbox {
    var lifecycle = RequestLifecycle()
    var validators = ValidatorList()
    /// The request's own interceptors, asked after the session's, in this order.
    var interceptors: [any RequestInterceptor] = []
    /// Decides about redirects in place of the session's handler.
    var redirectHandler: (any RedirectHandler)?
    /// Answers challenges of requests that have no credential of their own.
    var credential: Credential?
    /// Serializers that are to be served, in the order in which they were attached.
    var slots: [SerializationSlot] = []

    /// What has redirected the attempt under way, in order.
    var history: [HTTPResponse] = []
    /// The exchange under way.
    var exchange: (any Exchange)?
    /// Whether the transport was asked for the exchange, and has not returned it yet.
    var isStarting = false
    /// The head of the response, until the driver takes it, if the body is held back meanwhile.
    var head: HTTPResponse?
    /// The body of the exchange under way, on its way to a file.
    var fileBody: BodyFanOut?
    /// How the exchange ended, until the driver takes it.
    var outcome: ExchangeOutcome?
    /// Whether the session knows of the request, and the attempt loop may run.
    var isRegistered = false
    /// Whether it is the driver who starts the next exchange.
    var needsStart = false
    /// Whether some task runs the attempt loop.
    var isDriven = false
    /// The driver, when it waits for the exchange.
    var driver: ExchangeContinuation?
    /// How far the attempt's request is that is being made, outside the driver, for the exchange.
    var preparation: RequestPreparation?
    /// Ends the user's code that the driver awaits, or the preparation.
    var interruption: (@Sendable () -> Void)?

    var requests: [HTTPRequest] = []
    var attempts = 0
    var last: CompletedAttempt?
    var error: RequestError?
    /// Asked about the head before any of the body comes, in this order.
    var headHandlers: [@Sendable (HTTPResponse) async -> ResponseDisposition] = []
    /// The latest head that was accepted.
    var response: HTTPResponse?
    /// Those who wait for it.
    var headWaiters: [CheckedContinuation<Void, Never>] = []
    /// How many bytes of the body earlier attempts have fetched, and how many there will be with them, if that is known.
    var bytesBefore: (count: Int64, total: Int64?)?
    var progress: TransferProgress?
    var uploadProgress: TransferProgress?
    /// How fast the bodies come and go, from when the exchange began.
    var downloadMeter = ProgressMeter(now: 0)
    var uploadMeter = ProgressMeter(now: 0)
    var sequences = RequestSequences()

    mutating func takeHeadWaiters() -> [CheckedContinuation<Void, Never>] {
        defer { headWaiters.removeAll() }
        return headWaiters
    }

    /// Whether there is something that the driver does not know.
    var hasEvent: Bool { !isStarting && (head != nil || outcome != nil) }

    /// What the driver learns next, in order.
    mutating func takeEvent() -> ExchangeEvent? {
        guard !isStarting else { return nil }
        if let head = head.take() { return .head(head) }
        return outcome.take().map(ExchangeEvent.outcome)
    }

    /// Forgets what one attempt came to, since there will be another.
    mutating func beginAnew() {
        needsStart = true
        last = nil
        error = nil
        response = nil
        bytesBefore = nil
        progress = nil
        uploadProgress = nil
    }

    /// Whether the driver is to start the exchange; says so once.
    mutating func takeNeedsStart() -> Bool {
        defer { needsStart = false }
        return needsStart
    }

    /// Notes the request that is to be adapted; returns whether it is still wanted.
    mutating func isPreparing(_ request: HTTPRequest) -> Bool {
        guard preparation != nil else { return false }
        preparation = .adapting(request)
        return true
    }

    /// Ends the preparation, for the one who gets it.
    mutating func takePreparation() -> RequestPreparation? {
        defer {
            if preparation != nil { interruption = nil }
            preparation = nil
        }
        return preparation
    }

    mutating func takeSlots() -> [SerializationSlot] {
        defer { slots.removeAll() }
        return slots
    }
}

/// How far the request of an attempt is.
enum RequestPreparation: Sendable {
    case converting
    case adapting(HTTPRequest)

    var request: HTTPRequest? {
        if case .adapting(let request) = self { request } else { nil }
    }
}

extension HTTPRequestConvertible {
    /// Whether converting runs code of the user's, such as an encoder, which may take its time.
    var runsUserCode: Bool {
        switch self {
        // Opening a file or a sequence may take its time, too.
        case let request as HTTPRequest: request.body.map { $0.data == nil } ?? false
        case let composed as ComposedRequest: composed.runsUserCode
        default: true
        }
    }
}
