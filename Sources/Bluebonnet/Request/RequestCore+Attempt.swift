import FoundationEssentials

/// One attempt up to the answer: convert, adapt, send, follow redirects.
extension RequestCore {
    /// Starts the exchange of a request that needs nothing of the user's code, on the caller's thread.
    func startPlainExchange() {
        do throws(RequestError) {
            let request = try convertedRequest()
            events?.tell(.didCreateInitialRequest(request))
            startExchange(of: request)
        } catch {
            tellPrepared(nil, .failure(error))
            refuseAttempt(error)
        }
    }

    /// Launches the attempt, if nobody has yet: in a task of its own, or in the caller's place.
    func launchIfNeeded(inTask: Bool) {
        guard mailbox.withLock({ $0.takeNeedsStart() }) else { return }
        // A driver that prefers the loop is there.
        if inTask || EventLoop.isOnLoop { launchInTask() } else { launchAttempt() }
    }

    @inline(never)
    func launchInTask() {
        Task { launchAttempt() }
    }

    /// Has a task convert and adapt the request and start its exchange; the next event tells what came of it.
    ///
    /// The task begins at once, in the caller's place, which must be one where code of the user's may run; most of them
    /// are done before this returns. When the request is cancelled, what is left is not waited for.
    @inline(never)
    func launchAttempt() {
        let isWanted = mailbox.withLock { mailbox in
            mailbox.preparation = .converting
            return mailbox.lifecycle.state != .cancelled
        }
        guard isWanted else { return abandonPreparation() }
        let task = Task.immediate { await prepareAndStart() }
        let interruption: @Sendable () -> Void = {
            task.cancel()
            self.abandonPreparation()
        }
        let (isCancelled, _) = mailbox.withLock { mailbox -> (Bool, (@Sendable () -> Void)?) in
            guard mailbox.preparation != nil else { return (false, nil) }
            return (mailbox.lifecycle.state == .cancelled, exchange(&mailbox.interruption, with: interruption))
        }
        if isCancelled { interrupt() }
    }

    private func prepareAndStart() async {
        let result: Result<HTTPRequest, RequestError>
        do throws(RequestError) {
            let request = try convertedRequest()
            guard isPreparing(request) else { return }
            do throws(RequestError) {
                result = .success(try await adapted(request))
            } catch {
                throw error.during(request, attempts: 0)
            }
        } catch {
            result = .failure(error)
        }
        // The request has been cancelled, and has its answer, if this is not waited for any more.
        guard let preparation = mailbox.withLock({ $0.takePreparation() })?.preparation else { return }
        tellPrepared(preparation.request, result)
        switch result {
        case .success(let request): startExchange(of: request)
        case .failure(let error): refuseAttempt(error)
        }
    }

    /// Ends an attempt whose request is not ready.
    private func abandonPreparation() {
        guard let preparation = mailbox.withLock({ $0.takePreparation() })?.preparation else { return }
        let error = RequestError(.cancelled).during(preparation.request, attempts: 0)
        tellPrepared(preparation.request, .failure(error))
        refuseAttempt(error)
    }

    /// Notes the request that is to be adapted; returns whether it is still wanted.
    private func isPreparing(_ request: HTTPRequest) -> Bool {
        let isWanted = mailbox.withLock { mailbox in
            guard mailbox.isPreparing(request) else { return false }
            events?.append(.didCreateInitialRequest(request))
            return true
        }
        events?.start()
        return isWanted
    }

    /// Converts and adapts the request, and starts its exchange; whatever prevents that is the attempt's outcome.
    ///
    /// - Parameter prepare: Makes the last changes to the request, or finds that it cannot be sent.
    func startAttempt(_ prepare: (inout HTTPRequest) throws(RequestError) -> Void) async {
        var initial: HTTPRequest?
        do throws(RequestError) {
            var request = try convertedRequest()
            initial = request
            events?.tell(.didCreateInitialRequest(request))
            do throws(RequestError) {
                request = try await interruptiblyAdapted(request)
                tellPrepared(initial.take(), .success(request))
                try prepare(&request)
            } catch {
                throw error.during(request, attempts: 0)
            }
            startExchange(of: request)
        } catch {
            tellPrepared(initial, .failure(error))
            refuseAttempt(error)
        }
    }

    /// Makes the request anew, and checks it.
    private func convertedRequest() throws(RequestError) -> HTTPRequest {
        var request: HTTPRequest
        do {
            request = try convertible.asHTTPRequest()
        } catch {
            throw error as? RequestError ?? RequestError(.invalidRequest(.conversion), underlying: error)
        }
        do throws(RequestError) {
            try request.validate()
            if let error = context.configurationError { throw error }
            try checkCachePolicy(of: request)
        } catch {
            throw error.during(request, attempts: 0)
        }
        if request.credential == nil, let credential = mailbox.withLock({ $0.credential }) {
            request.credential = credential
        }
        request.stateContentType()
        return request
    }

    /// Asks the adapters, and sees to it that a body that is said to be empty is.
    private func adapted(_ request: HTTPRequest) async throws(RequestError) -> HTTPRequest {
        var adapted = try await changedByAdapters(request)
        guard let body = adapted.body, body.isStatedEmpty else { return adapted }
        // Nobody asks for the bytes of such a body when it is sent, and so nobody would find that there are some.
        try await body.confirmEmpty()
        adapted.body = .data(Data())
        return adapted
    }

