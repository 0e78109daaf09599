import FoundationEssentials

/// Moves a request from its start to its answers: the stages of every attempt, in order.
///
///     run        until an attempt is final
///     ├─ attempt
///     │  ├─ convert       a new HTTPRequest for each attempt
///     │  ├─ adapt         the session's adapters, then the request's
///     │  ├─ send          the transport asks the cache, then the network
///     │  ├─ redirect      where the answer leads elsewhere: send again
///     │  ├─ receive       the head is judged before the body, where that goes to a stream or a file
///     │  └─ validate
///     ├─ retry            the retriers decide about a failure: the next attempt, after a delay
///     └─ serialize        each serializer in the order attached; a failure goes to the retriers, too
///
/// Belongs to the task that drives the request, on the global pool or where that task prefers to run. What it keeps is
/// nobody else's, and takes no lock; what others see is in the ``RequestMachine``. User code that awaits runs in tasks of its
/// own, so that whoever cancels the request need not wait for it.
struct AttemptLoop {
    private let core: RequestCore
    /// Whether the first attempt was sent where the request was started.
    private var isSent: Bool
    private var download: FileDownload?
    /// What redirected the attempt under way, in order.
    private var history: [HTTPResponse] = []
    /// Why the attempt before failed.
    private var earlier: RequestError?
    private var served = FewOf<SerializationSlot>()

    init(of core: RequestCore, _ claim: RequestMachine<Resumption<ExchangeEvent>>.Claim) {
        self.core = core
        isSent = claim == .await
        download = FileDownload(for: core.sink)
    }

    /// Makes attempts until one is final, and answers everyone.
    @concurrent
    mutating func run() async {
        repeat {
            let attempt = await attempt().caused(by: earlier)
            switch await retry(attempt) {
            case .again(let error): earlier = error
            case .stands(let attempt):
                guard let error = await serialize(attempt) else { return }
                earlier = error
            }
        } while true
    }

    // MARK: 1-5: An attempt

    private mutating func attempt() async -> CompletedAttempt {
        history = []
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
        let event = await followRedirects(from: await core.nextEvent())
        switch event.with(history) {
        case .outcome(let outcome):
            if download == nil { tell(outcome.response) }
            return validate(outcome)
        case .head(let response): return await receive(response)
        }
    }

    // MARK: 1: Convert

    private func convert() async throws(RequestError) -> HTTPRequest {
        do throws(RequestError) {
            let (credential, isCancelled) = core.machine.withLock { ($0.setup.credential, $0.wish == .cancelled) }
            // No code of the user's runs for nobody; what a download can be resumed with is told all the same.
            if isCancelled, download == nil { throw RequestError(.cancelled) }
            let request: HTTPRequest
            if core.runsUserCode, !isCancelled {
                request = try await interruptible { [core] () throws(RequestError) in try core.converted(credential) }
            } else {
                request = try core.converted(credential)
            }
            core.events?.tell(.didCreateInitialRequest(request))
            return request
        } catch {
            core.events?.tell(.didFailToCreateRequest(error))
            throw error
        }
    }

    // MARK: 2: Adapt

    /// Asks the adapters, and sees to it that a body that is said to be empty is.
    private func adapt(_ request: HTTPRequest) async throws(RequestError) -> HTTPRequest {
        let (interceptors, attempts, isCancelled) = core.machine.withLock { machine in
            (machine.setup.interceptors, machine.record.attempts, machine.wish == .cancelled)
        }
        let adapters = core.context.adapters + AdapterChain.parts(of: interceptors)
        guard !adapters.isEmpty || request.body?.isStatedEmpty == true else { return request }
        do throws(RequestError) {
            if isCancelled { throw RequestError(.cancelled) }
            let chain = AdapterChain(adapters: adapters)
            let adapted = try await interruptible { [core] () async throws(RequestError) in
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
                // Nobody asks for the bytes of such a body when it is sent, and so nobody would find that there are some.
                try await body.confirmEmpty()
                adapted.body = .data(Data())
                return adapted
            }
            if !adapters.isEmpty {
                core.events?.tell(.didAdaptInitialRequest(request, to: adapted))
            }
            return adapted
        } catch {
            var error = error.during(request, attempts: 0)
            // An adapter that heeds its cancellation may have been quicker to say so.
            if self.isCancelled, !error.isCancellation { error = .cancelled(after: error).during(request, attempts: 0) }
            core.events?.tell(.didFailToAdaptRequest(request, error))
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
            core.events?.tell(.didFailToCreateRequest(error))
            throw error
        }
    }

