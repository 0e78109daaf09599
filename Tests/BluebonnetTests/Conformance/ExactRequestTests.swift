import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Requests as they are on the wire, byte for byte where that matters.
@Suite(.timeLimit(.minutes(10)))
struct `Conformance of what is sent` {
    /// Sends a request to its own server, and returns the received request.
    private static func received(
        in session: Session = .conformance, _ make: (LocalServer) -> HTTPRequest
    ) async throws -> LocalServer.Request {
        let server = try await LocalServer { $0.fallback { _ in .ok } }
        _ = try await WireResponse(of: session.request(make(server)))
        let request = try await server.nextRequest()
        await server.stop()
        return request
    }

    @Test(
        arguments: [
            "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE", "get", "X!#$%&'*+-.^_`|~9",
        ])
    func `a method is sent unchanged`(name: String) async throws {
        let method = HTTPMethod(rawValue: name)
        let request = try await Self.received { HTTPRequest(url: $0.url("/a"), method: method) }
        #expect(request.method == method)
        #expect(request.target == "/a")
        #expect(request.httpVersion == .http1_1)
    }

    @Test func `fields are sent in order, with their case and repetitions, before the session's`() async throws {
        let request = try await Self.received {
            HTTPRequest(
                url: $0.url("/"), method: .post,
                headers: [
                    HTTPHeader(name: "Z-Last", value: "1"), HTTPHeader(name: "x-repeated", value: "one"),
                    HTTPHeader(name: "A-First", value: "2"), HTTPHeader(name: "X-Repeated", value: "two"),
                    HTTPHeader(name: "X-Empty", value: ""), HTTPHeader(name: "Content-Type", value: "a/b"),
                ], body: .data(Data("x".utf8)))
        }
        let names = request.headers.map(\.name)
        let own = ["Z-Last", "x-repeated", "A-First", "X-Repeated", "X-Empty", "Content-Type"]
        #expect(names.filter { own.contains($0) } == own)
        #expect(request.headers.values(for: "X-Repeated") == ["one", "two"])
        #expect(request.headers.values(for: "X-Empty") == [""])
        for name in ["Host", "Accept", "Accept-Encoding", "User-Agent", "Accept-Language", "Content-Length"] {
            #expect(request.headers.values(for: name).count == 1)
        }
        #expect(request.headers.count == own.count + 6)
    }

    @Test(
        arguments: [
            ("/", "/"), ("", "/"), ("?a=1", "/?a=1"), ("/a#b", "/a"), ("/a?#b", "/a?"), ("/a//b///", "/a//b///"),
            ("/./a/../b/%2e%2e/c", "/c"), ("/%7Euser/%c3%bc", "/%7Euser/%c3%bc"),
            ("/a;b=c/d,e:f@g!$&'()*+", "/a;b=c/d,e:f@g!$&'()*+"), ("/?q=a+b&c=%20;/?:@", "/?q=a+b&c=%20;/?:@"),
            ("/ü?ü=日", "/%C3%BC?%C3%BC=%E6%97%A5"), ("/a b", "/a%20b"),
        ])
    func `the path and the query of the URL are sent unchanged`(path: String, target: String) async throws {
        let server = try await LocalServer { $0.fallback { _ in .ok } }
        let text = "http://127.0.0.1:\(server.port)\(path)"
        let answer = try await WireResponse(of: Session.conformance.request(text))
        #expect(answer.status == 200)
        #expect(try await server.nextRequest().target == target)
        await server.stop()
    }

