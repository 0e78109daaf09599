import Testing

@testable import Bluebonnet

/// When a credential is applied, waited for and refreshed.
@Suite struct RefreshStateTests {
    private static let second = Duration.seconds(1)

    private func state(_ window: RefreshWindow? = RefreshWindow()) -> RefreshState {
        RefreshState(hasCredential: true, window: window)
    }

    @Test func `without a credential nothing is sent`() {
        var state = RefreshState(hasCredential: false, window: nil)
        #expect(state.adapting(requiresRefresh: false, isFresh: false, now: .zero) == .fail(.missingCredential))
        #expect(
            state.refused(isAuthenticated: true, tick: 1, isRepeated: false, now: .zero) == .fail(.missingCredential))
        state.replaced(hasCredential: true, tick: 2)
        #expect(state.adapting(requiresRefresh: false, isFresh: false, now: .zero) == .proceed)
        state.replaced(hasCredential: false, tick: 3)
        #expect(state.adapting(requiresRefresh: true, isFresh: true, now: .zero) == .fail(.missingCredential))
    }

    @Test func `one refresh is under way, and everyone waits for it`() {
        var state = state()
        #expect(state.adapting(requiresRefresh: true, isFresh: false, now: .zero) == .refresh(1))
        #expect(state.adapting(requiresRefresh: true, isFresh: false, now: .zero) == .wait)
        #expect(state.adapting(requiresRefresh: false, isFresh: false, now: .zero) == .wait)
        #expect(state.refused(isAuthenticated: true, tick: 1, isRepeated: false, now: .zero) == .wait)
        #expect(state.refused(isAuthenticated: false, tick: nil, isRepeated: true, now: .zero) == .wait)
        let isNews = state.refreshed(1, tick: 5)
        #expect(isNews && !state.isRefreshing)
    }

    @Test func `a refresh that a refusal began holds new requests back, too`() {
        var state = state()
        #expect(state.refused(isAuthenticated: true, tick: 1, isRepeated: false, now: .zero) == .refresh(1))
        #expect(state.adapting(requiresRefresh: false, isFresh: false, now: .zero) == .wait)
    }

    @Test func `what a refresh brought is used once, even if it is about to expire`() {
        var state = state()
        #expect(state.adapting(requiresRefresh: true, isFresh: true, now: .zero) == .proceed)
        #expect(state.adapting(requiresRefresh: true, isFresh: false, now: .zero) == .refresh(1))
    }

    /// A credential was replaced at 10, and a refresh failed at 20.
    @Test(
        arguments: [
            (5, nil, true, false, .proceed), (5, nil, false, false, .proceed), (15, nil, true, false, .refresh(2)),
            // By its looks it has another credential, but it was given this one: no endless retries.
            (15, nil, false, false, .refresh(2)),
            (nil, nil, true, false, .refresh(2)), (nil, nil, false, false, .proceed),
            (nil, nil, false, true, .refresh(2)),
            (5, 20, true, false, .proceed), (15, 20, true, false, .failAsRefresh),
            (15, 20, false, true, .failAsRefresh), (25, 20, true, false, .refresh(3)),
        ] as [(UInt64?, UInt64?, Bool, Bool, RefreshState.Action)])
    func `a refused request`(
        gotItsCredentialAt tick: UInt64?, failedAt: UInt64?, isAuthenticated: Bool, isRepeated: Bool,
        expected: RefreshState.Action
    ) {
        var state = state(nil)
        _ = state.adapting(requiresRefresh: true, isFresh: false, now: .zero)
        _ = state.refreshed(1, tick: 10)
        if let failedAt {
            _ = state.adapting(requiresRefresh: true, isFresh: false, now: .zero)
            _ = state.refreshFailed(2, tick: failedAt)
        }
        #expect(
            state.refused(isAuthenticated: isAuthenticated, tick: tick, isRepeated: isRepeated, now: .zero) == expected)
    }

    @Test func `a failed refresh is not sticky`() {
        var state = state()
        #expect(state.adapting(requiresRefresh: true, isFresh: false, now: .zero) == .refresh(1))
        let isNews = state.refreshFailed(1, tick: 1)
        #expect(isNews)
        #expect(state.adapting(requiresRefresh: true, isFresh: false, now: .zero) == .refresh(2))
    }

    @Test func `a credential that is set ends the refresh, whose outcome nobody is told`() {
        var state = state()
        #expect(state.adapting(requiresRefresh: true, isFresh: false, now: .zero) == .refresh(1))
        state.replaced(hasCredential: true, tick: 1)
        #expect(state.adapting(requiresRefresh: false, isFresh: false, now: .zero) == .proceed)
        #expect(state.adapting(requiresRefresh: true, isFresh: false, now: .zero) == .refresh(2))
        var late = state
        let (succeeded, failed) = (late.refreshed(1, tick: 2), late.refreshFailed(1, tick: 3))
        #expect(!succeeded && !failed && late == state)
    }

    @Test(arguments: [0, 1, 5])
    func `as many refreshes begin within the window as are allowed`(_ maximum: Int) {
        var state = state(RefreshWindow(interval: .seconds(30), maximumAttempts: maximum))
        for number in 0..<maximum {
            let now = Self.second * number
            #expect(state.adapting(requiresRefresh: true, isFresh: false, now: now) == .refresh(number + 1))
            _ = state.refreshed(number + 1, tick: UInt64(number))
        }
        let last = Self.second * max(maximum - 1, 0)
        #expect(state.adapting(requiresRefresh: true, isFresh: false, now: last) == .fail(.excessiveRefresh))
        #expect(
            state.refused(isAuthenticated: true, tick: 1_000, isRepeated: false, now: last) == .fail(.excessiveRefresh))
        // The first one still counts after exactly the interval, and no longer.
        #expect(
            state.adapting(requiresRefresh: true, isFresh: false, now: .seconds(30)) == .fail(.excessiveRefresh))
        let later = state.adapting(requiresRefresh: true, isFresh: false, now: .milliseconds(30_001))
        #expect(later == (maximum == 0 ? .fail(.excessiveRefresh) : .refresh(maximum + 1)))
    }

    @Test func `without a window there is no limit`() {
        var state = state(nil)
        for number in 1...100 {
            #expect(state.adapting(requiresRefresh: true, isFresh: false, now: .zero) == .refresh(number))
            _ = state.refreshed(number, tick: UInt64(number))
        }
    }
}
