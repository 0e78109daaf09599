import FoundationEssentials
import Testing

@testable import Bluebonnet

struct CachingExchangeStateTests {
    private static let outcome = HeldResponse(response: nil, body: .memory(Data()), bytes: 0..<0, source: .cache)

    private static func tells(_ action: CachingExchangeState.Action) -> Bool {
        if case .complete = action { true } else { false }
    }

    @Test func `a cached response is reported once`() {
        var state = CachingExchangeState(isSuspended: false)
        let did1 = state.found(Self.outcome)
        #expect(did1)
        let answer1 = state.delivering(headFirst: false)
        #expect(answer1 != nil)
        let answer2 = state.delivering(headFirst: false)
        #expect(answer2 == nil)
        let stateAction = state.stopped(with: RequestError(.cancelled))
        #expect(!Self.tells(stateAction))
    }

    @Test func `a cached response waits until an exchange is resumed that was suspended before the report`() {
        var state = CachingExchangeState(isSuspended: true)
        let did2 = state.found(Self.outcome)
        #expect(!did2)
        state.isSuspended = false
        state.isSuspended = true
        let answer3 = state.delivering(headFirst: false)
        #expect(answer3 == nil)
        state.isSuspended = false
        let answer4 = state.delivering(headFirst: false)
        #expect(answer4 != nil)
    }

    @Test func `a cached response that is cancelled before the report is not reported`() {
        var state = CachingExchangeState(isSuspended: false)
        _ = state.found(Self.outcome)
        let stateAction = state.stopped(with: RequestError(.cancelled))
        #expect(Self.tells(stateAction))
        let answer5 = state.delivering(headFirst: false)
        #expect(answer5 == nil)
        let did3 = state.ended()
        #expect(!did3)
        var looking = CachingExchangeState(isSuspended: false)
        let lookingAction = looking.stopped(with: RequestError(.cancelled))
        #expect(Self.tells(lookingAction))
        let did4 = looking.found(Self.outcome)
        #expect(!did4)
        let answer6 = looking.willFetch()
        #expect(answer6 == nil)
    }

    @Test func `cancelling the exchange interrupts or prevents storing`() {
        var state = CachingExchangeState(isSuspended: false)
        _ = state.willFetch()
        let did5 = state.willWork()
        #expect(did5)
        let isInterrupted = state.workBegan {}
        #expect(!isInterrupted)
        guard case .complete(_, let interruption) = state.stopped(with: RequestError(.cancelled)) else {
            Issue.record("nothing is reported")
            return
        }
        #expect(interruption != nil)
        let did6 = state.ended()
        #expect(!did6)
        var starting = CachingExchangeState(isSuspended: false)
        _ = starting.willFetch()
        let startingAction = starting.stopped(with: RequestError(.cancelled))
        #expect(!Self.tells(startingAction))
        let did7 = starting.willWork()
        #expect(!did7)
        let did9 = starting.ended()
        #expect(did9)
    }

    @Test func `events before the exchange is known wait, and are delivered one at a time`() throws {
        var state = CachingExchangeState(isSuspended: false)
        _ = state.willFetch()
        let did10 = state.received(.head(try CacheFixtures.response([:])))
        #expect(!did10)
        let did11 = state.received(.outcome(ExchangeOutcome(response: nil)))
        #expect(!did11)
        guard case .head? = state.nextEvent(), case .outcome? = state.nextEvent() else {
            Issue.record("the events are not in order")
            return
        }
        if state.nextEvent() != nil { Issue.record("there is more") }
    }
}
