import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Redirects, challenges, proxies, cookies and refusals of the handshake.
@Suite(.timeLimit(.minutes(10))) struct WebSocketRouteTests {
    private typealias Fixture = WebSocketFixture
    private typealias Step = LocalServer.Script.Step

    /// The steps of a server that closes the WebSocket in order.
    private static func closing(_ request: LocalServer.Request, _ fields: HTTPHeaders = [:]) -> LocalServer.Response {
        .script(Fixture.accept(request, fields), Fixture.text("a"), Fixture.close(1000), Fixture.received(2))
    }

    // MARK: Redirects

    @Test(
        arguments: [301, 302, 303, 307, 308], ["ws://127.0.0.1:PORT/socket", "http://127.0.0.1:PORT/socket", "socket"])
    func `a redirect may name a WebSocket's scheme`(_ status: Int, location: String) async throws {
        let server = try await LocalServer { router in
            router.get("/old") { request in
                let port = request.headers["Host"]?.split(separator: ":").last.map(String.init) ?? ""
                return .status(status, headers: ["Location": location.replacing("PORT", with: port)])
            }
            router.get("/socket") { Self.closing($0) }
        }
        let session = TestHarness.session()
        let task = Fixture.request(session, server, "/old").webSocketTask()
        let (messages, error) = await Fixture.messages(task)
        #expect(messages == [.text("a")])
        #expect(error == nil)
        #expect(server.requests.map(\.path) == ["/old", "/socket"])
        #expect(server.requests.allSatisfy { $0.headers["Upgrade"] == "websocket" && $0.method == .get })
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["wsx://127.0.0.1/", "ftp://127.0.0.1/", "ws://"])
    func `a redirect to another scheme is refused`(_ location: String) async throws {
        let server = try await LocalServer { router in
            router.get("/socket", .status(302, headers: ["Location": location]))
        }
        let session = TestHarness.session()
        let (_, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        #expect(error?.kind == .redirect(.invalidLocation(location)))
        try await TestHarness.end(session, server)
    }

    @Test func `another request is not redirected to a WebSocket`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .status(302, headers: ["Location": "ws://127.0.0.1/"]))
        }
        let session = TestHarness.session()
        let response = await session.request(server.url("/a")).serializingData().response
        #expect(response.error?.kind == .redirect(.invalidLocation("ws://127.0.0.1/")))
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["wss", "https"])
    func `a redirect may lead to TLS`(_ scheme: String) async throws {
        let files = try TestCertificates()
        try await WebSocketPeer.websockets.run(.init(tls: [files.server, files.serverKey])) { port in
            let server = try await LocalServer { router in
                router.get("/old", .status(302, headers: ["Location": "\(scheme)://127.0.0.1:\(port)/"]))
            }
            let session = try TestHarness.trustingSession()
            let task = Fixture.request(session, server, "/old").webSocketTask()
            try await task.send("x")
            var messages = task.messages.makeAsyncIterator()
            #expect(try await messages.next() == .text("x"))
            try await task.close()
            try await TestHarness.end(session, server)
        }
    }

    @Test func `too many redirects, and no redirects, are errors`() async throws {
        let server = try await LocalServer { router in
            router.get("/socket", .status(302, headers: ["Location": "/socket"]))
        }
        let session = TestHarness.session()
        let (_, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        guard case .redirect = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        let request = Fixture.request(session, server).redirect(using: .doNotFollow)
        let (_, refused) = await Fixture.messages(request.webSocketTask())
        #expect(refused?.kind == .webSocket(.handshake(.unacceptableStatusCode(302))))
        try await TestHarness.end(session, server)
    }

    @Test func `credentials and cookies do not go to another host`() async throws {
        let target = try await LocalServer { router in router.get("/socket") { Self.closing($0) } }
        let server = try await LocalServer { router in
            router.get("/old", .status(302, headers: ["Location": "ws://localhost:\(target.port)/socket"]))
        }
        let session = TestHarness.session()
        let request = session.webSocket(
            "ws://127.0.0.1:\(server.port)/old", headers: ["Authorization": "Bearer s3cret", "Cookie": "a=s3cret"])
        let (messages, error) = await Fixture.messages(request.webSocketTask())
        #expect(messages == [.text("a")])
        #expect(error == nil)
        #expect(server.requests.first?.headers["Authorization"] == "Bearer s3cret")
        #expect(server.requests.first?.headers["Cookie"] == "a=s3cret")
        #expect(target.requests.first?.headers["Authorization"] == nil)
        #expect(target.requests.first?.headers["Cookie"] == nil)
        await target.stop()
        try await TestHarness.end(session, server)
    }

    // MARK: Refusals

    @Test(arguments: [200, 400, 401, 404, 426, 500, 503], ["", "the reason", String(repeating: "x", count: 30_000)])
    func `a refusal's body is in the error`(_ status: Int, body: String) async throws {
        let server = try await LocalServer { router in
            router.get("/socket") { _ in .text(body, status: status, headers: ["X-Reason": "why"]) }
        }
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        let (messages, error) = await Fixture.messages(task)
        #expect(messages.isEmpty)
        #expect(error?.kind == .webSocket(.handshake(.unacceptableStatusCode(status))))
        #expect(error?.response?.statusCode == status)
        #expect(error?.response?.headers["X-Reason"] == "why")
        let prefix = Data(body.utf8).prefix(error?.body?.count ?? 0)
        #expect((error?.body ?? Data()) == prefix && (body.isEmpty || prefix.count >= min(body.utf8.count, 4096)))
        await #expect(throws: RequestError.self) { try await task.send("late") }
        await #expect(throws: RequestError.self) { try await task.ping() }
        try await task.close()
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["Digest realm=\"a\", nonce=\"b\"", "NTLM", "Negotiate"])
    func `a scheme that needs libcurl is a typed error`(_ challenge: String) async throws {
        let server = try await LocalServer { router in
            router.get("/socket", .status(401, headers: ["WWW-Authenticate": challenge]))
        }
        let session = TestHarness.session()
        let credential = Credential(username: "u", password: "p", schemes: [.basic, .digest, .ntlm, .negotiate])
        let request = Fixture.request(session, server).authenticate(using: credential)
        let (_, error) = await Fixture.messages(request.webSocketTask())
        let scheme = String(challenge.prefix { $0 != " " })
        #expect(error?.kind == .authentication(.unsupportedScheme(scheme)))
        #expect(error?.response?.statusCode == 401)
        #expect(server.requests.allSatisfy { $0.headers["Authorization"] == nil })
        try await TestHarness.end(session, server)
    }

    @Test func `a wrong password is refused once`() async throws {
        let server = try await LocalServer { router in
            router.get("/socket", .status(401, headers: ["WWW-Authenticate": "Basic realm=\"a\""]))
        }
        let session = TestHarness.session()
        let request = Fixture.request(session, server).authenticate(username: "u", password: "p")
        let (_, error) = await Fixture.messages(request.webSocketTask())
        #expect(error?.kind == .webSocket(.handshake(.unacceptableStatusCode(401))))
        #expect(server.requests.map { $0.headers["Authorization"] } == [nil, "Basic dTpw"])
        try await TestHarness.end(session, server)
    }

    @Test func `Basic is chosen among other schemes`() async throws {
        let server = try await LocalServer { router in
            router.get("/socket") { request in
                guard request.headers["Authorization"] == nil else { return Self.closing(request) }
                var headers: HTTPHeaders = ["WWW-Authenticate": "Digest realm=\"a\", nonce=\"b\""]
                headers.append(name: "WWW-Authenticate", value: "Basic realm=\"a\"")
                return .status(401, headers: headers)
            }
        }
        let session = TestHarness.session()
        let request = Fixture.request(session, server).authenticate(username: "u", password: "p")
        let (messages, error) = await Fixture.messages(request.webSocketTask())
        #expect(messages == [.text("a")])
        #expect(error == nil)
        try await TestHarness.end(session, server)
    }

    // MARK: Proxies

    @Test(arguments: ["ws", "wss"])
    func `a WebSocket uses CONNECT, and a refusal of the proxy is the error`(_ scheme: String) async throws {
        let proxy = try await LocalServer.scripted(
            .waitForHead, .bytes("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=a\r\nContent-Length: 0\r\n\r\n"))
        let session = TestHarness.session { $0.proxy = .url("http://127.0.0.1:\(proxy.port)") }
        let (_, error) = await Fixture.messages(session.webSocket("\(scheme)://a.invalid/socket").webSocketTask())
        #expect(error != nil)
        guard case .webSocket = error?.kind else {
            let request = try await proxy.nextRequest()
            #expect(request.method == .connect)
            #expect(request.target == "a.invalid:\(scheme == "ws" ? 80 : 443)")
            #expect(request.headers["Sec-WebSocket-Key"] == nil)
            try await TestHarness.end(session, proxy)
            return
        }
        Issue.record("\(String(describing: error))")
    }

    @Test func `a proxy's challenge is answered, and its fields stay at the proxy`() async throws {
        let server = try await LocalServer { router in router.get("/socket") { Self.closing($0) } }
        for password in ["secret", "wrong"] {
            let url = try TestServers.proxyWithPassword.proxyURL()
            let credential = Credential(username: "user", password: password)
            let session = TestHarness.session { $0.proxy = .url(url, credential: credential) }
            let (messages, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
            #expect((error == nil) == (password == "secret"))
            #expect(messages.count == (password == "secret" ? 1 : 0))
            if let error { #expect(!"\(error)".contains("wrong")) }
            await session.shutdown()
        }
        #expect(server.requests.count == 1)
        #expect(server.requests.first?.headers["Proxy-Authorization"] == nil)
        await server.stop()
    }

    // MARK: Cookies

    @Test func `cookies of every response are stored and sent`() async throws {
        let server = try await LocalServer { router in
            router.get("/socket") { Self.closing($0, ["Set-Cookie": "from101=1; Path=/"]) }
            router.get("/refused", .status(403, headers: ["Set-Cookie": "from403=1; Path=/"]))
            router.get("/a") { .text($0.headers["Cookie"] ?? "") }
        }
        let session = TestHarness.session { $0.cookies.policy = .always }
        _ = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        _ = await Fixture.messages(Fixture.request(session, server, "/refused").webSocketTask())
        let text = try await session.request(server.url("/a")).serializingString().value
        #expect(text.split(separator: "; ").sorted() == ["from101=1", "from403=1"])
        _ = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        let cookies = server.requests.last?.headers["Cookie"]?.split(separator: "; ").sorted()
        #expect(cookies == ["from101=1", "from403=1"])
        try await TestHarness.end(session, server)
    }

    // MARK: The request

    @Test(
        arguments: [
            ("ws://127.0.0.1:PORT", "/"), ("ws://127.0.0.1:PORT?a=b", "/?a=b"), ("WS://127.0.0.1:PORT/a%20b", "/a%20b"),
            ("ws://127.0.0.1:PORT/a?b=c#fragment", "/a?b=c"), ("http://127.0.0.1:PORT/x", "/x"),
            ("ws://user:s3cret@127.0.0.1:PORT/u", "/u"),
        ])
    func `the request's target is the path and the query of the URL`(_ url: String, target: String) async throws {
        let server = try await LocalServer { router in router.fallback { Self.closing($0) } }
        let session = TestHarness.session()
        let task = session.webSocket(url.replacing("PORT", with: "\(server.port)")).webSocketTask()
        let (messages, error) = await Fixture.messages(task)
        #expect(messages == [.text("a")])
        #expect(error == nil)
        let request = try await server.nextRequest()
        #expect(request.target == target)
        #expect(request.headers["Host"] == "127.0.0.1:\(server.port)")
        try await TestHarness.end(session, server)
    }

    /// As with other requests, for which libcurl sends the field.
    @Test(
        arguments: [
            ("user:s3cret@", [:], HTTPHeader.authorization(username: "user", password: "s3cret").value),
            ("us%40er:@", [:], HTTPHeader.authorization(username: "us@er", password: "").value),
            ("user@", [:], HTTPHeader.authorization(username: "user", password: "").value),
            (":p@", [:], HTTPHeader.authorization(username: "", password: "p").value), (":@", [:], nil),
            ("@", [:], nil),
            ("", [:], nil), ("user:s3cret@", ["Authorization": "Bearer t"], "Bearer t"),
        ] as [(String, HTTPHeaders, String?)])
    func `user info in the URL is sent`(_ userInfo: String, _ fields: HTTPHeaders, _ value: String?) async throws {
        let server = try await LocalServer { router in
            router.get("/ws") { Self.closing($0) }
            router.get("/http", .text("a"))
        }
        let session = TestHarness.session()
        let place = "\(userInfo)127.0.0.1:\(server.port)"
        _ = await Fixture.messages(session.webSocket("ws://\(place)/ws", headers: fields).webSocketTask())
        #expect(try await server.nextRequest().headers["Authorization"] == value)
        _ = try await session.request("http://\(place)/http", headers: fields).serializingString().value
        #expect(try await server.nextRequest().headers["Authorization"] == value)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["ftp://127.0.0.1/", "wsx://127.0.0.1/", "ws:///a", "ws://", "", "127.0.0.1"])
    func `another URL is an error, and nothing is sent`(_ url: String) async throws {
        let session = TestHarness.session()
        let (messages, error) = await Fixture.messages(session.webSocket(url).webSocketTask())
        #expect(messages.isEmpty)
        switch error?.kind {
        case .invalidURL, .invalidRequest: break
        default: Issue.record("\(String(describing: error))")
        }
        await session.shutdown()
    }

    // MARK: Validators

    @Test func `the status 101 needs no validation, and another status is refused without it`() async throws {
        let server = try await LocalServer { router in
            router.get("/socket") { Self.closing($0) }
            router.get("/other", .text("no"))
        }
        let session = TestHarness.session()
        let (messages, error) = await Fixture.messages(
            Fixture.request(session, server).validate().webSocketTask())
        #expect(messages == [.text("a")])
        #expect(error == nil)
        let (_, refusal) = await Fixture.messages(Fixture.request(session, server, "/other").webSocketTask())
        #expect(refusal?.kind == .webSocket(.handshake(.unacceptableStatusCode(200))))
        try await TestHarness.end(session, server)
    }
}
