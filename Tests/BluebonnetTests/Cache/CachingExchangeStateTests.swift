import FoundationEssentials
import Testing

@testable import Bluebonnet

struct CachingExchangeStateTests {
    private static let outcome = HeldResponse(response: nil, body: .memory(Data()), bytes: 0..<0, source: .cache)

    private static func tells(_ action: CachingExchangeState.Action) -> Bool {
        if case .complete = action { true } else { false }
    }

    private static func isWhole(_ start: CachingExchangeState.DeliveryStart) -> Bool {
        if case .whole = start { true } else { false }
    }

    @Test func `a cached response is reported once`() {
        var state = CachingExchangeState(isSuspended: false)
        let did1 = state.found(Self.outcome)
        #expect(did1)
        let answer1 = state.delivering(headFirst: false)
        #expect(Self.isWhole(answer1))
        let answer2 = state.delivering(headFirst: false)
        #expect(!Self.isWhole(answer2))
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
        #expect(!Self.isWhole(answer3))
        state.isSuspended = false
        let answer4 = state.delivering(headFirst: false)
        #expect(Self.isWhole(answer4))
    }

    @Test func `a cached response that is cancelled before the report is not reported`() {
        var state = CachingExchangeState(isSuspended: false)
        _ = state.found(Self.outcome)
        let stateAction = state.stopped(with: RequestError(.cancelled))
        #expect(Self.tells(stateAction))
        let answer5 = state.delivering(headFirst: false)
        #expect(!Self.isWhole(answer5))
        let did3 = state.ended()
        #expect(!did3)
        var looking = CachingExchangeState(isSuspended: false)
        let lookingAction = looking.stopped(with: RequestError(.cancelled))
        #expect(Self.tells(lookingAction))
        let did4 = looking.found(Self.outcome)
        #expect(!did4)
        let answer6 = looking.willFetch(CachingExchangeState.Fetch())
        #expect(answer6 == nil)
    }

    @Test func `cancelling the exchange interrupts or prevents storing`() {
        var state = CachingExchangeState(isSuspended: false)
        _ = state.willFetch(CachingExchangeState.Fetch())
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
        _ = starting.willFetch(CachingExchangeState.Fetch())
        let startingAction = starting.stopped(with: RequestError(.cancelled))
        #expect(!Self.tells(startingAction))
        let did7 = starting.willWork()
        #expect(!did7)
        let did9 = starting.ended()
        #expect(did9)
    }

    @Test func `events before the exchange is known wait, and are delivered one at a time`() throws {
        var state = CachingExchangeState(isSuspended: false)
        _ = state.willFetch(CachingExchangeState.Fetch())
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

    @Test func `nothing overlaps the delivery of a head`() throws {
        func delivering(_ change: (inout CachingExchangeState) -> Void) throws -> CachingExchangeState {
            var state = CachingExchangeState(isSuspended: false)
            _ = state.found(
                HeldResponse(
                    response: try CacheFixtures.response([:]), body: .memory(Data("abc".utf8)), bytes: 0..<3,
                    source: .cache))
            guard case .head = state.delivering(headFirst: true) else { throw CancellationError() }
            change(&state)
            return state
        }
        var cancelled = try delivering { state in
            if case .nothing = state.stopped(with: RequestError(.timedOut(.total))) { return }
            Issue.record("the outcome overtakes the head")
        }
        guard case .complete(let outcome) = cancelled.nextStep() else {
            Issue.record("the exchange does not end")
            return
        }
        #expect(outcome.error?.kind == .timedOut(.total))
        var collected = try delivering { state in
            #expect(!state.resumesDelivery { $0.reader = .collecting })
            state.isSuspended = true
        }
        if case .wait = collected.nextStep() {} else { Issue.record("a suspended exchange is read") }
        collected.isSuspended = false
        let runs = collected.resumesDelivery()
        #expect(runs)
        guard case .collect(let answer) = collected.nextStep() else {
            Issue.record("the body is not collected")
            return
        }
        #expect(answer.wholeOutcome().body == Data("abc".utf8))
        var undecided = try delivering { _ in }
        if case .wait = undecided.nextStep() {} else { Issue.record("no reader has asked for the body") }
    }

    @Test(arguments: [RequestError.Kind.cancelled, .timedOut(.total), .sessionShutDown])
    func `the reason of a stop is kept while the inner exchange ends`(kind: RequestError.Kind) {
        var state = CachingExchangeState(isSuspended: false)
        _ = state.willFetch(CachingExchangeState.Fetch())
        _ = state.stopped(with: RequestError(kind))
        _ = state.stopped(with: RequestError(.cancelled))
        #expect(state.stopError?.kind == kind)
    }
}
