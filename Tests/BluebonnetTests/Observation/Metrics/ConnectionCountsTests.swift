import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// The numbers of connections and of waiting requests.
@Suite(.timeLimit(.minutes(10))) struct ConnectionCountsTests {
    /// A server whose requests wait for a gate.
    private func server(_ gate: Gate) async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/wait") { _ in
                await gate.wait()
                return .text("done")
            }
        }
    }

    private func finish(_ tasks: [DataTask<String>]) async throws {
        for task in tasks { _ = try await task.value }
    }

    @Test(arguments: [1, 2]) func `connections are active, then idle, then closed`(loops: Int) async throws {
        let gate = Gate()
        let server = try await server(gate)
        let session = TestHarness.session { $0.eventLoops = Session.Configuration.EventLoopCount(loops) }
        #expect(await session.connectionCounts() == ConnectionCounts())
        let tasks = (1...3).map { _ in session.request(server.url("/wait")).serializingString() }
        let values = Task { try await finish(tasks) }
        for _ in 1...3 { _ = try await server.nextRequest() }
        #expect(await session.connectionCounts() == ConnectionCounts(open: 3))
        gate.open()
        try await values.value
        #expect(await session.connectionCounts() == ConnectionCounts(open: 3, idle: 3))
        session.renewConnections()
        await TestHarness.performEarlierCommands(of: session)
        #expect(await session.connectionCounts() == ConnectionCounts())
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [false, true]) func `requests that wait are counted`(byRequestLimit: Bool) async throws {
        let gate = Gate()
        let server = try await server(gate)
        let session = TestHarness.session {
            if byRequestLimit {
                $0.requestLimits.total = 2
            } else {
                $0.connectionLimits.total = 2
            }
        }
        let tasks = (1...5).map { _ in session.request(server.url("/wait")).serializingString() }
        let values = Task { try await finish(tasks) }
        for _ in 1...2 { _ = try await server.nextRequest() }
        var counts = await session.connectionCounts()
        while counts.waiting < 3 {
            try await Task.sleep(for: .milliseconds(1))
            counts = await session.connectionCounts()
        }
        #expect(counts == ConnectionCounts(open: 2, waiting: 3))
        gate.open()
        try await values.value
        #expect(await session.connectionCounts().waiting == 0)
        try await TestHarness.end(session, server)
    }

    @Test func `gauges have the last counts`() {
        let metrics = MetricsMonitor()
        metrics.record(ConnectionCounts(open: 5, idle: 2, waiting: 7))
        metrics.record(ConnectionCounts(open: 4, idle: 3))
        let lines = metrics.prometheusText.split(separator: "\n")
        #expect(lines.contains("http_client_open_connections{http_connection_state=\"active\"} 1"))
        #expect(lines.contains("http_client_open_connections{http_connection_state=\"idle\"} 3"))
        #expect(lines.contains("bluebonnet_client_waiting_requests 0"))
    }
}
