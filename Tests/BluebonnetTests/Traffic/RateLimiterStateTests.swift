import Testing

@testable import Bluebonnet

struct RateLimiterStateTests {
    // MARK: The bucket

    @Test(arguments: [(1.0, 1), (10, 1), (10, 5), (0.5, 3), (1000, 100)])
    func `the burst and the rate limit the requests in any interval`(_ rate: Double, burst: Int) {
        var bucket = TokenBucket(tokensPerSecond: rate, capacity: burst, now: .zero)
        var taken = 0
        // A hundred times as long as a token takes, in small steps.
        for step in 0...10_000 {
            let now: Duration = .seconds(Double(step) / 100 / rate)
            while bucket.take(now: now) { taken += 1 }
            #expect(Double(taken) <= Double(burst) + Double(step) / 100 + 0.001)
        }
        #expect(taken == burst + 100)
    }

    @Test func `the delay is the time until the next permitted request`() {
        var bucket = TokenBucket(tokensPerSecond: 4, capacity: 1, now: .seconds(100))
        #expect(bucket.wait(now: .seconds(100)) == .zero)
        let first = bucket.take(now: .seconds(100))
        let second = bucket.take(now: .seconds(100))
        #expect(first && !second)
        let wait = bucket.wait(now: .seconds(100))
        #expect(wait >= .milliseconds(250) && wait < .milliseconds(251))
        let third = bucket.take(now: .seconds(100) + wait)
        #expect(third)
        // A time in the past has no effect.
        let fourth = bucket.take(now: .seconds(50))
        #expect(!fourth)
    }

    @Test(arguments: [0, -1, Double.nan, -Double.infinity, Double.infinity, Double.greatestFiniteMagnitude])
    func `an invalid rate does not trap`(_ rate: Double) {
        var bucket = TokenBucket(tokensPerSecond: rate, capacity: -3, now: .zero)
        let first = bucket.take(now: .zero)
        #expect(first)
        #expect(bucket.wait(now: .zero) > .zero)
        #expect(bucket.wait(now: .zero) < .seconds(1_000_000_000))
    }

    // MARK: Turns

    @Test func `requests are served in order, separately for each host`() {
        var state = RateLimiterState(requestsPerSecond: 1, burst: 2)
        #expect(state.arrived(1, at: "a", now: .zero) == .go)
        #expect(state.arrived(2, at: "a", now: .zero) == .go)
        guard case .waitAndWatch(let delay) = state.arrived(3, at: "a", now: .zero) else {
            Issue.record("the third goes at once")
            return
        }
        #expect(delay >= .seconds(1) && delay < .milliseconds(1001))
        #expect(state.arrived(4, at: "a", now: .milliseconds(1500)) == .wait)
        #expect(state.arrived(5, at: "b", now: .zero) == .go)
        #expect(state.waitingCount(for: "a") == 2)
        var (released, wait) = state.timePassed(at: "a", now: .milliseconds(1500))
        #expect(released == [3] && wait != nil)
        // No request overtakes another, even if a token is already available.
        #expect(state.arrived(6, at: "a", now: .seconds(10)) == .wait)
        (released, wait) = state.timePassed(at: "a", now: .seconds(10))
        #expect(released == [4, 6] && wait == nil)
        (released, wait) = state.timePassed(at: "c", now: .seconds(10))
        #expect(released.isEmpty && wait == nil)
    }

    @Test func `a cancelled request lets later requests proceed`() {
        var state = RateLimiterState(requestsPerSecond: 1, burst: 1)
        for id in 1...4 { _ = state.arrived(id, at: "a", now: .zero) }
        let left = [
            state.left(2, host: "a"), state.left(2, host: "a"), state.left(1, host: "a"), state.left(9, host: "b"),
        ]
        #expect(left == [true, false, false, false])
        let (released, wait) = state.timePassed(at: "a", now: .seconds(1))
        #expect(released == [3] && wait != nil)
    }

    @Test func `hosts without recent requests are forgotten`() {
        var state = RateLimiterState(requestsPerSecond: 1, burst: 1)
        for number in 0..<5000 { _ = state.arrived(number, at: "\(number)", now: .seconds(number)) }
        #expect(state.hostCount <= 1001)
    }
}
