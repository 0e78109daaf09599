import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Requests that are cancelled, suspended, shut down and dropped at any moment while their server is evaluated.
@Suite(.timeLimit(.minutes(10 * raceMultiplier))) struct TrustRaces {
    /// Evaluates outside of the loop with varying delays, and returns the result that the test selects.
    private struct SlowEvaluator: AsyncServerTrustEvaluating {
        let asked = Counter()
        var pace = 40
        var isRefusing = false

        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
            let turn = asked.next()
            for _ in 0..<(turn * 13) % pace { await Task.yield() }
            if isRefusing { throw TestFailure("not this one") }
        }
    }

    private static func url() throws -> String { "https://127.0.0.1:\(try ChainServer.threeLevels.port())/" }

    private static func dawdle(_ iteration: Int) async {
        for _ in 0..<(iteration * 7) % 61 { await Task.yield() }
    }

    /// How often ten run at once: everything is many times slower under a sanitizer.
    private static let groups = Sanitizer.current == nil ? 30 : 6

    /// Repeats `body` in groups that run at once, 300 times in all.
    private func race(_ body: @escaping @Sendable (_ iteration: Int) async throws -> Void) async throws {
        try await TestSupport.race(groups: Self.groups, of: 10, body)
    }

    @Test(arguments: [false, true])
    func `cancelling while the server is evaluated ends a request once`(_ isRefusing: Bool) async throws {
        let url = try Self.url()
        try await race { iteration in
            let session = try TrustFixture.session(SlowEvaluator(isRefusing: isRefusing))
            let request = session.request(url)
            let task = request.serializingData()
            async let answer = task.response
            await Self.dawdle(iteration)
            request.cancel()
            let error = await answer.error
            let isExpected = error?.isCancellation ?? !isRefusing || error?.kind == .trust(.customEvaluationFailed)
            #expect(isExpected, "\(String(describing: error))")
            #expect(await task.response.error?.kind == error?.kind)
            #expect(await session.withAllRequests { $0.isEmpty })
            await session.shutdown()
        }
    }

    @Test(arguments: [false, true])
    func `suspending and resuming while the server is evaluated loses nothing`(_ isRefusing: Bool) async throws {
        let url = try Self.url()
        try await race { iteration in
            let evaluator = SlowEvaluator(pace: 200, isRefusing: isRefusing)
            let session = try TrustFixture.session(evaluator)
            let request = session.request(url)
            let task = request.serializingData()
            async let answer = task.response
            for round in 0..<12 {
                await Self.dawdle(iteration + round)
                request.suspend()
                await Self.dawdle(iteration * round)
                request.resume()
            }
            let error = await answer.error
            #expect(error?.kind == (isRefusing ? .trust(.customEvaluationFailed) : nil))
            // Once for the server, whatever was done to the request meanwhile.
            #expect(evaluator.asked.value == 1)
            await session.shutdown()
        }
    }

    @Test func `shutting down while the server is evaluated ends all requests`() async throws {
        let url = try Self.url()
        try await race { iteration in
            let session = try TrustFixture.session(SlowEvaluator(isRefusing: iteration.isMultiple(of: 3)))
            let tasks = (0..<4).map { _ in session.request(url).serializingData() }
            async let shutdown: Void = {
                await Self.dawdle(iteration)
                if iteration.isMultiple(of: 2) { await session.cancelAllRequests() }
                await session.shutdown()
            }()
            for task in tasks {
                let kind = await task.response.error?.kind
                let expected: [RequestError.Kind?] = [
                    nil, .trust(.customEvaluationFailed), .sessionShutDown, .cancelled,
                ]
                let isExpected = expected.contains(kind)
                #expect(isExpected, "\(String(describing: kind))")
            }
            await shutdown
        }
    }

    @Test func `a session that was released still evaluates its server`() async throws {
        let url = try Self.url()
        try await race { iteration in
            let task = try {
                let session = try TrustFixture.session(SlowEvaluator(isRefusing: iteration.isMultiple(of: 2)))
                return session.request(url).serializingData()
            }()
            await Self.dawdle(iteration)
            let kind = await task.response.error?.kind
            #expect(kind == (iteration.isMultiple(of: 2) ? .trust(.customEvaluationFailed) : nil))
        }
    }

    /// Each with its own connection, if need be; those that meet the server meanwhile wait for the same verdict.
    @Test(arguments: [HTTPVersionPreference.automatic, .http1_1])
    func `many requests share one evaluation, some end before it`(_ version: HTTPVersionPreference) async throws {
        let url = try Self.url()
        for round in 0..<Self.groups / 3 * raceMultiplier {
            let isRefusing = round.isMultiple(of: 2)
            let asked = Counter()
            let gate = EvaluationGate()
            let evaluator = AsyncClosureTrustEvaluator { _, _ in
                asked.next()
                await gate.pass()
                if isRefusing { throw TestFailure("not this one") }
            }
            let session = try TrustFixture.session(evaluator) {
                $0.httpVersion = version
                $0.connectionLimits.perHost = 8
            }
            let requests = (0..<30).map { _ in session.request(url) }
            let tasks = requests.map { $0.serializingData() }
            await gate.arrival()
            for (number, request) in requests.enumerated() where number % 5 == 4 { request.cancel() }
            for number in stride(from: 4, to: 30, by: 5) {
                #expect(await tasks[number].response.error?.isCancellation == true)
            }
            await gate.open()
            for (number, task) in tasks.enumerated() where number % 5 != 4 {
                #expect(await task.response.error?.kind == (isRefusing ? .trust(.customEvaluationFailed) : nil))
            }
            // Who comes after a refusal asks again, and so does one who comes when all that waited have left.
            if !isRefusing { #expect((1...2).contains(asked.value)) }
            await session.shutdown()
        }
    }

    @Test func `an evaluation that ends after the last request has no effect`() async throws {
        let url = try Self.url()
        try await race { iteration in
            let gate = EvaluationGate()
            let evaluator = AsyncClosureTrustEvaluator { _, _ in
                await gate.pass()
                try Task.checkCancellation()
                if iteration.isMultiple(of: 2) { throw TestFailure("not this one") }
            }
            let session = try TrustFixture.session(evaluator)
            let first = session.request(url)
            let task = first.serializingData()
            async let answer = task.response
            await gate.arrival()
            first.cancel()
            #expect(await answer.error?.isCancellation == true)
            switch iteration % 3 {
            case 0:
                await session.shutdown()
                await gate.open()
            case 1:
                await gate.open()
                await session.shutdown()
            default:
                // The result of an abandoned evaluation is not used. The next request starts a new evaluation.
                async let second = session.request(url).serializingData().response
                await gate.arrival(2)
                await gate.open()
                #expect(await second.error?.isTrustFailure ?? false == iteration.isMultiple(of: 2))
                await session.shutdown()
            }
        }
    }
}
