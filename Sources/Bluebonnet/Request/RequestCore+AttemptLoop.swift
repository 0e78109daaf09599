import FoundationEssentials

/// The attempt loop: what happens to a request between its start and its answers, in order.
///
/// It is driven by the task that awaits the answer where there is one, so that a request needs no task of its own, and
/// by a new task otherwise. It runs wherever that task runs, never on the network's loop unless the task prefers that.
///
/// Where no code of the user's has to run first, the exchange is started by whoever starts the request (`startExchange`),
/// and the loop finds it under way.
extension RequestCore: ExchangeObserver {
    // MARK: Who drives

    /// Makes the caller the driver, if the request has begun and nobody drives it.
    func claimDriving() -> Bool {
        mailbox.withLock { mailbox in
            guard mailbox.isRegistered, !mailbox.lifecycle.isSettled, !mailbox.isDriven else { return false }
            mailbox.isDriven = true
            return true
        }
    }

    /// Runs the attempt loop to its end; the caller has claimed it.
    @concurrent
    func drive() async {
        var download = FileDownload(for: self)
        var served = FewOf<SerializationSlot>()
        var attempt: CompletedAttempt
        var earlier: RequestError?
        attempts: repeat {
            // 1-5: convert, adapt, look in the cache, execute, validate.
            attempt = await attempted(&download).caused(by: earlier)
            // A download has asked already, about each failure on its way.
            if let error = attempt.error, !sink.asksRetriers, !isHandedOut, !error.isOfSecondReading(after: earlier) {
                switch await verdict(on: error, of: attempt) {
                case .again:
                    earlier = error
                    continue attempts
                case .stands(let error): attempt = attempt.failing(with: error)
                }
            }
            // 6: serialize, each in the order attached. What is attached meanwhile joins in.
            repeat {
                let slots = mailbox.withLock { $0.takeSlots() }
                served.append(contentsOf: slots)
                for slot in slots where await serialized(attempt, into: slot) == .again {
                    earlier = slot.failure
                    for slot in served { slot.forget() }
                    mailbox.withLock { mailbox in
                        served.append(contentsOf: mailbox.takeSlots())
                        mailbox.slots = served.takeAll()
                    }
                    download?.removeFile()
                    download = FileDownload(for: self)
                    continue attempts
                }
            } while !settle(attempt, served)
            break
        } while true
        for slot in served { slot.deliver() }
        sink.finish(with: mailbox.withLock { $0.error })
    }

    /// Whether some of a body may be in a reader's hands already, who would get it a second time.
    private var isHandedOut: Bool {
        guard case .stream = sink else { return false }
        return mailbox.withLock { $0.response != nil }
    }

    private func attempted(_ download: inout FileDownload?) async -> CompletedAttempt {
        guard mailbox.withLock({ $0.isRegistered }) else { return completed(await nextOutcome()) }
        if download != nil { return await downloaded(by: &download) }
        launchIfNeeded(inTask: false)
        switch await nextAnswer() {
        case .outcome(let outcome):
            tellHead(of: outcome)
            return completed(outcome)
        // The head is judged before the body where the body is not collected.
        case .head(let response): return await received(response)
        }
    }

    // MARK: Step 4