    /// Ends an attempt that was not sent.
    private func failed(_ error: RequestError) -> CompletedAttempt {
        core.machine.withLock { $0.preparationFailed() }
        return validate(ExchangeOutcome(response: nil, error: error))
    }

    // MARK: 3-4: Redirects

    /// Goes where an answer leads; returns the first event that does not lead elsewhere.
    private mutating func followRedirects(from first: ExchangeEvent) async -> ExchangeEvent {
        var event = first
        guard event.isRedirect, let origin = core.machine.withLock({ $0.record.requests.last }) else { return event }
        var chain = RedirectChain(request: origin, limits: core.context.configuration.redirects)
        while event.isRedirect, let response = event.response {
            do throws(RequestError) {
                guard var request = try await redirected(by: response, in: &chain) else { break }
                request.firstPartyURL = origin.url
                if case .head = event { await endRedirecting(response) }
                history.append(response)
                core.events?.tell(.willBeRedirected(to: request, for: response))
                core.send(request, isRedirect: true)
            } catch {
                return .outcome(await refused(event, error.about(response, body: nil)))
            }
            event = await core.nextEvent()
        }
        return event
    }

    /// Decides about a redirect; returns the request to go on with, or `nil` to stay with the response.
    private func redirected(
        by response: HTTPResponse, in chain: inout RedirectChain
    ) async throws(RequestError) -> HTTPRequest? {
        let handler = core.machine.withLock({ $0.setup.redirectHandler }) ?? core.context.redirectHandler
        // Not even a location that is none is of interest then.
        if case .doNotFollow = (handler as? Redirector)?.behavior { return nil }
        let proposal: HTTPRequest
        switch chain.received(response) {
        case .deliver: return nil
        case .refuse(let reason): throw RequestError(.redirect(reason))
        case .follow(let request): proposal = request
        }
        guard let handler else { return try chain.followed(with: proposal) }
        guard let request = core.context.request(core.id) else { return nil }
        let chosen = try await interruptible {
            await handler.request(request, willBeRedirectedTo: proposal, for: response)
        }
        guard let chosen else { return nil }
        return try chain.followed(with: chosen)
    }

    /// Ends the exchange of a response that redirects, whose body nobody wants.
    ///
    /// A short one that comes at once is read, to keep the connection. So it is only if what is left to be sent is short.
    private func endRedirecting(_ response: HTTPResponse) async {
        let body = core.machine.withLock { $0.record.requests.last?.body }
        let (limit, length) = (Int64(RequestError.bodyLimit), response.expectedContentLength ?? 0)
        guard length <= limit, body.map({ $0.length ?? .max <= limit }) ?? true else {
            _ = await abandonedOutcome()
            return
        }
        _ = await outcome(with: BodyBeginning(limit: RequestError.bodyLimit + 1))
    }

    /// Ends an attempt with a redirect that is not followed although it is not wanted as a response.
    private func refused(_ event: ExchangeEvent, _ error: RequestError) async -> ExchangeOutcome {
        switch event {
        case .outcome(let outcome):
            return ExchangeOutcome(
                response: outcome.response, body: outcome.body,
                error: error.about(outcome.response, body: outcome.body),
                metrics: outcome.metrics, origin: outcome.origin)
        case .head(let response):
            let outcome = await abandonedOutcome()
            return ExchangeOutcome(response: response, error: error, metrics: outcome.metrics)
        }
    }

    // MARK: 4: Receive

    /// Judges a head whose body is held back, says where that goes, and waits for the end of it.
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
        tell(response)
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

    /// Tells those who watch the heads of one.
    private func tell(_ response: HTTPResponse?) {
        guard let response else { return }
        core.machine.withLock { $0.record.sequences.responses }?.send(response)
    }

    /// Asks the validators about a head, if the body will not be at hand for them; returns why they refuse it.
    private func verdict(on response: HTTPResponse) -> RequestError? {
        guard core.sink.holdsBody else { return nil }
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
        let beginning = BodyBeginning(limit: RequestError.bodyLimit)
        let outcome = await outcome(with: beginning)
        let body = outcome.body.isEmpty ? beginning.bytes : outcome.body
        let verdict = error.about(response, body: body)
        return completed(
            ExchangeOutcome(response: response, body: body, metrics: outcome.metrics),
            isCancelled ? .cancelled(after: verdict) : verdict)
    }

