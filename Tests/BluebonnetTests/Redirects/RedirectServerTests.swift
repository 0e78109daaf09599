import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Redirects between local servers that record their requests.
@Suite(.timeLimit(.minutes(10)))
struct RedirectServerTests {
    // MARK: Kinds of request

    /// The kinds of request, and how each brings its body as text, and its response.
    enum Kind: CaseIterable {
        case data, stream, download

        func text(_ session: Session, _ request: HTTPRequest, using handler: (any RedirectHandler)? = nil) async throws
            -> (text: String, response: HTTPResponse)
        {
            switch self {
            case .data:
                let task = Self.set(handler, session.request(request).validate()).serializingString()
                return (try await task.value, try #require(await task.response.response))
            case .stream:
                let task = Self.set(handler, session.streamRequest(request).validate()).streamTask()
                let response = try await task.response
                var bytes = Data()
                for try await piece in task.bytes { bytes += piece }
                return (String(decoding: bytes, as: UTF8.self), response)
            case .download:
                let task = Self.set(handler, session.download(request).validate()).serializingString()
                return (try await task.value, try #require(await task.response.response))
            }
        }

        private static func set<R: Request>(_ handler: (any RedirectHandler)?, _ request: R) -> R {
            handler.map { request.redirect(using: $0) } ?? request
        }
    }

    @Test(arguments: Kind.allCases, ["short", "long", "chunked", "endless"])
    func `every kind of request follows a redirect with any body`(_ kind: Kind, body: String) async throws {
        let server = try await LocalServer { router in
            router.get("/from") { _ in
                switch body {
                case "short": .text("moved", status: 302, headers: ["Location": "/to"])
                case "long": .data(Data(count: 200_000), status: 302, headers: ["Location": "/to"])
                case "chunked":
                    .stream(status: 302, headers: ["Location": "/to"]) { try await $0.write(Data(count: 100)) }
                default: .endless(Data(count: 1000), status: 302, headers: ["Location": "/to"])
                }
            }
            router.get("/to", .text("here"))
        }
        let session = TestHarness.session()
        let answer = try await kind.text(session, HTTPRequest(url: server.url("/from#part")))
        #expect(answer.text == "here")
        #expect(answer.response.url == server.url("/to#part"))
        #expect(answer.response.history.map(\.url) == [server.url("/from#part")])
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [HTTPMethod.get, .post], ["short", "chunked"])
    func `a connection is used again after the short body of a redirect`(_ method: HTTPMethod, body: String)
        async throws
    {
        let server = try await LocalServer { router in
            router.on("/from") { _ in
                body == "short"
                    ? .text("moved", status: 302, headers: ["Location": "/to"])
                    : .stream(status: 302, headers: ["Location": "/to"]) { try await $0.write(Data(count: 100)) }
            }
            router.get("/to", .text("here"))
        }
        let session = TestHarness.session()
        let request = HTTPRequest(
            url: server.url("/from"), method: method, body: method == .post ? .data(Data("x".utf8)) : nil)
        #expect(try await session.request(request).serializingString().value == "here")
        #expect(server.connectionCount == 1)
        try await TestHarness.end(session, server)
    }

    /// The bytes of a location that is not UTF-8 stay as they are; valid UTF-8 beside them, too.
    @Test(
        arguments: [
            ([0xe9], "/caf%E9"), ([0xc3, 0xa9], "/caf%C3%A9"), ([0xe9, 0x2f, 0xc3, 0xa9], "/caf%E9/%C3%A9"),
        ] as [([UInt8], String)])
    func `a location in another encoding is sent as its bytes`(bytes: [UInt8], target: String) async throws {
        let head = Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\nlocation: /caf".utf8) + bytes
        let server = try await LocalServer { router in
            router.get("/from", .script(.bytes(head + Array("\r\n\r\n".utf8))))
            router.fallback { .text($0.target) }
        }
        let session = TestHarness.session()
        #expect(try await session.request(server.url("/from")).serializingString().value == target)
        try await TestHarness.end(session, server)
    }

    @Test func `an endless body of a redirect is not waited for`() async throws {
        let server = try await LocalServer { router in
            router.get("/from", .script(.bytes("HTTP/1.1 302 Found\r\nLocation: /to\r\n\r\nmoved"), .stall))
            router.get("/to", .text("here"))
        }
        // No time limit ends it, but that of the test.
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: nil, idle: nil) }
        for kind in Kind.allCases {
            #expect(try await kind.text(session, HTTPRequest(url: server.url("/from"))).text == "here")
        }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["endless", "long"])
    func `the body of an unfollowed redirect is limited like any other body`(_ body: String) async throws {
        let server = try await LocalServer { router in
            router.get("/from") { _ in
                body == "long"
                    ? .data(Data(count: 200_000), status: 302, headers: ["Location": "/to"])
                    : .endless(Data(count: 1000), status: 302, headers: ["Location": "/to"])
            }
        }
        let session = TestHarness.session { $0.maximumResponseBytes = 1_000_000 }
        let answer = await session.request(server.url("/from")).redirect(using: .doNotFollow).serializingData().response
        if body == "long" {
            #expect(answer.value?.count == 200_000 && answer.response?.statusCode == 302)
        } else {
            #expect(answer.error?.kind == .invalidResponse(.bodyTooLarge(limit: 1_000_000)))
        }
        try await TestHarness.end(session, server)
    }

