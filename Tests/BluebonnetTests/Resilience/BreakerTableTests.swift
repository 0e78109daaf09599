import FoundationEssentials
import Testing

@testable import Bluebonnet

struct BreakerTableTests {
    private static func table(_ change: (inout CircuitBreaker.Policy) -> Void = { _ in }) -> BreakerTable {
        var policy = CircuitBreaker.Policy()
        policy.trip = .consecutiveFailures(2)
        policy.openDuration = .seconds(10)
        change(&policy)
        return BreakerTable(policy: policy)
    }

    /// The phase in which the table sends a request, or the time in which it refuses the request.
    private static func arrive(
        _ table: inout BreakerTable, _ key: String = "a", at seconds: Int
    ) -> (phase: Int?, delay: Duration?) {
        do throws(RequestError) {
            return (try table.requestArrived(key, now: .seconds(seconds)), nil)
        } catch {
            guard case .circuitOpen(let delay) = error.kind else { return (nil, .seconds(-1)) }
            return (nil, delay)
        }
    }

    /// The time in which the table refuses a request; `nil` if it sends the request.
    private static func refusal(_ table: inout BreakerTable, _ key: String = "a", at seconds: Int) -> Duration? {
        arrive(&table, key, at: seconds).delay
    }

    /// Sends a request that ends at the same time; returns whether it was sent.
    @discardableResult
    private static func send(
        _ table: inout BreakerTable, _ verdict: CircuitBreaker.Verdict, key: String = "a", at seconds: Int
    ) -> Bool {
        guard let phase = arrive(&table, key, at: seconds).phase else { return false }
        table.requestEnded(key, phase: phase, verdict, now: .seconds(seconds))
        return true
    }

    /// F is a failure, S a success, I an ignored outcome.
    @Test(
        arguments: [
            ("FF", true), ("F", false), ("FSF", false), ("FIF", true), ("SSSSFF", true), ("IIII", false),
            ("FSFSFS", false), ("SFSFF", true),
        ])
    func `failures in a row open a circuit`(_ results: String, isOpen: Bool) {
        var table = Self.table()
        let verdicts: [Character: CircuitBreaker.Verdict] = ["F": .failure, "S": .success]
        for result in results { Self.send(&table, verdicts[result] ?? .ignored, at: 0) }
        let delay = Self.refusal(&table, at: 1)
        #expect(delay == (isOpen ? .seconds(9) : nil))
    }

    /// Results at seconds, in a window of 10 seconds with at least 4 requests, half of which may not fail.
    @Test(
        arguments: [
            ([(0, "FFF")], false), ([(0, "FFFF")], true), ([(0, "SSFF")], true), ([(0, "SSSFF")], false),
            // Old results leave the window.
            ([(0, "FF"), (11, "FF")], false), ([(0, "SSSS"), (11, "SSFF")], true), ([(0, "SSSS"), (5, "SSFF")], false),
            ([(0, "FF"), (9, "SF")], true),
            // Only a failure opens a circuit.
            ([(0, "FFFS")], false),
        ] as [([(Int, String)], Bool)])
    func `a rate of failures in a window opens a circuit`(_ steps: [(Int, String)], isOpen: Bool) {
        var table = Self.table { $0.trip = .failureRate(0.5, window: .seconds(10), minimumRequests: 4) }
        for (time, results) in steps {
            for result in results { Self.send(&table, result == "F" ? .failure : .success, at: time) }
        }
        let delay = Self.refusal(&table, at: steps.last.map { $0.0 } ?? 0)
        #expect(delay == (isOpen ? .seconds(10) : nil))
    }

    @Test func `an open circuit sends one probe after its time, which closes it`() {
        var table = Self.table()
        for _ in 1...2 { Self.send(&table, .failure, at: 0) }
        var delays = [Self.refusal(&table, at: 9)]
        let probe = Self.arrive(&table, at: 10)
        // The first probe is sent at 10 seconds. The others wait for its end.
        delays += [11, 19].map { Self.refusal(&table, at: $0) }
        #expect(delays == [.seconds(1), .seconds(9), .seconds(1)] && probe.delay == nil)
        table.requestEnded("a", phase: probe.phase ?? 0, .success, now: .seconds(19))
        delays = [19, 19, 20].map { Self.refusal(&table, at: $0) }
        #expect(delays == [nil, nil, nil])
    }

    @Test func `a probe that does not end is replaced, and its late end does not count`() {
        var table = Self.table()
        for _ in 1...2 { Self.send(&table, .failure, at: 0) }
        let stuck = Self.arrive(&table, at: 10)
        let other = Self.arrive(&table, at: 20)
        #expect(stuck.phase != nil && other.phase != nil && stuck.phase != other.phase)
        table.requestEnded("a", phase: stuck.phase ?? 0, .failure, now: .seconds(21))
        table.requestEnded("a", phase: other.phase ?? 0, .success, now: .seconds(22))
        let delays = [22, 22].map { Self.refusal(&table, at: $0) }
        #expect(delays == [nil, nil])
    }

