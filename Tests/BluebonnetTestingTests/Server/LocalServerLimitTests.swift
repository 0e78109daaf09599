import BluebonnetTesting
import FoundationEssentials
import Testing

/// The time limits of the waits of a server.
@Suite(.timeLimit(.minutes(10))) struct LocalServerLimitTests {
    @Test func `A wait ends with an error after its time limit`() async throws {
        let server = try await LocalServer { _ in }
        await #expect(throws: LocalServer.Failure.timedOut) {
            try await server.nextRequest(within: .milliseconds(10))
        }
        await #expect(throws: LocalServer.Failure.timedOut) {
            try await server.request(1, within: .milliseconds(10))
        }
        let client = try await RawClient.sending("GET / HTTP/1.1\r\nHost: h\r\n\r\n", to: server)
        #expect(try await server.nextRequest(within: .seconds(30)).path == "/")
        await #expect(throws: LocalServer.Failure.timedOut) {
            try await server.waitForOpenConnections(atMost: 0, within: .milliseconds(10))
        }
        await client.close()
        try await server.waitForOpenConnections(atMost: 0, within: .seconds(30))
        #expect("\(LocalServer.Failure.timedOut)" == "the time limit of the wait was exceeded")
    }

    @Test func `A cancelled wait with a time limit throws CancellationError`() async throws {
        let server = try await LocalServer { _ in }
        let waiting = Task { try await server.nextRequest(within: .seconds(30)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
