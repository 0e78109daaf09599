/// Decides when a credential is applied, waited for and refreshed; a value without clock, tasks and continuations.
///
/// One refresh is under way at most. Versions order what happens: a request carries the version at which it got its
/// credential, which tells whether the credential was replaced, or a refresh of it failed, since then.
struct RefreshState: Equatable {
    /// What to do with a request.
    enum Action: Equatable {
        /// Send it with the credential that there is.
        case proceed
        /// Wait for the end of the refresh that is under way.
        case wait
        /// Begin a refresh, and wait for its end.
        case refresh(Int)
        /// Give up, for the reason for which the last refresh failed.
        case failAsRefresh
        case fail(AuthenticationError)
    }

    private enum Phase: Equatable {
        case idle
        /// A refresh is under way, which has this number.
        case refreshing(Int)
    }

    private let window: RefreshWindow?
    private var phase = Phase.idle
    private var hasCredential: Bool
    private var refreshes = 0
    /// When refreshes began that are within the window.
    private var begun: [Duration] = []
    private var replacedAt: UInt64 = 0
    private var failedAt: UInt64 = 0

    init(hasCredential: Bool, window: RefreshWindow?) {
        self.hasCredential = hasCredential
        self.window = window
    }

    var isRefreshing: Bool { phase != .idle }

    // MARK: Requests

    /// A request is to be sent.
    ///
    /// The credential may say of itself that it requires a refresh; a request that is fresh has waited for that very
    /// credential.
    mutating func adapting(requiresRefresh: Bool, isFresh: Bool, now: Duration) -> Action {
        guard hasCredential else { return .fail(.missingCredential) }
        if isRefreshing { return .wait }
        // A new credential is used at least once: one that is about to expire is still better than none.
        return requiresRefresh && !isFresh ? refresh(now: now) : .proceed
    }

    /// A request was refused because of its credential; to proceed is to try again.
    ///
    /// It is authenticated if it has the credential of now. The version says when it got its credential, and is `nil`
    /// where an adapter has made another request of it; it is repeated if it was tried again before.
    mutating func refused(isAuthenticated: Bool, version: UInt64?, isRepeated: Bool, now: Duration) -> Action {
        guard hasCredential else { return .fail(.missingCredential) }
        if isRefreshing { return .wait }
        guard let version else { return isAuthenticated || isRepeated ? refresh(now: now) : .proceed }
        if replacedAt > version { return .proceed }
        if failedAt > version { return .failAsRefresh }
        // That the request was given the credential of now is known better here than by its looks.
        return refresh(now: now)
    }

    private mutating func refresh(now: Duration) -> Action {
        if let window {
            begun.removeAll { now - $0 > window.interval }
            guard begun.count < window.maximumAttempts else { return .fail(.excessiveRefresh) }
            begun.append(now)
        }
        refreshes += 1
        phase = .refreshing(refreshes)
        return .refresh(refreshes)
    }

    // MARK: The credential

    /// A refresh brought a credential; returns whether that is the one to use from now on.
    mutating func refreshed(_ number: Int, version: UInt64) -> Bool {
        guard phase == .refreshing(number) else { return false }
        phase = .idle
        replacedAt = version
        return true
    }

    /// A refresh failed; returns whether the failure has to be reported.
    mutating func refreshFailed(_ number: Int, version: UInt64) -> Bool {
        guard phase == .refreshing(number) else { return false }
        phase = .idle
        failedAt = version
        return true
    }

    /// The credential was set from outside, or taken away; a refresh under way is of no use any more.
    mutating func replaced(hasCredential: Bool, version: UInt64) {
        self.hasCredential = hasCredential
        phase = .idle
        replacedAt = version
    }
}
