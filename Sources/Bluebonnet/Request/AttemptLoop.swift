import FoundationEssentials

/// Moves a request from its start to its answers: the stages of every attempt, in order.
///
///     run        until an attempt is final
///     ├─ attempt
///     │  ├─ 1 convert     a new HTTPRequest for each attempt, which is checked
///     │  ├─ 2 adapt       the session's adapters, then the request's
///     │  ├─ 3 send        in RequestCore: the transport asks the cache, then the network
///     │  ├─ 4 redirect    in RedirectFollower: where the answer leads elsewhere, send again
///     │  ├─ 5 receive     the head is checked before the body, where that goes to a stream or a file
///     │  └─ 6 validate
///     ├─ 7 retry          the retriers decide about a failure: the next attempt, after a delay
///     └─ 8 serialize      each serializer in the order attached; a failure goes to the retriers, too
///
/// Belongs to the task that drives the request, on the global pool or where that task prefers to run. Its own state is
/// not shared and takes no lock; the state that other tasks see is in the ``RequestMachine``. User code that awaits
/// runs in tasks of its own, so that a cancellation need not wait for it.
struct AttemptLoop: ~Copyable {
    private let core: RequestCore
    /// Whether the first attempt was sent where the request was started.
    private var isSent: Bool
    private var download: FileDownload?
    /// The redirects of the attempt under way.
    private var redirects: RedirectFollower
    /// Why the attempt before failed.
    private var earlier: RequestError?
    private var served = TinyArray<SerializationSlot>()

    init(of core: RequestCore, _ start: RequestMachine<Resumption<ExchangeEvent>>.DriverStart) {
        self.core = core
        isSent = start == .await
        redirects = RedirectFollower(core)
        download = FileDownload(for: core.sink)
    }

    /// Makes attempts until one is final, and answers everyone.
    @concurrent
    mutating func run() async {
        repeat {
            let attempt = await attempt().caused(by: earlier)
            switch await retry(attempt) {
            case .again(let error): earlier = error
            case .finished(let attempt):
                guard let error = await serialize(attempt) else { return }
                earlier = error
            }
        } while true
    }

    // MARK: 1-6: An attempt

    private mutating func attempt() async -> CompletedAttempt {
        redirects = RedirectFollower(core)
        do throws(RequestError) {
            if !isSent {
                let converted = try await convert()
                var request = try await adapt(converted)
                try prepareDownload(&request)
                core.send(request)
            }
        } catch {
            return failed(error)
        }
        isSent = false
        switch await redirects.follow(from: await core.nextEvent()) {
        case .outcome(let outcome): return validate(outcome, sendsResponse: download == nil)
        case .head(let response): return await receive(response)
        }
    }

    // MARK: 1: Convert

    private func convert() async throws(RequestError) -> HTTPRequest {
        do throws(RequestError) {
            let (credential, isCancelled) = core.machine.withLock { ($0.setup.credential, $0.isCancelled) }
            // No user code runs for a cancelled request. A download still reports its resume data.
            if isCancelled, download == nil || core.runsUserCode { throw RequestError(.cancelled) }
            let request: HTTPRequest
            if core.runsUserCode {
                request = try await core.interruptible { [core] () throws(RequestError) in
                    try core.converted(credential)
                }
            } else {
                request = try core.converted(credential)
            }
            core.events?.emit(.didCreateInitialRequest(request))
            return request
        } catch {
            core.events?.emit(.didFailToCreateRequest(error))
            throw error
        }
    }

    // MARK: 2: Adapt

