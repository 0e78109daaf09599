import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// A shutdown with a limit.
@Suite(.timeLimit(.minutes(10))) struct ShutdownWithinTests {
    @Test func `running requests are cancelled when the time is over`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { _ in
                try await Task.sleep(for: .seconds(60))
                return .text("late")
            }
        }
        let limits = Locked<[Duration]>([])
        let session = TestHarness.session {
            $0.sleep = { limit in limits.withLock { $0.append(limit) } }
        }
        let task = session.request(server.url("/")).serializingString()
        async let answer = task.response
        _ = try await server.request(1)
        await session.shutdown(within: .seconds(5))
        #expect(await answer.error?.isCancellation == true)
        #expect(limits.withLock { $0 } == [.seconds(5)])
        await server.stop()
    }

    @Test func `a request that finishes in time is not cancelled`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { _ in
                try await Task.sleep(for: .milliseconds(100))
                return .text("right")
            }
        }
        let session = TestHarness.session()
        async let answer = session.request(server.url("/")).serializingString().response
        _ = try await server.request(1)
        await session.shutdown(within: .seconds(50))
        #expect(await answer.value == "right")
        await server.stop()
    }

    @Test(arguments: ["connections", "requests", "a cache"])
    func `requests that wait in a queue are not sent`(limit: String) async throws {
        let gate = Gate()
        let server = try await LocalServer(answering: { _ in
            await gate.wait()
            return .text("first")
        })
        let session = TestHarness.session {
            if limit == "requests" { $0.requestLimits.total = 1 } else { $0.connectionLimits.total = 1 }
            if limit == "a cache" { $0.cache = ResponseCache() }
        }
        let tasks = (0..<20).map { number in
            session.request(server.url("/\(number)")).serializingString()
        }
        _ = try await server.request(1)
        // The time limit of the suite cancels the task.
        while await session.connectionCounts().waiting < 19 { try await Task.sleep(for: .milliseconds(1)) }
        async let end: Void = session.shutdown()
        // The others end before the one that runs.
        let results = Task {
            var results: [Result<String, RequestError>] = []
            for task in tasks { results.append(await task.result) }
            return results
        }
        while await session.connectionCounts().waiting > 0 { try await Task.sleep(for: .milliseconds(1)) }
        gate.open()
        await end
        let ended = await results.value
        #expect(ended.count { (try? $0.get()) == "first" } == 1)
        #expect(ended.count { $0.failureKind == .sessionShutDown } == 19)
        #expect(server.requestCount == 1)
        await server.stop()
    }
}

extension Result where Failure == RequestError {
    fileprivate var failureKind: RequestError.Kind? { if case .failure(let error) = self { error.kind } else { nil } }
}