    /// Has the beginning of a body received that is of little use, and waits for the end of the exchange.
    ///
    /// That is when the body has ended, when there is enough of it, or when patience has run out: a server that takes its
    /// time must not delay what is known.
    private func outcome(with beginning: BodyBeginning) async -> ExchangeOutcome {
        guard let exchange = core.machine.withLock({ $0.exchange }) else { return await core.nextOutcome() }
        exchange.receiveBody(with: beginning)
        let impatience = Task { [patience = core.context.configuration.patience] in
            try await patience()
            exchange.cancel()
        }
        defer { impatience.cancel() }
        return await core.nextOutcome()
    }

    /// Ends an exchange whose body is of no use.
    private func abandonedOutcome() async -> ExchangeOutcome {
        core.machine.withLock { $0.exchange }?.cancel()
        return await core.nextOutcome()
    }

    /// Ends an exchange of which the head is all there is to know.
    private func abandonedOutcome(_ response: HTTPResponse) async -> ExchangeOutcome {
        let outcome = await abandonedOutcome()
        return ExchangeOutcome(response: outcome.response ?? response, metrics: outcome.metrics)
    }

    /// Asks those who want to know of the head before the body comes.
    private func isAllowed(_ response: HTTPResponse) async -> Bool {
        for handler in core.machine.withLock({ $0.setup.headHandlers }) {
            guard await core.interruptible({ await handler(response) }) == .allow else { return false }
        }
        return true
    }

    // MARK: 5: Validate

    /// Judges an exchange: what the transport says, whether the request was cancelled, and the validators.
    private func validate(_ outcome: ExchangeOutcome) -> CompletedAttempt {
        let outcome = outcome.with(history)
        let isCollected = outcome.error == nil && !core.sink.holdsBody
        let progress = TransferProgress(completed: Int64(outcome.body.count), total: Int64(outcome.body.count))
        let (request, wish, validators, updates) = core.machine.withLock { machine in
            (
                machine.record.requests.last, machine.wish, machine.setup.validators,
                isCollected ? machine.record.bodyCompleted(progress) : nil
            )
        }
        updates?.send(progress)
        var error = outcome.error
        if isCollected, wish != .cancelled, !validators.isEmpty, let response = outcome.response {
            do throws(RequestError) {
                try run(validators, on: response, of: request, data: outcome.body)
            } catch let refusal {
                return completed(outcome, refusal)
            }
        }
        if wish == .cancelled, error?.isCancellation != true { error = .cancelled(after: error) }
        return completed(outcome, error)
    }

    private func completed(_ outcome: ExchangeOutcome, _ error: RequestError?) -> CompletedAttempt {
        let (request, attempts) = core.machine.withLock { ($0.record.requests.last, $0.record.attempts) }
        return CompletedAttempt(
            request: request, outcome: outcome, error: error?.during(request, attempts: attempts), attempts: attempts)
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

    // MARK: 6: Retry

    private enum Decision {
        /// Another attempt is made, because of this error.
        case again(RequestError?)
        /// The attempt is final, with the error that it has now.
        case stands(CompletedAttempt)
    }

    /// Decides what becomes of an attempt that failed.
    private mutating func retry(_ attempt: CompletedAttempt) async -> Decision {
        guard let error = attempt.error else { return .stands(download?.ended(attempt) ?? attempt) }
        guard download == nil else { return await retryDownload(attempt, error) }
        guard !isHandedOut, !error.isOfSecondReading(after: earlier) else { return .stands(attempt) }
        return await ask(about: error, attempt)
    }

    /// Whether some of a body may be in a reader's hands already, who would get it a second time.
    private var isHandedOut: Bool {
        guard case .stream = core.sink else { return false }
        return core.machine.withLock { $0.record.response != nil }
    }

    /// Asks the retriers about a failure, the session's before the request's own, and lets the delay pass.
    ///
    /// Asked once for each distinct failure: the caller sees to that.
    private func ask(
        about error: RequestError, _ attempt: CompletedAttempt
    ) async -> Decision {
        let stands = Decision.stands(attempt.failing(with: error))
        guard !error.isCancellation, error.kind != .sessionShutDown else { return stands }
        let retriers = core.context.retriers + RetrierChain.parts(of: core.machine.withLock { $0.setup.interceptors })
        guard !retriers.isEmpty, let request = core.context.request(core.id) else { return stands }
        // The retriers look at the request, not at the attempt.
        let (isCancelled, _) = core.machine.withLock { machine in
            (machine.wish == .cancelled, machine.record.came(to: attempt, error))
        }
        if isCancelled { return .stands(cancelled(attempt, after: error)) }
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
        case nil: return .stands(cancelled(attempt, after: error))
        case .doNotRetry: return stands
        case .doNotRetryWithError(let other):
            let replaced = RequestError(
                .retry(original: error.kind), detail: "in \(answer?.hook ?? "")", underlying: other)
            return .stands(
                attempt.failing(
                    with: replaced.about(error.response, body: error.body).resumable(with: error.resumeData)
                        .during(attempt.request, attempts: attempt.attempts)))
        case .retry: return await again(after: nil, attempt, error)
        case .retryWithDelay(let delay): return await again(after: delay, attempt, error)
        }
    }

