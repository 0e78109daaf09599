import Synchronization

/// Authenticates requests with a credential, and refreshes that when it expires or is refused.
///
/// Every request gets the credential before it is sent. When the credential says that it requires a refresh, or when
/// the ``Authenticator`` finds that a request failed because of it, the authenticator is asked for a new one. At most
/// one refresh runs at a time. All requests, including new ones, wait for it and are then sent, or sent again, with the
/// new credential. When it fails, all that waited fail with its error, as do those that are refused later and were sent
/// before; the next request is free to try again.
///
/// A refusal is noticed when a request fails: have it validated (`validate()`), or a 401 is a response like any other.
/// A refusal by another origin, reached by a redirect that dropped the credential, does not trigger a refresh.
///
/// The error of a request is `.adaptation`, when it was not sent, or `.retry(original:)`; its `underlying` is an
/// ``AuthenticationError``, or what the refresh threw.
///
/// Runs here: the bookkeeping, and the credential's `requiresRefresh`. Never runs here: the authenticator, which runs on
/// the global pool; each refresh in a task of its own. A request that is cancelled neither waits any longer nor ends the
/// refresh for others.
public actor AuthenticationInterceptor<AuthenticatorType: Authenticator>: RequestInterceptor {
    /// Limits how often the credential is refreshed.
    public typealias RefreshWindow = Bluebonnet.RefreshWindow

    /// Authenticates requests, and refreshes the credential.
    package nonisolated let authenticator: AuthenticatorType

    /// How often the credential may be refreshed; `nil` for any number of times.
    package nonisolated let refreshWindow: RefreshWindow?

    /// The credential of now; without one, requests fail with ``AuthenticationError/missingCredential``.
    public private(set) var credential: AuthenticatorType.Credential?

    private let now: @Sendable () -> Duration
    private var state: RefreshState
    private var waiters: [RefreshWaiter] = []
    private var refreshTask: Task<Void, Never>?
    /// Why the last refresh failed, if it did.
    private var failure: (any Error)?

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - authenticator: Knows how requests are authenticated.
    ///   - credential: The credential to begin with.
    ///   - refreshWindow: How often the credential may be refreshed; 5 times in 30 s by default, `nil` for no limit.
    ///   - clock: The clock of the window.
    public init(
        authenticator: AuthenticatorType, credential: AuthenticatorType.Credential? = nil,
        refreshWindow: RefreshWindow? = RefreshWindow(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.authenticator = authenticator
        self.credential = credential
        self.refreshWindow = refreshWindow
        now = Self.time(of: clock)
        state = RefreshState(hasCredential: credential != nil, window: refreshWindow)
    }

    /// Sets the credential, as after a login; `nil` takes it away, as after a logout.
    ///
    /// Requests that wait for a refresh continue with this credential; the result of the refresh is discarded.
    ///
    /// - Parameter credential: The credential.
    public func setCredential(_ credential: AuthenticatorType.Credential?) {
        self.credential = credential
        state.replaced(hasCredential: credential != nil, version: CredentialVersionCounter.next())
        refreshTask?.cancel()
        refreshTask = nil
        answerWaiters(with: .replaced(byRefresh: false))
    }

    /// Puts the credential into a request, when it has been refreshed if it has to be.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - state: Whose request it is.
    /// - Returns: The request with the credential.
    /// - Throws: An ``AuthenticationError``, what the refresh threw, or `CancellationError`.
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

    /// Has a request sent again with another credential if it failed because of the one that it had.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: Its session.
    ///   - error: Why it failed.
    /// - Returns: Whether it is sent again, once there is another credential.
    @concurrent
    public nonisolated func retry(
        _ request: any Request, for session: Session, dueTo error: any Error
    ) async -> RetryResult {
        guard !isRefreshingItself, let sent = request.request, !sent.omitsSessionSecrets,
            let response = request.response,
            authenticator.didRequest(sent, with: response, failDueToAuthenticationError: error)
        else { return .doNotRetry }
        let isAuthenticated = await credential.map { authenticator.isRequest(sent, authenticatedWith: $0) } ?? false
        let isRepeated = request.retryCount > 0
        switch await replacement(of: sent, isAuthenticated: isAuthenticated, isRepeated: isRepeated, for: session) {
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

    /// How many wait for the end of the refresh, for tests.
    var waiterCount: Int { waiters.count }

    /// The next step of a request that asked.
    private enum Step: Sendable {
        case use(AuthenticatorType.Credential, version: UInt64)
        case wait(RefreshWaiter)
        case fail(any Error)
    }

    private func applicable(isFresh: Bool, for session: Session) -> Step {
        perform(
            state.adapting(requiresRefresh: credential?.requiresRefresh ?? false, isFresh: isFresh, now: now()),
            for: session)
    }

    private func replacement(
        of sent: HTTPRequest, isAuthenticated: Bool, isRepeated: Bool, for session: Session
    ) -> Step {
        perform(
            state.refused(
                isAuthenticated: isAuthenticated, version: sent.credentialVersion, isRepeated: isRepeated, now: now()),
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

    /// Begins a refresh, which no waiting request can cancel.
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
        let version = CredentialVersionCounter.next()
        switch result {
        case .success(let credential):
            guard state.refreshed(number, version: version) else { return }
            self.credential = credential
            failure = nil
            answerWaiters(with: .replaced(byRefresh: true))
        case .failure(let error):
            guard state.refreshFailed(number, version: version) else { return }
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

    /// Whether this runs within the interceptor's own refresh.
    private nonisolated var isRefreshingItself: Bool { RefreshTaskMarker.interceptors.contains(ObjectIdentifier(self)) }

    private static func time<C: Clock<Duration>>(of clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}

extension RequestInterceptor {
    /// An interceptor that authenticates requests.
    ///
    /// - Parameters:
    ///   - authenticator: Knows how requests are authenticated.
    ///   - credential: The credential to begin with.
    ///   - refreshWindow: How often the credential may be refreshed; 5 times in 30 s by default, `nil` for no limit.
    /// - Returns: The interceptor.
    package static func authentication<AuthenticatorType: Authenticator>(
        using authenticator: AuthenticatorType, credential: AuthenticatorType.Credential? = nil,
        refreshWindow: RefreshWindow? = RefreshWindow()
    ) -> Self where Self == AuthenticationInterceptor<AuthenticatorType> {
        AuthenticationInterceptor(
            authenticator: authenticator, credential: credential, refreshWindow: refreshWindow)
    }
}

/// Marks the tasks in which interceptors refresh their credentials.
private enum RefreshTaskMarker {
    @TaskLocal static var interceptors: Set<ObjectIdentifier> = []
}

/// Numbers the changes of credentials in the order in which they happen in the process.
private enum CredentialVersionCounter {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}

/// Waits for the end of a refresh, or for the cancellation of the task that waits, whichever comes first.
private struct RefreshWaiter: Sendable {
    /// How the wait ended.
    enum WaitOutcome: Sendable {
        /// There is another credential: the refresh brought it, or it was set.
        case replaced(byRefresh: Bool)
        case failed(any Error)
        case cancelled
    }

    private let answers = AsyncStream<WaitOutcome>.makeStream(bufferingPolicy: .bufferingOldest(1))

    /// Waits; once.
    func answer() async -> WaitOutcome {
        for await answer in answers.stream { return answer }
        return .cancelled
    }

    /// Ends the wait, unless it has ended.
    func end(with answer: WaitOutcome) { answers.continuation.yield(answer) }
}
