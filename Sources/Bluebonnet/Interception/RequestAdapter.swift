/// Changes requests before they are sent.
///
/// For what holds for many requests alike: fields, signatures, tokens. The session's adapters come before the request's
/// own, and all of them are asked again for each attempt, with the request as it was converted anew.
public protocol RequestAdapter: Sendable {
    /// Returns the request as it is to be sent.
    ///
    /// Runs on the global pool, never on the network's loop, and may take its time. When the request is cancelled
    /// meanwhile, the task that runs this is cancelled, and nobody waits for it any longer. Where a request is made and
    /// awaited in a task of `Task.immediate`, this may begin on the thread of whoever made that, as all that comes before
    /// the first suspension of such a task does.
    ///
    /// - Parameters:
    ///   - request: The request so far.
    ///   - state: Whose request it is.
    /// - Returns: The request to send, or to be changed by the next adapter.
    /// - Throws: Why the request cannot be sent; reported as `.adaptation` with it as the underlying error.
    @concurrent
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest
}

/// Tells an adapter whose request it changes.
public struct RequestAdapterState: Sendable {
    /// Names the request within the process.
    public let requestID: RequestID

    /// The session of the request; requests of its own that an adapter makes with it are intercepted like others.
    public let session: Session

    /// How often the request was tried again before this attempt.
    public let retryCount: Int

    /// Creates a state, for tests of adapters.
    ///
    /// - Parameters:
    ///   - requestID: Names the request.
    ///   - session: The session of the request.
    ///   - retryCount: How often the request was tried again.
    public init(requestID: RequestID, session: Session, retryCount: Int = 0) {
        self.requestID = requestID
        self.session = session
        self.retryCount = retryCount
    }
}