    /// Asks the adapters, the session's before the request's own.
    private func changedByAdapters(_ request: HTTPRequest) async throws(RequestError) -> HTTPRequest {
        let (interceptors, attempts) = mailbox.withLock { ($0.interceptors, $0.attempts) }
        let own = interceptors.isEmpty ? [] : AdapterChain.parts(of: interceptors)
        let chain = AdapterChain(adapters: own.isEmpty ? context.adapters : context.adapters + own)
        guard !chain.adapters.isEmpty else { return request }
        let state = RequestAdapterState(requestID: id, session: context.session, retryCount: attempts)
        var adapted = try await chain.adapt(request, using: state)
        // It was checked when it was made.
        if adapted.isIdentical(to: request) { return request }
        try adapted.validate()
        try checkCachePolicy(of: adapted)
        adapted.stateContentType()
        return adapted
    }

    private func interruptiblyAdapted(_ request: HTTPRequest) async throws(RequestError) -> HTTPRequest {
        let isReady = context.adapters.isEmpty && mailbox.withLock({ $0.interceptors.isEmpty })
        guard !isReady || request.body?.isStatedEmpty == true else { return request }
        let answer = Locked<Result<HTTPRequest, RequestError>?>(nil)
        let answered = await interruptible {
            do throws(RequestError) {
                let adapted = try await self.adapted(request)
                answer.withLock { $0 = .success(adapted) }
            } catch {
                answer.withLock { $0 = .failure(error) }
            }
        }
        guard answered, let result = answer.withLock({ $0 }) else { throw RequestError(.cancelled) }
        return try result.get()
    }

    /// Waits for the answer to a request that was sent, and follows where that leads.
    ///
    /// Returns the head of the answer if the body is held back, and the outcome otherwise.
    func nextAnswer() async -> ExchangeEvent {
        mailbox.withLock { $0.history = [] }
        var event = await nextEvent()
        guard event.isRedirect, let first = mailbox.withLock({ $0.requests.last }) else { return event }
        var chain = RedirectChain(request: first, limits: context.configuration.redirects)
        var history: [HTTPResponse] = []
        while event.isRedirect, let response = event.response {
            var failure: RequestError?
            do throws(RequestError) {
                guard var request = try await redirected(by: response, in: &chain) else { break }
                request.firstPartyURL = first.url
                if case .head = event { await endRedirecting(response) }
                history.append(response)
                mailbox.withLock { $0.history = history }
                events?.tell(.willBeRedirected(to: request, for: response))
                startExchange(of: request, isRedirect: true)
            } catch {
                failure = error
            }
            if let failure {
                let outcome = await refusedRedirect(event, failure.about(response, body: nil))
                return ExchangeEvent.outcome(outcome).with(history)
            }
            event = await nextEvent()
        }
        return event.with(history)
    }

    /// Decides about a redirect; returns the request to go on with, or `nil` to stay with the response.
    private func redirected(
        by response: HTTPResponse, in chain: inout RedirectChain
    ) async throws(RequestError) -> HTTPRequest? {
        let handler = mailbox.withLock({ $0.redirectHandler }) ?? context.redirectHandler
        // Not even a location that is none is of interest then.
        if case .doNotFollow = (handler as? Redirector)?.behavior { return nil }
        let proposal: HTTPRequest
        switch chain.received(response) {
        case .deliver: return nil
        case .refuse(let reason): throw RequestError(.redirect(reason))
        case .follow(let request): proposal = request
        }
        guard let handler else { return try chain.followed(with: proposal) }
        guard let request = context.request(id) else { return nil }
        let answer = Locked<HTTPRequest?>(nil)
        let answered = await interruptible {
            let chosen = await handler.request(request, willBeRedirectedTo: proposal, for: response)
            answer.withLock { $0 = chosen }
        }
        guard answered else { throw RequestError(.cancelled) }
        guard let chosen = answer.withLock({ $0 }) else { return nil }
        return try chain.followed(with: chosen)
    }

    /// Ends the exchange of a response that redirects, whose body nobody wants.
    ///
    /// A short one that comes at once is read, to keep the connection. So it is only if what is left to be sent is short.
    private func endRedirecting(_ response: HTTPResponse) async {
        let (exchange, body) = mailbox.withLock { ($0.exchange, $0.requests.last?.body) }
        let (limit, length) = (Int64(RequestError.bodyLimit), response.expectedContentLength ?? 0)
        guard length <= limit, body.map({ $0.length ?? .max <= limit }) ?? true else {
            exchange?.cancel()
            _ = await nextOutcome()
            return
        }
        _ = await outcome(with: BodyBeginning(limit: RequestError.bodyLimit + 1))
    }

    /// Ends an attempt with a redirect that is not followed although it is not wanted as a response.
    private func refusedRedirect(_ event: ExchangeEvent, _ error: RequestError) async -> ExchangeOutcome {
        switch event {
        case .outcome(let outcome):
            return ExchangeOutcome(
                response: outcome.response, body: outcome.body,
                error: error.about(outcome.response, body: outcome.body),
                metrics: outcome.metrics, origin: outcome.origin)
        case .head(let response):
            mailbox.withLock { $0.exchange }?.cancel()
            let outcome = await nextOutcome()
            return ExchangeOutcome(response: response, error: error, metrics: outcome.metrics)
        }
    }
}

extension HTTPRequest {
    /// Adds the content type that goes with the body, unless there is one.
    fileprivate mutating func stateContentType() {
        guard let type = body?.contentType, !headers.contains("Content-Type") else { return }
        headers.update(name: "Content-Type", value: type)
    }
}
