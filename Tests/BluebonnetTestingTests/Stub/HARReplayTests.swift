import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

@testable import BluebonnetTesting

/// Recordings of a `HARRecorder`, replayed without a network.
@Suite(.timeLimit(.minutes(10))) struct HARReplayTests {
    private struct User: Codable, Sendable {
        var name: String
        var age = 1
    }

    /// What the code under test receives.
    private struct Received: Equatable, Sendable {
        var status: Int?
        var headers: HTTPHeaders?
        var body: Data?
        var url: URL?
        var history: [Int] = []
        var version: HTTPVersion?

        init(_ response: HTTPResponse?, _ body: Data?) {
            (status, headers, self.body) = (response?.statusCode, response?.headers, body)
            (url, version) = (response?.url, response?.httpVersion)
            history = response?.history.map(\.statusCode) ?? []
        }
    }

    private static func server() async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/fields") { _ in
                let headers: HTTPHeaders = [
                    "X-A": "1", "x-a": "2", "ETag": "\"e\"", "Set-Cookie": "id=7; Path=/", "X-Empty": "",
                ]
                return .text("größe\r\n", headers: headers)
            }
            router.get("/binary", .data(Data((0...255).map { UInt8($0) }), contentType: "image/png"))
            router.post("/echo") { request in .data(request.body, contentType: "application/json", status: 201) }
            router.get("/from", .redirect(to: "/via?page=2&token=s3cret"))
            router.get("/via") { request in
                request.query["token"] == "s3cret" ? .redirect(to: "/fields", status: 307) : .status(403)
            }
            router.get("/page") { request in .text("page \(request.query.text)") }
            router.get("/count") { request in .text("\(request.sequence)") }
            router.get("/lines") { _ in
                .stream { writer in for number in 1...3 { try await writer.write("line \(number)\n") } }
            }
            router.get("/events") { _ in
                .stream(headers: ["Content-Type": "text/event-stream"]) { writer in
                    try await writer.write("id: 1\ndata: {\"a\": 1}\n\n")
                    try await writer.write("id: 2\ndata: two\n\n")
                }
            }
        }
    }

    /// Makes all requests in order.
    private static func exchange(_ session: Session, _ server: LocalServer) async throws -> [Received] {
        var received: [Received] = []
        let pages = ["/page?number=1", "/page?number=2", "/count", "/count", "/nothing"]
        for path in ["/fields", "/binary", "/from"] + pages {
            let response = await session.request(server.url(path)).serializingData().response
            received.append(Received(response.response, response.value))
        }
        let posted = await session.request(
            server.url("/echo"), method: .post, parameters: User(name: "Ada"), encoder: .json
        ).serializingData().response
        received.append(Received(posted.response, posted.value))
        let stream = session.streamRequest(server.url("/lines"))
        var lines: [String] = []
        for try await line in stream.streamTask().lines { lines.append(line) }
        received.append(Received(stream.response, Data(lines.joined(separator: "|").utf8)))
        var events: [String] = []
        for try await event in session.eventSource(server.url("/events")) {
            events.append("\(event.id) \(event.data)")
            if event.id == "2" { break }
        }
        received.append(Received(nil, Data(events.joined(separator: "|").utf8)))
        return received
    }

    // MARK: Round trips

    @Test(arguments: [StubTransport.Matching.strict, .lenient], [true, false])
    func `responses on the wire are replayed without a network`(
        _ matching: StubTransport.Matching, includingSecrets: Bool
    ) async throws {
        let server = try await Self.server()
        let recorder = HARRecorder(includingSecrets: includingSecrets)
        let recording = Session(transport: recorder)
        var original = try await Self.exchange(recording, server)
        #expect(original.map(\.status) == [200, 200, 200, 200, 200, 200, 200, 404, 201, 200, nil])
        #expect(original[2].history == [302, 307])
        #expect(try await recording.cookies.all().map(\.name) == ["id"])
        await recording.shutdown()
        await server.stop()

        let transport = try StubTransport(har: recorder.har(), matching: matching)
        let replaying = Session(transport: transport)
        var replayed = try await Self.exchange(replaying, server)
        let cookies = try await replaying.cookies.all()
        #expect(cookies.map(\.value) == (includingSecrets ? ["7"] : []))
        if !includingSecrets {
            // The values of these fields and of these queries are not in the recording.
            for index in original.indices {
                original[index].headers?.remove(name: "Set-Cookie")
                replayed[index].headers?.remove(name: "Set-Cookie")
            }
        }
        #expect(replayed == original)
        await replaying.shutdown()
    }

    @Test func `a recording is replayed from a file`() async throws {
        let recorder = HARRecorder(StubTransport { _ in .text("a") })
        let recording = Session(transport: recorder)
        _ = await recording.request("https://stub.test/a").serializingData().response
        await recording.shutdown()
        let file = FileManager.default.temporaryDirectory.appending(path: "replay-\(UInt64.random(in: 0 ... .max)).har")
        try await recorder.save(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let session = Session(transport: try StubTransport(har: file))
        #expect(try await session.request("https://stub.test/a").serializingString().value == "a")
        await session.shutdown()
    }

    @Test func `a failure is replayed as a lost connection, and the retry succeeds again`() async throws {
        let inner = StubTransport()
        inner.stub(.get, "/a", .failure(RequestError(.timedOut(.idle))), .text("second"))
        let recorder = HARRecorder(inner)
        let policy = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0.001)
        let recording = Session(interceptor: policy, transport: recorder)
        #expect(try await recording.request("https://stub.test/a").serializingString().value == "second")
        await recording.shutdown()
        let session = Session(interceptor: policy, transport: try StubTransport(har: recorder.har()))
        let request = session.request("https://stub.test/a")
        #expect(try await request.serializingString().value == "second")
        #expect(request.retryCount == 1)
        await session.shutdown()
    }

    // MARK: Matching

    /// A recording by another program, with the least that it must contain.
    private static func har(_ entries: String...) -> Data {
        Data(#"{"log":{"entries":[\#(entries.joined(separator: ","))]}}"#.utf8)
    }

    private static func entry(
        _ url: String, _ text: String = "", method: String = "GET", post: String? = nil
    ) -> String {
        let post = post.map { #","postData":\#($0)"# } ?? ""
        return #"{"request":{"method":"\#(method)","url":"\#(url)"\#(post)},"#
            + #""response":{"status":200,"headers":[],"content":{"text":"\#(text)"}}}"#
    }

    private static func answer(
        _ transport: StubTransport, _ url: String, _ body: String? = nil, method: HTTPMethod = .get
    ) async throws -> String {
        let url = try #require(URL(string: url))
        let observer = RecordingObserver()
        let request = HTTPRequest(url: url, method: method, body: body.map { .data(Data($0.utf8)) })
        _ = transport.start(request, options: ExchangeOptions(), observer: observer)
        let outcome = try await observer.outcome
        if let error = outcome.error { return error.detail ?? "\(error)" }
        return String(decoding: outcome.body, as: UTF8.self)
    }

    @Test func `strict matching replays each exchange once, in the order of equal requests`() async throws {
        let form = #"{"mimeType":"application/x-www-form-urlencoded","text":"a=1&password=<redacted>"}"#
        let transport = try StubTransport(
            har: Self.har(
                Self.entry("https://stub.test/a?x=1", "one"), Self.entry("https://stub.test/a?x=2", "two"),
                Self.entry("https://stub.test/a?x=1", "three"),
                Self.entry("https://stub.test/b?token=%3Credacted%3E", "four"),
                Self.entry("https://stub.test/c", "five", method: "POST", post: #"{"text":"{\"a\":1,\"b\":2}"}"#),
                Self.entry("https://stub.test/c", "six", method: "POST", post: form),
                Self.entry("https://stub.test/c", "seven", method: "POST", post: #"{"mimeType":"a/b"}"#),
                Self.entry("https://stub.test/d", "eight", method: "POST")))
        #expect(try await Self.answer(transport, "https://stub.test/a?x=2") == "two")
        #expect(try await Self.answer(transport, "https://stub.test/a?x=1#f") == "one")
        #expect(try await Self.answer(transport, "https://stub.test/a?x=1") == "three")
        let used = try await Self.answer(transport, "https://stub.test/a?x=1")
        #expect(used == "all recorded responses were already replayed")
        #expect(try await Self.answer(transport, "https://me:pw@stub.test/b?token=anything") == "four")
        #expect(try await Self.answer(transport, "https://stub.test/c", "a=1&password=s3cret", method: .post) == "six")
        #expect(try await Self.answer(transport, "https://stub.test/c", #"{"b": 2, "a": 1}"#, method: .post) == "five")
        #expect(try await Self.answer(transport, "https://stub.test/c", "not recorded", method: .post) == "seven")
        #expect(try await Self.answer(transport, "https://stub.test/d", method: .post) == "eight")
    }

    @Test func `lenient matching ignores the host, the query and the body, and repeats the last response`() async throws
    {
        let transport = try StubTransport(
            har: Self.har(
                Self.entry("https://stub.test/a?x=1", "one"), Self.entry("https://stub.test/a", "post", method: "POST"),
                Self.entry("https://stub.test/a?x=2", "two")),
            matching: .lenient)
        for expected in ["one", "two", "two"] {
            #expect(try await Self.answer(transport, "http://127.0.0.1:8080/a?y=3") == expected)
        }
        #expect(try await Self.answer(transport, "https://stub.test/a", "any", method: .post) == "post")
        let other = try await Self.answer(transport, "https://stub.test/b")
        #expect(other.hasPrefix("not recorded"))
    }

    @Test func `a stub takes precedence over the recording`() async throws {
        let transport = try StubTransport(har: Self.har(Self.entry("https://stub.test/a", "recorded")))
        transport.stub(.get, "/b", .text("stub"))
        #expect(try await Self.answer(transport, "https://stub.test/b") == "stub")
        #expect(try await Self.answer(transport, "https://stub.test/a") == "recorded")
    }

    /// Requests, and the nearest recorded request with the differences.
    @Test(arguments: [
        (
            "GET", "https://stub.test/users?token=other",
            "POST https://stub.test/users?token=<redacted>, with another method and another query and another body"
        ),
        ("POST", "https://stub.test/users?page=1", "another query and another body"),
        ("GET", "https://stub.test/items/8", "GET https://stub.test/items/7, with another URL"),
        ("PUT", "https://stub.test/items/7", "GET https://stub.test/items/7, with another method"),
    ])
    func `a request that was not recorded fails, and the error shows the nearest`(
        _ method: String, _ url: String, _ nearest: String
    ) async throws {
        let transport = try StubTransport(
            har: Self.har(
                Self.entry("https://other.test/", ""), Self.entry("https://stub.test/items/7", ""),
                Self.entry("https://stub.test/users?token=s3cret", "", method: "POST", post: #"{"text":"a"}"#)))
        let session = Session(transport: transport)
        let error = await session.request(url, method: HTTPMethod(rawValue: method)).serializingData().response.error
        #expect(error?.kind == .connection(.refused))
        #expect(error?.detail?.contains(nearest) == true, "\(error?.detail ?? "")")
        #expect(error.map { "\($0)".contains("s3cret") } == false)
        await session.shutdown()
    }

    @Test func `an empty recording has an error of its own`() async throws {
        let answer = try await Self.answer(try StubTransport(har: Self.har()), "https://stub.test/")
        #expect(answer == "the recording is empty")
    }

    // MARK: Recordings of other programs

    @Test func `pseudo-fields are left out, joined fields are separated, and the length is that of the body`()
        async throws
    {
        let headers = [
            #"{"name":":status","value":"200"}"#, #"{"name":"set-cookie","value":"a=1\nb=2"}"#,
            #"{"name":"Content-Length","value":"999"}"#,
        ]
        let data = Data(
            (#"{"log":{"entries":[{"request":{"method":"GET","url":"https://stub.test/","postData":null},"#
                + #""response":{"status":200,"httpVersion":"h2","headers":[\#(headers.joined(separator: ","))],"#
                + #""content":{"text":"YWJj","encoding":"base64"}}}]}}"#).utf8)
        let session = Session(transport: try StubTransport(har: data))
        let response = await session.request("https://stub.test/").serializingString().response
        #expect(response.value == "abc")
        #expect(response.response?.httpVersion == .http2)
        #expect(response.response?.headers == ["set-cookie": "a=1", "set-cookie": "b=2", "Content-Length": "3"])
        await session.shutdown()
    }

    @Test(arguments: [
        ("{", "not a HAR"), (#"{"log":{}}"#, "log.entries is not an array"),
        (#"{"log":{"entries":[{}]}}"#, "log.entries[0] has an invalid"),
        (
            #"{"log":{"entries":[{"request":{"method":"GET","url":"/"},"response":{"status":"200"}}]}}"#,
            "log.entries[0]"
        ),
        (
            #"{"log":{"entries":[{"request":{"method":"GET","url":"/"},"response":{"status":200,"headers":[{}]}}]}}"#,
            "log.entries[0]"
        ),
        (
            #"{"log":{"entries":[{"request":{"method":"GET","url":"/"},"response":{"status":200,"headers":[],"#
                + #""content":{"text":"%","encoding":"base64"}}}]}}"#,
            "log.entries[0]"
        ),
    ])
    func `a malformed recording throws an error that names the place`(_ text: String, _ reason: String) throws {
        let error = #expect(throws: RequestError.self) { try StubTransport(har: Data(text.utf8)) }
        #expect(error.map { "\($0)" }?.contains("not a HAR") == true)
        #expect(error.map { "\($0)" }?.contains(reason) == true)
    }

    @Test func `a missing file throws an error with its path`() throws {
        let error = #expect(throws: RequestError.self) { try StubTransport(har: URL(filePath: "/nowhere/a.har")) }
        #expect(error.map { "\($0)" }?.contains("/nowhere/a.har") == true)
    }

    // MARK: Another reader

    /// Whether the Python of `Tests/run` has haralyzer.
    private static func hasHaralyzer() async throws -> Bool {
        guard let python = ProcessInfo.processInfo.environment["BLUEBONNET_PYTHON"] else { return false }
        return try await Subprocess.run(python, ["-c", "import haralyzer"]).code == 0
    }

    private struct Read: Decodable, Equatable {
        var method = "GET"
        var url: String
        var status = 200
        var text: String
        var contentType: String?
        var redirect = ""
        var hasTime = true
        var port: Int
        var address = "127.0.0.1"
    }

    @Test(.enabled("haralyzer is installed") { try await hasHaralyzer() })
    func `haralyzer reads a recording`() async throws {
        let server = try await LocalServer { router in
            router.get("/from", .redirect(to: "/to"))
            router.get("/to", .text("größe"))
        }
        let recorder = HARRecorder()
        let session = Session(transport: recorder)
        _ = await session.request(server.url("/from")).serializingData().response
        await session.shutdown()
        let file = FileManager.default.temporaryDirectory.appending(path: "read-\(UInt64.random(in: 0 ... .max)).har")
        try await recorder.save(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = try await Python.run("har/read.py", [file.path(percentEncoded: false)])
        let entries = try JSONDecoder().decode([Read].self, from: output)
        try #require(entries.count == 2)
        let expected = [
            Read(
                url: server.url("/from").absoluteString, status: 302, text: "", redirect: "/to",
                port: entries[0].port),
            Read(
                url: server.url("/to").absoluteString, text: "größe", contentType: "text/plain; charset=utf-8",
                port: entries[1].port),
        ]
        #expect(entries == expected)
    }
}
