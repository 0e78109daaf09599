import FoundationEssentials
import Synchronization

/// The shared part of all kinds of requests, with the state machine and the code for its actions.
///
/// All methods may be called from any thread. A lock protects the state machine, and actions are performed after the
/// lock is released. An ``AttemptLoop`` runs the request from its start to its result. One of these tasks runs the
/// loop:
///
/// - The task that awaits the result, if there is one. Most requests therefore need no additional task.
/// - Otherwise, a task that is created when the request has to be prepared or has received a response.
///
/// If a request needs no preparation and can be created, the call that starts the request also sends it.
final class RequestCore: Sendable {
    typealias Machine = RequestMachine<Resumption<ExchangeEvent>>

    /// The number of the request, in the order of creation within the process.
    let id: RequestID
    let context: SessionContext
    /// Creates the request for each attempt.
    let convertible: any HTTPRequestConvertible
    /// Whether creating the request runs user code or opens files, which can take time.
    let runsUserCode: Bool
    /// The destination of response bodies.
    let sink: any ResponseSink
    private let machine: Locked<Machine>
    private let monitored = LazyReference<RequestEvents>()
    private let creationEpoch: Int
    /// Whether the request may still need its session's transport.
    private let needsTransport = Atomic<Bool>(true)

    init(
        convertible: any HTTPRequestConvertible, runsUserCode: Bool? = nil, context: SessionContext,
        sink: any ResponseSink = MemorySink(), interceptor: (any RequestInterceptor)? = nil
    ) {
        machine = Locked(RequestMachine())
        self.convertible = convertible
        self.runsUserCode = runsUserCode ?? convertible.runsUserCode
        self.context = context
        self.sink = sink
        if let dispatcher = context.events { _ = monitored.storeIfNil(RequestEvents(dispatcher)) }
        id = RequestID.next()
        creationEpoch = context.cancellationEpoch
        context.retained()
        if let interceptor { configure { $0.interceptors = [interceptor] } }
    }

    deinit {
        releaseTransport()
    }

    // MARK: The user

    /// Changes a setting; a replaced value is returned, because it must be released after the lock.
    func configure<Result: Sendable>(_ change: @Sendable (inout RequestSetup) -> Result) -> Result {
        machine.withLock { $0.configured(change) }
    }

    /// Returns a part of the request's state.
    func read<Result: Sendable>(_ part: (borrowing Machine) -> Result) -> Result {
        machine.withLock { part($0) }
    }

    /// Starts or resumes the request.
    func resume(_ request: any Request) {
        perform(changed { $0.resumed() }, for: request)
    }

    func suspend() {
        perform(changed { $0.suspended() })
    }

    func cancel() {
        perform(changed { $0.cancelled() })
    }

    /// Ends a request that was not started, for example when the session is shut down.
    func refuse(_ error: RequestError) {
        perform(machine.withLock { $0.refused(error) })
    }

    /// Records a reader of the body, and starts the request if the session starts requests immediately.
    func observe(_ request: any Request) {
        perform(changed { $0.attached(nil, startsImmediately: context.startsRequestsImmediately) }, for: request)
    }

    /// Attaches a serializer, and starts the request if `startsImmediately` is `true`.
    func attach(_ slot: SerializationSlot, startsImmediately: Bool, for request: any Request) {
        perform(changed { $0.attached(slot, startsImmediately: startsImmediately) }, slot: slot, for: request)
    }

    var state: RequestState {
        // The session's `cancelAllRequests()` does not change the state of a request that was not started.
        let isStale = creationEpoch != context.cancellationEpoch
        return machine.withLock { isStale && $0.isIdle ? .cancelled : $0.state }
    }

    /// Registers an awaited request that was not started, so that the session can end it.
    func awaitedBeforeStart(_ request: any Request) {
        guard read({ $0.isIdle }) else { return }
        if creationEpoch != context.cancellationEpoch { return cancel() }
        if let error = context.register(request) { return refuse(error) }
        // The request may have finished, or the session may have cancelled all requests, since the first check.
        if read({ $0.isSettled }) { return context.remove(id) }
        if creationEpoch != context.cancellationEpoch { cancel() }
    }

