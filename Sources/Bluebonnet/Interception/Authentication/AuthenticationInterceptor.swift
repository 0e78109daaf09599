import Synchronization

/// Authenticates requests with a credential, and refreshes the credential if it expires or is rejected.
///
/// Every request receives the credential before it is sent. The interceptor refreshes the credential in two cases:
/// - The credential's ``AuthenticationCredential/requiresRefresh`` is `true`.
/// - The ``Authenticator`` reports that a request failed because of the credential.
///
/// At most one refresh runs at a time, except after ``setCredential(_:)`` has cancelled a refresh. During a refresh,
/// all requests wait before they are sent. They then use the new credential. However, the interceptor does not adapt or
/// retry the requests that the authenticator sends to refresh the credential.
///
/// If the refresh fails, all waiting requests fail with the error of the refresh. If a request was sent before
/// the refresh failed, and the server then rejects the request, the request also fails with the error of the refresh. A
/// later request can start another refresh.
///
/// The interceptor notices a rejected credential only if the request fails, so call `validate()` on each request.
/// Without validation, a 401 response is delivered like any other response. If a redirect leads to another origin, the
/// redirected request does not contain the credential. A 401 response from the other origin does not start a refresh.
///
/// If the interceptor has no valid credential before a request is sent, the request fails with a ``RequestError`` of
/// the kind `.adaptation`. If the interceptor obtains no valid credential after the server rejected a request, the
/// request fails with the kind `.retry(original:)`. In both cases, the underlying error is an ``AuthenticationError``
/// or the error of the refresh.
///
/// The authenticator runs on the global executor, and each refresh runs in its own task. The interceptor is an actor,
/// but only short code runs on this actor, such as the credential's ``AuthenticationCredential/requiresRefresh``. A
/// cancelled request stops waiting, but does not cancel the refresh.
public actor AuthenticationInterceptor<AuthenticatorType: Authenticator>: RequestInterceptor {
    /// The limit on how often the credential is refreshed.
    public typealias RefreshWindow = Bluebonnet.RefreshWindow

    /// The authenticator that applies and refreshes the credential.
    package nonisolated let authenticator: AuthenticatorType

    /// The limit on how often the credential is refreshed; `nil` for no limit.
    package nonisolated let refreshWindow: RefreshWindow?

    /// The current credential; `nil` if there is none.
    ///
    /// Without a credential, requests fail with ``AuthenticationError/missingCredential`` as the underlying error.
    public private(set) var credential: AuthenticatorType.Credential?

    /// The credential for callers that cannot wait for the actor.
    private nonisolated let announced: Locked<(value: AuthenticatorType.Credential?, isNew: Bool)>

    /// The credential, without waiting for the actor.
    ///
    /// After you set this property, all later requests use the new credential.
    package nonisolated var currentCredential: AuthenticatorType.Credential? {
        get { announced.withLock(\.value) }
        set { _ = announced.withLock { exchange(&$0, with: (newValue, true)) } }
    }

    private let now: @Sendable () -> Duration
    private var state: RefreshState
    private var waiters: [RefreshWaiter] = []
    private var refreshTask: Task<Void, Never>?
    /// The error of the last refresh, if it failed.
    private var failure: (any Error)?

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - authenticator: The authenticator that applies and refreshes the credential.
    ///   - credential: The initial credential; `nil` by default.
    ///   - refreshWindow: The limit on how often the credential is refreshed. The default is 5 times in 30 seconds.
    ///     With `nil`, only the limit of 20 rejections for each request applies.
    ///   - clock: The clock that measures the period of `refreshWindow`; a `ContinuousClock` by default.
    public init(
        authenticator: AuthenticatorType, credential: AuthenticatorType.Credential? = nil,
        refreshWindow: RefreshWindow? = RefreshWindow(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.authenticator = authenticator
        self.credential = credential
        self.refreshWindow = refreshWindow
        announced = Locked((credential, false))
        now = Self.time(of: clock)
        state = RefreshState(hasCredential: credential != nil, window: refreshWindow)
    }

    /// Sets the credential, for example after a login, or removes it after a logout.
    ///
    /// A running refresh is cancelled, and its result is ignored. Requests that wait for the refresh continue with the
    /// new credential. If you remove the credential, the waiting requests fail with
    /// ``AuthenticationError/missingCredential`` as the underlying error.
    ///
    /// - Parameter credential: The new credential; `nil` to remove the current credential.
    public func setCredential(_ credential: AuthenticatorType.Credential?) {
        _ = announced.withLock { exchange(&$0, with: (credential, false)) }
        replace(with: credential)
    }

    private func replace(with credential: AuthenticatorType.Credential?) {
        self.credential = credential
        state.replaced(hasCredential: credential != nil, version: CredentialVersionCounter.next())
        refreshTask?.cancel()
        refreshTask = nil
        answerWaiters(with: .replaced(byRefresh: false))
    }

    /// Adds the credential to a request, and refreshes the credential first if necessary.
    ///
    /// - Parameters:
    ///   - request: The request to authenticate.
    ///   - state: The state of the request, such as its session.
    /// - Returns: The request with the credential.
    /// - Throws: An ``AuthenticationError``, the error of the refresh, or `CancellationError` if the task is cancelled.
    @concurrent
    public nonisolated func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState
    ) async throws -> HTTPRequest {
        guard !isRefreshingItself else { return request }
        var isFresh = false
        while true {
            switch await applicable(isFresh: isFresh, for: state.session) {
            case .use(let credential, let version):
                var request = request
                authenticator.apply(credential, to: &request)
                request.credentialVersion = version
                return request
            case .wait(let waiter):
                switch await waiter.answer() {
                case .replaced(let byRefresh): isFresh = byRefresh
                case .failed(let error): throw error
                case .cancelled: throw CancellationError()
                }
            case .fail(let error):
                throw error
            }
        }
    }

    /// Decides whether to retry a request that was rejected because of its credential.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - session: The session of the request.
    ///   - error: The error of the request.
    /// - Returns: `.retry` when another credential is available; `.doNotRetryWithError` if no other credential can be
    ///   obtained; `.doNotRetry` if the failure has another cause or the task is cancelled.
    @concurrent
    public nonisolated func retry(
        _ request: any Request, for session: Session, dueTo error: any Error
    ) async -> RetryResult {
        // A session's credential is not sent to other origins, and another one would not be either.
        guard !isRefreshingItself, let sent = request.request,
            !sent.omitsSessionSecrets || sent.mayHaveOwnCredential, let response = request.response,
            authenticator.didRequest(sent, with: response, failDueToAuthenticationError: error)
        else { return .doNotRetry }
        let isAuthenticated =
            await latestCredential().map { authenticator.isRequest(sent, authenticatedWith: $0) } ?? false
        let (isRepeated, refusals) = (request.retryCount > 0, request.core.noteCredentialRefusal())
        switch await replacement(
            of: sent, isAuthenticated: isAuthenticated, isRepeated: isRepeated, refusals: refusals, for: session)
        {
        case .use: return .retry
        case .fail(let error): return .doNotRetryWithError(error)
        case .wait(let waiter):
            switch await waiter.answer() {
            case .replaced: return .retry
            case .failed(let error): return .doNotRetryWithError(error)
            case .cancelled: return .doNotRetry
            }
        }
    }

    // MARK: Bookkeeping

    /// Uses the credential that was announced, if there is a new one.
    private func takeAnnounced() {
        let (credential, isNew) = announced.withLock { announced in
            defer { announced.isNew = false }
            return announced
        }
        if isNew { replace(with: credential) }
    }

    private func latestCredential() -> AuthenticatorType.Credential? {
        takeAnnounced()
        return credential
    }

    /// The number of requests that are waiting for the end of the refresh; for tests.
    var waiterCount: Int { waiters.count }

    /// The next step for a request.
    private enum Step: Sendable {
        case use(AuthenticatorType.Credential, version: UInt64)
        case wait(RefreshWaiter)
        case fail(any Error)
    }

    private func applicable(isFresh: Bool, for session: Session) -> Step {
        takeAnnounced()
        return perform(
            state.adapting(requiresRefresh: credential?.requiresRefresh ?? false, isFresh: isFresh, now: now()),
            for: session)
    }

    private func replacement(
        of sent: HTTPRequest, isAuthenticated: Bool, isRepeated: Bool, refusals: Int, for session: Session
    ) -> Step {
        takeAnnounced()
        return perform(
            state.refused(
                isAuthenticated: isAuthenticated, version: sent.credentialVersion, isRepeated: isRepeated,
                refusals: refusals, now: now()),
            for: session)
    }

    private func perform(_ action: RefreshState.Action, for session: Session) -> Step {
        guard let credential else { return .fail(AuthenticationError.missingCredential) }
        switch action {
        case .proceed: return .use(credential, version: CredentialVersionCounter.next())
        case .fail(let error): return .fail(error)
        case .failAsRefresh: return .fail(failure ?? AuthenticationError.excessiveRefresh)
        case .wait: return .wait(newWaiter())
        case .refresh(let number):
            let waiter = newWaiter()
            refreshTask = refreshing(credential, number, for: session)
            return .wait(waiter)
        }
    }

    private func newWaiter() -> RefreshWaiter {
        let waiter = RefreshWaiter()
        waiters.append(waiter)
        return waiter
    }

    /// Starts a refresh in its own task, so that a cancelled request does not cancel it.
    private func refreshing(
        _ credential: AuthenticatorType.Credential, _ number: Int, for session: Session
    ) -> Task<Void, Never> {
        let marks = RefreshTaskMarker.interceptors.union([ObjectIdentifier(self)])
        return Task { [authenticator] in
            typealias Refreshed = Result<AuthenticatorType.Credential, any Error>
            let result: Refreshed = await RefreshTaskMarker.$interceptors.withValue(marks) {
                do {
                    return .success(try await authenticator.refresh(credential, for: session))
                } catch {
                    return .failure(error)
                }
            }
            refreshEnded(number, with: result)
        }
    }

    private func refreshEnded(_ number: Int, with result: Result<AuthenticatorType.Credential, any Error>) {
        takeAnnounced()
        let version = CredentialVersionCounter.next()
        switch result {
        case .success(let credential):
            guard state.refreshEnded(number, version: version, succeeded: true) else { return }
            _ = announced.withLock { $0.isNew ? nil : exchange(&$0, with: (credential, false)) }
            self.credential = credential
            failure = nil
            answerWaiters(with: .replaced(byRefresh: true))
        case .failure(let error):
            guard state.refreshEnded(number, version: version, succeeded: false) else { return }
            failure = error
            answerWaiters(with: .failed(error))
        }
        refreshTask = nil
    }

    private func answerWaiters(with answer: RefreshWaiter.WaitOutcome) {
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.end(with: answer) }
    }

    /// Whether the current task is part of this interceptor's own refresh.
    private nonisolated var isRefreshingItself: Bool { RefreshTaskMarker.interceptors.contains(ObjectIdentifier(self)) }

    private static func time<C: Clock<Duration>>(of clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}

/// Marks the tasks in which interceptors refresh their credentials.
private enum RefreshTaskMarker {
    @TaskLocal static var interceptors: Set<ObjectIdentifier> = []
}

/// Numbers all credential changes in the process, in their order.
private enum CredentialVersionCounter {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}

/// Waits until a refresh ends or the waiting task is cancelled.
private struct RefreshWaiter: Sendable {
    /// The reason why the wait ended.
    enum WaitOutcome: Sendable {
        /// Another credential is available, either from the refresh or because it was set.
        case replaced(byRefresh: Bool)
        case failed(any Error)
        case cancelled
    }

    private let answers = AsyncStream<WaitOutcome>.makeStream(bufferingPolicy: .bufferingOldest(1))

    /// Waits for the outcome; called only once.
    func answer() async -> WaitOutcome {
        for await answer in answers.stream { return answer }
        return .cancelled
    }

    /// Ends the wait, unless it has already ended.
    func end(with answer: WaitOutcome) { answers.continuation.yield(answer) }
}
