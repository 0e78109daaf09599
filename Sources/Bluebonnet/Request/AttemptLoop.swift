import FoundationEssentials

/// Runs a request from its start to its result, through the stages of each attempt.
///
///     run               until an attempt is final
///     ├─ send
///     │  ├─ 1 convert     create and validate an HTTPRequest
///     │  ├─ 2 adapt       run the session's adapters, then the request's
///     │  └─ 3 send        in RequestCore: the transport uses the cache, then the network
///     ├─ received
///     │  ├─ 4 redirect    in RedirectFollower: send the next request of a redirect
///     │  ├─ 5 receive     if the body is paused: check the head, then receive the body
///     │  └─ 6 validate    for a body in memory: run the validators
///     └─ conclude
///        ├─ 7 retry       after a failure: call the retriers, and wait before the next attempt
///        └─ 8 serialize   run the serializers in order, and call the retriers for their failures
///
/// The loop belongs to the task that runs the request. It runs on the global executor, or on the executor that this
/// task prefers. Its own state is not shared and needs no lock. The ``RequestMachine`` contains the state that other
/// tasks can access. User code that awaits runs in separate tasks, so that a cancellation does not wait for it. What
/// depends on the destination of the body is done by its ``SinkWriter``.
struct AttemptLoop: ~Copyable {
    private let core: RequestCore
    /// Whether the call that started the request has already sent the first attempt.
    private var isSent: Bool
    private var writer: any SinkWriter
    /// The place of the file that the attempts open.
    private var place: FilePlaces.Place?
    /// The redirects of the current attempt.
    private var redirects: RedirectFollower
    /// The error of the previous attempt.
    private var earlier: RequestError?
    /// The serializers that were taken from the machine, and those that have results.
    private var taken = TinyArray<SerializationSlot>()
    private var served = TinyArray<ServedSlot>()

    init(of core: RequestCore, _ start: RequestCore.Machine.DriverStart) {
        self.core = core
        isSent = start == .await
        writer = core.sink.makeWriter()
        redirects = RedirectFollower(core: core)
    }

    /// Makes attempts until an attempt is final, and then delivers the outcome to all waiting tasks.
    ///
    /// The frame of this method exists for each request in flight, so all other work has frames of its own.
    @concurrent
    mutating func run() async {
        var attempt: CompletedAttempt
        repeat {
            if !isSent, let failed = await send() {
                attempt = failed
            } else {
                attempt = await received(await core.nextEvent())
            }
            isSent = false
        } while await !conclude(attempt)
    }

    /// Decides about a retry, or delivers the outcome; returns whether the request has finished.
    @inline(never)
    private mutating func conclude(_ attempt: CompletedAttempt) async -> Bool {
        let isRedirected = !redirects.history.isEmpty
        let attempt = attempt.caused(by: earlier).judgingSafety(after: earlier, isRedirected: isRedirected)
        // A call that may suspend takes 250 instructions, so only a failed attempt makes it.
        let decision: Decision =
            if let error = attempt.error {
                await retry(attempt, error)
            } else {
                .finished(writer.ended(attempt))
            }
        switch decision {
        case .again(let error): earlier = error
        case .finished(let attempt):
            guard let error = await serialize(attempt) else { return true }
            earlier = error
        }
        return false
    }

    // MARK: 1-6: An attempt

    /// Creates and sends a request; returns a failed attempt if this is not possible.
    @inline(never)
    private mutating func send() async -> CompletedAttempt? {
        redirects = RedirectFollower(core: core)
        do throws(RequestError) {
            var request = try await adapt(try await convert())
            if core.sink.needsPreparation || request.body?.usesFile == true { try await prepare(&request) }
            core.send(request)
            return nil
        } catch {
            core.report { $0.preparationFailed() }
            return validate(ExchangeOutcome(response: nil, error: error))
        }
    }

    @inline(never)
    private mutating func received(_ event: ExchangeEvent) async -> CompletedAttempt {
        // As in `conclude`, a call that may suspend is made only if it is needed.
        switch event.isRedirect ? await redirects.follow(from: event) : event {
        case .outcome(let outcome): return validate(outcome, sendsResponse: true)
        case .head(let response): return await receive(response)
        }
    }

    // MARK: 1: Convert