    /// Starts the exchange of a request that is ready to be sent.
    ///
    /// Nothing is awaited here, which allows whoever starts the request to do it.
    func startExchange(of request: HTTPRequest, isRedirect: Bool = false) {
        let now = MonotonicClock.now()
        let (isSuspended, isCancelled, hasHandlers, requests) = mailbox.withLock { mailbox in
            mailbox.requests.append(request)
            if !isRedirect { mailbox.attempts += 1 }
            mailbox.downloadMeter = ProgressMeter(now: now)
            mailbox.uploadMeter = ProgressMeter(now: now)
            mailbox.isStarting = mailbox.lifecycle.state != .cancelled
            return (
                mailbox.lifecycle.state == .suspended, mailbox.lifecycle.state == .cancelled,
                !mailbox.headHandlers.isEmpty, mailbox.sequences.requests
            )
        }
        requests?.send(request)
        if !isRedirect { tellReady(request) }
        guard !isCancelled else {
            return exchangeDidComplete(ExchangeOutcome(response: nil, error: RequestError(.cancelled)))
        }
        let holdsBody = sink.holdsBody
        var options = ExchangeOptions(
            maximumResponseBytes: holdsBody ? nil : context.configuration.maximumResponseBytes,
            startsSuspended: isSuspended, holdsBody: holdsBody || hasHandlers, holdsRedirects: true)
        if context.hasCache { options.willStore = storing() }
        tellExchange(of: request, isRedirect: isRedirect)
        let exchange = context.transport.start(request, options: options, observer: self)
        let (state, _) = mailbox.withLock { mailbox in
            let earlier = mailbox.exchange
            // It may be over already.
            if mailbox.outcome == nil { mailbox.exchange = exchange }
            mailbox.isStarting = false
            return (mailbox.lifecycle.state, earlier)
        }
        wakeDriver()
        // Whatever happened meanwhile did not reach the exchange.
        if state == .cancelled { exchange.cancel() }
        if (state == .suspended) != isSuspended { alignExchange() }
    }

    /// Ends an attempt whose request cannot be sent.
    func refuseAttempt(_ error: RequestError) {
        mailbox.withLock { $0.attempts += 1 }
        exchangeDidComplete(ExchangeOutcome(response: nil, error: error))
    }

    /// Waits for what happens next in the exchange.
    func nextEvent() async -> ExchangeEvent {
        while true {
            if let event = mailbox.withLock({ $0.takeEvent() }) { return event }
            await withResumption { continuation in
                let isThere = mailbox.withLock { mailbox in
                    if !mailbox.hasEvent { mailbox.driver = continuation }
                    return mailbox.hasEvent
                }
                if isThere { continuation.resume() }
            }
        }
    }

    func nextOutcome() async -> ExchangeOutcome {
        while true {
            if case .outcome(let outcome) = await nextEvent() { return outcome }
        }
    }

    /// Has the attempt loop judge the head.
    public func exchangeDidReceiveHead(_ response: HTTPResponse) {
        events?.headReceived(response)
        mailbox.withLock { $0.head = response }
        wakeDriver()
    }

    /// Notes how the exchange ended and has the attempt loop go on.
    public func exchangeDidComplete(_ outcome: ExchangeOutcome) {
        events?.exchangeEnded(outcome)
        let (fileBody, _, _) = mailbox.withLock { mailbox in
            // At once with the exchange: who finds that ended knows that nobody else ends the body.
            (mailbox.fileBody.take(), mailbox.exchange.take(), exchange(&mailbox.outcome, with: outcome))
        }
        fileBody?.finish(with: outcome.error)
        wakeDriver()
    }

    /// Wakes the driver for what it is to know, or leaves that for the driver, which there will be.
    ///
    /// Not before the exchange is known here, which may be slower to return than its head is to come: what the driver has
    /// to say to it would be lost.
    private func wakeDriver() {
        switch mailbox.withLock({ $0.wake() }) {
        case .nobody: break
        case .driver(let driver): driver.resume()
        // Nobody awaits the answer for now; the request ends all the same.
        case .newDriver: driveInTask()
        }
    }

    @inline(never)
    func driveInTask() {
        Task { await drive() }
    }

    // MARK: Step 5