    /// Asks the adapters, and ensures that a body declared as empty is empty.
    private func adapt(_ request: HTTPRequest) async throws(RequestError) -> HTTPRequest {
        let (interceptors, attempts, isCancelled) = core.machine.withLock { machine in
            (machine.setup.interceptors, machine.record.attempts, machine.isCancelled)
        }
        let adapters = core.context.adapters + AdapterChain.parts(of: interceptors)
        guard !adapters.isEmpty || request.body?.isStatedEmpty == true else { return request }
        do throws(RequestError) {
            if isCancelled { throw RequestError(.cancelled) }
            let chain = AdapterChain(adapters: adapters)
            let adapted = try await core.interruptible { [core] () async throws(RequestError) in
                let state = RequestAdapterState(
                    requestID: core.id, session: core.context.session, retryCount: attempts)
                var adapted = adapters.isEmpty ? request : try await chain.adapt(request, using: state)
                // The request was checked when it was made.
                if !adapted.isIdentical(to: request) {
                    try adapted.validate()
                    try core.checkCachePolicy(of: adapted)
                    adapted.stateContentType()
                }
                guard let body = adapted.body, body.isStatedEmpty else { return adapted }
                // The transport reads no bytes of such a body, so it would not notice that there are some.
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
            // An adapter that heeds its cancellation may already have thrown a cancellation error.
            if self.isCancelled, !error.isCancellation { error = .cancelled(after: error).during(request, attempts: 0) }
            core.events?.emit(.didFailToAdaptRequest(request, error))
            throw error
        }
    }

    /// Adds what a download asks for, such as the rest of its file.
    private mutating func prepareDownload(_ request: inout HTTPRequest) throws(RequestError) {
        guard download != nil else { return }
        do throws(RequestError) {
            try download?.prepare(&request)
        } catch {
            let error = error.during(request, attempts: 0)
            core.events?.emit(.didFailToCreateRequest(error))
            throw error
        }
    }

    /// Ends an attempt that was not sent.
    private func failed(_ error: RequestError) -> CompletedAttempt {
        core.machine.withLock { $0.preparationFailed() }
        return validate(ExchangeOutcome(response: nil, error: error))
    }

    // MARK: 5: Receive

    /// Checks a head whose body is held back, chooses the destination of the body, and waits for its end.
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
        if let error = verdict(on: response) ?? refusal { return await refused(response, error) }
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
            // The answer to an upload that was cut off is there all at once.
            if !outcome.body.isEmpty { _ = body.receive(outcome.body) }
            return validate(outcome)
        case .file: return await writeFile(response)
        }
        return validate(await core.nextOutcome())
    }

    /// Asks the validators about a head, if the body will not be at hand for them; returns why they refuse it.
    private func verdict(on response: HTTPResponse) -> RequestError? {
        guard core.sink.pausesBody else { return nil }
        let (request, validators) = core.machine.withLock { ($0.record.requests.last, $0.setup.validators) }
        let isEmpty = request?.method == .head || response.announcesNoBody
        do throws(RequestError) {
            // An empty body needs no content type; whether others are empty is not known yet.
            try run(validators, on: response, of: request, data: isEmpty ? Data() : nil)
            return nil
        } catch {
            return error
        }
    }

    /// Ends the exchange after as much of the body as an error keeps, if that comes soon.
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

    /// Ends an exchange of which only the head is needed.
    private func abandonedOutcome(_ response: HTTPResponse) async -> ExchangeOutcome {
        let outcome = await core.abandonedOutcome()
        return ExchangeOutcome(response: outcome.response ?? response, metrics: outcome.metrics)
    }

    /// Asks the head handlers before the body is received.
    private func isAllowed(_ response: HTTPResponse) async -> Bool {
        for handler in core.machine.withLock({ $0.setup.headHandlers }) {
            guard await core.interruptible({ await handler(response) }) == .allow else { return false }
        }
        return true
    }

    // MARK: 6: Validate

    /// Decides the outcome of an exchange: the transport's error, a cancellation of the request, and the validators.
    ///
    /// - Parameters:
    ///   - outcome: How the exchange ended.
    ///   - sendsResponse: Whether the sequence of responses has yet to receive this head.
    /// - Returns: The completed attempt.
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

    /// Runs the validators, and tells the monitors what they make of the response.
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
        /// Another attempt is made, because of this error.
        case again(RequestError?)
        /// The attempt is final, with the error that it has now.
        case finished(CompletedAttempt)
    }

    /// Decides whether an attempt that failed is followed by another.
    private mutating func retry(_ attempt: CompletedAttempt) async -> Decision {
        guard let error = attempt.error else { return .finished(download?.ended(attempt) ?? attempt) }
        guard download == nil else { return await retryDownload(attempt, error) }
        guard !hasDeliveredBody, !error.isUnreplayableBody(after: earlier) else { return .finished(attempt) }
        return await ask(about: error, attempt)
    }

    /// Whether some of a body may be in a reader's hands already, who would get it a second time.
    private var hasDeliveredBody: Bool {
        guard case .stream = core.sink else { return false }
        return core.machine.withLock { $0.record.response != nil }
    }

    /// Asks the retriers about a failure, the session's before the request's own, and lets the delay pass.
    ///
    /// The caller ensures that the retriers are asked once for each distinct failure.
    private func ask(about error: RequestError, _ attempt: CompletedAttempt) async -> Decision {
        let failed = attempt.failing(with: error)
        let finished = Decision.finished(failed)
        guard !error.isCancellation, error.kind != .sessionShutDown else { return finished }
        let retriers = core.context.retriers + RetrierChain.parts(of: core.machine.withLock { $0.setup.interceptors })
        guard !retriers.isEmpty, let request = core.context.request(core.id) else { return finished }
        // The retriers look at the request, not at the attempt.
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
                        .during(attempt.request, attempts: attempt.attempts)))
        case .retry: return await again(after: nil, failed, error)
        case .retryWithDelay(let delay): return await again(after: delay, failed, error)
        }
    }

    /// Lets the delay pass, unless the request is cancelled meanwhile.
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

    /// Serves the serializers in the order attached, those that are attached meanwhile, too, and answers everyone.
    ///
    /// - Returns: The failure of a serializer because of which another attempt is made, or `nil` when the request is over.
    private mutating func serialize(_ attempt: CompletedAttempt) async -> RequestError? {
        while true {
            let slots = core.machine.withLock { $0.serializationBegan() }
            served.append(contentsOf: slots)
            for slot in slots {
                await slot.serve(attempt) { [core] work in await core.interruptible(work) != nil }
                // The failure of a serializer is a new one.
                guard attempt.error == nil, let error = slot.failure else { continue }
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

    /// Makes the outcome final and answers everyone, unless there is a serializer left to serve; returns whether it is.
    private func settle(_ attempt: CompletedAttempt) -> Bool {
        guard let settlement = core.machine.withLock({ $0.served(attempt) }) else { return false }
        // What was served before the request was cancelled is not handed out.
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
    /// Decides whether an interrupted download makes another attempt: it may resume automatically.
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

    /// Notes that the requested range is not available; the whole representation may be.
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
            // There was no body, and the exchange has ended.
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
        // A file system error takes precedence over the cancellation that it caused.
        if let failure, !failure.isCancellation, attempt.error == nil || attempt.error?.isCancellation == true,
            !isCancelled
        {
            return attempt.failing(with: failure.during(attempt.request, attempts: attempt.attempts))
        }
        return finishDownload(attempt, response)
    }

    /// Moves the file of a complete body into its place.
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

extension HTTPResponse {
    /// Whether the head says that there is no body (RFC 9110 §6.4.1).
    fileprivate var announcesNoBody: Bool { statusCode == 204 || statusCode == 304 || expectedContentLength == 0 }
}

extension RequestError {
    /// Whether a body was to be sent again that cannot be, which no further attempt changes.
    fileprivate func isUnreplayableBody(after earlier: RequestError?) -> Bool {
        earlier != nil && kind == .requestBody(.notReplayable)
    }
}