    /// Returns the loop that the calling task must run, or `nil` if no task is needed.
    func claim() -> AttemptLoop? {
        machine.withLock { $0.claimed() }.map { AttemptLoop(of: self, $0) }
    }

    // MARK: Actions

    /// Changes the state of the request, and reports a change of the public state.
    ///
    /// Events are appended to the queues of the monitors before the lock is released. They are therefore in the order
    /// of the changes, and before all later events.
    private func changed(
        by change: (inout Machine) -> Action
    ) -> Action {
        guard let events else { return machine.withLock { change(&$0) } }
        let action = machine.withLock { machine in
            let state = machine.state
            let action = change(&machine)
            if machine.state != state { events.appendChange(to: machine.state) }
            return action
        }
        events.start()
        return action
    }

    private typealias Action = Machine.Action

    /// Performs an action of the machine.
    ///
    /// Some actions need the request or the serializer.
    private func perform(_ action: Action, slot: SerializationSlot? = nil, for request: (any Request)? = nil) {
        switch action {
        case .nothing: break
        case .begin(let hasInterceptors, let hasAdditions):
            if let request { begin(request, hasInterceptors: hasInterceptors, hasAdditions: hasAdditions) }
        case .callDriver: callDriver()
        case .wake(let driver, let event): driver.resume(returning: event)
        case .alignExchange: alignExchange()
        case .interrupt(let exchange, let interruption):
            exchange?.cancel()
            interruption?()
        case .settle(let settlement):
            var failed = TinyArray<ServedSlot>()
            for slot in settlement.slots { failed.append(ServedSlot(slot, failedWith: settlement.attempt)) }
            answer(settlement, served: failed, isOnPool: false)
        case .serializeOutcome: if let slot { serializeOutcome(into: slot) }
        }
    }

    private func begin(_ request: any Request, hasInterceptors: Bool, hasAdditions: Bool) {
        events?.begin(request)
        if let error = context.register(request) {
            return perform(machine.withLock { $0.registrationRefused(error) })
        }
        // The epoch is checked after the registration. Otherwise, a concurrent cancellation of all requests could miss
        // this request.
        let isStale = creationEpoch != context.cancellationEpoch
        if isStale { cancel() }
        // User code and file access do not run on the thread that starts the request. A cancelled request creates no
        // files.
        let isAdapted = hasInterceptors || !context.adapters.isEmpty
        guard !isStale, !isAdapted, !runsUserCode, !sink.needsPreparation else {
            return perform(machine.withLock { $0.registered() })
        }
        do throws(RequestError) {
            let request = try converted(hasAdditions ? read { $0.setup.additions } : nil)
            // The driver may have to wait before the file is opened.
            guard request.body?.usesFile != true else { return perform(machine.withLock { $0.registered() }) }
            events?.emit(.didCreateInitialRequest(request))
            send(request)
        } catch {
            perform(machine.withLock { $0.registered(failure: error) })
        }
    }

    @inline(never)
    private func callDriver() {
        Task {
            guard var loop = claim() else { return }
            await loop.run()
        }
    }

    /// Suspends or resumes the exchange until it matches the latest state of the request.
    ///
    /// Two threads may run this method at the same time. A thread that has set an outdated state then sets the latest
    /// state.
    private func alignExchange() {
        while true {
            let (exchange, requestedState) = read { ($0.exchange, $0.requestedState) }
            guard let exchange, requestedState != .cancelled else { return }
            if requestedState == .suspended { exchange.suspend() } else { exchange.resume() }
            if read({ $0.requestedState }) == requestedState { return }
        }
    }

    /// Delivers the outcome to all waiting tasks, and removes the request from its session.
    ///
    /// - Parameters:
    ///   - settlement: The waiting tasks and the final attempt.
    ///   - served: The serializers, which already have their results.
    ///   - isOnPool: Whether user code may run on the current thread.
    func answer(
        _ settlement: Machine.PendingCompletions,
        served: TinyArray<ServedSlot>,
        isOnPool: Bool = true
    ) {
        if let events {
            for item in served { item.slot.report(item.result) }
            events.finish()
        }
        settlement.sequences.finish()
        for continuation in settlement.headWaiters { continuation.resume() }
        context.remove(id)
        releaseTransport()
        for item in served { item.slot.deliver(item.result, isOnPool: isOnPool) }
        sink.finish(with: settlement.attempt.error)
    }