    /// Judges an exchange: what the transport says, whether the request was cancelled, and the validators.
    func completed(_ outcome: ExchangeOutcome) -> CompletedAttempt {
        let outcome = outcome.with(mailbox.withLock { $0.history })
        let progress = TransferProgress(completed: Int64(outcome.body.count), total: Int64(outcome.body.count))
        let isComplete = outcome.error == nil
        let isCollected = !sink.holdsBody
        let (request, attempts, isCancelled, validators, updates) = mailbox.withLock { mailbox in
            if isComplete, isCollected { mailbox.progress = progress }
            return (
                mailbox.requests.last, mailbox.attempts, mailbox.lifecycle.state == .cancelled, mailbox.validators,
                isComplete && isCollected ? mailbox.sequences.downloadProgress : nil
            )
        }
        updates?.send(progress)
        var error = outcome.error
        if isComplete, isCollected, !isCancelled, !validators.isEmpty, let response = outcome.response {
            do {
                try validate(response, of: request, data: outcome.body, by: validators)
            } catch {
                return made(error)
            }
        }
        if isCancelled, error?.isCancellation != true { error = .cancelled(after: error) }
        return made(error)

        func made(_ error: RequestError?) -> CompletedAttempt {
            CompletedAttempt(
                request: request, outcome: outcome, error: error?.during(request, attempts: attempts),
                attempts: attempts)
        }
    }

    // MARK: Step 6

    private enum Served {
        case done
        case again
    }

    /// Serves a serializer, and asks the retriers if it fails, since that failure is a new one.
    private func serialized(_ attempt: CompletedAttempt, into slot: SerializationSlot) async -> Served {
        await serialize(attempt, into: slot)
        guard attempt.error == nil, let error = slot.failure else { return .done }
        switch await verdict(on: error, of: attempt) {
        case .again: return .again
        case .stands(let error):
            slot.fail(attempt, error)
            return .done
        }
    }

    private func serialize(_ attempt: CompletedAttempt, into slot: SerializationSlot) async {
        if let error = attempt.error { return slot.fail(attempt, error) }
        guard !slot.isSynchronous else { return slot.serialize(attempt) }
        // The user's code may take its time; a cancelled request does not wait for it.
        let answered = await interruptible { await slot.serializeAwaiting(attempt) }
        if !answered { fail(attempt, into: slot) }
    }

    /// Serves a serializer that was attached when the outcome was there already.
    func serializeOutcome(into slot: SerializationSlot) async {
        let (last, error) = mailbox.withLock { ($0.last, $0.error) }
        // Without an outcome, the request was cancelled before it began.
        let attempt =
            last ?? CompletedAttempt(request: nil, outcome: nil, error: error ?? RequestError(.cancelled), attempts: 0)
        if attempt.error == nil, !slot.isSynchronous {
            let answered = await interruptible(by: slot) { await slot.serializeAwaiting(attempt) }
            if !answered { fail(attempt, into: slot) }
        } else {
            await serialize(attempt, into: slot)
        }
        slot.report()
        slot.deliver()
    }

    private func fail(_ attempt: CompletedAttempt, into slot: SerializationSlot) {
        slot.fail(attempt, RequestError(.cancelled).during(attempt.request, attempts: attempt.attempts))
    }

    /// Makes the outcome final, unless there is a serializer left to serve; returns whether it is.
    ///
    /// A request that was cancelled before this point was cancelled: what its serializers made is not handed out.
    private func settle(_ attempt: CompletedAttempt, _ served: FewOf<SerializationSlot>) -> Bool {
        let (isSettled, isCancelled, _) = mailbox.withLock { mailbox -> (Bool, Bool, RequestMailbox.Result) in
            guard mailbox.slots.isEmpty else { return (false, false, (nil, nil)) }
            mailbox.lifecycle.settled()
            return (true, mailbox.lifecycle.state == .cancelled, mailbox.replaceResult(attempt, attempt.error))
        }
        guard isSettled else { return false }
        if isCancelled, attempt.error?.isCancellation != true { replace(attempt, in: served) }
        tellEnd(of: served)
        finishSequences()
        answerHeadWaiters()
        ended()
        return true
    }

    /// Answers with a cancellation what was cancelled while its serializers were at work.
    private func replace(_ attempt: CompletedAttempt, in served: FewOf<SerializationSlot>) {
        let error = RequestError.cancelled(after: attempt.error).during(attempt.request, attempts: attempt.attempts)
        let cancelled = attempt.failing(with: error)
        _ = mailbox.withLock { $0.replaceResult(cancelled, error) }
        for slot in served { slot.fail(cancelled, error) }
    }
}