    /// Lets the delay pass, unless the request is cancelled meanwhile.
    private func again(
        after delay: Duration?, _ attempt: CompletedAttempt, _ error: RequestError, keepingProgress: Bool = false,
        by sleep: DownloadPlan.Sleep? = nil
    ) async -> Decision {
        core.events?.tell(.willRetry(error, after: delay))
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
        return replaced == nil ? .stands(cancelled(attempt, after: error)) : .again(error)
    }

    private func cancelled(_ attempt: CompletedAttempt, after error: RequestError) -> CompletedAttempt {
        attempt.failing(with: .cancelled(after: error).during(attempt.request, attempts: attempt.attempts))
    }

    // MARK: 7: Serialize

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
                case .stands(let attempt): if let error = attempt.error { slot.fail(attempt, error) }
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
    ///
    /// A request that was cancelled before this point was cancelled: what its serializers made is not handed out.
    private func settle(_ attempt: CompletedAttempt) -> Bool {
        guard let settlement = core.machine.withLock({ $0.served(attempt) }) else { return false }
        var final = attempt
        if settlement.isCancelled, attempt.error?.isCancellation != true {
            let error = RequestError.cancelled(after: attempt.error)
                .during(attempt.request, attempts: attempt.attempts)
            final = attempt.failing(with: error)
            _ = core.machine.withLock { $0.record.came(to: final, error) }
            for slot in served { slot.fail(final, error) }
        }
        core.tell(settlement, served: served)
        for slot in served { slot.deliver() }
        core.sink.finish(with: final.error)
        return true
    }

    // MARK: User code

    private var isCancelled: Bool { core.machine.withLock { $0.wish == .cancelled } }

    /// Awaits the user's code for as long as the request is not cancelled.
    private func interruptible<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(RequestError) -> Value
    ) async throws(RequestError) -> Value {
        let result = await core.interruptible { () async -> Result<Value, RequestError> in
            do throws(RequestError) {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }
        guard let result else { throw RequestError(.cancelled) }
        return try result.get()
    }
}

// MARK: Downloads

extension AttemptLoop {
    /// Decides what becomes of a download that was interrupted: it may go on by itself.
    private mutating func retryDownload(_ attempt: CompletedAttempt, _ error: RequestError) async -> Decision {
        let decision: Decision
        switch download?.interrupted(by: error) {
        case .startOver: decision = await again(after: nil, attempt, error, keepingProgress: true)
        case .resume(let delay):
            decision = await again(after: delay, attempt, error, keepingProgress: true, by: download?.plan.sleep)
        case .ask:
            let told = attempt.resumable(with: download?.resumeData)
            decision = await ask(about: told.error ?? error, told)
        case .end, nil: decision = .stands(attempt)
        }
        guard case .stands(let final) = decision else { return decision }
        return .stands(download?.ended(attempt.failing(with: final.error ?? error)) ?? final)
    }

    /// Notes that what was asked for is not to be had, but something else may be.
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
        core.machine.withLock { $0.record.bodyGoesOn(at: position, of: total, now: now) }
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
        // What the file system says goes before the cancellation that it led to.
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
    fileprivate func isOfSecondReading(after earlier: RequestError?) -> Bool {
        earlier != nil && kind == .requestBody(.notReplayable)
    }
}
