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
///     │  ├─ 5 receive     for a stream or a file: check the head, then receive the body
///     │  └─ 6 validate    for a body in memory: run the validators
///     └─ conclude
///        ├─ 7 retry       after a failure: call the retriers, and wait before the next attempt
///        └─ 8 serialize   run the serializers in order, and call the retriers for their failures
///
/// The loop belongs to the task that runs the request. It runs on the global executor, or on the executor that this
/// task prefers. Its own state is not shared and needs no lock. The ``RequestMachine`` contains the state that other
/// tasks can access. User code that awaits runs in separate tasks, so that a cancellation does not wait for it.
struct AttemptLoop: ~Copyable {
    private let core: RequestCore
    /// Whether the call that started the request has already sent the first attempt.
    private var isSent: Bool
    private var download: FileDownload?
    /// The place of the file of the download or of the upload.
    private var place: FilePlaces.Place?
    /// The redirects of the current attempt.
    private var redirects: RedirectFollower
    /// The error of the previous attempt.
    private var earlier: RequestError?
    private var served = TinyArray<SerializationSlot>()

    init(of core: RequestCore, _ start: RequestMachine<Resumption<ExchangeEvent>>.DriverStart) {
        self.core = core
        isSent = start == .await
        redirects = RedirectFollower(core)
        download = FileDownload(for: core.sink)
    }