    private func convert() async throws(RequestError) -> HTTPRequest {
        do throws(RequestError) {
            let (additions, isCancelled, failure) = core.report { machine in
                (machine.setup.additions, machine.isCancelled, machine.takeCreationError())
            }
            if let failure { throw failure }
            // No user code runs for a cancelled request.
            if isCancelled, !core.sink.needsPreparation || core.runsUserCode { throw RequestError(.cancelled) }
            let convert = { @Sendable [core] () throws(RequestError) in try core.converted(additions) }
            let request = core.runsUserCode ? try await core.interruptible(throwing: convert) : try convert()
            core.events?.emit(.didCreateInitialRequest(request))
            return request
        } catch {
            core.events?.emit(.didFailToCreateRequest(error))
            throw error
        }
    }

    // MARK: 2: Adapt

    /// Runs the adapters, and checks that a body with a stated length of 0 is empty.
    private func adapt(_ request: HTTPRequest) async throws(RequestError) -> HTTPRequest {
        let attempt = core.report { $0.adapting(request, hasAdapters: !core.context.adapters.isEmpty) }
        let ownAdapters = AdapterChain.parts(of: attempt.setup.interceptors)
        let adapters = core.context.adapters + ownAdapters
        guard !adapters.isEmpty || request.body?.isStatedEmpty == true else { return request }
        do throws(RequestError) {
            if attempt.isCancelled { throw RequestError(.cancelled) }
            let adapted = try await core.interruptible { [core] () async throws(RequestError) in
                let state = RequestAdapterState(
                    requestID: core.id, session: core.context.session, retryCount: attempt.attempts)
                var adapted = request
                if request.isOutsideBase {
                    let ownChain = AdapterChain(adapters: ownAdapters)
                    adapted = try await AdapterChain(adapters: core.context.adapters).adapt(request, using: state)
                    adapted.removeSecrets(addedTo: request)
                    adapted = try await ownChain.adapt(adapted, using: state)
                } else if !adapters.isEmpty {
                    adapted = try await AdapterChain(adapters: adapters).adapt(request, using: state)
                    if adapted.omitsSessionSecrets { adapted.leaveOrigin() }
                }
                // An unchanged request was already validated when it was created.
                if !adapted.isIdentical(to: request) {
                    try adapted.validate()
                    try core.checkCachePolicy(of: adapted)
                    adapted.stateContentType()
                }
                guard let body = adapted.body, body.isStatedEmpty else { return adapted }
                // The transport does not read such a body, so it would not detect bytes in it.
                try await body.confirmEmpty()
                adapted.body = .data(Data())
                return adapted
            }
            if !adapters.isEmpty {
                core.events?.emit(.didAdaptInitialRequest(request, to: adapted))
            }
            return adapted
        } catch {
            var error = error.during(request, attempts: 0)
            // If the request was cancelled, an adapter may have thrown its own error.
            if core.isCancelled, !error.isCancellation { error = .cancelled(after: error).during(request, attempts: 0) }
            core.events?.emit(.didFailToAdaptRequest(request, error))
            throw error
        }
    }

    /// Waits until a file may be open, and lets the writer of the body open its file.
    private mutating func prepare(_ request: inout HTTPRequest) async throws(RequestError) {
        if place == nil { place = FilePlaces.shared.free() }
        if place == nil {
            let timeouts = request.timeouts.filled(from: core.context.configuration.timeouts)
            place = try await core.interruptible(throwing: { [core] () async throws(RequestError) in
                try await FilePlaces.shared.next(timeouts) { core.read { $0.requestedState } == .suspended }
            })
        }
        do throws(RequestError) {
            try writer.prepare(&request)
        } catch {
            let error = error.during(request, attempts: 0)
            core.events?.emit(.didFailToCreateRequest(error))
            throw error
        }
    }

    // MARK: 5: Receive

    /// Checks the head before the body is received, and waits for the end of the exchange.
    private mutating func receive(_ response: HTTPResponse) async -> CompletedAttempt {
        let (attempt, responses) = core.read { ($0.attempt, $0.record.sequences.responses) }
        let action = writer.headReceived(response, to: attempt.request)
        var refusal: RequestError?
        switch action {
        case .receive: break
        case .refuse(let error): refusal = error
        case .skip:
            let outcome = await core.abandonedOutcome()
            let head = ExchangeOutcome(response: outcome.response ?? response, metrics: outcome.metrics)
            return writer.completed(validate(head), of: core)
        }
        responses?.send(response)
        if let error = verdict(on: response, of: attempt) ?? refusal { return await refused(response, error) }
        // The handlers run before the body is received.
        for handler in attempt.setup.headHandlers {
            if await core.interruptible({ await handler(response) }) == .allow { continue }
            core.cancel()
            return validate(await core.nextOutcome())
        }
        let outcome = await writer.receive(response, of: core)
        return writer.completed(validate(outcome), of: core)
    }

