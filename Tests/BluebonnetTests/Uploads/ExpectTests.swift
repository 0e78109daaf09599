import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// `Expect: 100-continue` (RFC 9110 §10.1.1).
@Suite(.timeLimit(.minutes(10))) struct ExpectTests {
    private static let limit = 1 << 20

    @Test(arguments: BodyForm.allCases, [1, limit, limit + 1])
    func `Expect is sent for large bodies and for bodies of unknown length`(form: BodyForm, size: Int) async throws {
        let server = try await LocalServer { $0.fallback(.text("done")) }
        let directory = try TestDirectory()
        let session = TestHarness.session()
        let body = try form.body(size, in: directory)
        #expect(try await session.upload(body, to: server.url("/a")).serializingString().value == "done")
        let request = try await server.nextRequest()
        #expect(request.bodyLength == form.sent(size).count)
        let isExpecting = !form.isMeasured || form.sent(size).count > Self.limit
        #expect(request.headers["Expect"] == (isExpecting ? "100-continue" : nil))
        try await TestHarness.end(session, server)
    }

    @Test func `Expect is not sent over HTTP 2`() async throws {
        let session = try TestHarness.trustingSession()
        let json = try await session.upload(
            .stream(Pieces(30, of: 100_000)), to: try TestServers.httpbinHTTP2.url("/anything")
        ).validate().serializingJSON().value
        #expect(json["headers"]?["Host"] != nil)
        #expect(json["headers"]?["Expect"] == nil)
        await session.shutdown()
    }

    @Test func `Expect is not sent without a time to wait`() async throws {
        let server = try await LocalServer { $0.fallback(.text("done")) }
        let session = TestHarness.session { $0.continueTimeout = nil }
        for body in [RequestBody.stream(Pieces(3, of: 10)), .data(Data(count: 2 << 20))] {
            #expect(try await session.upload(body, to: server.url("/a")).serializingString().value == "done")
            #expect(try await server.nextRequest().headers["Expect"] == nil)
        }
        try await TestHarness.end(session, server)
    }

    @Test func `the body waits for the 100`() async throws {
        let pieces = Pieces(3, of: 10)
        let server = try await LocalServer { router in
            router.streaming("/a", continue: .whenRead) { _, body in
                #expect(pieces.record.begun == 0)
                return .text("\(try await body.discard())")
            }
        }
        let session = TestHarness.session { $0.continueTimeout = .seconds(50) }
        let answer = await session.upload(pieces, to: server.url("/a")).serializingString().response
        #expect(answer.value == "30", "\(answer)")
        #expect(answer.response?.statusCode == 200)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: BodyForm.allCases)
    func `the body is sent if no 100 arrives within the set time`(form: BodyForm) async throws {
        let server = try await LocalServer { router in
            router.streaming("/a", continue: .never) { _, body in .text("\(try await body.discard())") }
        }
        let directory = try TestDirectory()
        let session = TestHarness.session { $0.continueTimeout = .milliseconds(10) }
        let body = try form.body(Self.limit + 1000, in: directory)
        let answer = await session.upload(body, to: server.url("/a")).serializingString().response
        #expect(answer.value == "\(form.sent(Self.limit + 1000).count)", "\(answer)")
        #expect(try await server.nextRequest().headers["Expect"] == "100-continue")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [413, 401, 500])
    func `a final response instead of the 100 leaves the body unread`(status: Int) async throws {
        let server = try await LocalServer { router in
            router.streaming("/a", continue: .never) { _, _ in .text("no", status: status) }
            router.put("/b", .text("done"))
        }
        let session = TestHarness.session { $0.continueTimeout = .seconds(50) }
        let pieces = Pieces(3, of: 10)
        let body = RequestBody.stream(pieces)
        let refused = await session.upload(body, to: server.url("/a")).serializingString().response
        #expect(refused.response?.statusCode == status)
        #expect(refused.value == "no")
        #expect(pieces.record.begun == 0)
        #expect(try await server.nextRequest().bodyLength == 0)
        // The sequence was not read, so it can be sent after all.
        let sent = await session.upload(body, to: server.url("/b"), method: .put).serializingString().response
        #expect(sent.value == "done", "\(sent)")
        #expect(try await server.nextRequest().body == Pieces.bytes(30))
        #expect(pieces.record.begun == 1)
        try await TestHarness.end(session, server)
    }

    /// Libcurl would send the field up to its limit of requests.
    @Test(arguments: ["request", "session", "adapter"])
    func `an Expect field of the user is left out after a 417`(owner: String) async throws {
        let server = try await LocalServer { router in
            router.streaming("/b", continue: .never) { request, body in
                guard request.headers["Expect"] != nil else { return .text("\(try await body.discard())") }
                return .status(417)
            }
        }
        let session = TestHarness.session {
            if owner == "session" { $0.headers.append(name: "Expect", value: "100-continue") }
        }
        let adapter = Adapter { request, _ in
            var request = request
            if owner == "adapter" { request.headers.append(name: "expect", value: "100-continue") }
            return request
        }
        for count in [10, Self.limit + 1000] {
            let fields: HTTPHeaders = owner == "request" ? ["expect": "100-continue"] : [:]
            let request = session.upload(
                Data(count: count), to: server.url("/b"), headers: fields, interceptor: Interceptor(adapters: [adapter])
            )
            let response = await request.serializingString().response
            #expect(response.value == "\(count)", "\(response)")
        }
        #expect(server.requests.map { $0.headers["Expect"] != nil } == [true, false, true, false])
        try await TestHarness.end(session, server)
    }

    /// What a server does after a 417.
    enum Continuation: CaseIterable, Sendable {
        case serves, closes, announcesEnd
        /// The server answers with HTTP/1.0, and closes the connection.
        case isOld
    }

    /// Libcurl does not send the request again if the connection ends with the 417.
    @Test(arguments: BodyForm.allCases, Continuation.allCases)
    func `the request is sent again without Expect after a 417`(form: BodyForm, then: Continuation) async throws {
        let field = then == .announcesEnd ? "Connection: close\r\n" : ""
        let answer = "HTTP/1.\(then == .isOld ? 0 : 1) 417 Expectation Failed\r\n\(field)Content-Length: 0\r\n\r\n"
        let end: [LocalServer.Script.Step] = then == .serves ? [.serve] : []
        let server = try await LocalServer { router in
            router.streaming("/b", continue: .never) { request, body in
                guard request.headers["Expect"] != nil else { return .text("\(try await body.discard())") }
                return .script(LocalServer.Script([.bytes(answer)] + end))
            }
        }
        let directory = try TestDirectory()
        let session = TestHarness.session { $0.continueTimeout = .seconds(50) }
        for method in [HTTPMethod.put, .post] {
            let body = try form.body(Self.limit + 1000, in: directory)
            let response = await session.upload(body, to: server.url("/b"), method: method).serializingString().response
            #expect(response.value == "\(form.sent(Self.limit + 1000).count)", "\(response)")
            #expect(response.response?.statusCode == 200)
            #expect(response.metrics != nil)
            #expect(server.requests.last?.headers["Expect"] == nil)
        }
        #expect(server.requestCount == 4)
        await session.shutdown()
    }

    @Test func `a 417 after a part of a body that can be read once is an error`() async throws {
        let answer = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"
        let server = try await LocalServer.scripted(.waitForBytes(1000), .bytes(answer), .waitForClose)
        for own in [true, false] {
            let session = TestHarness.session { $0.continueTimeout = .milliseconds(1) }
            let fields: HTTPHeaders = own ? ["Expect": "100-continue"] : [:]
            let body = RequestBody.stream(Pieces(4000, of: 1000))
            let error = await session.upload(body, to: server.url("/"), headers: fields).serializingString()
                .response.error
            #expect(error?.kind == .requestBody(.notReplayable), "\(String(describing: error))")
            await session.shutdown()
        }
        #expect(server.connectionCount == 2)
        await server.stop()
    }

    /// A program behind the server has chosen the status code, and has perhaps processed the request.
    @Test(arguments: BodyForm.allCases)
    func `a 417 after the whole body of a POST is the response`(form: BodyForm) async throws {
        let directory = try TestDirectory()
        let body = try form.body(Self.limit + 1000, in: directory)
        let server = try await LocalServer { router in
            router.streaming("/b", continue: .whenRead) { _, body in
                _ = try await body.discard()
                return .text("no", status: 417)
            }
        }
        let session = TestHarness.session { $0.continueTimeout = .seconds(50) }
        let response = await session.upload(body, to: server.url("/b")).serializingString().response
        #expect(response.value == "no", "\(response)")
        #expect(server.requestCount == 1)
        await session.shutdown()
        await server.stop()
    }

    /// The response to an earlier sending is not that of the failed one.
    @Test(arguments: [417, 421])
    func `an error after a second sending has no status of the first`(status: Int) async throws {
        let server = try await LocalServer(script: { connection in
            connection == 1
                ? [.waitForHead, .bytes("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n"), .waitForClose]
                : [.waitForRequest, .close]
        }) { $0.fallback(.text("done")) }
        let session = TestHarness.session()
        let request = session.request(server.url("/"), method: .post, headers: ["Expect": "100-continue"]) {
            $0.body = .data(Data(count: 5))
        }
        let error = await request.serializingString().response.error
        #expect(error?.kind == .connection(.lost), "\(String(describing: error))")
        #expect(error?.statusCode == nil, "\(String(describing: error))")
        #expect(server.connectionCount == 2)
        try await TestHarness.end(session, server)
    }

    @Test func `a 417 to a request without Expect is the response`() async throws {
        let server = try await LocalServer { $0.fallback(.text("no", status: 417)) }
        let session = TestHarness.session()
        for body in [nil, RequestBody.data(Data(count: 10)), .data(Data(count: Self.limit))] {
            let response = await session.request(server.url("/"), method: .post) { $0.body = body }
                .serializingString().response
            #expect(response.value == "no", "\(response)")
            #expect(response.response?.statusCode == 417)
        }
        #expect(server.requestCount == 3)
        try await TestHarness.end(session, server)
    }
}
