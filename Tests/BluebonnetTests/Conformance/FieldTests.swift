import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// Fields of requests and responses, as httpbin reads and writes them.
@Suite(.timeLimit(.minutes(10)))
struct `Conformance of fields` {
    @Test(arguments: TestServers.httpbins)
    func `the default fields arrive`(server: TestServers) async throws {
        let echo = try await server.answer("/headers").json()["headers"]
        #expect(echo?["User-Agent"]?.string == HTTPHeader.defaultUserAgent.value)
        #expect(echo?["User-Agent"]?.string?.contains("Bluebonnet/\(BluebonnetInfo.version)") == true)
        #expect(echo?["Accept-Language"]?.string == HTTPHeader.defaultAcceptLanguage.value)
        let codings = try #require(echo?["Accept-Encoding"]?.string)
        for coding in ["br", "gzip", "deflate"] { #expect(codings.contains(coding)) }
        #expect(try echo?["Host"]?.string == server.url("/").host().map { "\($0):\(try server.url("/").port ?? 0)" })
        #expect(try await server.answer("/user-agent").json()["user-agent"] == echo?["User-Agent"])
    }

    @Test(arguments: TestServers.httpbins)
    func `a request's field replaces the session's`(server: TestServers) async throws {
        var configuration = Session.Configuration.conformance
        configuration.headers.append(name: "X-Session", value: "session")
        configuration.headers.append(name: "X-Both", value: "session")
        let session = Session(configuration: configuration)
        let answer = try await server.answer(
            "/headers",
            headers: [
                "x-both": "request", "user-agent": "mine/1", "accept-language": "nl", "ACCEPT-ENCODING": "identity",
            ], in: session)
        #expect(try answer.echoedField("X-Session") == "session")
        #expect(try answer.echoedField("X-Both") == "request")
        #expect(try answer.echoedField("User-Agent") == "mine/1")
        #expect(try answer.echoedField("Accept-Language") == "nl")
        #expect(try answer.echoedField("Accept-Encoding") == "identity")
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins)
    func `a session without default fields sends no default fields`(server: TestServers) async throws {
        var configuration = Session.Configuration.conformance
        configuration.headers = [:]
        configuration.decodesContent = false
        let session = Session(configuration: configuration)
        let answer = try await server.answer("/headers", in: session)
        #expect(try answer.json()["headers"]?.object?.keys.sorted() == ["Accept", "Host"])
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins, ["User-Agent", "Accept-Language", "Accept-Encoding", "Accept"])
    func `an empty field of the session removes a default field`(server: TestServers, name: String) async throws {
        var configuration = Session.Configuration.conformance
        configuration.headers[name] = ""
        let session = Session(configuration: configuration)
        #expect(try await server.answer("/headers", in: session).echoedField(name) == nil)
        // A request with its own fields uses another code path.
        let other = try await server.answer("/headers", headers: ["X-Own": "1"], in: session)
        #expect(try other.echoedField(name) == nil)
        #expect(try other.echoedField("X-Own") == "1")
        let set = try await server.answer("/headers", headers: [HTTPHeader(name: name, value: "text/*")], in: session)
        #expect(try set.echoedField(name) == "text/*")
        await session.shutdown()
    }

    @Test(
        arguments: TestServers.httpbins,
        [
            ("plain", "plain"), ("", ""), ("   ", ""), ("  inner  spaces\tand tab  ", "inner  spaces\tand tab"),
            ("a: b; c=\"d\", e", "a: b; c=\"d\", e"), ("ends with a semicolon;", "ends with a semicolon;"),
            ("@file", "@file"), (";", ";"), ("{}[]<>()!#$%&'*+-./?\\^_`|~=", "{}[]<>()!#$%&'*+-./?\\^_`|~="),
        ])
    func `a value arrives without surrounding spaces`(
        server: TestServers, value: (sent: String, arrives: String)
    ) async throws {
        let answer = try await server.answer(
            "/headers",
            headers: [HTTPHeader(name: "X-Before", value: "1"), HTTPHeader(name: "X-Value", value: value.sent)])
        #expect(try answer.echoedField("X-Value") == value.arrives)
        #expect(try answer.echoedField("X-Before") == "1")
    }

    @Test(arguments: TestServers.httpbins)
    func `repeated fields arrive in order`(server: TestServers) async throws {
        let answer = try await server.answer(
            "/headers",
            headers: [
                HTTPHeader(name: "X-Repeated", value: "one"), HTTPHeader(name: "X-Other", value: "1"),
                HTTPHeader(name: "x-repeated", value: "two, three"), HTTPHeader(name: "X-REPEATED", value: "four"),
            ])
        // httpbin joins them.
        #expect(try answer.echoedField("X-Repeated") == "one,two, three,four")
    }

    @Test(arguments: TestServers.httpbins)
    func `a value beyond ASCII arrives as UTF-8`(server: TestServers) async throws {
        let value = "naïve – 日本語 🌼"
        let answer = try await server.answer("/headers", headers: [HTTPHeader(name: "X-Value", value: value)])
        // httpbin reads it as ISO-8859-1.
        let bytes = try #require(try answer.echoedField("X-Value")).unicodeScalars.map { UInt8(clamping: $0.value) }
        #expect(String(decoding: bytes, as: UTF8.self) == value)
    }

    @Test(arguments: TestServers.httpbins)
    func `many and long fields arrive`(server: TestServers) async throws {
        var headers = HTTPHeaders()
        for number in 1...60 {
            headers.append(name: "X-Field-\(number)", value: String(repeating: "v", count: number * 10))
        }
        let answer = try await server.answer("/headers", headers: headers)
        for number in 1...60 { #expect(try answer.echoedField("X-Field-\(number)")?.count == number * 10) }
    }

    static let framings: [HTTPHeaders] = [
        ["Content-Length": "3"], ["Content-Length": "100000"], ["content-length": "-1"], ["Content-Length": ""],
        ["Transfer-Encoding": "chunked"], ["transfer-encoding": "gzip, chunked"], ["Transfer-Encoding": "identity"],
        ["Content-Length": "0", "Transfer-Encoding": "chunked"],
    ]

    @Test(arguments: TestServers.httpbins, framings)
    func `framing fields of the user do not break the framing`(server: TestServers, headers: HTTPHeaders) async throws {
        let session = Session(configuration: .conformance)
        for body in [nil, Data("0123456789".utf8)] {
            let answer = try await server.answer("/anything", method: .post, headers: headers, body: body, in: session)
            #expect(answer.status == 200)
            expectSame(try answer.echoedBody(), body ?? Data())
            #expect(try answer.echoedField("Transfer-Encoding") == nil)
            if body != nil { #expect(try answer.echoedField("Content-Length") == "10") }
        }
        // Further bytes on the connection are read as another request.
        let next = try await server.answer("/get?next=1", headers: headers, in: session)
        #expect(try next.json()["args"] == ["next": "1"])
        #expect(next.metrics.isReusedConnection)
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins)
    func `connection fields do not break the exchange`(server: TestServers) async throws {
        let answer = try await server.answer(
            "/get?a=b",
            headers: [
                "Connection": "keep-alive", "Keep-Alive": "timeout=5", "TE": "trailers",
                "Upgrade-Insecure-Requests": "1",
            ])
        #expect(answer.status == 200)
        #expect(try answer.json()["args"] == ["a": "b"])
    }

    @Test(arguments: TestServers.httpbins)
    func `a Host field of the request arrives`(server: TestServers) async throws {
        let answer = try await server.answer("/get", headers: ["Host": "example.test:81"])
        #expect(try answer.echoedField("Host") == "example.test:81")
        #expect(try answer.json()["url"]?.string?.hasSuffix("://example.test:81/get") == true)
    }

    @Test(arguments: TestServers.httpbins, [HTTPMethod.get, .post])
    func `fields of the response keep order and repetition`(server: TestServers, method: HTTPMethod) async throws {
        let answer = try await server.answer(
            "/response-headers?X-One=1&X-Two=a&x-two=b%2C%20c&X-Two=a&X-Empty=&X-Latin=%C3%A9", method: method)
        let headers = answer.head.headers
        #expect(headers.values(for: "x-TWO").sorted() == ["a", "a", "b, c"])
        #expect(headers["X-One"] == "1")
        #expect(headers["X-Empty"] == "")
        #expect(headers["X-Latin"] == "é")
        #expect(headers["X-Missing"] == nil)
        let names = headers.map { $0.name.lowercased() }.filter { $0.hasPrefix("x-") }
        #expect(names.first == "x-one" && names.last == "x-latin")
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS])
    func `repeated fields of the response stay separate`(server: TestServers) async throws {
        let answer = try await server.answer("/repeated")
        #expect(answer.head.headers.values(for: "X-Repeated") == ["one", "two"])
        #expect(answer.head.headers["x-repeated"] == "one, two")
    }

    @Test(arguments: TestServers.httpbins)
    func `cookies of a response stay separate`(server: TestServers) async throws {
        let answer = try await server.answer("/response-headers?Set-Cookie=a%3D1%3B%20Path%3D/&Set-Cookie=b%3D2%2C3")
        #expect(answer.head.headers.values(for: "Set-Cookie") == ["a=1; Path=/", "b=2,3"])
    }

    @Test(arguments: TestServers.httpbins)
    func `a cacheable response has validators and can be revalidated manually`(server: TestServers) async throws {
        let cached = try await server.answer("/cache")
        let (tag, date) = (
            try #require(cached.head.headers["ETag"]), try #require(cached.head.headers["Last-Modified"])
        )
        for field in [
            HTTPHeader(name: "If-None-Match", value: tag), HTTPHeader(name: "If-Modified-Since", value: date),
        ] {
            let again = try await server.answer("/cache", headers: [field])
            #expect(again.status == 304)
            #expect(again.body.isEmpty)
        }
        #expect(try await server.answer("/cache/60").head.headers["Cache-Control"] == "public, max-age=60")
        #expect(try await server.answer("/etag/abc").head.headers["ETag"] == "abc")
        #expect(try await server.answer("/etag/abc", headers: ["If-None-Match": "\"x\", abc"]).status == 304)
        #expect(try await server.answer("/etag/abc", headers: ["If-Match": "def"]).status == 412)
    }
}