    /// A request may read the clock before another one that the table receives first.
    @Test func `probes that arrive in another order than their times all count`() {
        var table = Self.table { $0.probes = 2 }
        for _ in 1...2 { Self.send(&table, .failure, at: 0) }
        let (late, early) = (Self.arrive(&table, at: 12), Self.arrive(&table, at: 11))
        for probe in [early, late] { table.requestEnded("a", phase: probe.phase ?? 0, .success, now: .seconds(13)) }
        let delays = [13, 13, 13].map { Self.refusal(&table, at: $0) }
        #expect(delays == [nil, nil, nil])
    }

    @Test func `a failed probe opens the circuit again, and a cancelled one is replaced`() {
        var table = Self.table()
        for _ in 1...2 { Self.send(&table, .failure, at: 0) }
        let (first, second) = (Self.send(&table, .ignored, at: 10), Self.send(&table, .failure, at: 11))
        #expect(first && second)
        let delays = [12, 20, 21].map { Self.refusal(&table, at: $0) }
        #expect(delays == [.seconds(9), .seconds(1), nil])
    }

    @Test func `as many probes as the policy says must succeed`() {
        var table = Self.table { $0.probes = 2 }
        for _ in 1...2 { Self.send(&table, .failure, at: 0) }
        let probes = (1...3).map { _ in Self.arrive(&table, at: 10) }
        #expect(probes.map(\.delay) == [nil, nil, .seconds(10)])
        table.requestEnded("a", phase: probes[0].phase ?? 0, .success, now: .seconds(11))
        // Two probes have been sent, and no third is needed yet.
        var delays = [Self.refusal(&table, at: 11)]
        #expect(delays == [.seconds(9)])
        table.requestEnded("a", phase: probes[1].phase ?? 0, .success, now: .seconds(12))
        delays = (1...3).map { _ in Self.refusal(&table, at: 12) }
        #expect(delays == [nil, nil, nil])
    }

    @Test(arguments: [CircuitBreaker.Verdict.success, .failure, .ignored])
    func `a request that was sent in an earlier phase does not count`(_ late: CircuitBreaker.Verdict) {
        var table = Self.table()
        let before = Self.arrive(&table, at: 0)
        for _ in 1...2 { Self.send(&table, .failure, at: 1) }
        table.requestEnded("a", phase: before.phase ?? 0, late, now: .seconds(2))
        let open = Self.refusal(&table, at: 2)
        let probe = Self.refusal(&table, at: 11)
        table.requestEnded("a", phase: before.phase ?? 0, late, now: .seconds(12))
        let other = Self.refusal(&table, at: 12)
        #expect(before.delay == nil && open == .seconds(9) && probe == nil && other == .seconds(9))
    }

    @Test func `keys have circuits of their own, and the least recently used is forgotten`() {
        var table = Self.table { $0.maximumKeys = 2 }
        for _ in 1...2 { Self.send(&table, .failure, key: "a", at: 0) }
        Self.send(&table, .success, key: "b", at: 1)
        let kept = Self.refusal(&table, "a", at: 2)
        Self.send(&table, .success, key: "c", at: 3)
        let stillKept = Self.refusal(&table, "a", at: 4)
        Self.send(&table, .success, key: "b", at: 5)
        Self.send(&table, .success, key: "c", at: 6)
        let forgotten = Self.refusal(&table, "a", at: 7)
        #expect(kept == .seconds(8) && stillKept == .seconds(6) && forgotten == nil)
    }

    @Test(
        arguments: [
            (200, nil, .success), (404, nil, .success), (500, nil, .failure), (599, nil, .failure),
            (nil, .connection(.refused), .failure), (200, .connection(.lost), .failure),
            (nil, .timedOut(.idle), .failure), (nil, .timedOut(.queue), .ignored), (nil, .timedOut(.pool), .ignored),
            (nil, .cancelled, .ignored),
            (200, .invalidResponse(.truncated), .failure), (200, .cancelled, .success), (503, .cancelled, .failure),
            (nil, .sessionShutDown, .ignored),
            (nil, .requestBody(.notReplayable), .ignored), (nil, .trust(.certificateExpired), .ignored),
        ] as [(Int?, RequestError.Kind?, CircuitBreaker.Verdict)])
    func `the usual verdict blames the server for its own failures`(
        _ status: Int?, kind: RequestError.Kind?, expected: CircuitBreaker.Verdict
    ) throws {
        let url = try #require(URL(string: "http://a.test/"))
        let outcome = ExchangeOutcome(
            response: status.map { HTTPResponse(url: url, statusCode: $0, httpVersion: .http1_1, headers: [:]) },
            error: kind.map { RequestError($0) })
        #expect(CircuitBreaker.Verdict(on: outcome) == expected)
    }
}
