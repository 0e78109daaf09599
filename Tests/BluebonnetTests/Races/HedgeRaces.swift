import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Hedged requests that are cancelled and shut down at any moment.
@Suite(.timeLimit(.minutes(10 * raceMultiplier))) struct HedgeRaces {
    private static let body = "one\ntwo\nthree\n"

    /// A transport whose tries and delays take a few turns of the executor.
    private static func transports() -> (HedgingTransport, StubTransport) {
        let turns = Counter()
        let stub = StubTransport { _ in
            await dawdle(turns.next() * 5)
            return .text(body)
        }
        var policy = HedgingTransport.Policy(delay: .seconds(1))
        policy.extraTries = 2
        policy.budgetRatio = 1
        policy.sleep = { _ in
            await dawdle(turns.next() * 3)
            try Task.checkCancellation()
        }
        return (HedgingTransport(stub, policy: policy), stub)
    }

    /// Counts the events of an exchange, and waits for its outcome.
    private final class EventCounter: ExchangeObserver {
        let outcome = OutcomeObserver()
        let (heads, outcomes) = (Counter(), Counter())

        func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {}
        func exchangeDidReceiveHead(_ response: HTTPResponse) { heads.next() }
        func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {}

        func exchangeDidComplete(_ outcome: ExchangeOutcome) {
            outcomes.next()
            self.outcome.exchangeDidComplete(outcome)
        }
    }

    @Test func `cancelling at any moment gives one body or an error, and leaves no try`() async throws {
        let (hedging, stub) = Self.transports()
        let session = Session(transport: hedging)
        let url = try "http://stub.test/".asURL()
        try await race { iteration in
            let task = session.request(url).serializingString()
            async let answer = task.response
            await dawdle(iteration)
            if !iteration.isMultiple(of: 5) { task.request.cancel() }
            let response = await answer
            #expect(response.value == Self.body || response.error?.isCancellation == true, "\(response)")
        }
        try await stub.waitUntilIdle()
        #expect(stub.requestCount > 10_000, "some requests are hedged")
        #expect(await session.withAllRequests { $0.isEmpty })
        await session.shutdown()
    }

    @Test func `a stream that is suspended and cancelled has the lines of one try`() async throws {
        let (hedging, stub) = Self.transports()
        let session = Session(transport: hedging)
        let url = try "http://stub.test/".asURL()
        try await race { iteration in
            let stream = session.streamRequest(url).streamTask()
            async let ended: (lines: [String], error: RequestError?) = {
                var lines: [String] = []
                do {
                    for try await line in stream.lines { lines.append(line) }
                } catch {
                    return (lines, error as? RequestError)
                }
                return (lines, nil)
            }()
            await dawdle(iteration)
            stream.request.suspend()
            await dawdle(iteration / 7)
            stream.request.resume()
            if iteration.isMultiple(of: 3) { stream.request.cancel() }
            let (lines, error) = await ended
            let whole = ["one", "two", "three"]
            #expect(error == nil ? lines == whole : whole.starts(with: lines), "\(lines)")
            #expect(error == nil || error?.isCancellation == true)
        }
        try await stub.waitUntilIdle()
        await session.shutdown()
    }

    @Test func `a shutdown at any moment gives each exchange one outcome and leaves no try`() async throws {
        let url = try "http://stub.test/".asURL()
        try await race(groups: 25, of: 20) { iteration in
            let (hedging, stub) = Self.transports()
            let observers = (0..<20).map { _ in EventCounter() }
            await withTaskGroup(of: Void.self) { tasks in
                for (number, observer) in observers.enumerated() {
                    tasks.addTask {
                        await dawdle(number + iteration)
                        let exchange = hedging.start(
                            HTTPRequest(url: url), options: ExchangeOptions(), observer: observer)
                        await dawdle(iteration)
                        if number.isMultiple(of: 4) { exchange.cancel() }
                    }
                }
                tasks.addTask {
                    await dawdle(iteration)
                    await hedging.shutDown()
                }
            }
            for observer in observers {
                let outcome = await observer.outcome.outcome
                let kind = outcome.error?.kind
                #expect(kind == nil || kind == .cancelled || kind == .sessionShutDown)
                #expect(outcome.error != nil || outcome.body == Data(Self.body.utf8))
            }
            try await stub.waitUntilIdle()
            #expect(observers.allSatisfy { $0.outcomes.value == 1 && $0.heads.value == 0 })
        }
    }
}
