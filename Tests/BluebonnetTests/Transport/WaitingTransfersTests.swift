import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Requests that wait for a connection while requests to another host wait, too.
///
/// Without ``WaitingTransfers``, libcurl retries requests that still have to wait, and the last request times out.
@Suite(.timeLimit(.minutes(10))) struct WaitingTransfersTests {
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
        try await Self.open(otherGate, in: session, for: first, answer)
        gate.open()
        #expect(try await held.value == "held")
        for task in waiting { #expect(try await task.value == "answered") }
        if total != nil { await last.stop() }
        await other.stop()
        try await TestHarness.end(session, server)
    }

    /// Libcurl shares the connections of these hosts, and counts them together.
    @Test(arguments: [false, true])
    func `a connection that becomes free is used for another host with the same destination`(
        isProxied: Bool
    ) async throws {
        let (gate, otherGate) = (Gate(), Gate())
        let (server, shared) = (try await Self.server(gate), try await Self.server(otherGate))
        let (started, monitor) = Self.startedAttempts()
        var configuration = Session.Configuration()
        configuration.proxy = isProxied ? .url("http://127.0.0.1:\(shared.port)") : .none
        if !isProxied { configuration.dns.connectTo[":80"] = "127.0.0.1:\(shared.port)" }
        configuration.connectionLimits.perHost = 1
        let session = Session(configuration: configuration, eventMonitors: [monitor])
        let held = session.request(server.url("/hold")) { $0.proxy = Session.Configuration.Proxy.none }
        let heldTask = held.serializingString()
        _ = try await server.nextRequest()
        let first = session.request("http://a.test/hold").serializingString()
        _ = try await shared.nextRequest()
        let waiting = (1...10).map { _ in
            session.request(server.url("/")) { $0.proxy = Session.Configuration.Proxy.none }.serializingString()
        }
        let answer = session.request("http://b.test/") { $0.timeouts = Timeouts(pool: .seconds(10)) }
            .serializingString()
        for await _ in started.prefix(13) {}
        try await Self.open(otherGate, in: session, for: first, answer)
        gate.open()
        #expect(try await heldTask.value == "held")
        for task in waiting { #expect(try await task.value == "answered") }
        await shared.stop()
        try await TestHarness.end(session, server)
    }

    /// The requests to one host wait until the HTTP version of the connection is known, even without limits.
    @Test(arguments: [nil, 1])
    func `a connection is shared while requests wait for a host that does not respond`(perHost: Int?) async throws {
        let server = TestServers.nghttpd
        try await Self.withSilentHost(perHost: perHost) { session, started in
            let (pieces, piece) = AsyncStream<Data>.makeStream()
            let held = session.upload(.stream { pieces }, to: try server.url("/echo")).serializingData()
            for await _ in started.prefix(1) {}
            try await Self.expectBodies(of: server, in: session)
            piece.yield(Data("end".utf8))
            piece.finish()
            #expect(try await held.value == Data("end".utf8))
        }
    }

    /// The first request does not wait for a version, but the others wait for the version of its connection.
    @Test func `a connection is opened although another one uses HTTP 1.1`() async throws {
        let server = TestServers.nginxTLS
        try await Self.withSilentHost(perHost: nil) { session, started in
            let gate = Gate()
            let url = try server.url("/bytes/16777216")
            let body = session.streamRequest(url) { $0.httpVersion = .http1_1 }.streamTask().bytes
            let reading = Task {
                for try await _ in body { await gate.wait() }
            }
            for await _ in started.prefix(1) {}
            try await Self.expectBodies(of: server, in: session)
            gate.open()
            try await reading.value
        }
    }

    /// Calls a closure with a session in which requests wait for a host that does not respond.
    private static func withSilentHost(
        perHost: Int?, _ body: (Session, AsyncStream<Void>) async throws -> Void
    ) async throws {
        let unreachable = try UnreachableServer(.ignoresConnections)
        let port = try #require(unreachable.url.port)
        let (started, monitor) = Self.startedAttempts()
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.tls.caFile = try TestCertificates().authority
        configuration.connectionLimits.perHost = perHost
        // Longer than the limits of other requests: when the silent ones end, libcurl retries those that wait.
        configuration.timeouts = Timeouts(pool: .seconds(120), connect: .seconds(120))
        let session = Session(configuration: configuration, eventMonitors: [monitor])
        let silent = (1...10).map { _ in session.request("https://127.0.0.1:\(port)/").serializingData() }
        for await _ in started.prefix(silent.count) {}
        try await body(session, started)
        for request in silent { request.cancel() }
        for request in silent { _ = await request.response }
        await session.shutdown()
    }

    private static func expectBodies(of server: TestServers, in session: Session) async throws {
        let timeouts = Timeouts(pool: .seconds(10), connect: .seconds(10))
        let requests = try (1...4).map { _ in
            session.request(try server.url("/bytes/1024")) { $0.timeouts = timeouts }.serializingData()
        }
        for request in requests {
            let response = await request.response
            #expect(response.value?.count == 1024, "\(response)")
        }
    }

    /// Lets a request end on whose connection another one waits, and expects the responses of both.
    private static func open(
        _ gate: Gate, in session: Session, for first: DataTask<String>, _ second: DataTask<String>
    ) async throws {
        await TestHarness.performEarlierCommands(of: session)
        gate.open()
        #expect(try await first.value == "held")
        #expect(try await second.value == "answered")
    }

    /// A stream with an element for each attempt that starts.
    private static func startedAttempts() -> (AsyncStream<Void>, ClosureEventMonitor) {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let monitor = ClosureEventMonitor()
        monitor.requestDidCreateTask = { _, _ in continuation.yield() }
        return (stream, monitor)
    }
}

/// Decides which transfers are retried when connections may have become usable.
struct WaitingTransfersTableTests {
    /// A list whose transfers are named by number.
    private struct List {
        var transfers: WaitingTransfers
        var members: [TransferID: WaitingTransfers.Membership] = [:]

        init(perHost: Int?, total: Int? = nil, _ hosts: String) throws {
            var limits = Session.Configuration.ConnectionLimits()
            (limits.perHost, limits.total) = (perHost, total)
            transfers = WaitingTransfers(limits)
            for (id, host) in hosts.enumerated() { add(TransferID(id), to: String(host)) }
        }

        mutating func add(_ id: TransferID, to host: String) {
            members[id] = .listed(transfers.list(id, to: .server(host: host, port: 80)))
        }

        mutating func connect(_ ids: TransferID...) {
            for id in ids { transfers.connectionBegins(&members[id, default: .none]) }
        }

        mutating func send(_ id: TransferID, isNew: Bool = false) {
            transfers.requestBegins(&members[id, default: .none], onNewConnection: isNew)
        }

        mutating func leave(_ ids: TransferID...) {
            for id in ids { transfers.left(&members[id, default: .none]) }
        }

        mutating func takeRetries() -> [TransferID] { transfers.takeRetries() }
    }

    @Test func `a released connection is for the oldest transfer to the same host`() throws {
        var list = try List(perHost: 1, "abaab")
        list.connect(0, 1)
        #expect(list.takeRetries() == [])
        list.leave(1)
        #expect(list.takeRetries() == [4])
        #expect(list.takeRetries() == [])
        list.leave(2)
        #expect(list.takeRetries() == [])
        list.leave(0)
        #expect(list.takeRetries() == [3])
    }

    @Test func `a transfer that was retried and waits again is retried again`() throws {
        var list = try List(perHost: 2, "aaa")
        list.connect(0, 1)
        list.leave(0)
        #expect(list.takeRetries() == [2])
        list.leave(1)
        #expect(list.takeRetries() == [2])
    }

    @Test func `two connections are released for two transfers`() throws {
        var list = try List(perHost: 2, "aaaaa")
        list.connect(0, 1)
        list.leave(0, 1)
        #expect(list.takeRetries() == [2, 3])
    }

    @Test func `a retried transfer that leaves lets the next be retried`() throws {
        var list = try List(perHost: 1, "aaa")
        list.connect(0)
        list.leave(0)
        #expect(list.takeRetries() == [1])
        list.leave(1)
        #expect(list.takeRetries() == [2])
    }

    @Test(arguments: [false, true])
    func `a retried transfer that goes on lets the next be retried`(opensConnection: Bool) throws {
        var list = try List(perHost: nil, "aaaa")
        list.connect(0)
        list.send(0, isNew: true)
        #expect(list.takeRetries() == [1])
        if opensConnection { list.connect(1) } else { list.send(1) }
        #expect(list.takeRetries() == [2])
        #expect(list.takeRetries() == [])
    }

    @Test func `a request on a connection that was open before lets none be retried`() throws {
        var list = try List(perHost: nil, "aa")
        list.send(0)
        #expect(list.takeRetries() == [])
    }

    @Test func `with a total limit, another host with room may use the connection`() throws {
        var list = try List(perHost: 1, total: 2, "abacb")
        list.connect(0, 1)
        list.leave(1)
        #expect(list.takeRetries() == [3, 4])
    }

    @Test func `with a total limit, the other hosts take turns`() throws {
        var list = try List(perHost: nil, total: 1, "aaaabcd")
        list.connect(0)
        list.leave(0)
        #expect(list.takeRetries() == [1, 4])
        list.connect(1)
        #expect(list.takeRetries() == [2, 5])
        list.leave(1)
        #expect(list.takeRetries() == [2, 6])
        list.leave(6)
        #expect(list.takeRetries() == [2])
    }

    @Test func `many transfers that no longer wait are forgotten`() throws {
        var list = try List(perHost: 1, "ab" + String(repeating: "a", count: 1000))
        list.connect(0, 1)
        for id in TransferID(2)...1000 where id != 500 { list.leave(id) }
        list.leave(0)
        #expect(list.takeRetries() == [500])
        list.leave(500)
        #expect(list.takeRetries() == [1001])
        list.leave(1001, 1)
        #expect(list.takeRetries() == [])
        list.add(2000, to: "b")
        list.add(2001, to: "b")
        list.connect(2000)
        list.leave(2000)
        #expect(list.takeRetries() == [2001])
    }
}
