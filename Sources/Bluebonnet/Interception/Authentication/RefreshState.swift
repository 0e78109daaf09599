/// Decides when a credential is applied, awaited and refreshed.
///
/// It is a value without a clock, tasks or continuations.
///
/// At most one refresh is running. Ticks order the events. Each request carries the tick at which it received its
/// credential. The tick shows whether the credential has been replaced, or a refresh has failed, since then.
struct RefreshState: Equatable {
    /// The action to take for a request.
    enum Action: Equatable {
        /// Send the request with the current credential.
        case proceed
        /// Wait for the end of the running refresh.
        case wait
        /// Start a refresh with this number, and wait for its end.
        case refresh(Int)
        /// Fail with the error of the last refresh.
        case failAsRefresh
        case fail(AuthenticationError)
    }

    private enum Phase: Equatable {
        case idle
        /// The refresh with this number is running.
        case refreshing(Int)
    }

    private let window: RefreshWindow?
    private var phase = Phase.idle
    private var hasCredential: Bool
    private var refreshes = 0
    /// The start times of the refreshes within the window.
    private var begun: [Duration] = []
    private var replacedAt: UInt64 = 0
    private var failedAt: UInt64 = 0

    init(hasCredential: Bool, window: RefreshWindow?) {
        self.hasCredential = hasCredential
        self.window = window
    }

    var isRefreshing: Bool { phase != .idle }

    // MARK: Requests

    /// Handles a request that is about to be sent.
    ///
    /// `requiresRefresh` comes from the credential. `isFresh` is `true` if the request has just waited for this
    /// credential.
    mutating func adapting(requiresRefresh: Bool, isFresh: Bool, now: Duration) -> Action {
        guard hasCredential else { return .fail(.missingCredential) }
        if isRefreshing { return .wait }
        // A new credential is used at least once: even one that is about to expire is better than none.
        return requiresRefresh && !isFresh ? refresh(now: now) : .proceed
    }

    /// Handles a request that was refused because of its credential.
    ///
    /// `.proceed` means to try again.
    ///
    /// `isAuthenticated` tells whether the request contains the current credential. `tick` is the tick at which the
    /// request received its credential, or `nil` if an adapter has replaced the request. `isRepeated` tells whether
    /// the request has been retried before.
    mutating func refused(isAuthenticated: Bool, version: UInt64?, isRepeated: Bool, now: Duration) -> Action {
        guard hasCredential else { return .fail(.missingCredential) }
        if isRefreshing { return .wait }
        guard let version else { return isAuthenticated || isRepeated ? refresh(now: now) : .proceed }
        if replacedAt > version { return .proceed }
        if failedAt > version { return .failAsRefresh }
        // The ticks show that the request had the current credential, which is more reliable than inspecting the
        // request.
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

    /// Handles the result of a refresh; returns whether to use its credential from now on.
    mutating func refreshed(_ number: Int, version: UInt64) -> Bool {
        guard phase == .refreshing(number) else { return false }
        phase = .idle
        replacedAt = version
        return true
    }

    /// Handles the failure of a refresh; returns whether to report it.
    mutating func refreshFailed(_ number: Int, version: UInt64) -> Bool {
        guard phase == .refreshing(number) else { return false }
        phase = .idle
        failedAt = version
        return true
    }

    /// Handles a credential that was set or removed from outside; a running refresh is ignored from now on.
    mutating func replaced(hasCredential: Bool, version: UInt64) {
        self.hasCredential = hasCredential
        phase = .idle
        replacedAt = version
    }
}
