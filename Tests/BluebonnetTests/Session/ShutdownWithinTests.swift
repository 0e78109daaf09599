import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// A shutdown with a limit.
@Suite(.timeLimit(.minutes(1))) struct ShutdownWithinTests {
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
}