    /// Makes attempts until an attempt is final, and then delivers the outcome to all waiting tasks.
    ///
    /// The frame of this method exists for each request in flight, so all other work has frames of its own.
    @concurrent
    mutating func run() async {
        var attempt: CompletedAttempt
        repeat {
            if let failed = await send() {
                attempt = failed
            } else {
                attempt = await received(await core.nextEvent())
            }
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
                .finished(download?.ended(attempt) ?? attempt)
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
        redirects = RedirectFollower(core)
        defer { isSent = false }
        guard !isSent else { return nil }
        do throws(RequestError) {
            var request = try await adapt(try await convert())
            if download != nil || request.body?.usesFile == true { try await prepareFile(&request) }
            core.send(request)
            return nil
        } catch {
            core.machine.withLock { $0.preparationFailed() }
            return validate(ExchangeOutcome(response: nil, error: error))
        }
    }

    @inline(never)
    private mutating func received(_ event: ExchangeEvent) async -> CompletedAttempt {
        // As in `conclude`, a call that may suspend is made only if it is needed.
        switch event.isRedirect ? await redirects.follow(from: event) : event {
        case .outcome(let outcome): return validate(outcome, sendsResponse: download == nil)
        case .head(let response): return await receive(response)
        }
    }

    // MARK: 1: Convert

    private func convert() async throws(RequestError) -> HTTPRequest {
        do throws(RequestError) {
            let (additions, isCancelled) = core.machine.withLock { ($0.setup.additions, $0.isCancelled) }
            // No user code runs for a cancelled request. A download continues, to return its resume data.
            if isCancelled, download == nil || core.runsUserCode { throw RequestError(.cancelled) }
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
        let isAdapted = !core.context.adapters.isEmpty
        let (interceptors, attempts, isCancelled) = core.machine.withLock { machine in
            if isAdapted || !machine.setup.interceptors.isEmpty { machine.record.willAdapt(request) }
            return (machine.setup.interceptors, machine.record.attempts, machine.isCancelled)
        }
        let adapters = core.context.adapters + AdapterChain.parts(of: interceptors)
        guard !adapters.isEmpty || request.body?.isStatedEmpty == true else { return request }
        do throws(RequestError) {
            if isCancelled { throw RequestError(.cancelled) }
            let chain = AdapterChain(adapters: adapters)
            let adapted = try await core.interruptible { [core] () async throws(RequestError) in
                let state = RequestAdapterState(
                    requestID: core.id, session: core.context.session, retryCount: attempts)
                var adapted = request
                if request.isOutsideBase {
                    let ownChain = AdapterChain(adapters: AdapterChain.parts(of: interceptors))
                    adapted = try await AdapterChain(adapters: core.context.adapters).adapt(request, using: state)
                    adapted.removeSecrets(addedTo: request)
                    adapted = try await ownChain.adapt(adapted, using: state)
                } else if !adapters.isEmpty {
                    adapted = try await chain.adapt(request, using: state)
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
            if self.isCancelled, !error.isCancellation { error = .cancelled(after: error).during(request, attempts: 0) }
            core.events?.emit(.didFailToAdaptRequest(request, error))
            throw error
        }
    }

    /// Waits until the file of a download or of an upload may be open, and adds the header fields of a download.
    private mutating func prepareFile(_ request: inout HTTPRequest) async throws(RequestError) {
        if place == nil { place = FilePlaces.shared.free() }
        if place == nil {
            let timeouts = request.timeouts.filled(from: core.context.configuration.timeouts)
            place = try await core.interruptible(throwing: { [core] () async throws(RequestError) in
                try await FilePlaces.shared.next(timeouts) { core.machine.withLock { $0.requestedState } == .suspended }
            })
        }
        guard download != nil else { return }
        do throws(RequestError) {
            try download?.prepare(&request)
        } catch {
            let error = error.during(request, attempts: 0)
            core.events?.emit(.didFailToCreateRequest(error))
            throw error
        }
    }

    // MARK: 5: Receive

    /// Checks the head before the body is received, and waits for the end of the exchange.
    private mutating func receive(_ response: HTTPResponse) async -> CompletedAttempt {
        var refusal: RequestError?
        if let download {
            switch download.headReceived(response) {
            case .write: break
            case .refuse(let error): refusal = error
            case .complete:
                let attempt = validate(await abandonedOutcome(response))
                return finishDownload(attempt, response)
            case .sendAgain:
                let attempt = validate(await abandonedOutcome(response))
                return sendsAgain(attempt, response)
            }
        }
        core.machine.withLock { $0.record.sequences.responses }?.send(response)
        let handshakeError = core.sink.socket.flatMap { socket in
            socket.refusal(of: response, to: core.machine.withLock { $0.record.requests.last })
        }
        if let error = handshakeError ?? verdict(on: response) ?? refusal {
            return await refused(response, error)
        }
        guard await isAllowed(response) else {
            core.cancel()
            return validate(await core.nextOutcome())
        }
        switch core.sink {
        case .memory: core.accept(response)?.receiveBody(with: nil)
        case .stream(let body):
            if let exchange = core.accept(response) {
                body.onDemand { exchange.receiveMore() }
                exchange.receiveBody(with: body)
            }
            let outcome = await core.nextOutcome()
            // If the upload was stopped early, the outcome contains the whole body of the response.
            if !outcome.body.isEmpty { _ = body.receive(outcome.body) }
            return validate(outcome)
        case .file: return await writeFile(response)
        case .socket(let socket): return validate(await socket.run(response, of: core))
        }
        return validate(await core.nextOutcome())
    }

    /// Runs the validators on the head of a stream or a download; returns the first error.
    private func verdict(on response: HTTPResponse) -> RequestError? {
        guard core.sink.pausesBody, core.sink.socket == nil else { return nil }
        let (request, validators) = core.machine.withLock { ($0.record.requests.last, $0.setup.validators) }
        let isEmpty = request?.method == .head || response.announcesNoBody
        do throws(RequestError) {
            // An empty body needs no content type. For other bodies, it is not known whether they are empty.
            try run(validators, on: response, of: request, data: isEmpty ? Data() : nil)
            return nil
        } catch {
            return error
        }
    }

    /// Ends a refused exchange, after receiving the beginning of the body for the error.
    private func refused(_ response: HTTPResponse, _ error: RequestError) async -> CompletedAttempt {
        let bodyPrefix = ErrorBodyPrefix(limit: RequestError.bodyLimit)
        let outcome = await core.outcome(with: bodyPrefix)
        let body = outcome.body.isEmpty ? bodyPrefix.bytes : outcome.body
        let verdict = error.about(response, body: body)
        let (request, attempts, isCancelled) = core.machine.withLock { machine in
            (machine.record.requests.last, machine.record.attempts, machine.isCancelled)
        }
        return CompletedAttempt(
            request: request, outcome: ExchangeOutcome(response: response, body: body, metrics: outcome.metrics),
            error: (isCancelled ? .cancelled(after: verdict) : verdict).during(request, attempts: attempts),
            attempts: attempts)
    }

    /// Ends an exchange whose body is not needed.
    private func abandonedOutcome(_ response: HTTPResponse) async -> ExchangeOutcome {
        let outcome = await core.abandonedOutcome()
        return ExchangeOutcome(response: outcome.response ?? response, metrics: outcome.metrics)
    }

    /// Calls the head handlers before the body is received, and returns whether all handlers allow the response.
    private func isAllowed(_ response: HTTPResponse) async -> Bool {
        for handler in core.machine.withLock({ $0.setup.headHandlers }) {
            guard await core.interruptible({ await handler(response) }) == .allow else { return false }
        }
        return true
    }

    // MARK: 6: Validate

    /// Combines the transport's error, a cancellation of the request, and the result of the validators.
    ///
    /// If `sendsResponse` is `true`, the head is also sent to the sequence of responses.
    private func validate(_ outcome: ExchangeOutcome, sendsResponse: Bool = false) -> CompletedAttempt {
        let outcome = outcome.with(redirects.history)
        let isCollected = outcome.error == nil && !core.sink.pausesBody
        let progress = TransferProgress(completed: Int64(outcome.body.count), total: Int64(outcome.body.count))
        let snapshot = core.machine.withLock { machine in
            (
                request: machine.record.requests.last, attempts: machine.record.attempts,
                isCancelled: machine.isCancelled, validators: machine.setup.validators,
                updates: isCollected ? machine.record.bodyCompleted(progress) : nil,
                responses: sendsResponse ? machine.record.sequences.responses : nil
            )
        }
        if let response = outcome.response { snapshot.responses?.send(response) }
        snapshot.updates?.send(progress)
        var error = outcome.error
        if snapshot.isCancelled {
            if error?.isCancellation != true { error = .cancelled(after: error) }
        } else if isCollected, !snapshot.validators.isEmpty, let response = outcome.response {
            do throws(RequestError) {
                try run(snapshot.validators, on: response, of: snapshot.request, data: outcome.body)
            } catch let refusal {
                error = refusal
            }
        }
        return CompletedAttempt(
            request: snapshot.request, outcome: outcome,
            error: error?.during(snapshot.request, attempts: snapshot.attempts), attempts: snapshot.attempts)
    }

    /// Runs the validators, and reports their result to the monitors.
    private func run(
        _ validators: [ResponseValidator], on response: HTTPResponse, of request: HTTPRequest?, data: Data?
    ) throws(RequestError) {
        guard let events = core.events, !validators.isEmpty else {
            return try validators.run(request: request, response: response, data: data)
        }
        do throws(RequestError) {
            try validators.run(request: request, response: response, data: data)
            events.validated(response, of: request, data: data, .success(()))
        } catch {
            events.validated(response, of: request, data: data, .failure(error))
            throw error
        }
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
        guard download == nil else { return await retryDownload(attempt, error) }
        guard !hasDeliveredBody, !error.isUnreplayableBody(after: earlier) else { return .finished(attempt) }
        return await ask(about: error, attempt)
    }

    /// Whether a reader may already have received part of the body, which another attempt would deliver again.
    private var hasDeliveredBody: Bool {
        guard core.sink.pausesBody else { return false }
        return core.machine.withLock { $0.record.response != nil }
    }

    /// Calls the retriers, and waits for the delay of a retry; to be called once for each failure.
    private func ask(about error: RequestError, _ attempt: CompletedAttempt) async -> Decision {
        let failed = attempt.failing(with: error)
        let finished = Decision.finished(failed)
        guard !error.isCancellation, error.kind != .sessionShutDown else { return finished }
        let retriers = core.context.retriers + RetrierChain.parts(of: core.machine.withLock { $0.setup.interceptors })
        guard !retriers.isEmpty, let request = core.context.request(core.id) else { return finished }
        // The retriers read the outcome from the request, not from the attempt.
        let (isCancelled, _) = core.machine.withLock { machine in
            (machine.isCancelled, machine.record.came(to: failed))
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
        by sleep: DownloadPlan.Sleep? = nil
    ) async -> Decision {
        core.events?.emit(.willRetry(error, after: delay))
        if let delay, delay > .zero {
            let sleep = sleep ?? core.context.sleep
            _ = await core.interruptible { try? await sleep(delay) }
        }
        let replaced = core.machine.withLock { machine in
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
            let slots = core.machine.withLock { $0.serializationBegan() }
            served.append(contentsOf: slots)
            for slot in slots {
                // As in `conclude`, a call that may suspend is made only if it is needed.
                let error =
                    slot.isSynchronous
                    ? slot.serve(attempt)
                    : await slot.serve(attempt) { [core] work in await core.interruptible(work) != nil }
                // The failure of a serializer is a new failure, so the retriers are called again.
                guard attempt.error == nil, let error else { continue }
                switch await ask(about: error, attempt) {
                case .finished(let attempt): slot.fail(attempt)
                case .again:
                    for slot in served { slot.forget() }
                    core.machine.withLock { $0.reattached(&served) }
                    download?.removeFile()
                    download = FileDownload(for: core.sink)
                    return error
                }
            }
            if settle(attempt) { return nil }
        }
    }

    /// Delivers the outcome, unless more serializers were attached, and returns whether the outcome was delivered.
    private func settle(_ attempt: CompletedAttempt) -> Bool {
        guard let settlement = core.machine.withLock({ $0.served(attempt) }) else { return false }
        // Values that were serialized before the request was cancelled are not delivered.
        if settlement.attempt !== attempt {
            for slot in served where slot.failure?.isCancellation != true {
                slot.fail(attempt.cancelled(after: slot.failure))
            }
        }
        core.answer(settlement, served: served)
        return true
    }

    private var isCancelled: Bool { core.machine.withLock { $0.isCancelled } }
}

// MARK: Downloads

extension AttemptLoop {
    /// Decides whether another attempt follows a failed attempt of a download, for example to resume it automatically.
    private mutating func retryDownload(_ attempt: CompletedAttempt, _ error: RequestError) async -> Decision {
        let decision: Decision
        switch download?.interrupted(by: error) {
        case .startOver: decision = await again(after: nil, attempt, error, keepingProgress: true)
        case .resume(let delay):
            decision = await again(after: delay, attempt, error, keepingProgress: true, by: download?.plan.sleep)
        case .ask where !error.isUnreplayableBody(after: earlier):
            let resumableAttempt = attempt.resumable(with: download?.resumeData)
            decision = await ask(about: resumableAttempt.error ?? error, resumableAttempt)
        case .ask, .end, nil: decision = .finished(attempt)
        }
        guard case .finished(let final) = decision else { return decision }
        return .finished(download?.ended(attempt.failing(with: final.error ?? error)) ?? final)
    }

    /// Records that the requested range is not available, so that the next attempt requests the whole representation.
    private mutating func sendsAgain(_ attempt: CompletedAttempt, _ response: HTTPResponse) -> CompletedAttempt {
        download?.mustStartOver()
        return attempt.failing(with: RequestError(.download(.cannotResume(statusCode: response.statusCode))))
    }

    /// Writes the body to the file.
    private mutating func writeFile(_ response: HTTPResponse) async -> CompletedAttempt {
        guard let file = download else { return validate(await core.nextOutcome()) }
        let configuration = core.context.configuration
        let body = BodyFanOut(
            highWatermark: configuration.bodyHighWatermark, lowWatermark: configuration.bodyLowWatermark)
        let reader = body.join(cancelsRequest: false)
        let (position, total, now) = (file.positionOfBody, file.total, MonotonicClock.now())
        core.machine.withLock { $0.record.bodyResumed(at: position, of: total, now: now) }
        if let exchange = core.accept(response, fileBody: body) {
            body.onDemand { exchange.receiveMore() }
            exchange.receiveBody(with: body)
        } else {
            // The exchange has already ended without a body.
            body.finish()
        }
        var failure: RequestError?
        do throws(RequestError) {
            while let piece = try await body.read(reader) { try file.write(piece) }
        } catch {
            failure = error
            core.machine.withLock { $0.exchange }?.cancel()
        }
        let attempt = validate(await core.nextOutcome())
        // An error of the file system takes precedence over the cancellation that it caused.
        if let failure, !failure.isCancellation, attempt.error == nil || attempt.error?.isCancellation == true,
            !isCancelled
        {
            return attempt.failing(with: failure.during(attempt.request, attempts: attempt.attempts))
        }
        return finishDownload(attempt, response)
    }

    /// Validates the complete file, and moves it to its destination.
    private mutating func finishDownload(_ attempt: CompletedAttempt, _ response: HTTPResponse) -> CompletedAttempt {
        guard attempt.error == nil, download != nil else { return attempt }
        do throws(RequestError) {
            try download?.validate(attempt, response, core.events)
            guard let url = try download?.complete() else { return sendsAgain(attempt, response) }
            let (size, now) = (download?.completed ?? 0, MonotonicClock.now())
            if let (progress, updates) = core.machine.withLock({ $0.record.fileCompleted(size, now: now) }) {
                updates.send(progress)
            }
            core.events?.downloaded(attempt, .success(url))
            return attempt.saved(at: url)
        } catch {
            let error = error.during(attempt.request, attempts: attempt.attempts)
            core.events?.downloaded(attempt, .failure(error))
            return attempt.failing(with: error)
        }
    }
}