    @Test(arguments: [HTTPMethod.get, .head, .delete, .options, .trace])
    func `a request without a body has no field about a body`(method: HTTPMethod) async throws {
        let request = try await Self.received { HTTPRequest(url: $0.url, method: method) }
        for name in ["Content-Length", "Transfer-Encoding", "Content-Type", "Expect"] {
            #expect(!request.headers.contains(name))
        }
        #expect(request.bodyLength == 0)
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch])
    func `a method that anticipates a body is sent with a length of 0`(method: HTTPMethod) async throws {
        for body in [nil, RequestBody.data(Data())] {
            let request = try await Self.received { HTTPRequest(url: $0.url, method: method, body: body) }
            #expect(request.headers.values(for: "Content-Length") == ["0"])
            #expect(!request.headers.contains("Transfer-Encoding"))
            #expect(!request.headers.contains("Content-Type"))
        }
    }

    @Test(arguments: [0, 1, 1 << 20, 1 << 20 + 1, 5 << 20])
    func `a body is sent with its length and no other framing`(size: Int) async throws {
        let body = Data.pattern(count: size)
        let request = try await Self.received { HTTPRequest(url: $0.url, method: .put, body: .data(body)) }
        #expect(request.headers.values(for: "Content-Length") == ["\(size)"])
        #expect(!request.headers.contains("Transfer-Encoding"))
        #expect(!request.headers.contains("Content-Type"))
        #expect(request.bodyLength == size)
        expectSame(request.body, body.prefix(1 << 20))
    }

    @Test(
        arguments: [
            ["Content-Length": "3"], ["Transfer-Encoding": "chunked"],
            ["content-length": "7", "transfer-encoding": "x"],
        ] as [HTTPHeaders], [true, false])
    func `framing fields of the user are left out`(headers: HTTPHeaders, isSession: Bool) async throws {
        var configuration = Session.Configuration.conformance
        if isSession { for field in headers { configuration.headers.append(field) } }
        let session = Session(configuration: configuration)
        let request = try await Self.received(in: session) {
            HTTPRequest(
                url: $0.url, method: .post, headers: isSession ? [:] : headers, body: .data(Data("0123456789".utf8)))
        }
        #expect(request.headers.values(for: "Content-Length") == ["10"])
        #expect(!request.headers.contains("Transfer-Encoding"))
        #expect(request.text == "0123456789")
        await session.shutdown()
    }

    @Test(arguments: ["é", "naïve – 日本語 🌼", "\u{80}\u{ff}"])
    func `a value beyond ASCII is sent and received as UTF-8`(value: String) async throws {
        let server = try await LocalServer {
            $0.get("/") { .status(200, headers: ["X-Back": $0.headers["X-Value"] ?? "none"]) }
        }
        let request = HTTPRequest(url: server.url("/"), headers: [HTTPHeader(name: "X-Value", value: value)])
        #expect(try await WireResponse(of: Session.conformance.request(request)).head.headers["X-Back"] == value)
        #expect(try await server.nextRequest().headers["X-Value"] == value)
        await server.stop()
    }

    @Test func `a value that is not UTF-8 is read as ISO-8859-1`() async throws {
        let head = Array("HTTP/1.1 200 OK\r\nX-Value: caf".utf8) + [0xe9, 0x20, 0xff]
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes(head), .text("\r\nX-Folded: one\r\n  two\r\nContent-Length: 2\r\n\r\nok"))
        let answer = try await WireResponse(of: Session.conformance.request(server.url))
        #expect(answer.head.headers["X-Value"] == "café ÿ")
        #expect(answer.head.headers["X-Folded"] == "one two")
        #expect(answer.text == "ok")
        await server.stop()
    }

    @Test(arguments: ["X-Value: a\r\nX-Injected: b", "a\nb", "a\rb", "a\0b"])
    func `a value with a line break is refused before anything is sent`(value: String) async throws {
        let server = try await LocalServer { $0.fallback { _ in .ok } }
        let request = HTTPRequest(url: server.url, headers: [HTTPHeader(name: "X-Value", value: value)])
        let response = await Session.conformance.request(request).serializingData().response
        #expect(response.error?.kind == .invalidRequest(.fieldValue(name: "X-Value")))
        #expect(server.connectionCount == 0)
        await server.stop()
    }

    @Test func `trailers and informational responses are not treated as the head`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest,
            .text("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
            .text("HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"),
            .text("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n"))
        let answer = try await WireResponse(of: Session.conformance.request(server.url))
        #expect(answer.status == 200)
        #expect(answer.head.reasonPhrase == "Fine")
        #expect(answer.text == "abcde")
        #expect(answer.head.headers["Link"] == nil)
        #expect(answer.head.headers["X-Sum"] == nil)
        await server.stop()
    }

    @Test func `HTTP/1.0 and a body that ends with the connection are supported`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .text("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end"), .close)
        let answer = try await WireResponse(of: Session.conformance.request(server.url))
        #expect(answer.head.httpVersion == .http1_0)
        #expect(answer.text == "until the end")
        await server.stop()
    }
}
