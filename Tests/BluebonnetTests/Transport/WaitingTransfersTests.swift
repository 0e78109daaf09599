import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Requests that wait for a connection while requests to another host wait, too.
///
/// Without ``WaitingTransfers``, libcurl retries requests that still have to wait, and the last request times out.
@Suite(.timeLimit(.minutes(1))) struct WaitingTransfersTests {
    /// A server whose requests for `/hold` are answered when the gate opens.
    private static func server(_ gate: Gate) async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/hold") { _ in
                await gate.wait()
                return .text("held")
            }
            router.get("/", .text("answered"))
        }
    }

    @Test(arguments: [nil, 2])
    func `a connection that becomes free is used while requests to another host wait`(total: Int?) async throws {
        let (gate, otherGate) = (Gate(), Gate())
        let (server, other) = (try await Self.server(gate), try await Self.server(otherGate))
        let (started, monitor) = Self.startedAttempts()
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.connectionLimits.perHost = 1
        configuration.connectionLimits.total = total
        let session = Session(configuration: configuration, eventMonitors: [monitor])
        let held = session.request(server.url("/hold")).serializingString()
        _ = try await server.nextRequest()
        let first = session.request(other.url("/hold")).serializingString()
        _ = try await other.nextRequest()
        let waiting = (1...10).map { _ in session.request(server.url("/")).serializingString() }
        // With a limit for all hosts, a third host waits for the connection of the second.
        let last = total == nil ? other : try await Self.server(gate)
        let request = session.request(last.url("/")) { $0.timeouts = Timeouts(pool: .seconds(10)) }
        let answer = request.serializingString()
        for await _ in started.prefix(13) {}
        // The engine performs the starts before it lists the cookies.
        _ = try await session.cookies.all()
        otherGate.open()
        #expect(try await first.value == "held")
        #expect(try await answer.value == "answered")
        gate.open()
        #expect(try await held.value == "held")
        for task in waiting { #expect(try await task.value == "answered") }
        if total != nil { await last.stop() }
        await other.stop()
        try await TestHarness.end(session, server)
    }

    /// A stream with an element for each attempt that starts.
    private static func startedAttempts() -> (AsyncStream<Void>, ClosureEventMonitor) {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let monitor = ClosureEventMonitor()
        monitor.requestDidCreateTask = { _, _ in continuation.yield() }
        return (stream, monitor)
    }
}

/// Decides which transfers are retried when connections become free.
struct WaitingTransfersTableTests {
    private static let (a, b, c) = ("http://a.test/", "http://b.test/", "http://c.test/")

    private func list(perHost: Int?, total: Int? = nil, _ urls: [String]) throws -> WaitingTransfers {
        var limits = Session.Configuration.ConnectionLimits()
        (limits.perHost, limits.total) = (perHost, total)
        var list = try #require(WaitingTransfers(limits, version: 0x07_58_01))
        for (id, url) in urls.enumerated() { list.added(TransferID(id), to: try #require(URL(string: url))) }
        return list
    }

    @Test func `sessions without limits have no list`() {
        #expect(WaitingTransfers(Session.Configuration.ConnectionLimits(), version: 0x07_58_01) == nil)
    }

    @Test(arguments: [(0x08_0d_00, true), (0x08_0e_00, false), (0x08_0f_00, false), (0x08_10_00, true)])
    func `only versions of libcurl that retry one transfer have a list`(version: UInt32, has: Bool) {
        var limits = Session.Configuration.ConnectionLimits()
        limits.perHost = 1
        #expect((WaitingTransfers(limits, version: version) != nil) == has)
    }

    @Test func `a released connection is for the oldest transfer to the same host`() throws {
        var list = try list(perHost: 1, [Self.a, Self.b, Self.a, Self.a, Self.b])
        list.connected(0)
        list.connected(1)
        #expect(list.takeRetries() == [])
        list.left(1)
        #expect(list.takeRetries() == [4])
        #expect(list.takeRetries() == [])
        list.left(2)
        list.left(0)
        #expect(list.takeRetries() == [3])
    }

    @Test func `a transfer that leaves while it waits releases no connection`() throws {
        var list = try list(perHost: 1, [Self.a, Self.a, Self.a])
        list.connected(0)
        list.left(1)
        #expect(list.takeRetries() == [])
        list.left(1)
        list.connected(1)
        list.left(0)
        #expect(list.takeRetries() == [2])
    }

    @Test func `a transfer that was retried and waits again is retried again`() throws {
        var list = try list(perHost: 2, [Self.a, Self.a, Self.a])
        list.connected(0)
        list.connected(1)
        list.left(0)
        #expect(list.takeRetries() == [2])
        list.left(1)
        #expect(list.takeRetries() == [2])
    }

    @Test func `two connections are released for two transfers`() throws {
        var list = try list(perHost: 2, [Self.a, Self.a, Self.a, Self.a, Self.a])
        list.connected(0)
        list.connected(1)
        list.left(0)
        list.left(1)
        #expect(list.takeRetries() == [2, 3])
    }

    @Test func `with a total limit, the oldest transfer gets the connection whose host has room`() throws {
        var list = try list(perHost: 1, total: 2, [Self.a, Self.b, Self.a, Self.c, Self.b])
        list.connected(0)
        list.connected(1)
        list.left(1)
        #expect(list.takeRetries() == [3])
    }

    /// With HTTP/2, there may be more transfers than connections.
    @Test func `a host with more transfers than connections has room for each that is released`() throws {
        var list = try list(perHost: 1, total: 1, [Self.a, Self.a, Self.a, Self.a])
        for id in TransferID(0)...2 { list.connected(id) }
        list.left(0)
        #expect(list.takeRetries() == [3])
    }

    @Test func `many transfers that no longer wait are forgotten`() throws {
        var list = try list(perHost: 1, [Self.a, Self.b] + Array(repeating: Self.a, count: 1000))
        list.connected(0)
        list.connected(1)
        for id in TransferID(2)...1000 where id != 500 { list.left(id) }
        list.left(0)
        #expect(list.takeRetries() == [500])
        list.left(500)
        list.left(1001)
        list.left(1)
        #expect(list.takeRetries() == [])
        list.added(2000, to: try #require(URL(string: Self.b)))
        list.connected(2000)
        list.left(2000)
        #expect(list.takeRetries() == [])
    }
}