    private func releaseTransport() {
        if needsTransport.exchange(false, ordering: .acquiringAndReleasing) { context.released() }
    }

    /// Serves a serializer that was attached after the request had finished.
    @inline(never)
    private func serializeOutcome(into slot: SerializationSlot) {
        Task {
            guard let attempt = read({ $0.record.last }) else {
                preconditionFailure("a request was settled without an outcome")
            }
            // The request can no longer be cancelled, but the task of the serializer can.
            let result = await slot.serve(attempt) { work in
                await InterruptibleWait.awaiting(work) { !slot.setInterruption($0) }
            }
            slot.report(result)
            slot.deliver(result)
        }
    }

    // MARK: Sending

    /// Creates and validates the request of an attempt.
    func converted(_ additions: RequestAdditions?) throws(RequestError) -> HTTPRequest {
        var request: HTTPRequest
        do {
            request = try convertible.asHTTPRequest()
        } catch {
            throw error as? RequestError ?? RequestError(.invalidRequest(.conversion), underlying: error)
        }
        additions?.complete(&request)
        do throws(RequestError) {
            try context.urlDefaults?.complete(&request)
            try request.validate()
            if let error = context.configurationError { throw error }
            try checkCachePolicy(of: request)
        } catch {
            throw error.during(request, attempts: 0)
        }
        request.stateContentType()
        return request
    }

    /// Counts a rejection because of an interceptor's credential; returns the number of earlier ones.
    func noteCredentialRefusal() -> Int { machine.withLock { $0.recorded { $0.credentialRefused() } } }

    /// Throws an error if the response must come from the cache, but there is no cache.
    func checkCachePolicy(of request: HTTPRequest) throws(RequestError) {
        guard !context.hasCache else { return }
        let policy = request.cachePolicy ?? context.configuration.cachePolicy
        if policy == .returnCacheDontLoad { throw RequestError(.cache(.notStored)) }
    }

    /// The request that would be created now, or `nil` if it is invalid.
    var validRequest: HTTPRequest? {
        guard var request = try? convertible.asHTTPRequest() else { return nil }
        do throws(RequestError) {
            try context.urlDefaults?.complete(&request)
            try request.validate()
        } catch {
            return nil
        }
        return request
    }

    /// Passes a request to the transport, which first checks the cache.
    func send(_ request: HTTPRequest, isRedirect: Bool = false) {
        let now = MonotonicClock.now()
        let sending = machine.withLock { $0.sent(request, isRedirect: isRedirect, now: now) }
        sending.requests?.send(request)
        if !isRedirect { emitPrepared(request) }
        guard sending.requestedState != .cancelled else {
            return perform(machine.withLock { $0.notSent() })
        }
        let pausesBody = sink.pausesBody
        var options = ExchangeOptions(
            maximumResponseBytes: pausesBody ? nil : context.configuration.maximumResponseBytes,
            startsSuspended: sending.requestedState == .suspended, pausesBody: pausesBody || sending.hasHeadHandlers,
            pausesRedirects: true)
        options.collectsBody = !pausesBody
        options.upgrade = sink.upgrade
        if context.hasCache { options.willStore = cacheHook(sending.cachedResponseHandler) }
        events?.exchangeBegins(with: request, attempt: sending.attempt, isRedirect: isRedirect)
        let exchange = context.transport.start(request, options: options, observer: self)
        let (action, requestedState) = machine.withLock { $0.exchangeReturned(exchange) }
        perform(action)
        // Changes of the state since `sent` was called have not been applied to the exchange.
        if requestedState == .cancelled { exchange.cancel() }
        if (requestedState == .suspended) != (sending.requestedState == .suspended) { alignExchange() }
    }

    /// The closure that a cache calls before it stores a response; `nil` if neither a handler nor a monitor needs it.
    private func cacheHook(
        _ ownHandler: (any CachedResponseHandler)?
    ) -> (@Sendable (CachedResponse) async -> CachedResponse?)? {
        let handler = ownHandler ?? context.cachedResponseHandler
        guard handler != nil || events != nil else { return nil }
        // A validation in the background may end after the session has released the request.
        let request = context.request(id)
        return { [events] response in
            events?.emit(.willCacheResponse(response))
            guard let handler else { return response }
            guard let request else { return nil }
            return await handler.request(request, willCacheResponse: response)
        }
    }

