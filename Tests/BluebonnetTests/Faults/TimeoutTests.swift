import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct TimeoutTests {
    private static let short = Duration.milliseconds(100)
    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n"

    // MARK: Connecting

    @Test func `a connection that is not accepted`() async throws {
        let hole = "http://127.0.0.1:\(try DeadPort.ignoring())"
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: Self.short, idle: .seconds(20)) }
        let error = try await TestHarness.expect(
            session.request(hole + "/a?token=hidden").serializingData(), in: session, failsWith: .timedOut(.connect),
            saying: "connecting took too long", "[GET \(hole)/a?token=<redacted>]")
        #expect(error.isTimeout && error.isConnectionFailure)
        await session.shutdown()
    }

    @Test func `the idle timeout does not apply while connecting`() async throws {
        let hole = "http://127.0.0.1:\(try DeadPort.ignoring())"
        let session = TestHarness.session {
            $0.timeouts = Timeouts(connect: .milliseconds(300), idle: .milliseconds(20))
        }
        try await TestHarness.expect(
            session.request(hole + "/a").serializingData(), in: session, failsWith: .timedOut(.connect))
        await session.shutdown()
    }

    @Test func `the total timeout applies while connecting`() async throws {
        let hole = "http://127.0.0.1:\(try DeadPort.ignoring())"
        let session = TestHarness.session {
            $0.timeouts = Timeouts(connect: .seconds(20), idle: nil, total: Self.short)
        }
        try await TestHarness.expect(
            session.request(hole + "/a").serializingData(), in: session, failsWith: .timedOut(.total),
            saying: "the exchange took too long")
        await session.shutdown()
    }

    // MARK: Idle

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nCont", Self.head, Self.head + "0123456789"])
    func `a server that stalls`(after sent: String) async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .bytes(sent), .stall)
        // On a slow machine, a server needs some time for the bytes that it sends.
        let idle = sent.isEmpty ? Self.short : .seconds(4)
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: idle) }
        let task = session.request(server.url("/a")).serializingData()
        let error = try await TestHarness.expect(
            task, in: session, failsWith: .timedOut(.idle), saying: "nothing was sent or received for too long",
            sent.isEmpty ? "0.1 seconds" : "4.0 seconds")
        #expect(error.isTimeout && !error.isConnectionFailure)
        let answer = await task.response
        #expect(try #require(answer.metrics).total >= idle, "the time in which nothing arrived counts")
        #expect(answer.response?.statusCode == (sent.hasPrefix(Self.head) ? 200 : nil))
        #expect(answer.data?.count == (sent.hasPrefix(Self.head) ? sent.utf8.count - Self.head.utf8.count : nil))
        try await TestHarness.end(session, server)
    }

    @Test func `a server that stops reading the body`() async throws {
        let server = try await LocalServer.scripted(
            .waitForHead, .bytes("HTTP/1.1 100 Continue\r\n\r\n"), .waitForBytes(1), .stall)
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: .milliseconds(500)) }
        let request = session.request(server.url("/a"), method: .post) { $0.body = .data(Data(count: 64 << 20)) }
        try await TestHarness.expect(
            request.serializingData(), in: session, failsWith: .timedOut(.idle),
            saying: "nothing was sent or received for too long")
        await session.shutdown()
        // The server has not read the sent bytes, so it does not notice the end.
        await server.closeConnections()
    }

    @Test func `a server that sends slowly is not idle`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .drip(Self.head + "01234567890123456789", piece: 1, every: .milliseconds(100)))
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: .seconds(4)) }
        // All pieces together take longer than the timeout, but no pause is longer than the timeout.
        #expect(try await session.request(server.url("/a")).serializingString().value == "01234567890123456789")
        try await TestHarness.end(session, server)
    }

    // MARK: In total

    @Test func `a server that sends very slowly`() async throws {
        let body = String(repeating: "x", count: 10_000)
        let server = try await LocalServer.scripted(
            .waitForRequest,
            .drip("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + body, piece: 60, every: .milliseconds(10)))
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: .seconds(20), total: .milliseconds(200)) }
        let task = session.request(server.url("/a")).serializingData()
        let error = try await TestHarness.expect(
            task, in: session, failsWith: .timedOut(.total), saying: "the exchange took too long")
        #expect(error.isTimeout)
        #expect((await task.response.data?.count ?? 0) < 10_000)
        try await TestHarness.end(session, server)
    }

    @Test func `a server that never responds, with a total timeout only`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .stall)
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: nil, idle: nil, total: Self.short) }
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingData(), in: session, failsWith: .timedOut(.total),
            saying: "the exchange took too long")
        try await TestHarness.end(session, server)
    }

    // MARK: Which limits hold

    @Test func `the timeouts of a request take precedence over the session's timeouts`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .stall)
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: .seconds(20), total: .seconds(20)) }
        let request = session.request(server.url("/a")) { $0.timeouts = Timeouts(idle: Self.short) }
        try await TestHarness.expect(request.serializingData(), in: session, failsWith: .timedOut(.idle))
        let other = session.request(server.url("/a")) { $0.timeouts = Timeouts(idle: nil, total: Self.short) }
        try await TestHarness.expect(other.serializingData(), in: session, failsWith: .timedOut(.total))
        try await TestHarness.end(session, server)
    }

    @Test func `a request may take longer than the session allows the others`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/late") { _ in
                await gate.wait()
                return .text("late")
            }
            router.get("/never") { _ in
                await Gate().wait()
                return .ok
            }
        }
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: Self.short, total: Self.short) }
        let patient = session.request(server.url("/late")) { $0.timeouts = Timeouts(idle: nil, total: nil) }
            .serializingString()
        _ = try await server.nextRequest()
        let impatient = await session.request(server.url("/never")).serializingString().response
        #expect(impatient.error?.isTimeout == true)
        gate.open()
        #expect(try await patient.value == "late")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .nanoseconds(1)])
    func `a timeout of zero fails at once`(_ limit: Duration) async throws {
        let hole = "http://127.0.0.1:\(try DeadPort.ignoring())"
        let server = try await LocalServer.scripted(.waitForRequest, .stall)
        let session = TestHarness.session()
        let limits: [(Timeouts, RequestError.Kind, String)] = [
            (Timeouts(connect: limit), .timedOut(.connect), hole + "/a"),
            (Timeouts(idle: limit), .timedOut(.idle), server.url("/a").absoluteString),
            (Timeouts(total: limit), .timedOut(.total), server.url("/a").absoluteString),
        ]
        for (timeouts, kind, url) in limits {
            let request = session.request(url) { $0.timeouts = timeouts }
            try await TestHarness.expect(request.serializingData(), in: session, failsWith: kind)
        }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(9_223_372_036), .seconds(3_000_000), nil])
    func `a huge timeout is no timeout`(_ limit: Duration?) async throws {
        let server = try await LocalServer { router in
            router.get("/a", .text("answered"))
        }
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: limit, idle: limit, total: limit) }
        #expect(try await session.request(server.url("/a")).serializingString().value == "answered")
        try await TestHarness.end(session, server)
    }

    // MARK: Kept connections

    @Test func `a stall on a reused connection`() async throws {
        let server = try await LocalServer(
            script: { number in
                guard number == 1 else { return [.serve] }
                return [
                    .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .waitForRequest, .stall,
                ]
            }
        ) { router in
            router.get("/3", .text("fine"))
        }
        // Only what must fail has a short limit: a busy machine answers late.
        let session = TestHarness.session()
        #expect(try await session.request(server.url("/1")).serializingString().value == "ok")
        let second = session.request(server.url("/2")) { $0.timeouts = Timeouts(idle: Self.short) }
            .serializingString()
        try await TestHarness.expect(second, in: session, failsWith: .timedOut(.idle))
        #expect(await second.response.metrics?.isReusedConnection == true)
        #expect(try await session.request(server.url("/3")).serializingString().value == "fine")
        #expect(server.connectionCount == 2)
        try await TestHarness.end(session, server)
    }

    @Test func `a long idle connection does not count as an idle request`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .text("fine"))
            router.get("/never") { _ in
                await Gate().wait()
                return .ok
            }
        }
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: .seconds(1)) }
        #expect(try await session.request(server.url("/a")).serializingString().value == "fine")
        // Passes the time, on another connection.
        _ = await session.request(server.url("/never")).serializingString().response
        #expect(try await session.request(server.url("/a")).serializingString().value == "fine")
        try await TestHarness.end(session, server)
    }

    @Test func `a stalled request does not delay other requests`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .text("fine"))
            router.get("/never") { _ in
                await Gate().wait()
                return .ok
            }
        }
        let session = TestHarness.session()
        let stalled = session.request(server.url("/never")) { $0.timeouts = Timeouts(idle: Self.short) }
            .serializingString()
        for _ in 1...50 {
            #expect(try await session.request(server.url("/a")).serializingString().value == "fine")
        }
        try await TestHarness.expect(stalled, in: session, failsWith: .timedOut(.idle))
        try await TestHarness.end(session, server)
    }
}