    /// Runs the validators on the head of a body that is not collected; returns the first error.
    private func verdict(on response: HTTPResponse, of attempt: RequestCore.Machine.AttemptContext) -> RequestError? {
        guard writer.validated == .head else { return nil }
        // An empty body needs no content type. For other bodies, it is not known whether they are empty.
        let isEmpty = attempt.request?.method == .head || response.announcesNoBody
        return refusal(by: attempt.setup.validators, of: response, to: attempt.request, data: isEmpty ? Data() : nil)
    }

    /// Ends a refused exchange, after receiving the beginning of the body for the error.
    private func refused(_ response: HTTPResponse, _ error: RequestError) async -> CompletedAttempt {
        let bodyPrefix = ErrorBodyPrefix(limit: RequestError.bodyLimit)
        let outcome = await core.outcome(with: bodyPrefix)
        let body = outcome.body.isEmpty ? bodyPrefix.bytes : outcome.body
        return validate(
            ExchangeOutcome(
                response: response, body: body, error: error.about(response, body: body), metrics: outcome.metrics))
    }

    // MARK: 6: Validate

    /// Combines the transport's error, a cancellation of the request, and the result of the validators.
    ///
    /// If `sendsResponse` is `true`, the head is also sent to the sequence of responses.
    private func validate(_ outcome: ExchangeOutcome, sendsResponse: Bool = false) -> CompletedAttempt {
        let outcome = outcome.with(redirects.history)
        let isCollected = outcome.error == nil && writer.validated == .wholeResponse
        let progress = TransferProgress(completed: Int64(outcome.body.count), total: Int64(outcome.body.count))
        let (attempt, validators, responses, updates) = core.report { machine in
            let updates = machine.attemptEnded(isCollected ? progress : nil)
            // The whole setup would be a copy for each attempt.
            let attempt = (
                request: machine.record.requests.last, attempts: machine.record.attempts,
                isCancelled: machine.isCancelled
            )
            return (attempt, machine.setup.validators, machine.record.sequences.responses, updates)
        }
        if sendsResponse, let response = outcome.response { responses?.send(response) }
        updates?.send(progress)
        var error = outcome.error
        if attempt.isCancelled {
            if error?.isCancellation != true { error = .cancelled(after: error) }
        } else if isCollected, let response = outcome.response {
            error = refusal(by: validators, of: response, to: attempt.request, data: outcome.body)
        }
        return CompletedAttempt(
            request: attempt.request, outcome: outcome,
            error: error?.during(attempt.request, attempts: attempt.attempts), attempts: attempt.attempts)
    }

    /// Runs the validators, and reports their result to the monitors; returns the first error.
    private func refusal(
        by validators: [ResponseValidator], of response: HTTPResponse, to request: HTTPRequest?, data: Data?
    ) -> RequestError? {
        guard !validators.isEmpty else { return nil }
        let result = Result { () throws(RequestError) in
            try validators.run(request: request, response: response, data: data)
        }
        core.events?.emit(.didValidateRequest(request, response, data: data, fileURL: nil, result.mapError { $0 }))
        return if case .failure(let error) = result { error } else { nil }
    }

    // MARK: 7: Retry

    private enum Decision {
        /// Another attempt is made because of this error.
        case again(RequestError?)
        /// The attempt is final, with its current error.
        case finished(CompletedAttempt)
    }

    /// Decides whether another attempt follows a failed attempt.
    private mutating func retry(_ attempt: CompletedAttempt, _ error: RequestError) async -> Decision {
        let decision: Decision
        switch writer.interrupted(by: error, of: core) {
        case .again(let delay, let sleep):
            decision = await again(after: delay, attempt, error, keepingProgress: true, by: sleep)
        case .ask where !error.isUnreplayableBody(after: earlier):
            let resumable = writer.resumable(attempt)
            decision = await ask(about: resumable.error ?? error, resumable)
        case .ask, .end: decision = .finished(attempt)
        }
        guard case .finished(let final) = decision else { return decision }
        // What the retriers could use is not part of the result.
        return .finished(writer.ended(final === attempt ? attempt : attempt.failing(with: final.error ?? error)))
    }