    @Test(
        arguments: [HTTPMethod.get, .head, .post, .put, HTTPMethod(rawValue: "REPORT")], [301, 302, 303, 307, 308])
    func `the redirected request is as in the table`(_ method: HTTPMethod, status: Int) async throws {
        let server = try await LocalServer { router in
            router.on("/from", .redirect(to: "/to", status: status))
            router.on("/to") { .text("\($0.method.rawValue) \($0.text) \($0.headers["Content-Type"] ?? "")") }
        }
        let hasBody = method != .get && method != .head
        let request = HTTPRequest(
            url: server.url("/from"), method: method, headers: hasBody ? [.contentType("text/plain")] : [:],
            body: hasBody ? .data(Data("body".utf8)) : nil)
        let session = TestHarness.session()
        let answer = await session.request(request).validate().serializingData().response
        let becomesGet =
            method != .head && (status == 303 || (method == .post && (status == 301 || status == 302)))
        let last = try #require(server.requests.last)
        #expect(last.path == "/to" && last.method == (becomesGet ? .get : method))
        #expect(last.headers["Content-Type"] == (hasBody && !becomesGet ? "text/plain" : nil))
        #expect(last.text == (hasBody && !becomesGet ? "body" : ""))
        #expect(answer.error == nil && answer.response?.history.map(\.statusCode) == [status])
        try await TestHarness.end(session, server)
    }

