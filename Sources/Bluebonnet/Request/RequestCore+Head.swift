extension RequestCore {
    /// Waits for the head of the response, if its body is held back meanwhile; throws why there will be none.
    func acceptedHead() async throws(RequestError) -> HTTPResponse {
        await withCheckedContinuation { continuation in
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
