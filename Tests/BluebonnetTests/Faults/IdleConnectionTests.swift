import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Bytes that arrive on idle connections.
///
/// Without ``IdleConnections``, it is the answer to the next request.
@Suite(.timeLimit(.minutes(10))) struct IdleConnectionTests {
    // MARK: As a table

    private static let rows: [(IdleConnections.Version, Readiness, IdleConnections.Action)] = [
        (.http1, .readable, .end), (.http1, [.readable, .peerClosed], .end), (.http1, .hangup, .end),
        (.http1, .error, .end),
        (.http1Secure, .readable, .inspectBeforeUse), (.http1Secure, [.readable, .peerClosed], .end),
        (.multiplexed, .readable, .nothing), (.multiplexed, [.readable, .peerClosed], .end),
        (.multiplexed, .hangup, .end),
    ]

    @Test(arguments: rows)
    func `unusable idle connections are closed`(
        _ version: IdleConnections.Version, _ readiness: Readiness, _ action: IdleConnections.Action
    ) {
        #expect(IdleConnections.action(on: version, readiness) == action)
    }

    // MARK: HTTP/1.1

    private static let first = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"

    @Test(arguments: [false, true])
    func `an unsolicited response is not used as the next response`(closes: Bool) async throws {
        let answers = ["HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "HTTP/1.1 408 Request Timeout\r\n\r\n"]
        for surplus in answers + ["H"] {
            let (begin, sent) = (Gate(), Gate())
            let steps: [LocalServer.Script.Step] = [
                .bytes(Self.first), .wait { await begin.wait() }, .bytes(surplus), .wait { sent.open() },
            ]
            let script = LocalServer.Script(steps + (closes ? [.close] : [.waitForRequest, .stall]))
            let server = try await LocalServer { router in
                router.get("/", .text("right"))
                router.get("/first", .script(script))
            }
            let session = TestHarness.session()
            #expect(try await session.request(server.url("/first")).serializingString().value == "first")
            begin.open()
            await sent.wait()
            for _ in 1...6 {
                let answer = await session.request(server.url("/")).serializingString().response
                #expect(answer.value == "right", "\(answer)")
            }
            await session.shutdown()
            await server.stop()
        }
    }

    /// Keeps the event loop from everything else during a handshake, until a gate is open.
    private struct LoopHolder: ServerTrustEvaluating {
        let isHeld = Gate()
        let mayContinue = Gate()

        func evaluate(_ trust: ServerTrust, forHost host: String) {
            isHeld.open()
            while !mayContinue.isOpen { usleep(1000) }
        }

        /// A session with one loop, which the first request to `localhost` stops.
        func session() throws -> Session {
            let manager = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: ["localhost": self])
            return try TrustFixture.session(manager) { $0.eventLoops = 1 }
        }

        /// Sends requests of a session while the loop is stopped, and then lets the server end their connection.
        func answers(to requests: [DataRequest], of session: Session, after end: () async throws -> Void) async throws
            -> [DataResponse<String, RequestError>]
        {
            let nginx = "https://localhost:\(try #require(try TestServers.nginxTLS.url("/").port))/"
            let held = session.request(nginx).serializingData(automaticallyCancelling: false)
            held.resume()
            await isHeld.wait()
            let tasks = requests.map { $0.serializingString(automaticallyCancelling: false) }
            for task in tasks { task.resume() }
            // Long enough for the requests to reach the loop; otherwise, the test does not show what it could.
            try await Task.sleep(for: .milliseconds(50))
            try await end()
            mayContinue.open()
            #expect(await held.response.error == nil)
            var answers: [DataResponse<String, RequestError>] = []
            for task in tasks { answers.append(await task.response) }
            return answers
        }
    }

    /// The loop learns of the request before it learns of the end of the connection.
    ///
    /// Libcurl 8.23 does not check a connection that it has just used, and no version reads what is waiting before the
    /// end of an HTTP/2 connection.
    @Test(arguments: [HTTPMethod.post, .get])
    func `a request is not sent on a connection that has just ended`(method: HTTPMethod) async throws {
        let (begin, ended) = (Gate(), Gate())
        let server = try await LocalServer(script: { connection in
            guard connection == 1 else { return [.serve] }
            return [
                .waitForRequest, .bytes(Self.first), .wait { await begin.wait() }, .halfClose, .wait { ended.open() },
                .waitForClose,
            ]
        }) { $0.fallback(.text("right")) }
        let holder = LoopHolder()
        let session = try holder.session()
        #expect(try await session.request(server.url("/first")).serializingString().value == "first")
        let request = session.request(server.url("/"), method: method)
        let answers = try await holder.answers(to: [request], of: session) {
            begin.open()
            await ended.wait()
        }
        #expect(answers.map(\.value) == ["right"], "\(answers)")
        #expect(server.connectionCount == 2)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [HTTPMethod.post, .get], [1, 5])
    func `no request is sent on an HTTP 2 connection that has just ended`(
        method: HTTPMethod, count: Int
    ) async throws {
        let server = TestServers.misbehavingHTTP2
        let key = UUID().uuidString
        let holder = LoopHolder()
        let (session, control) = (try holder.session(), try TestHarness.trustingSession())
        #expect(
            try await session.request(try server.url("/last?key=\(key)")).serializingString().value.isEmpty == false)
        let requests = try (1...count).map { _ in
            session.request(try server.url("/upload"), method: method) {
                $0.body = method == .post ? .data(Data("x".utf8)) : nil
            }
        }
        let answers = try await holder.answers(to: requests, of: session) {
            _ = try await control.request(try server.url("/go?key=\(key)")).serializingData().value
            _ = try await control.request(try server.url("/ended?key=\(key)-ended")).serializingData().value
        }
        for answer in answers { #expect(answer.value?.isEmpty == false, "\(answer)") }
        await session.shutdown()
        await control.shutdown()
    }

    @Test func `bytes after the first response are not used as the next response`() async throws {
        let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        let server = try await LocalServer { router in
            router.get("/", .text("right"))
            router.get("/first", .script(.bytes(Self.first + evil), .waitForRequest, .stall))
        }
        let session = TestHarness.session()
        for _ in 1...20 {
            #expect(try await session.request(server.url("/first")).serializingString().value == "first")
            let answer = await session.request(server.url("/")).serializingString().response
            #expect(answer.value == "right", "\(answer)")
        }
        await session.shutdown()
        await server.stop()
    }

    /// The response is read when the connection is made, before the loop has begun to wait for it.
    @Test func `a late response after an early response is not used as the next response`() async throws {
        let early = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly"
        let sent = Counter()
        let server = try await LocalServer.scripted(
            .bytes(early), .waitForRequest, .bytes("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
            .wait { sent.next() }, .waitForRequest, .stall)
        let session = TestHarness.session()
        for number in 1...50 {
            let answer = await session.request(server.url("/")).serializingData(emptyResponseCodes: [200, 404]).response
            // The order of the two responses is undetermined, unless the late response arrived before the request.
            try #require(answer.response?.statusCode == 200, "\(number): \(answer)")
            while sent.value < number {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
        await session.shutdown()
        await server.stop()
    }

    /// Libcurl has all of the answer when it pauses, and ends it without a look at the socket.
    @Test(arguments: [false, true])
    func `bytes received while a body is paused are not used as the next response`(closes: Bool) async throws {
        let head = "HTTP/1.1 200 OK\r\n"
        let answer = head + "Transfer-Encoding: chunked\r\n\r\n3\r\nfir\r\n2\r\nst\r\n0\r\n\r\n"
        let evil = head + "Content-Length: 4\r\n\r\nevil"
        for _ in 1...10 {
            let (validated, sent) = (Gate(), Gate())
            let server = try await LocalServer { router in
                router.get("/", .text("right"))
                router.get(
                    "/first",
                    .script(
                        .bytes(answer), .wait { await validated.wait() }, .bytes(evil), .wait { sent.open() },
                        closes ? .close : .stall))
            }
            let session = TestHarness.session()
            let task = session.streamRequest(server.url("/first")).onHTTPResponse { _ in
                validated.open()
                await sent.wait()
                return .allow
            }.streamTask()
            let (bytes, error) = await StreamFixture.body(task.bytes)
            #expect(error == nil)
            #expect(bytes == Data("first".utf8))
            let next = await session.request(server.url("/")).serializingString().response
            #expect(next.value == "right", "\(next)")
            await session.shutdown()
            await server.stop()
        }
    }

    /// The waiting request gets the connection during the call of libcurl in which the first request ends.
    @Test func `bytes after a response are not used as the response to a waiting request`()
        async throws
    {
        // Libcurl reads a buffer first, then what is missing of the body; it leaves in the socket what is behind that.
        let body = String(repeating: "x", count: 40_000)
        let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        let answers = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)\(evil)"
        for _ in 1...10 {
            let (asked, gate) = (Gate(), Gate())
            let server = try await LocalServer { router in
                router.get("/", .text("right"))
                router.get(
                    "/first",
                    .script(
                        .wait {
                            asked.open()
                            await gate.wait()
                        }, .bytes(answers), .waitForRequest, .stall))
            }
            let session = TestHarness.session {
                $0.connectionLimits.perHost = 1
                $0.receiveBufferBytes = 32 * 1024
            }
            let first = session.request(server.url("/first")).serializingString()
            first.resume()
            await asked.wait()
            let second = session.request(server.url("/")).serializingString()
            second.resume()
            // The loop has passed it to libcurl.
            await TestHarness.performEarlierCommands(of: session)
            gate.open()
            #expect(try await first.value == body)
            let answer = await second.response
            #expect(answer.value == "right", "\(answer)")
            await session.shutdown()
            await server.stop()
        }
    }

    /// Libcurl then assumes that the host supports multiplexing, and shares connections that do not support it.
    @Test func `a status line that claims HTTP/2 does not enable sharing of the connection`() async throws {
        let server = try await LocalServer { router in
            router.get("/claim", .script(.bytes("HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nok"), .serve))
            router.get("/echo") { request in .text(request.query.text) }
        }
        let session = TestHarness.session()
        for round in 1...10 {
            _ = await session.request(server.url("/claim")).serializingString().response
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<16 {
                    group.addTask {
                        let query = "\(round)-\(String(repeating: "x", count: number * 997))"
                        let answer = await session.request(server.url("/echo?\(query)")).serializingString().response
                        #expect(answer.value == query, "\(String(describing: answer.error))")
                    }
                }
                try await group.waitForAll()
            }
        }
        await session.shutdown()
        await server.stop()
    }

    /// The claim counts for libcurl when it has read the status line, whatever becomes of the head.
    @Test(arguments: [
        "HTTP/2 200 OK\r\n", "HTTP/2 103 Early Hints\r\n\r\n", "HTTP/2 200 OK\r\n\tX: y\r\n\r\n",
    ])
    func `an incomplete head that claims HTTP/2 does not enable sharing of the connection`(
        _ head: String
    ) async throws {
        let (claims, claimed) = AsyncStream.makeStream(of: Void.self)
        let (releases, release) = AsyncStream.makeStream(of: Void.self)
        let server = try await LocalServer { router in
            router.get("/claim", .script(.bytes(head), .wait { claimed.yield() }, .stall))
            router.get("/held") { _ in
                for await _ in releases { break }
                return .text("held")
            }
            router.get("/echo") { request in .text(request.query.text) }
        }
        let control = try await LocalServer { $0.get("/", .text("right")) }
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: .seconds(60), idle: .seconds(60)) }
        let held = session.request(server.url("/held")).serializingString()
        async let heldAnswer = held.response
        async let claim = session.request(server.url("/claim")).serializingString().response
        for await _ in claims { break }
        // Bytes that arrived before this response have been read too.
        #expect(try await session.request(control.url("/")).serializingString().value == "right")
        for number in 0..<3 {
            let answer = await session.request(server.url("/echo?\(number)")).serializingString().response
            #expect(answer.value == "\(number)", "\(String(describing: answer.error))")
        }
        release.finish()
        #expect(await heldAnswer.value == "held")
        await session.cancelAllRequests()
        _ = await claim
        await session.shutdown()
        await server.stop()
        await control.stop()
    }

    // MARK: TLS

    private struct Answer: Decodable { let connection: Int }

    /// The connections that served so many requests, each begun when the server has sent all that follows the answer before.
    private static func connections(of count: Int, to server: IdleTLSServer) async throws -> Set<Int> {
        let session = try TestHarness.trustingSession()
        var connections: Set<Int> = []
        for number in 1...count {
            let answer = try await session.request(server.url).validate().serializingDecodable(Answer.self).value
            connections.insert(answer.connection)
            while server.exchangeCount < number {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
        await session.shutdown()
        return connections
    }

    @Test(arguments: [
        [IdleTLSServer.Message.ticket], [.keyUpdate(asksBack: false)], [.keyUpdate(asksBack: true)],
        [.ticket, .keyUpdate(asksBack: true), .ticket],
    ])
    func `tickets and new keys do not close the connection`(_ messages: [IdleTLSServer.Message]) async throws {
        let server = try IdleTLSServer(after: messages)
        defer { server.stop() }
        let clock = ContinuousClock()
        let start = clock.now
        let connections = try await Self.connections(of: 100, to: server)
        let seconds = Int((clock.now - start).components.seconds)
        // Libcurl 8.0 to 8.14.1 drops an idle connection on which any byte waits, a ticket's too; 8.23 does so once a second,
        // when it looks for connections that have ended.
        let drops = Libcurl.version < 0x08_00_00 ? 0 : IdleConnections.readsUnsolicitedBytes ? seconds : 99
        #expect(connections.count <= 1 + drops, "\(connections.count) in \(seconds) s")
    }

    /// OpenSSL may have read the answer already when it returns after one of the keys.
    @Test(arguments: [1, 80, 100, 300]) func `an answer arrives after many new keys`(_ count: Int) async throws {
        let server = try IdleTLSServer(before: Array(repeating: .keyUpdate(asksBack: false), count: count) + [.ticket])
        defer { server.stop() }
        #expect(try await Self.connections(of: 20, to: server).count <= 20)
    }

    private static let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

    @Test(arguments: [
        [IdleTLSServer.Message.bytes(evil)], [.ticket, .bytes(evil)], [.keyUpdate(asksBack: true), .bytes("H")],
        [.bytes("HTTP/1.1 408 Request Timeout\r\n\r\n"), .end], [.ticket, .end],
        // OpenSSL returns after each message by then.
        Array(repeating: .keyUpdate(asksBack: false), count: 130) + [.ticket, .bytes(evil)],
        Array(repeating: .keyUpdate(asksBack: false), count: 130) + [.ticket, .end],
    ])
    func `unsolicited bytes close a connection with TLS`(_ messages: [IdleTLSServer.Message]) async throws {
        let server = try IdleTLSServer(after: messages)
        defer { server.stop() }
        #expect(try await Self.connections(of: 20, to: server).count == 20)
    }

    // MARK: HTTP/2

    /// Waits until the server has sent what follows an answer, as it says on another connection.
    private static func waitForEnd(_ key: String) async throws {
        let session = try TestHarness.trustingSession()
        let url = try TestServers.misbehavingHTTP2.url("/ended?key=\(key)")
        _ = try await session.request(url).validate().serializingData().value
        await session.shutdown()
    }

    @Test(arguments: ["", "ping", "settings", "ping,settings", "goaway", "ping,goaway"])
    func `a connection that ended while it was idle is not used again`(_ frames: String) async throws {
        let session = try TestHarness.trustingSession()
        for _ in 1...10 {
            let key = UUID().uuidString
            let url = try TestServers.misbehavingHTTP2.url("/then?frames=\(frames)&key=\(key)")
            let answer = await session.request(url, method: .post).serializingString().response
            #expect(answer.error == nil, "\(answer)")
            try await Self.waitForEnd(key)
        }
        await session.shutdown()
    }

    @Test func `PINGs do not close the connection`() async throws {
        let session = try TestHarness.trustingSession()
        struct Answer: Decodable { let connection: Int }
        var connections: Set<Int> = []
        for _ in 1...100 {
            let key = UUID().uuidString
            let url = try TestServers.misbehavingHTTP2.url("/ping-later?key=\(key)")
            connections.insert(try await session.request(url).serializingDecodable(Answer.self).value.connection)
            try await Self.waitForEnd(key)
        }
        #expect(connections.count == 1)
        await session.shutdown()
    }
}
