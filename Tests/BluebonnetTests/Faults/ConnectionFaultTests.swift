import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

@Suite(.timeLimit(.minutes(10))) struct ConnectionFaultTests {
    @Test func `a host that does not exist`() async throws {
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request("http://no-such-host.invalid/a?b=c").serializingData(), in: session,
            failsWith: .connection(.nameNotResolved), saying: "the host's name could not be resolved",
            "no-such-host.invalid", "[GET http://no-such-host.invalid/a?b=<redacted>]")
        await session.shutdown()
    }

    @Test(arguments: [
        "http://\(String(repeating: "a", count: 64)).invalid/", "http://a..invalid/", "http://.invalid/",
        "http://\(String(repeating: "a.", count: 200))invalid/", "http://256.256.256.256/", "http://a_b.invalid/",
        "http://-a.invalid/",
    ])
    func `an invalid host name`(_ url: String) async throws {
        let session = TestHarness.session()
        let error = try #require(await session.request(url).serializingData().response.error)
        let isSaidSo =
            switch error.kind {
            case .connection(.nameNotResolved), .invalidURL: true
            default: false
            }
        #expect(isSaidSo, "\(error)")
        #expect(error.description.contains(url))
        await session.shutdown()
    }

    @Test func `a port without a listener`() async throws {
        let port = try DeadPort.refusing()
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request("http://127.0.0.1:\(port)/a").serializingData(), in: session,
            failsWith: .connection(.refused), saying: "no connection could be made",
            TestHarness.words("127.0.0.1", port: port),
            "[GET http://127.0.0.1:\(port)/a]")
        await session.shutdown()
    }

    @Test(arguments: ["", "H", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le"])
    func `a connection that is reset before or within the head`(_ sent: String) async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .bytes(sent), .reset)
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).serializingData()
        try await TestHarness.expect(
            task, in: session, failsWith: .connection(.lost), saying: "the connection was lost", "reset by peer")
        #expect(await task.response.response == nil)
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `a connection that is closed without a byte`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .close)
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingData(), in: session, failsWith: .connection(.lost),
            saying: "the connection was lost", "Empty reply from server")
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        "HTTP/1.1 2", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
    ])
    func `a connection that is closed within the head`(_ sent: String) async throws {
        let server = try await TestHarness.server(answering: sent)
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).validate().serializingData(emptyResponseCodes: [200])
        try await TestHarness.expect(
            task, in: session, failsWith: .connection(.lost), saying: "the connection was lost")
        #expect(await task.response.response == nil)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        ("Content-Length: 100\r\n\r\n0123456789", 10), ("Content-Length: 100\r\n\r\n", 0),
        ("Transfer-Encoding: chunked\r\n\r\n14\r\n0123456789", 10),
        ("Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n", 10), ("\r\n0123456789", 10),
    ])
    func `a connection that is reset within the body`(_ rest: String, received: Int) async throws {
        let gate = Gate()
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\n" + rest), .wait { await gate.wait() }, .reset)
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).serializingData()
        if received == 0 { gate.open() }
        for await progress in task.downloadProgressUpdates() where progress.completed == received { gate.open() }
        try await TestHarness.expect(
            task, in: session, failsWith: .connection(.lost), saying: "the connection was lost", "reset by peer")
        let answer = await task.response
        // With nothing received, the reset may overtake the head.
        #expect(answer.response?.statusCode == 200 || received == 0)
        #expect(answer.data?.count == received || received == 0)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        ("Content-Length: 100\r\n\r\n0123456789", "0123456789"), ("Content-Length: 1\r\n\r\n", ""),
        ("Transfer-Encoding: chunked\r\n\r\n", ""),
        ("Transfer-Encoding: chunked\r\n\r\n14\r\n0123456789", "0123456789"),
        ("Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n", "0123456789"),
        ("Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n", "0123456789"),
        ("Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\nTrailer: a\r\n", "0123456789"),
    ])
    func `a body that ends too early`(_ rest: String, received: String) async throws {
        let server = try await TestHarness.server(answering: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + rest)
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).validate().serializingString()
        try await TestHarness.expect(
            task, in: session, failsWith: .invalidResponse(.truncated),
            saying: "the response ended before it was complete")
        let answer = await task.response
        #expect(answer.response?.statusCode == 200)
        #expect(answer.data.map { String(decoding: $0, as: UTF8.self) } == received)
        try await TestHarness.end(session, server)
    }

    @Test func `a body without a length ends with the connection`() async throws {
        let server = try await TestHarness.server(answering: "HTTP/1.0 200 OK\r\n\r\n0123456789")
        let session = TestHarness.session()
        #expect(try await session.request(server.url("/a")).serializingString().value == "0123456789")
        try await TestHarness.end(session, server)
    }

    @Test func `bytes after the body are not used as the next response`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest,
            .bytes("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\noneHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"),
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo"), .stall)
        let session = TestHarness.session()
        #expect(try await session.request(server.url("/1")).serializingString().value == "one")
        let second = session.request(server.url("/2")).serializingString()
        #expect(await second.response.value != "evil")
        await session.cancelAllRequests()
        try await TestHarness.end(session, server)
    }

    @Test func `a kept connection that the server closes meanwhile is replaced`() async throws {
        let server = try await LocalServer(
            script: { $0 == 1 ? [.waitForRequest, .bytes(Self.ok), .waitForRequest, .close] : [.serve] }
        ) { router in
            router.get("/2", .text("second"))
        }
        let session = TestHarness.session()
        #expect(try await session.request(server.url("/1")).serializingString().value == "ok")
        #expect(try await session.request(server.url("/2")).serializingString().value == "second")
        #expect(server.connectionCount == 2)
        try await TestHarness.end(session, server)
    }

    @Test func `a POST that may have been processed is not sent again`() async throws {
        let server = try await LocalServer(
            script: { $0 == 1 ? [.waitForRequest, .bytes(Self.ok), .waitForRequest, .close] : [.serve] }
        ) { router in
            router.post("/2") { _ in .text("second") }
        }
        let session = TestHarness.session()
        #expect(try await session.request(server.url("/1")).serializingString().value == "ok")
        let request = session.request(server.url("/2"), method: .post) { $0.body = .data(Data("pay".utf8)) }
        let answer = await request.serializingString().response
        // RFC 9110 §9.2.2
        #expect(answer.error?.kind == .connection(.lost))
        #expect(server.requests.map(\.path) == ["/1", "/2"])
        try await TestHarness.end(session, server)
    }

    @Test func `a session works again after every failure`() async throws {
        let server = try await LocalServer(
            script: { $0 <= 3 ? [.waitForRequest, $0 == 2 ? .reset : .close] : [.serve] }
        ) { router in
            router.get("/a", .text("fine"))
        }
        let session = TestHarness.session()
        for _ in 1...3 {
            try await TestHarness.expect(
                session.request(server.url("/a")).serializingString(), in: session, failsWith: .connection(.lost))
        }
        #expect(try await session.request(server.url("/a")).serializingString().value == "fine")
        try await TestHarness.end(session, server)
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
}