    @Test(arguments: Kind.allCases)
    func `the request's handler takes precedence over the session's handler`(_ kind: Kind) async throws {
        let server = try await LocalServer { router in
            router.get("/from", .redirect(to: "/to"))
            router.get("/to", .text("to"))
            router.get("/other") { .text("other \($0.headers["X-Added"] ?? "")") }
        }
        var configuration = Session.Configuration()
        configuration.proxy = .none
        let session = Session(
            configuration: configuration,
            redirectHandler: .modify { request, newRequest, response in
                #expect(response.statusCode == 302 && request.request?.url.path() == "/from")
                var newRequest = newRequest
                newRequest.url = server.url("/other")
                newRequest.headers.update(name: "X-Added", value: "1")
                return newRequest
            })
        let request = HTTPRequest(url: server.url("/from"))
        #expect(try await kind.text(session, request).text == "other 1")
        #expect(try await kind.text(session, request, using: .follow).text == "to")
        await #expect(throws: RequestError.self) { try await kind.text(session, request, using: .doNotFollow) }
        await #expect(throws: RequestError.self) {
            try await kind.text(session, request, using: .modify { _, _, _ in nil })
        }
        try await TestHarness.end(session, server)
    }

    @Test func `a redirect that is not followed is the response, with any location`() async throws {
        let server = try await LocalServer { router in
            router.get("/from", .redirect(to: "tel:123"))
            router.get("/nowhere", .status(302))
        }
        let session = TestHarness.session()
        let stays = await session.request(server.url("/from")).redirect(using: .doNotFollow)
            .serializingData(emptyResponseCodes: [302]).response
        #expect(stays.response?.statusCode == 302 && stays.error == nil)
        let error = await session.request(server.url("/from")).serializingData().response.error
        #expect(error?.kind == .redirect(.invalidLocation("tel:123")))
        let nowhere = await session.request(server.url("/nowhere")).serializingData(emptyResponseCodes: [302]).response
        #expect(nowhere.response?.statusCode == 302 && nowhere.error == nil)
        try await TestHarness.end(session, server)
    }

    // MARK: Bodies

    @Test(arguments: [307, 308])
    func `only a replayable body is sent again`(_ status: Int) async throws {
        let server = try await LocalServer { router in
            router.post("/from", .redirect(to: "/to", status: status))
            router.post("/to") { .text($0.text) }
        }
        let session = TestHarness.session()
        let again = RequestBody.stream {
            AsyncStream<Data> { stream in
                stream.yield(Data("again".utf8))
                stream.finish()
            }
        }
        for body in [RequestBody.data(Data("again".utf8)), again] {
            let request = HTTPRequest(url: server.url("/from"), method: .post, body: body)
            #expect(try await session.request(request).validate().serializingString().value == "again")
        }
        let before = server.requestCount
        let once = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        let request = HTTPRequest(url: server.url("/from"), method: .post, body: once)
        let error = await session.request(request).serializingString().response.error
        #expect(error?.kind == .redirect(.bodyNotReplayable))
        #expect(server.requests.dropFirst(before).map(\.path) == ["/from"])
        try await TestHarness.end(session, server)
    }

    // MARK: Origins

    /// Sends all kinds of secrets to the first of two servers, and expects that the second server receives no secret.
    @Test(arguments: Kind.allCases)
    func `no secret is sent to another origin, or back to the first origin`(_ kind: Kind) async throws {
        let away = try await LocalServer { _ in }
        let home = try await LocalServer { router in
            router.get("/1", .redirect(to: "/2"))
            router.get("/2", .redirect(to: away.url("/3").absoluteString))
            router.get("/4", .text("done"))
        }
        await away.route { router in router.get("/3", .redirect(to: home.url("/4").absoluteString)) }
        let session = TestHarness.session {
            $0.headers.append(name: "X-Api-Key", value: "hidden")
            $0.headers.append(name: "X-Plain", value: "session")
        }
        let port = home.port
        var request = HTTPRequest(
            url: try #require(URL(string: "http://user:hidden@127.0.0.1:\(port)/1")),
            headers: [
                "Cookie": "a=hidden", "Proxy-Authorization": "hidden", "X-Token": "hidden",
                "Ocp-Apim-Subscription-Key": "hidden", "X-GitHub-OTP": "hidden", "X-Mine": "1",
                "Host": "hidden.example",
            ])
        request.credential = Credential(username: "user", password: "hidden", schemes: .basic)
        #expect(try await kind.text(session, request).text == "done")
        #expect(home.requests.map(\.path) == ["/1", "/2", "/4"])
        for request in home.requests.prefix(2) {
            for name in ["Cookie", "X-Token", "X-Api-Key", "Ocp-Apim-Subscription-Key", "X-GitHub-OTP"] {
                #expect(request.headers[name]?.contains("hidden") == true, "\(name) of \(request.path)")
            }
            #expect(request.headers["Host"] == "hidden.example")
        }
        for request in away.requests + home.requests.suffix(1) {
            let head = request.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
            #expect(!head.contains("hidden"), "\(request.path): \(head)")
            #expect(request.headers["Authorization"] == nil)
            #expect(request.headers["X-Mine"] == "1" && request.headers["X-Plain"] == "session")
        }
        #expect(away.requests.first?.headers["Host"] == "127.0.0.1:\(away.port)")
        try await TestHarness.end(session, home)
        try await away.waitForOpenConnections(atMost: 0)
    }

    @Test func `a command for another origin does not show the first origin's secrets`() async throws {
        let away = try await LocalServer { router in router.get("/to", .text("here")) }
        let home = try await LocalServer { router in
            router.get("/from", .redirect(to: away.url("/to").absoluteString))
        }
        let session = TestHarness.session {
            $0.headers.append(name: "X-Api-Key", value: "hidden")
            $0.headers.append(name: "X-Plain", value: "session")
        }
        let request = session.request(home.url("/from"))
        #expect(request.cURLDescription(revealingSecrets: true).contains("X-Api-Key: hidden"))
        #expect(try await request.serializingString().value == "here")
        let command = request.cURLDescription(revealingSecrets: true)
        #expect(!command.contains("X-Api-Key") && command.contains("X-Plain: session"))
        try await TestHarness.end(session, home)
        try await away.waitForOpenConnections(atMost: 0)
    }

    // MARK: Loops

    @Test func `a loop is reported`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .redirect(to: "/b"))
            router.get("/b", .redirect(to: "/a"))
        }
        let session = TestHarness.session()
        let request = session.request(server.url("/a"))
        let error = await request.serializingData().response.error
        #expect(error?.kind == .redirect(.loop(url: server.url("/a").absoluteString)))
        #expect(server.requestCount == 4)
        try await TestHarness.end(session, server)
    }

    @Test func `the metrics belong to the last exchange, and connections are reused`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .redirect(to: "/b"))
            router.get("/b", .text("b"))
        }
        let session = TestHarness.session()
        for kind in Kind.allCases {
            #expect(try await kind.text(session, HTTPRequest(url: server.url("/a"))).text == "b")
        }
        #expect(server.connectionCount == 1)
        try await TestHarness.end(session, server)
    }
}
