import FoundationEssentials
import Testing

@testable import Bluebonnet

struct HedgeStateTests {
    private static let failure = ExchangeObserverEvent.outcome(
        ExchangeOutcome(response: nil, error: RequestError(.connection(.lost))))
    private static let success = ExchangeObserverEvent.outcome(ExchangeOutcome(response: nil))

    /// A state with running tries, whose handles are 10, 20 and so on.
    private static func state(tries count: Int) -> HedgeState<Int> {
        var state = HedgeState<Int>(isSuspended: false)
        for _ in 0..<count {
            guard let number = state.willStart() else { break }
            _ = state.started(number, number * 10)
        }
        return state
    }

    private static let head = HTTPResponse(
        url: URL(filePath: "/"), statusCode: 200, httpVersion: .http1_1, headers: [:])

    @Test(arguments: [1, 2, 3], [ExchangeObserverEvent.head(head), .receivedBytes, success])
    func `the first part of a response decides`(_ winner: Int, event: ExchangeObserverEvent) {
        var state = Self.state(tries: 3)
        let losers = state.received(event, from: winner)
        #expect(losers.map(Set.init) == Set([10, 20, 30]).subtracting([winner * 10]))
        for loser in 1...3 where loser != winner {
            let dropped = [event, .sentBytes, .receivedBytes, Self.failure, Self.success].map {
                state.received($0, from: loser)
            }
            #expect(dropped == [nil, nil, nil, nil, nil])
        }
        #expect(!state.mayStart && state.willStart() == nil)
    }

    @Test(arguments: [success, failure])
    func `the winner's events are forwarded to the outcome, which is the last`(_ outcome: ExchangeObserverEvent) {
        var state = Self.state(tries: 2)
        let sent = state.received(.sentBytes, from: 2)
        let events = [ExchangeObserverEvent.head(Self.head), .receivedBytes, .sentBytes, outcome, outcome]
        let losers = events.map { state.received($0, from: 2) }
        #expect(sent == nil)
        #expect(losers == [[10], [], [], [], nil])
        #expect(state.handles.isEmpty)
    }

    @Test func `a failure waits for the other tries, and the last failure is the outcome`() {
        var state = Self.state(tries: 2)
        let first = state.received(Self.failure, from: 1)
        #expect(first == nil && state.handles == [20])
        let last = state.received(Self.failure, from: 2)
        #expect(last == [] && state.handles.isEmpty)
        var alone = Self.state(tries: 1)
        let only = alone.received(Self.failure, from: 1)
        #expect(only == [])
        let late = alone.willStart()
        #expect(late == nil)
    }

    @Test func `a try whose handle comes late is cancelled if it has lost`() {
        var state = Self.state(tries: 1)
        let number = state.willStart()
        let losers = state.received(.head(Self.head), from: 1)
        let goesOn = state.started(2, 20)
        #expect(number == 2 && losers == [] && !goesOn && state.handles == [10])
    }

    @Test func `a try that fails before its handle is recorded does not come back`() {
        var state = Self.state(tries: 1)
        _ = state.willStart()
        let dropped = state.received(Self.failure, from: 2)
        let goesOn = state.started(2, 20)
        #expect(dropped == nil && !goesOn && state.handles == [10])
    }

    @Test func `a cancelled exchange starts no try, and cancels one whose handle comes late`() {
        var state = Self.state(tries: 1)
        _ = state.willStart()
        let cancelled = state.cancelled()
        let goesOn = state.started(2, 20)
        let number = state.willStart()
        #expect(cancelled == [10] && !goesOn && number == nil && !state.mayStart)
        let outcomes = [1, 2].map { state.received(Self.failure, from: $0) }
        #expect(outcomes == [nil, []])
    }

    @Test func `a suspended exchange starts its first try and no other`() {
        var state = HedgeState<Int>(isSuspended: true)
        let numbers = [state.willStart(), state.willStart()]
        #expect(numbers == [1, nil])
        state.isSuspended = false
        let next = state.willStart()
        #expect(next == 2)
    }
}