    /// Calls the retriers, and waits for the delay of a retry; to be called once for each failure.
    private func ask(about error: RequestError, _ attempt: CompletedAttempt) async -> Decision {
        let failed = attempt.failing(with: error)
        let finished = Decision.finished(failed)
        guard !error.isCancellation, error.kind != .sessionShutDown else { return finished }
        let retriers = core.context.retriers + RetrierChain.parts(of: core.read { $0.setup.interceptors })
        guard !retriers.isEmpty, let request = core.context.request(core.id) else { return finished }
        // The retriers read the outcome from the request, not from the attempt.
        let (isCancelled, _) = core.report { machine in
            (machine.isCancelled, machine.recorded { $0.came(to: failed) })
        }
        if isCancelled { return .finished(failed.cancelled()) }
        let session = core.context.session
        let answer = await core.interruptible {
            for retrier in retriers where !Task.isCancelled {
                let result = await retrier.retry(request, for: session, dueTo: error)
                if case .doNotRetry = result { continue }
                return (result: result, hook: hookName(of: retrier))
            }
            return (.doNotRetry, "")
        }
        switch answer?.result {
        case nil: return .finished(failed.cancelled())
        case .doNotRetry: return finished
        case .doNotRetryWithError(let other):
            let replaced = RequestError(
                .retry(original: error.kind), detail: "in \(answer?.hook ?? "")", underlying: other)
            return .finished(
                attempt.failing(
                    with: replaced.about(error.response, body: error.body).resumable(with: error.resumeData)
                        .replacing(error).during(attempt.request, attempts: attempt.attempts)))
        case .retry: return await again(after: nil, failed, error)
        case .retryWithDelay(let delay): return await again(after: delay, failed, error)
        }
    }

    /// Waits for the delay or a cancellation of the request, and then begins another attempt.
    private func again(
        after delay: Duration?, _ attempt: CompletedAttempt, _ error: RequestError, keepingProgress: Bool = false,
        by sleep: SessionContext.Sleep? = nil
    ) async -> Decision {
        core.events?.emit(.willRetry(error, after: delay))
        if let delay, delay > .zero {
            let sleep = sleep ?? core.context.sleep
            _ = await core.interruptible { try? await sleep(delay) }
        }
        let replaced = core.report { machine in
            let replaced = machine.retried(keepingProgress: keepingProgress)
            if replaced != nil { core.events?.append(.isRetrying) }
            return replaced
        }
        core.events?.start()
        return replaced == nil ? .finished(attempt.cancelled()) : .again(error)
    }

    // MARK: 8: Serialize

    /// Runs the serializers in the order in which they were attached, and then delivers the outcome.
    ///
    /// Serializers that are attached during this time are also run.
    ///
    /// - Returns: The failure of a serializer that causes another attempt, or `nil` if the request has finished.
    private mutating func serialize(_ attempt: CompletedAttempt) async -> RequestError? {
        while true {
            let slots = core.report { $0.serializationBegan() }
            taken.append(contentsOf: slots)
            for slot in slots {
                // As in `conclude`, a call that may suspend is made only if it is needed.
                let result =
                    slot.isSynchronous
                    ? slot.serve(attempt)
                    : await slot.serve(attempt) { [core] work in await core.interruptible(work) }
                guard attempt.error == nil, let error = result.error else {
                    served.append(ServedSlot(slot: slot, result: result))
                    continue
                }
                // The failure of a serializer is a new failure, so the retriers are called again.
                switch await ask(about: error, attempt) {
                case .finished(let failed): served.append(ServedSlot(slot, failedWith: failed))
                case .again:
                    core.report { $0.reattached(&taken) }
                    served = TinyArray()
                    writer.discardBody()
                    return error
                }
            }
            if settle(attempt) { return nil }
        }
    }

    /// Delivers the outcome, unless more serializers were attached, and returns whether the outcome was delivered.
    private func settle(_ attempt: CompletedAttempt) -> Bool {
        guard let settlement = core.report({ $0.served(attempt) }) else { return false }
        var results = served
        if settlement.attempt !== attempt {
            // Values that were serialized before the request was cancelled are not delivered.
            results = TinyArray()
            for item in served {
                let error = item.result.error
                results.append(
                    error?.isCancellation == true
                        ? item : ServedSlot(item.slot, failedWith: attempt.cancelled(after: error)))
            }
        }
        core.answer(settlement, served: results)
        return true
    }
}
