import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

@Suite(.timeLimit(.minutes(10))) struct InvalidRequestTests {
    private let transport = StubTransport { _ in .ok }

    @Test(arguments: ["", " ", "GE T", "GET ", "GET\r\n", "GET\0", "G(T", "G/T", "G\u{e9}T", "\u{7f}", "GET:"])
    func `a method that is not a token is refused before anything is sent`(_ method: String) async throws {
        let session = Session(transport: transport)
        let request = session.request("http://example.com/a", method: HTTPMethod(rawValue: method))
        let task = request.serializingData()
        let error = try #require(await task.response.error)
        #expect(error.kind == .invalidRequest(.method(method)))
        #expect(error.description.hasPrefix("the method \(method.debugDescription) is not a token"))
        #expect(error.description.contains("http://example.com/a"))
        #expect(!error.description.contains { $0.isNewline || $0 == "\0" })
        #expect(transport.requestCount == 0)
    }

    @Test(arguments: [
        "", " ", "a b", "a:", "a\r\nb", "a\n", "\ra", "a\0b", "a\tb", "\u{fc}", "a(b)", "a\u{7f}", "a/b", "\"a\"",
        "a,b",
    ])
    func `a field's name that is not a token is refused before anything is sent`(_ name: String) async throws {
        let session = Session(transport: transport)
        let headers = HTTPHeaders([HTTPHeader(name: name, value: "value")])
        try await TestHarness.expect(
            session.request("http://example.com/a", headers: headers).serializingData(), in: session,
            failsWith: .invalidRequest(.fieldName(name)),
            saying: "the field name \(name.debugDescription) is not a token",
            "[GET http://example.com/a]")
        #expect(transport.requestCount == 0)
    }

    @Test(arguments: ["a\r\nInjected: b", "\n", "a\r", "\na", "a\0b", "\0", "a\u{d}\u{a} folded"])
    func `a field's value with a line break or NUL is refused before anything is sent`(_ value: String) async throws {
        let session = Session(transport: transport)
        let headers = HTTPHeaders([HTTPHeader(name: "X-Good", value: "fine"), HTTPHeader(name: "X-Bad", value: value)])
        try await TestHarness.expect(
            session.request("http://example.com/a", headers: headers).serializingData(), in: session,
            failsWith: .invalidRequest(.fieldValue(name: "X-Bad")),
            saying: "the value of the field X-Bad holds a CR, LF or NUL", "[GET http://example.com/a]")
        #expect(transport.requestCount == 0)
    }

    @Test(arguments: [
        (
            HTTPHeader(name: "X-Bad", value: "a\r\nInjected: b"),
            RequestError.InvalidRequestReason.fieldValue(name: "X-Bad")
        ),
        (HTTPHeader(name: "X\r\nInjected", value: "b"), .fieldName("X\r\nInjected")),
    ])
    func `a session's own fields are checked too`(
        _ header: HTTPHeader, reason: RequestError.InvalidRequestReason
    ) async throws {
        let server = try await LocalServer { router in
            router.fallback { _ in .text("answered") }
        }
        let session = TestHarness.session { $0.headers.append(header) }
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingData(), in: session, failsWith: .invalidRequest(reason))
        #expect(server.requestCount == 0)
        try await TestHarness.end(session, server)
    }

    @Test func `values with bytes above ASCII are sent unchanged`() async throws {
        let server = try await LocalServer { router in
            router.get("/a") { request in .text(request.headers["X-Name"] ?? "none") }
        }
        let session = TestHarness.session()
        let task = session.request(server.url("/a"), headers: ["X-Name": "grün\ttab"]).serializingString()
        #expect(try await task.value == "grün\ttab")
        try await TestHarness.end(session, server)
    }

    @Test func `a GET with a body is refused, however the body got there`() async throws {
        let session = Session(transport: transport)
        let url = try #require(URL(string: "http://example.com/a?token=hidden"))
        struct Convertible: HTTPRequestConvertible {
            let url: URL
            func asHTTPRequest() -> HTTPRequest { HTTPRequest(url: url, body: .data(Data("body".utf8))) }
        }
        let requests = [
            session.request(Convertible(url: url)),
            session.request(url) { $0.body = .data(Data()) },
            session.request(url, parameters: ["a": "b"], encoder: .json),
        ]
        for request in requests {
            try await TestHarness.expect(
                request.serializingData(), in: session, failsWith: .invalidRequest(.bodyDataInGETRequest),
                saying: "a GET, HEAD or TRACE request has a body", "[GET http://example.com/a?token=<redacted>]")
        }
        #expect(transport.requestCount == 0)
    }

    @Test func `parameters that cannot be encoded are reported with the encoder's error`() async throws {
        struct Unencodable: Encodable {
            func encode(to encoder: any Encoder) throws { throw TestFailure("cannot be written down") }
        }
        let session = Session(transport: transport)
        let encoders: [any ParameterEncoder] = [.json, .urlEncodedForm]
        for encoder in encoders {
            let request = session.request(
                "http://example.com/a", method: .post, parameters: Unencodable(), encoder: encoder)
            let error = try await TestHarness.expect(
                request.serializingData(), in: session, failsWith: .parameterEncoding(.encoderFailed),
                saying: "the parameters could not be encoded", "cannot be written down", "[POST http://example.com/a]")
            #expect(error.underlying is TestFailure)
        }
        #expect(transport.requestCount == 0)
    }

    @Test func `an error that a modifier throws is the underlying error`() async throws {
        let session = Session(transport: transport)
        let request = session.request("http://example.com/a") { _ in throw TestFailure("not now") }
        try await TestHarness.expect(
            request.serializingData(), in: session, failsWith: .invalidRequest(.conversion),
            saying: "the request could not be made: not now")
        #expect(transport.requestCount == 0)
    }

    @Test func `framing fields are set by libcurl only`() async throws {
        let server = try await LocalServer { router in
            router.post("/a") { request in
                .text("\(request.body.count) \(request.headers["Transfer-Encoding"] ?? "none")")
            }
        }
        let session = TestHarness.session()
        let request = session.request(
            server.url("/a"), method: .post, headers: ["Content-Length": "0", "Transfer-Encoding": "chunked"]
        ) { $0.body = .data(Data("four".utf8)) }
        #expect(try await request.serializingString().value == "4 none")
        try await TestHarness.end(session, server)
    }
}
