import FoundationEssentials

/// What happens to a response between its head and its body.
extension RequestCore {
    /// Judges a head whose body is held back, says where that goes, and waits for the end of it.
    func received(_ response: HTTPResponse) async -> CompletedAttempt {
        tell(response)
        if let error = refusal(of: response) { return await refused(response, error) }
        guard await isAllowed(response) else {
            cancel()
            return completed(await nextOutcome())
        }
        let exchange = accept(response)
        if case .stream(let body) = sink {
            if let exchange { body.onDemand { exchange.receiveMore() } }
            exchange?.receiveBody(with: body)
            let outcome = await nextOutcome()
            // The answer to an upload that was cut off is there all at once.
            if !outcome.body.isEmpty { _ = body.receive(outcome.body) }
            return completed(outcome)
        } else {
            exchange?.receiveBody(with: nil)
        }
        return completed(await nextOutcome())
    }

    /// Tells those who watch the heads of one.
    func tellHead(of outcome: ExchangeOutcome) {
        guard let responses = mailbox.withLock({ $0.sequences.responses }) else { return }
        if let response = outcome.response { responses.send(response) }
    }

    func tell(_ response: HTTPResponse) {
        let responses = mailbox.withLock { $0.sequences.responses }
        responses?.send(response)
    }

    /// Lets everyone know of a head that was accepted; returns the exchange, if it has not ended.
    func accept(_ response: HTTPResponse) -> (any Exchange)? {
        let (exchange, waiting) = mailbox.withLock { mailbox in
            mailbox.response = response
            return (mailbox.exchange, mailbox.takeHeadWaiters())
        }
        for continuation in waiting { continuation.resume() }
        return exchange
    }

    /// Asks the validators about a head, if the body will not be at hand for them.
    func refusal(of response: HTTPResponse) -> RequestError? {
        guard sink.holdsBody else { return nil }
        let (request, validators) = mailbox.withLock { ($0.requests.last, $0.validators) }
        let isEmpty = request?.method == .head || response.announcesNoBody
        do throws(RequestError) {
            // An empty body needs no content type; whether others are empty is not known yet.
            try validate(response, of: request, data: isEmpty ? Data() : nil, by: validators)
            return nil
        } catch {
            return error
        }
    }

    /// Has the beginning of a body received that is of little use, and waits for the end of the exchange.
    ///
    /// That is when the body has ended, when there is enough of it, or when patience has run out: a server that takes its
    /// time must not delay what is known.
    func outcome(with beginning: BodyBeginning) async -> ExchangeOutcome {
        guard let exchange = mailbox.withLock({ $0.exchange }) else { return await nextOutcome() }
        exchange.receiveBody(with: beginning)
        let impatience = Task { [patience = context.configuration.patience] in
            try await patience()
            exchange.cancel()
        }
        defer { impatience.cancel() }
        return await nextOutcome()
    }

    /// Ends the exchange after as much of the body as an error keeps, if that comes soon.
    func refused(_ response: HTTPResponse, _ error: RequestError) async -> CompletedAttempt {
        let beginning = BodyBeginning(limit: RequestError.bodyLimit)
        let outcome = await outcome(with: beginning)
        let (request, attempts, isCancelled) = mailbox.withLock { mailbox in
            (mailbox.requests.last, mailbox.attempts, mailbox.lifecycle.state == .cancelled)
        }
        let body = outcome.body.isEmpty ? beginning.bytes : outcome.body
        var verdict = error.about(response, body: body)
        if isCancelled { verdict = .cancelled(after: verdict) }
        return CompletedAttempt(
            request: request, outcome: ExchangeOutcome(response: response, body: body, metrics: outcome.metrics),
            error: verdict.during(request, attempts: attempts), attempts: attempts)
    }

    /// Asks those who want to know of the head before the body comes.
    func isAllowed(_ response: HTTPResponse) async -> Bool {
        let handlers = mailbox.withLock { $0.headHandlers }
        for handler in handlers {
            let answer = Locked(ResponseDisposition.cancel)
            let answered = await interruptible {
                let disposition = await handler(response)
                answer.withLock { $0 = disposition }
            }
            guard answered, answer.withLock({ $0 }) == .allow else { return false }
        }
        return true
    }

    /// Waits for the head of the response, if its body is held back meanwhile; throws why there will be none.
    func acceptedHead() async throws(RequestError) -> HTTPResponse {
        await withResumption { continuation in
            let isThere = mailbox.withLock { mailbox in
                guard mailbox.response == nil, !mailbox.lifecycle.isSettled else { return true }
                mailbox.headWaiters.append(continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
        let (response, error) = mailbox.withLock { ($0.response, $0.error) }
        guard let response else { throw error ?? RequestError(.cancelled) }
        return response
    }

    /// Answers those who wait for a head when the request has ended.
    func answerHeadWaiters() {
        let waiting = mailbox.withLock { $0.takeHeadWaiters() }
        for continuation in waiting { continuation.resume() }
    }
}

extension HTTPResponse {
    /// Whether the head says that there is no body (RFC 9110 §6.4.1).
    fileprivate var announcesNoBody: Bool { statusCode == 204 || statusCode == 304 || expectedContentLength == 0 }
}
