import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// The exchanges that use cookies, and cookies in fields of a request.
@Suite(.timeLimit(.minutes(10))) struct CookieExchangeTests {
    private func request(_ url: String, setting cookies: [String] = []) throws -> HTTPRequest {
        HTTPRequest(
            url: try #require(URL(string: url)),
            headers: HTTPHeaders(cookies.map { HTTPHeader(name: "X-Set", value: $0) }))
    }

    @Test func `a request that handles no cookies sends and stores no cookies`() async throws {
        let scene = try await CookieTestSession()
        try await scene.get("http://example.com/", setting: ["a=1"])
        var request = try request("http://example.com/", setting: ["b=2"])
        request.handlesCookies = false
        #expect(try await scene.send(request) == nil)
        // Handles are used again, in turns, by requests that handle cookies and requests that do not.
        for _ in 0..<4 {
            var plain = try self.request("http://example.com/")
            #expect(try await scene.send(plain) == "a=1")
            plain.handlesCookies = false
            #expect(try await scene.send(plain) == nil)
            #expect(try await scene.send(request) == nil)
        }
        #expect(try await scene.session.cookies.all().map(\.name) == ["a"])
        try await scene.end()
    }

    @Test func `a session with the policy never has no cookies`() async throws {
        let scene = try await CookieTestSession { $0.cookies.policy = .never }
        try await scene.get("http://example.com/", setting: ["a=1"])
        #expect(try await scene.get("http://example.com/") == nil)
        #expect(try await scene.session.cookies.all().isEmpty)
        let error = await #expect(throws: RequestError.self) {
            try await scene.session.cookies.set("a=1", for: scene.server.url)
        }
        #expect(error?.kind == .cookies(.disabled))
        try await scene.end()
    }

    @Test(
        arguments: [
            (nil, "http://example.com/", true), ("http://example.com/", "http://example.com/", true),
            ("http://www.example.com/", "http://login.example.com/", true),
            ("https://example.com/", "http://a.b.EXAMPLE.com:81/", true),
            ("http://example.com/", "http://example.org/", false),
            ("http://a.co.uk/", "http://b.co.uk/", false), ("http://x.a.co.uk/", "http://y.a.co.uk/", true),
            ("http://a.github.io/", "http://b.github.io/", false), ("http://github.io/", "http://a.github.io/", false),
            ("http://127.0.0.1/", "http://127.0.0.1:8080/", true), ("http://127.0.0.1/", "http://127.1.0.1/", false),
            ("http://66.0.1/", "http://127.0.1/", false), ("http://127.0.1/", "http://127.0.0.1/", true),
            ("http://localhost/", "http://127.0.0.1/", false), ("http://[::1]/", "http://[::1]:8080/", true),
            ("http://bücher.example/", "http://xn--bcher-kva.example/", true),
            ("http://bücher.example/", "http://www.bücher.example/", true),
        ] as [(String?, String, Bool)])
    func `only the site of the first request has cookies`(_ first: String?, _ asked: String, isVisited: Bool)
        async throws
    {
        let scene = try await CookieTestSession { $0.cookies.policy = .firstPartyOnly }
        var request = try request(asked, setting: ["a=1; Path=/"])
        request.firstPartyURL = first.flatMap { URL(string: $0) }
        #expect(try await scene.send(request) == nil)
        #expect(try await scene.session.cookies.all().count == (isVisited ? 1 : 0))
        let url = try #require(URL(string: asked))
        try await scene.session.cookies.set("b=2; Path=/", for: url)
        #expect(try await scene.send(request)?.contains("b=2") == (isVisited ? true : nil))
        try await scene.end()
    }

    @Test(arguments: [Session.Configuration.Cookies.Policy.firstPartyOnly, .always])
    func `a redirect through another site`(_ policy: Session.Configuration.Cookies.Policy) async throws {
        let scene = try await CookieTestSession { $0.cookies.policy = policy }
        await scene.server.route { router in
            func leads(_ path: String, to location: String) {
                router.get(path) { _ in
                    let name = path.dropFirst()
                    return .status(302, headers: ["Location": location, "Set-Cookie": "\(name)=1; Path=/"])
                }
            }
            leads("/start", to: "http://tracker.example.org/track")
            leads("/track", to: "http://ads.example.org/more")
            leads("/more", to: "http://login.example.com/back")
            router.get("/back") { .text($0.headers["Cookie"] ?? "") }
        }
        let cookies = scene.session.cookies
        for domain in ["example.com", "example.org"] {
            try await cookies.set(Cookie(name: "old", value: "1", domain: domain, includesSubdomains: true))
        }
        #expect(try await scene.get("http://www.example.com/start") == "old=1")
        let isAlways = policy == .always
        #expect(
            scene.server.requests.map { $0.headers["Cookie"] }
                == ["old=1", isAlways ? "old=1" : nil, isAlways ? "old=1" : nil, "old=1"])
        let foreign: Set = isAlways ? ["track", "more"] : []
        #expect(Set(try await cookies.all().map(\.name)) == foreign.union(["old", "start"]))
        // The other site receives the first request, so it is the visited site.
        _ = try await scene.get("http://tracker.example.org/track")
        #expect(scene.server.requests.dropFirst(4).first?.headers["Cookie"] == (isAlways ? "old=1; track=1" : "old=1"))
        try await scene.end()
    }

    @Test func `cookies in a field of the request follow the session's cookies in the same field`() async throws {
        let scene = try await CookieTestSession()
        #expect(try await scene.get("http://example.com/", headers: ["Cookie": "mine=0"]) == "mine=0")
        try await scene.get("http://example.com/", setting: ["a=1"])
        #expect(
            try await scene.get("http://example.com/", headers: ["Cookie": " mine=0; other=x "])
                == "a=1; mine=0; other=x")
        #expect(try await scene.get("http://example.com/", headers: ["cookie": "a=2"]) == "a=1; a=2")
        #expect(try await scene.get("http://example.com/", headers: ["Cookie": ""]) == "a=1")
        let two = HTTPHeaders([HTTPHeader(name: "Cookie", value: "x=1"), HTTPHeader(name: "Cookie", value: "y=2")])
        #expect(try await scene.get("http://example.com/", headers: two) == "a=1; x=1; y=2")
        var alone = try request("http://example.com/")
        alone.headers = ["Cookie": "mine=0"]
        alone.handlesCookies = false
        #expect(try await scene.send(alone) == "mine=0")
        // Nothing of it is left in the handle.
        #expect(try await scene.get("http://example.com/") == "a=1")
        try await scene.end()
    }

    @Test func `cookies in the session's fields are sent unless the request has its own`() async throws {
        let scene = try await CookieTestSession { $0.headers.update(name: "Cookie", value: "all=1") }
        #expect(try await scene.get("http://example.com/") == "all=1")
        #expect(try await scene.get("http://example.com/", headers: ["X-Other": "1"]) == "all=1")
        #expect(try await scene.get("http://example.com/", headers: ["Cookie": "own=2"]) == "own=2")
        try await scene.end()
    }

    @Test func `two sessions share no cookies, on one loop or on two loops`() async throws {
        let loop = EventLoop()
        let first = try await CookieTestSession { $0.eventLoop = loop }
        let second = try await CookieTestSession { $0.eventLoop = loop }
        try await first.get("http://example.com/", setting: ["a=1"])
        #expect(try await second.get("http://example.com/") == nil)
        #expect(try await first.get("http://example.com/") == "a=1")
        try await first.end()
        #expect(try await second.get("http://example.com/", setting: ["b=1"]) == nil)
        #expect(try await second.get("http://example.com/") == "b=1")
        try await second.end()
    }

    @Test func `streams, downloads and uploads use cookies`() async throws {
        let scene = try await CookieTestSession()
        let set = try request("http://example.com/", setting: ["a=1"])
        for try await _ in scene.session.streamRequest(set).streamTask().bytes {}
        let file = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let downloaded = scene.session.download(try request("http://example.com/"), to: .file(file))
        #expect(try String(decoding: Data(contentsOf: await downloaded.serializingURL().value), as: UTF8.self) == "a=1")
        let uploaded = scene.session.upload(Data("x".utf8), to: "http://example.com/")
        #expect(try await uploaded.serializingString().value == "a=1")
        try await scene.end()
    }

    @Test func `many parallel requests share the cookies`() async throws {
        let scene = try await CookieTestSession()
        try await scene.get("http://example.com/", setting: ["a=1"])
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<50 { group.addTask { try await scene.get("http://example.com/") } }
            for try await sent in group { #expect(sent == "a=1") }
        }
        try await scene.end()
    }

    // MARK: Secrets

    @Test func `no description shows the value of a cookie`() async throws {
        let scene = try await CookieTestSession()
        try await scene.get("http://example.com/", setting: ["sid=s3cret; Path=/"])
        let request = scene.session.request("http://example.com/", headers: ["Cookie": "token=s3cret"])
        let response = await request.serializingString().response
        let cookie = try #require(try await scene.session.cookies.all().first)
        #expect(cookie.value == "s3cret" && cookie.netscapeLine.contains("s3cret"))
        var shown = ["\(cookie)", cookie.debugDescription, "\([cookie])", "\(Optional(cookie) as Any)"]
        var dumped = ""
        dump(cookie, to: &dumped)
        dump(scene.session.cookies, to: &dumped)
        dump(CookieChange.set([cookie]), to: &dumped)
        shown += [dumped, "\(CookieChange.delete([cookie]))", "\(scene.session.cookies)"]
        shown += [try #require(response.request).cURLDescription()]
        for text in shown { #expect(!text.contains("s3cret"), "\(text)") }
        try await scene.end()
    }
}
