/// Decides when a credential is applied, awaited and refreshed.
///
/// This is a value type without a clock, tasks or continuations.
///
/// At most one refresh is running. All changes of the credential and all uses of it are numbered in their order. The
/// number of a use is the version of the request. The version shows later calls whether the credential has been
/// replaced since then, or a refresh has failed.
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

    /// The number of times that a request may be rejected because of its credential, and is retried.
    ///
    /// A ``RefreshWindow`` does not end the retries of a request that is rejected slowly.
    private static let refusalLimit = 20

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
        // A new credential is used at least once, even if it expires soon.
        return requiresRefresh && !isFresh ? refresh(now: now) : .proceed
    }

    /// Handles a request that was rejected because of its credential.
    ///
    /// The action `.proceed` means that the request is sent again with the current credential.
    ///
    /// - Parameters:
    ///   - isAuthenticated: Whether the request contains the current credential.
    ///   - version: The number of the use of the credential; `nil` if another adapter has replaced the request.
    ///   - isRepeated: Whether the request has been retried before.
    ///   - refusals: The number of times that the request was rejected before.
    ///   - now: The current time.
    /// - Returns: The action to take.
    mutating func refused(
        isAuthenticated: Bool, version: UInt64?, isRepeated: Bool, refusals: Int = 0, now: Duration
    ) -> Action {
        guard hasCredential else { return .fail(.missingCredential) }
        guard refusals < Self.refusalLimit else { return .fail(.excessiveRefresh) }
        if isRefreshing { return .wait }
        guard let version else { return isAuthenticated || isRepeated ? refresh(now: now) : .proceed }
        if replacedAt > version { return .proceed }
        if failedAt > version { return .failAsRefresh }
        // The version shows that the request had the current credential. This is more reliable than an inspection of
        // the request.
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

    /// Handles the end of a refresh; returns whether to use its credential from now on, or to report its failure.
    mutating func refreshEnded(_ number: Int, version: UInt64, succeeded: Bool) -> Bool {
        guard phase == .refreshing(number) else { return false }
        phase = .idle
        if succeeded { replacedAt = version } else { failedAt = version }
        return true
    }

    /// Handles a credential that was set or removed by the user; a running refresh is ignored from now on.
    mutating func replaced(hasCredential: Bool, version: UInt64) {
        self.hasCredential = hasCredential
        phase = .idle
        replacedAt = version
    }
}