/// Waiting for a free connection.
///
/// Without ``PendingConnectTime``, libcurl 8.8.0 and later end requests that have waited longer than the connect limit.
@Suite(.timeLimit(.minutes(10))) struct WaitingTimeoutTests {
    @Test func `requests that wait for a connection time out at the same time`() async throws {
        let server = try await LocalServer.scripted(.stall)
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: .milliseconds(300)) }
        let url = "https://127.0.0.1:\(server.port)/"
        // One after the other, the requests would exceed the time limit of the suite.
        let kinds = await withTaskGroup(of: RequestError.Kind?.self) { tasks in
            for _ in 0..<250 { tasks.addTask { await session.request(url).serializingData().response.error?.kind } }
            return await tasks.reduce(into: []) { $0.append($1) }
        }
        #expect(kinds == Array(repeating: .timedOut(.connect), count: 250))
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        (Timeouts(pool: .milliseconds(200)), RequestError.TimeoutStage.pool),
        (Timeouts(total: .milliseconds(200)), .total),
        (Timeouts(pool: .seconds(60), total: .milliseconds(200)), .total),
    ])
    func `a request that waits behind another for the only connection times out`(
        timeouts: Timeouts, stage: RequestError.TimeoutStage
    ) async throws {
        try await withOneConnection { session, server, gate in
            let second = session.request(server.url("/second")) { $0.timeouts = timeouts }
            let answer = await second.serializingString().response
            #expect(answer.error?.kind == .timedOut(stage), "\(answer)")
            #expect(second.retryCount == 0)
            gate.open()
        }
    }

    /// Without a name to look up, the second function of libcurl's tells that it connects.
    @Test(arguments: ["127.0.0.1", "localhost"])
    func `waiting for the only connection does not count as connecting`(host: String) async throws {
        try await withOneConnection(to: host) { session, server, gate in
            let limit = Duration.milliseconds(300)
            let second = session.request("http://\(host):\(server.port)/second") { $0.timeouts.connect = limit }
            let task = second.serializingString()
            async let answer = task.response
            // What measures the time has the same limit, and does not wait.
            let silent = try await LocalServer.scripted { _ in [.stall] }
            for _ in 1...3 {
                let control = session.request("https://127.0.0.1:\(silent.port)/") { $0.timeouts.connect = limit }
                #expect(await control.serializingData().response.error?.kind == .timedOut(.connect))
            }
            #expect(!second.isFinished)
            gate.open()
            #expect(await answer.value == "second")
            await silent.stop()
        }
    }

    @Test func `the connect timeout begins after the wait for a connection`() async throws {
        try await withOneConnection { session, server, gate in
            // Its handshake is never answered.
            let silent = try await LocalServer.scripted { _ in [.stall] }
            let second = session.request("https://127.0.0.1:\(silent.port)/") {
                $0.timeouts = Timeouts(pool: .seconds(60), connect: .milliseconds(200))
            }
            let answer = await second.serializingString().response
            #expect(answer.error?.kind == .timedOut(.connect), "\(answer)")
            gate.open()
            await silent.stop()
        }
    }

    /// Runs a test in a session that may have one connection to a host, which a request holds until a gate is opened.
    private func withOneConnection(
        to host: String = "127.0.0.1", _ body: (Session, LocalServer, Gate) async throws -> Void
    ) async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/first") { _ in
                await gate.wait()
                return .text("first")
            }
            router.get("/second", .text("second"))
        }
        let session = TestHarness.session { $0.connectionLimits.perHost = 1 }
        let first = session.request("http://\(host):\(server.port)/first").serializingString()
        _ = try await server.nextRequest()
        try await body(session, server, gate)
        #expect(try await first.value == "first")
        try await TestHarness.end(session, server)
    }
}
