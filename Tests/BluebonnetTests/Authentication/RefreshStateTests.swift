import Testing

@testable import Bluebonnet

/// When a credential is applied, waited for and refreshed.
@Suite struct RefreshStateTests {
    private func state(_ window: RefreshWindow? = RefreshWindow()) -> RefreshState {
        RefreshState(hasCredential: true, window: window)
    }

    @Test func `without a credential nothing is sent`() {
        var state = RefreshState(hasCredential: false, window: nil)
        let adapting = state.adapting(requiresRefresh: false, isFresh: false, now: .zero)
        #expect(adapting == .fail(.missingCredential))
        let refused = state.refused(isAuthenticated: true, version: 1, isRepeated: false, now: .zero)
        #expect(refused == .fail(.missingCredential))
        state.replaced(hasCredential: true, version: 2)
        let replaced = state.adapting(requiresRefresh: false, isFresh: false, now: .zero)
        #expect(replaced == .proceed)
        state.replaced(hasCredential: false, version: 3)
        let removed = state.adapting(requiresRefresh: true, isFresh: true, now: .zero)
        #expect(removed == .fail(.missingCredential))
    }

    @Test func `all requests wait for one running refresh`() {
        var state = state()
        let actions = [
            state.adapting(requiresRefresh: true, isFresh: false, now: .zero),
            state.adapting(requiresRefresh: true, isFresh: false, now: .zero),
            state.adapting(requiresRefresh: false, isFresh: false, now: .zero),
            state.refused(isAuthenticated: true, version: 1, isRepeated: false, now: .zero),
            state.refused(isAuthenticated: false, version: nil, isRepeated: true, now: .zero),
        ]
        #expect(actions == [.refresh(1), .wait, .wait, .wait, .wait])
        let isNews = state.refreshEnded(1, version: 5, succeeded: true)
        #expect(isNews && !state.isRefreshing)
    }

    @Test func `a refresh that a refused request started delays new requests too`() {
        var state = state()
        let actions = [
            state.refused(isAuthenticated: true, version: 1, isRepeated: false, now: .zero),
            state.adapting(requiresRefresh: false, isFresh: false, now: .zero),
        ]
        #expect(actions == [.refresh(1), .wait])
    }

    @Test func `a new credential is used once even if it is about to expire`() {
        var state = state()
        let actions = [
            state.adapting(requiresRefresh: true, isFresh: true, now: .zero),
            state.adapting(requiresRefresh: true, isFresh: false, now: .zero),
        ]
        #expect(actions == [.proceed, .refresh(1)])
    }

    struct Refusal: Sendable {
        let version: UInt64?
        var failedAt: UInt64?
        var isAuthenticated = true
        var isRepeated = false
        var refusals = 0
        let action: RefreshState.Action
    }

    /// A credential was replaced at 10, and maybe a refresh failed later.
    static let refusals: [Refusal] = [
        Refusal(version: 5, action: .proceed), Refusal(version: 5, isAuthenticated: false, action: .proceed),
        Refusal(version: 15, action: .refresh(2)),
        // The request seems to have another credential but was sent with this credential. It is not retried endlessly.
        Refusal(version: 15, isAuthenticated: false, action: .refresh(2)),
        Refusal(version: nil, action: .refresh(2)), Refusal(version: nil, isAuthenticated: false, action: .proceed),
        Refusal(version: nil, isAuthenticated: false, isRepeated: true, action: .refresh(2)),
        Refusal(version: 5, failedAt: 20, action: .proceed), Refusal(version: 15, failedAt: 20, action: .failAsRefresh),
        Refusal(version: 15, failedAt: 20, isAuthenticated: false, isRepeated: true, action: .failAsRefresh),
        Refusal(version: 25, failedAt: 20, action: .refresh(3)),
        Refusal(version: 15, refusals: 19, action: .refresh(2)),
        Refusal(version: 15, refusals: 20, action: .fail(.excessiveRefresh)),
        Refusal(version: nil, refusals: 20, action: .fail(.excessiveRefresh)),
    ]

    @Test(arguments: refusals)
    func `how a refused request is handled`(_ row: Refusal) {
        var state = state(nil)
        _ = state.adapting(requiresRefresh: true, isFresh: false, now: .zero)
        _ = state.refreshEnded(1, version: 10, succeeded: true)
        if let failedAt = row.failedAt {
            _ = state.adapting(requiresRefresh: true, isFresh: false, now: .zero)
            _ = state.refreshEnded(2, version: failedAt, succeeded: false)
        }
        let action = state.refused(
            isAuthenticated: row.isAuthenticated, version: row.version, isRepeated: row.isRepeated,
            refusals: row.refusals, now: .zero)
        #expect(action == row.action)
    }

    @Test func `a failed refresh does not prevent the next refresh`() {
        var state = state()
        _ = state.adapting(requiresRefresh: true, isFresh: false, now: .zero)
        let isNews = state.refreshEnded(1, version: 1, succeeded: false)
        let next = state.adapting(requiresRefresh: true, isFresh: false, now: .zero)
        #expect(isNews && next == .refresh(2))
    }

    @Test func `setting a credential ends the refresh and discards its result`() {
        var state = state()
        _ = state.adapting(requiresRefresh: true, isFresh: false, now: .zero)
        state.replaced(hasCredential: true, version: 1)
        let actions = [
            state.adapting(requiresRefresh: false, isFresh: false, now: .zero),
            state.adapting(requiresRefresh: true, isFresh: false, now: .zero),
        ]
        #expect(actions == [.proceed, .refresh(2)])
        var late = state
        let (succeeded, failed) = (
            late.refreshEnded(1, version: 2, succeeded: true), late.refreshEnded(1, version: 3, succeeded: false)
        )
        #expect(!succeeded && !failed && late == state)
    }

    @Test(arguments: [0, 1, 5])
    func `at most the allowed number of refreshes start within the window`(_ maximum: Int) {
        var state = state(RefreshWindow(interval: .seconds(30), maximumAttempts: maximum))
        for number in 0..<maximum {
            let action = state.adapting(requiresRefresh: true, isFresh: false, now: .seconds(number))
            #expect(action == .refresh(number + 1))
            _ = state.refreshEnded(number + 1, version: UInt64(number), succeeded: true)
        }
        // The first one still counts after exactly the interval, and no longer.
        for now in [Duration.seconds(max(maximum - 1, 0)), .seconds(30)] {
            let action = state.adapting(requiresRefresh: true, isFresh: false, now: now)
            let refused = state.refused(isAuthenticated: true, version: 1_000, isRepeated: false, now: now)
            #expect(action == .fail(.excessiveRefresh) && refused == .fail(.excessiveRefresh))
        }
        let later = state.adapting(requiresRefresh: true, isFresh: false, now: .milliseconds(30_001))
        #expect(later == (maximum == 0 ? .fail(.excessiveRefresh) : .refresh(maximum + 1)))
    }

    @Test func `without a window there is no limit`() {
        var state = state(nil)
        for number in 1...100 {
            let action = state.adapting(requiresRefresh: true, isFresh: false, now: .zero)
            #expect(action == .refresh(number))
            _ = state.refreshEnded(number, version: UInt64(number), succeeded: true)
        }
    }
}