    // MARK: The driver

    var isCancelled: Bool { read { $0.isCancelled } }

    /// Reports an event of the driver that has no action.
    func report<Result: Sendable>(_ event: (inout Machine) -> Result) -> Result {
        machine.withLock { event(&$0) }
    }

    /// Waits for the next event of the exchange.
    func nextEvent() async -> ExchangeEvent {
        await withResumption { continuation in perform(machine.withLock { $0.awaited(by: continuation) }) }
    }

    /// Waits for the end of the exchange.
    func nextOutcome() async -> ExchangeOutcome {
        while true {
            if case .outcome(let outcome) = await nextEvent() { return outcome }
        }
    }

    /// Ends the running exchange, but not the request.
    func cancelExchange() { read { $0.exchange }?.cancel() }

    /// Ends an exchange whose body is not needed, and returns its outcome.
    func abandonedOutcome() async -> ExchangeOutcome {
        cancelExchange()
        return await nextOutcome()
    }

    /// Receives the beginning of a body, and waits for the end of the exchange.
    ///
    /// The exchange ends when the body has ended, when enough bytes were received, or after the grace period of the
    /// configuration. A slow server must not delay a result that is already known.
    func outcome(with bodyPrefix: ErrorBodyPrefix) async -> ExchangeOutcome {
        guard let exchange = read({ $0.exchange }) else { return await nextOutcome() }
        exchange.receiveBody(with: bodyPrefix)
        let bodyTimeout = Task { [bodyGracePeriod = context.configuration.bodyGracePeriod] in
            try await bodyGracePeriod()
            exchange.cancel()
        }
        defer { bodyTimeout.cancel() }
        return await nextOutcome()
    }

    /// Awaits user code, or returns `nil` if the request is cancelled.
    func interruptible<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value? {
        let value = await InterruptibleWait.awaiting(work) { interrupt in machine.withLock { $0.asked(interrupt) } }
        // The closure that ends the wait is released after the lock.
        _ = machine.withLock { $0.answered() }
        return value
    }

