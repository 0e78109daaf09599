import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The handshake is a request of the session.
@Suite(.timeLimit(.minutes(10))) struct WebSocketHandshakeWireTests {
    private typealias Fixture = WebSocketFixture

    @Test(arguments: [
        "Content-Length: 4\r\n\r\nsure",
        "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nsur\r\n1\r\ne\r\n0\r\nT: x\r\n\r\n",
        "\r\nsure",
    ])
    func `another response is in the error with its body`(rest: String) async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 403 Forbidden\r\nA: b\r\n\(rest)"))
        let session = TestHarness.session()
        let (_, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        #expect(error?.kind == .webSocket(.handshake(.unacceptableStatusCode(403))))
        #expect(error?.response?.headers["A"] == "b")
        #expect(error?.body == Data("sure".utf8))
        try await TestHarness.end(session, server)
    }

    /// The loop throws as soon as the request has ended.
    @Test func `a refused socket has a close code at once`() async throws {
        let server = try await LocalServer { $0.get("/socket", .status(426)) }
        let session = TestHarness.session()
        for _ in 1...200 {
            let task = Fixture.request(session, server).webSocketTask()
            let (_, error) = await Fixture.messages(task)
            #expect(task.closeCode == .abnormalClosure && task.closeReason == "" && error != nil)
        }
        try await TestHarness.end(session, server)
    }

    /// A description before the request exists converts it once more, with another key.
    @Test func `describing a request does not replace the key of its handshake`() async throws {
        let server = try await Fixture.server(Fixture.text("hello"), Fixture.close(.normalClosure))
        let session = TestHarness.session()
        let described = Locked<WebSocketRequest?>(nil)
        let adapter = Adapter { _, _ in _ = described.withLock { $0 }?.cURLDescription() }
        let request = session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket", configuration: Fixture.plain, interceptor: adapter)
        described.withLock { $0 = request }
        let (messages, error) = await Fixture.messages(request.webSocketTask())
        #expect(messages == [.text("hello")] && error == nil, "\(String(describing: error))")
        described.withLock { $0 = nil }
        try await TestHarness.end(session, server)
    }

    @Test func `a response without the right key is refused`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest,
            .bytes(
                "HTTP/1.1 101 OK\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: no\r\n\r\n"),
            .waitForClose)
        let session = TestHarness.session()
        let (_, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        #expect(error?.kind == .webSocket(.handshake(.invalidField("Sec-WebSocket-Accept"))))
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["", "HTTP/1.1 101 OK\r\nUpgrade: web", "rubbish\r\n\r\n"])
    func `a connection that ends within the head, or is not HTTP, is an error`(bytes: String) async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .bytes(bytes))
        let session = TestHarness.session()
        let (_, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        #expect(error != nil)
        try await TestHarness.end(session, server)
    }

    @Test func `a head without an end is refused`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 101 OK\r\nA: \(String(repeating: "a", count: 200_000))"), .stall)
        let session = TestHarness.session { $0.maximumResponseHeadBytes = 10_000 }
        let (_, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        #expect(error?.kind == .invalidResponse(.headTooLarge(limit: 10_000)))
        try await TestHarness.end(session, server)
    }

    @Test func `informational responses come before the handshake's`() async throws {
        let server = try await LocalServer { router in
            router.get("/socket") { request in
                .script(.bytes("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"), Fixture.accept(request), Fixture.text("a"))
            }
        }
        let session = TestHarness.session()
        let (messages, _) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        #expect(messages == [.text("a")])
        try await TestHarness.end(session, server)
    }

    @Test func `redirects, cookies, adapters and retriers apply`() async throws {
        let tries = Locked(0)
        let server = try await LocalServer { router in
            router.get("/old") { _ in
                .status(302, headers: ["Location": "/socket", "Set-Cookie": "a=1"])
            }
            router.get("/socket") { request in
                let number = tries.withLock { tries in
                    tries += 1
                    return tries
                }
                guard number > 1 else { return .status(503) }
                return .script(
                    Fixture.accept(request, ["Set-Cookie": "b=2"]), Fixture.text("x"), Fixture.close(1000),
                    Fixture.received(2))
            }
        }
        let session = TestHarness.session { $0.cookies.policy = .always }
        let adapter = Interceptor(
            adapter: Adapter { request, _ in
                var request = request
                request.headers.update(name: "X-Adapted", value: "yes")
                return request
            },
            retrier: Retrier { _, _, error in
                (error as? RequestError)?.response?.statusCode == 503 ? .retry : .doNotRetry
            })
        let request = session.webSocket("ws://127.0.0.1:\(server.port)/old", interceptor: adapter)
        let (messages, error) = await Fixture.messages(request.webSocketTask())
        #expect(messages == [.text("x")])
        #expect(error == nil)
        #expect(request.retryCount == 1)
        let last = server.requests.last
        #expect(last?.headers["Cookie"] == "a=1")
        #expect(last?.headers["X-Adapted"] == "yes")
        #expect(try await session.cookies.all().map(\.name).sorted() == ["a", "b"])
        #expect(Set(server.requests.compactMap { $0.headers["Sec-WebSocket-Key"] }).count == 2)
        try await TestHarness.end(session, server)
    }

    @Test(
        arguments: [
            ("Basic realm=\"a\"", nil), ("Digest realm=\"a\", nonce=\"b\", qop=\"auth\"", "Digest"),
        ] as [(String, String?)])
    func `Basic credentials answer a challenge, and other schemes are an error`(
        challenge: String, unsupported: String?
    ) async throws {
        let server = try await LocalServer { router in
            router.get("/socket") { request in
                guard request.headers["Authorization"] == "Basic dTpw" else {
                    return .status(401, headers: ["WWW-Authenticate": challenge])
                }
                return .script(Fixture.accept(request), Fixture.close(1000), Fixture.received(2))
            }
        }
        let session = TestHarness.session()
        let request = Fixture.request(session, server).authenticate(username: "u", password: "p")
        let (_, error) = await Fixture.messages(request.webSocketTask())
        #expect(error?.kind == unsupported.map { .authentication(.unsupportedScheme($0)) })
        #expect(error?.response?.statusCode == unsupported.map { _ in 401 })
        #expect(server.requestCount == (unsupported == nil ? 2 : 1))
        try await TestHarness.end(session, server)
    }

    @Test func `a challenge without a credential is the response`() async throws {
        let server = try await LocalServer { $0.get("/socket") { _ in .status(401) } }
        let session = TestHarness.session()
        let (_, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        #expect(error?.kind == .webSocket(.handshake(.unacceptableStatusCode(401))))
        try await TestHarness.end(session, server)
    }

    @Test func `a transport that ignores the upgrade reports its response`() async throws {
        let server = try await LocalServer { $0.get("/socket") { _ in .text("plain") } }
        let session = TestHarness.session()
        let (_, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        #expect(error?.kind == .webSocket(.handshake(.unacceptableStatusCode(200))))
        #expect(error?.body == Data("plain".utf8))
        try await TestHarness.end(session, server)
    }

    @Test func `sockets do not count in the limits of requests and connections`() async throws {
        let server = try await LocalServer { router in
            router.get("/socket") { .script(Fixture.accept($0), .waitForClose) }
            router.get("/a") { _ in .text("a") }
        }
        let session = TestHarness.session {
            $0.requestLimits.perHost = 2
            $0.connectionLimits.perHost = 2
            $0.connectionLimits.total = 2
        }
        let tasks = (0..<6).map { _ in Fixture.request(session, server).webSocketTask() }
        for task in tasks { _ = try await task.response }
        for _ in 0..<20 { #expect(try await session.request(server.url("/a")).serializingString().value == "a") }
        #expect(tasks.allSatisfy { $0.request.state == .resumed })
        for task in tasks { task.request.cancel() }
        try await TestHarness.end(session, server)
    }
}
