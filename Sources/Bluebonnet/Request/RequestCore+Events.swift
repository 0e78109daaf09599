import FoundationEssentials

/// What the session's monitors are told.
extension RequestCore {
    /// Changes the state of the request, and tells of it if it did change.
    ///
    /// What is told goes into the monitors' mailboxes before the lock is released, so that it is in the order of the
    /// changes, and before all that follows from them.
    func changed(
        by change: (inout RequestMailbox) -> RequestLifecycle.Action
    ) -> RequestLifecycle.Action {
        guard let events else { return mailbox.withLock { change(&$0) } }
        let action = mailbox.withLock { mailbox in
            let state = mailbox.lifecycle.state
            let action = change(&mailbox)
            if mailbox.lifecycle.state != state { events.appendChange(to: mailbox.lifecycle.state) }
            return action
        }
        events.start()
        return action
    }

    /// Tells that the request of an attempt is ready to be sent.
    func tellReady(_ request: HTTPRequest) {
        guard let events else { return }
        if let body = request.body {
            events.tell(.didCreateUploadable(body))
        }
        events.tell(.didCreateRequest(request))
    }

    /// Tells that an exchange begins.
    func tellExchange(of request: HTTPRequest, isRedirect: Bool) {
        guard let events else { return }
        events.exchangeBegins(
            with: request, attempt: mailbox.withLock { $0.attempts }, isRedirect: isRedirect)
    }

    /// Tells what became of the request of an attempt.
    ///
    /// - Parameters:
    ///   - initial: The request before it was adapted, if one could be made.
    ///   - result: The request that is to be sent, or why there is none.
    func tellPrepared(_ initial: HTTPRequest?, _ result: Result<HTTPRequest, RequestError>) {
        guard let events else { return }
        switch (initial, result) {
        case (let initial?, .success(let adapted)):
            let own = mailbox.withLock { $0.interceptors }
            guard !context.adapters.isEmpty || !AdapterChain.parts(of: own).isEmpty else { return }
            events.tell(.didAdaptInitialRequest(initial, to: adapted))
        case (let initial?, .failure(var error)):
            // An adapter that heeds its cancellation may have been quicker to say so.
            let isCancelled = mailbox.withLock { $0.lifecycle.state == .cancelled }
            if isCancelled, !error.isCancellation { error = .cancelled(after: error).during(initial, attempts: 0) }
            events.tell(.didFailToAdaptRequest(initial, error))
        case (nil, .failure(let error)):
            events.tell(.didFailToCreateRequest(error))
        case (nil, .success): break
        }
    }

    /// Runs the validators, and tells what they make of the response.
    func validate(
        _ response: HTTPResponse, of request: HTTPRequest?, data: Data?, by validators: ValidatorList
    ) throws(RequestError) {
        guard let events, !validators.isEmpty else {
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

    /// Tells of the end of a request: what its serializers made, and that it is over.
    func tellEnd(of slots: FewOf<SerializationSlot>) {
        guard let events else { return }
        for slot in slots { slot.report() }
        events.finish()
    }
}
