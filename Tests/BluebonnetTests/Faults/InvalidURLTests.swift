import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

@Suite(.timeLimit(.minutes(10))) struct InvalidURLTests {
    @Test(arguments: [
        "", " ", "\n", "/path", "example.com", "www.example.com/a?b=c", "//example.com/", "?a=b", "#a", "http", "http:",
        "http:/", "http://", "https://", "http:///", "http:///path", "http://?a=b", "http://#a", "http:example.com",
        "http:/example.com", "http//example.com", "://example.com", "http://:80/", "http://@/", "http://user@/",
        "http://user:word@:80/", "http://example.com:port/", "http://example.com:-1/", "http://example.com:+80/",
        "http://example.com:65536/", "http://example.com:99999999999999999999/", "http://example.com:80:80/",
        "http://example.com:80a/", "http://[::1/", "http://::1]/", "http://[::1]a/", "http://[]/",
        "http://exa mple.com/",
        "http://exa\tmple.com/", "http://exa\r\nmple.com/", "http://exa\0mple.com/", "http://exa\u{7f}mple.com/",
        "http://exa<mple.com/", "http://exa|mple.com/", "http://exa^mple.com/", "http://exa%00mple.com/",
        "http://exa%20mple.com/", "http://exa%2fmple.com/", "http://exa%40mple.com/", "http://exa%zzmple.com/",
        "http://%ff.example.com/",
    ])
    func `text that is not a URL with a host is refused before anything is sent`(_ text: String) async throws {
        let transport = StubTransport { _ in .ok }
        let session = Session(transport: transport)
        let task = session.request(text).serializingData()
        let error = try #require(await task.response.error)
        #expect(error.kind == .invalidURL, "\(text.debugDescription): \(error)")
        let shown = try #require(error.url)
        #expect(error.description.hasPrefix("not a URL that can be requested"))
        #expect(error.description.contains(shown))
        #expect(!error.description.contains { $0.isNewline || $0 == "\0" })
        #expect(!error.description.contains("word"))
        #expect(task.request.state == .finished)
        #expect(transport.requestCount == 0)
    }

    /// A cancellation may precede the error, but does not hide it.
    @Test(arguments: ["http://", "/path"])
    func `a request that is cancelled at once keeps the error of its URL`(_ text: String) async throws {
        let session = Session(transport: StubTransport { _ in .ok })
        for _ in 0..<200 {
            let request = session.request(text)
            let task = request.serializingData()
            request.cancel()
            let error = try #require(await task.response.error)
            #expect(error.description.contains("not a URL that can be requested"))
            #expect(error.description.hasSuffix("[GET \(text)]"))
        }
    }

    @Test(arguments: [
        "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "ws://example.com/", "wss://example.com/",
        "dict://example.com/", "ldap://example.com/", "smtp://example.com/", "telnet://example.com/",
        "tftp://example.com/", "sftp://example.com/", "httpx://example.com/", "htt://example.com/",
        "data:text/plain,a", "mailto:a@example.com", "javascript:alert(1)", "about:blank", "example.com:80/",
        "unix:///run/a.socket",
    ])
    func `schemes other than http and https are refused before anything is sent`(_ text: String) async throws {
        let transport = StubTransport { _ in .ok }
        let session = Session(transport: transport)
        let scheme = String(text.prefix { $0 != ":" })
        let task = session.request(text).serializingData()
        try await TestHarness.expect(
            task, in: session, failsWith: .invalidRequest(.unsupportedScheme(scheme)),
            saying: "the scheme \"\(scheme)\" is not supported, only http and https are", "[GET ")
        #expect(transport.requestCount == 0)
    }

    @Test(arguments: [
        ("http://127.0.0.1:1", "http://127.0.0.1:1"),
        ("HTTP://EXAMPLE.com/", "HTTP://EXAMPLE.com/"),
        ("http://example.com:/", "http://example.com:/"),
        ("http://[::1]:80/", "http://[::1]:80/"),
        ("http://example.com/a b", "http://example.com/a%20b"),
        ("http://example.com/%zz", "http://example.com/%25zz"),
        ("http://example.com/ü?ü#ü", "http://example.com/%C3%BC?%C3%BC#%C3%BC"),
        ("http://example.com/\u{1}", "http://example.com/%01"),
        ("http://user@name:word@example.com/", "http://user%40name:word@example.com/"),
    ])
    func `an unusual but valid URL is requested`(_ text: String, url: String) async throws {
        let transport = StubTransport { _ in .ok }
        let session = Session(transport: transport)
        let answer = await session.request(text).serializingData(emptyResponseCodes: [200]).response
        #expect(answer.error == nil)
        #expect(transport.requests.map(\.url.absoluteString) == [url])
    }

    @Test(arguments: [
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("http://ﬁ.example/", "fi.example"),
        ("http://例え.テスト/", "xn--r8jz45g.xn--zckzah"),
    ])
    func `an international name is requested in ASCII`(_ text: String, name: String) async throws {
        let proxy = try await LocalServer { router in
            router.fallback { _ in .text("proxied") }
        }
        let session = TestHarness.session { $0.proxy = .url("http://127.0.0.1:\(proxy.port)") }
        #expect(try await session.request(text).serializingString().value == "proxied")
        #expect(try await proxy.nextRequest().headers["Host"] == name)
        try await TestHarness.end(session, proxy)
    }

    @Test func `components that do not fit together are refused`() async throws {
        var components = URLComponents()
        components.scheme = "http"
        components.host = "example.com"
        components.path = "no-slash"
        let session = Session(transport: StubTransport { _ in .ok })
        let error = await session.request(components).serializingData().response.error
        #expect(
            error.map { if case .invalidURL = $0.kind { true } else { false } } == true, "\(String(describing: error))")
    }

    @Test func `the error of a custom URL type is the cause`() async throws {
        struct Nowhere: URLConvertible {
            func asURL() throws -> URL { throw TestFailure("nowhere to go") }
        }
        let session = Session(transport: StubTransport { _ in .ok })
        let error = try await TestHarness.expect(
            session.request(Nowhere()).serializingData(), in: session, failsWith: .invalidRequest(.conversion),
            saying: "the request could not be made: nowhere to go")
        #expect(error.underlying as? TestFailure == TestFailure("nowhere to go"))
    }
}