    /// Awaits user code that may throw, or throws `.cancelled` if the request is cancelled.
    func interruptible<Value: Sendable>(
        throwing work: @escaping @Sendable () async throws(RequestError) -> Value
    ) async throws(RequestError) -> Value {
        let result = await interruptible { () async -> Result<Value, RequestError> in
            do throws(RequestError) {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }
        guard let result else { throw RequestError(.cancelled) }
        return try result.get()
    }

    // MARK: Progress

    /// The body continues after bytes that are already in the file.
    func bodyResumes(at position: Int64, of total: Int64?) {
        let now = MonotonicClock.now()
        machine.withLock { $0.recorded { $0.bodyResumed(at: position, of: total, now: now) } }
    }

    /// The file has its final size.
    func fileCompleted(_ size: Int64) {
        let now = MonotonicClock.now()
        let update = machine.withLock { $0.recorded { $0.fileCompleted(size, now: now) } }
        if let (progress, updates) = update { updates.send(progress) }
    }

    // MARK: Heads

    /// Records an accepted head, and resumes the tasks that wait for it.
    ///
    /// - Parameters:
    ///   - response: The accepted head.
    ///   - fileBody: The body that is written to a file, which ends with the exchange.
    /// - Returns: The running exchange, or `nil` if it has ended.
    func accept(_ response: HTTPResponse, fileBody: BodyFanOut? = nil) -> (any Exchange)? {
        let (exchange, waiting) = machine.withLock { $0.accepted(response, fileBody: fileBody) }
        for continuation in waiting { continuation.resume() }
        return exchange
    }

    /// Waits until a held-back body's head is accepted; throws the error of a request that ends before.
    ///
    /// If the waiting task is cancelled, the request is cancelled too, or the wait ends with `.cancelled`.
    func acceptedHead(cancellingRequest cancelsRequest: Bool) async throws(RequestError) -> HTTPResponse {
        let waiter = machine.withLock { $0.recorded { $0.nextHeadWaiter() } }
        await withTaskCancellationHandler {
            await withResumption { continuation in
                let waits = machine.withLock {
                    (cancelsRequest || !Task.isCancelled) && $0.headAwaited(by: continuation, as: waiter)
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            if cancelsRequest { return cancel() }
            machine.withLock { $0.recorded { $0.takeHeadWaiter(waiter) } }?.resume()
        }
        let (response, error) = read { ($0.record.response, $0.record.last?.error) }
        guard let response else { throw error ?? RequestError(.cancelled) }
        return response
    }

    // MARK: Sequences

    /// Returns a sequence that begins with the latest value and ends when the request has finished.
    func sequence<Value>(
        _ kept: any WritableKeyPath<RequestSequences, Broadcast<Value>?> & Sendable, _ policy: StreamBufferingPolicy,
        latest: (RequestHistory) -> Value?
    ) -> StreamOf<Value> {
        let (updates, isSettled) = machine.withLock { machine in
            // The broadcast is created with the latest value under the lock, so that no newer value can be sent before
            // it.
            let value = latest(machine.record)
            return (machine.recorded { $0.broadcast(kept, latest: value) }, machine.isSettled)
        }
        if isSettled { updates.finish() }
        return updates.stream(bufferingPolicy: policy)
    }

    // MARK: Monitors

    /// The object that reports events to the monitors, or `nil` if there are no monitors.
    var events: RequestEvents? { monitored.load() }

    /// Adds a monitor that receives all later events of the request.
    func add(_ monitor: any RequestEventHandler, for request: any Request) {
        let events = monitored.load() ?? monitored.storeIfNil(RequestEvents(nil))
        events.adopt(request)
        events.add(monitor)
        // If the request has finished in the meantime, its monitors have received the end, and the request is not
        // retained.
        if read({ $0.isUnderWay }) { events.begin(request) }
    }

    /// Reports that the request of an attempt was created.
    private func emitPrepared(_ request: HTTPRequest) {
        guard let events else { return }
        if let body = request.body {
            events.emit(.didCreateUploadable(body))
        }
        events.emit(.didCreateRequest(request))
    }
}

// MARK: The transport

extension RequestCore: ExchangeObserver {
    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {
        let now = MonotonicClock.now()
        let (progress, updates) = machine.withLock { machine in
            machine.recorded { ($0.bytesSent(sent, of: expected, now: now), $0.sequences.uploadProgress) }
        }
        updates?.send(progress)
        sink.bytesWereSent(sent)
    }

    func exchangeDidReceiveHead(_ response: HTTPResponse) {
        events?.headReceived(response)
        perform(machine.withLock { $0.headReceived(response) })
    }

    func exchangeDidReceiveInformational(_ response: HTTPResponse) {
        let updates = machine.withLock { $0.recorded { $0.informed(by: response) } }
        updates?.send(response)
    }

    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {
        exchangeDidReceive(received, ofExpected: expected, fraction: nil)
    }

    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?, fraction: Double?) {
        let now = MonotonicClock.now()
        let (progress, updates) = machine.withLock { machine in
            machine.recorded {
                ($0.bytesReceived(received, of: expected, fraction: fraction, now: now), $0.sequences.downloadProgress)
            }
        }
        updates?.send(progress)
    }

    func exchangeDidComplete(_ outcome: ExchangeOutcome) {
        events?.exchangeEnded(outcome)
        let (action, _, fileBody) = machine.withLock { $0.outcomeReceived(outcome) }
        fileBody?.finish(with: outcome.error)
        perform(action)
    }
}

extension HTTPRequest {
    /// Adds the content type of a form, or its boundary to the type that the request has.
    mutating func stateContentType() {
        guard hasBody, let form = body?.contentType else { return }
        guard let own = headers["Content-Type"] else { return headers.update(name: "Content-Type", value: form) }
        // Without the boundary, no server can read the parts (RFC 2046 §5.1.1).
        guard let type = MediaType(own), type.type == "multipart", type.parameter("boundary") == nil else { return }
        headers.update(name: "Content-Type", value: own + form.dropFirst(MultipartFormData.mediaType.count))
    }
}
