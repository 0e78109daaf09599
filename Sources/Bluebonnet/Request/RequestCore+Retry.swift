/// What becomes of a failure (the retriers decide).
extension RequestCore {
    /// What the retriers make of a failure.
    enum Verdict {
        /// It stands, or another error takes its place.
        case stands(RequestError)
        /// The attempt is made again.
        case again
    }

    /// Those who are asked about failures.
    private var retriers: [any RequestRetrier] {
        context.retriers + RetrierChain.parts(of: mailbox.withLock { $0.interceptors })
    }

    /// Asks the retriers about a failure, the session's before the request's own, and lets the delay pass.
    ///
    /// Asked once for each distinct failure: the caller sees to that.
    func verdict(on error: RequestError, of attempt: CompletedAttempt) async -> Verdict {
        guard !error.isCancellation, error.kind != .sessionShutDown else { return .stands(error) }
        let retriers = retriers
        guard !retriers.isEmpty, let request = context.request(id) else { return .stands(error) }
        // The retriers look at the request, not at the attempt.
        let (isCancelled, _) = mailbox.withLock { mailbox in
            (mailbox.lifecycle.state == .cancelled, mailbox.replaceResult(attempt, error))
        }
        guard !isCancelled else { return .stands(cancelled(after: error)) }
        let session = context.session
        let answer = Locked<(result: RetryResult, hook: String)>((.doNotRetry, ""))
        let answered = await interruptible {
            for retrier in retriers where !Task.isCancelled {
                let result = await retrier.retry(request, for: session, dueTo: error)
                if case .doNotRetry = result { continue }
                return answer.withLock { $0 = (result, hookName(of: retrier)) }
            }
        }
        guard answered else { return .stands(cancelled(after: error)) }
        let (result, hook) = answer.withLock { $0 }
        switch result {
        case .doNotRetry: return .stands(error)
        case .doNotRetryWithError(let other):
            let replaced = RequestError(.retry(original: error.kind), detail: "in \(hook)", underlying: other)
            return .stands(
                replaced.about(error.response, body: error.body).resumable(with: error.resumeData)
                    .during(attempt.request, attempts: attempt.attempts))
        case .retry: return await again(after: nil, error, attempt)
        case .retryWithDelay(let delay): return await again(after: delay, error, attempt)
        }
    }

    private func again(
        after delay: Duration?, _ error: RequestError, _ attempt: CompletedAttempt
    ) async -> Verdict {
        events?.tell(.willRetry(error, after: delay))
        if let delay, delay > .zero {
            let sleep = context.sleep
            _ = await interruptible { try? await sleep(delay) }
        }
        let (isCancelled, _) = mailbox.withLock { mailbox -> (Bool, RequestMailbox.Result) in
            guard mailbox.lifecycle.state != .cancelled else { return (true, (nil, nil)) }
            events?.append(.isRetrying)
            return (false, mailbox.beginAnew())
        }
        events?.start()
        return isCancelled ? .stands(cancelled(after: error)) : .again
    }

    private func cancelled(after error: RequestError) -> RequestError {
        let (request, attempts) = mailbox.withLock { ($0.requests.last, $0.attempts) }
        return RequestError.cancelled(after: error).during(request, attempts: attempts)
    }
}

extension RequestError {
    /// Whether a body was to be sent again that cannot be, which no further attempt changes.
    func isOfSecondReading(after earlier: RequestError?) -> Bool {
        earlier != nil && kind == .requestBody(.notReplayable)
    }
}
