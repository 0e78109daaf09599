import BluebonnetTesting
import FoundationEssentials
import Glibc
import Testing

@testable import Bluebonnet

/// The archives of `HARRecorder`, by the specification of HAR 1.2.
@Suite(.timeLimit(.minutes(10))) struct HARRecorderTests {
    private static func entries(of recorder: HARRecorder) throws -> [JSONValue] {
        let archive = try JSONValue(parsing: recorder.har())
        #expect(archive["log"]?["version"] == "1.2")
        #expect(archive["log"]?["creator"]?["name"] == "Bluebonnet")
        #expect(archive["log"]?["creator"]?["version"]?.string?.isEmpty == false)
        return try #require(archive["log"]?["entries"]?.array)
    }

    private static func values(_ list: JSONValue?, _ name: String) -> [String?] {
        (list?.array ?? []).filter { $0["name"]?.string == name }.map { $0["value"]?.string }
    }

    // MARK: Fields

    @Test func `an entry has the members of the specification`() async throws {
        let server = try await LocalServer { router in
            router.post("/users") { _ in
                .json(["id": 7], status: 201, headers: ["Set-Cookie": "a=1; Path=/; HttpOnly", "X-A": "b"])
            }
        }
        var configuration = Session.Configuration()
        configuration.headers.update(name: "X-Default", value: "d")
        let recorder = HARRecorder(configuration: configuration, includingSecrets: true)
        let session = Session(configuration: configuration, transport: recorder)
        var request = HTTPRequest(url: server.url("/users?page=2&q=a%20b"), method: .post)
        request.headers = ["Content-Type": "application/json", "Cookie": "c=3; d=4"]
        request.body = .data(Data(#"{"name":"Ada"}"#.utf8))
        _ = try await session.request(request).serializingData().value
        await session.shutdown()

        let entries = try Self.entries(of: recorder)
        try #require(entries.count == 1)
        let entry = entries[0]
        #expect(entry["pageref"] == nil)
        #expect(entry["startedDateTime"]?.string?.hasSuffix("Z") == true)
        #expect(entry["cache"] == [:])
        #expect(entry["serverIPAddress"] == "127.0.0.1")
        #expect(entry["connection"]?.string.flatMap { Int($0) } != nil)
        let sent = try #require(entry["request"])
        #expect(sent["method"] == "POST")
        #expect(sent["url"]?.string == server.url("/users?page=2&q=a%20b").absoluteString)
        #expect(sent["httpVersion"] == "HTTP/1.1")
        #expect(sent["headersSize"] == -1)
        #expect(sent["bodySize"] == 14)
        #expect(Self.values(sent["headers"], "X-Default") == ["d"])
        #expect(Self.values(sent["queryString"], "page") == ["2"])
        #expect(Self.values(sent["queryString"], "q") == ["a b"])
        #expect(Self.values(sent["cookies"], "d") == ["4"])
        #expect(sent["postData"]?["mimeType"] == "application/json")
        #expect(sent["postData"]?["text"] == #"{"name":"Ada"}"#)
        let received = try #require(entry["response"])
        #expect(received["status"] == 201)
        #expect(received["statusText"] == "Created")
        #expect(received["httpVersion"] == "HTTP/1.1")
        #expect(Self.values(received["headers"], "X-A") == ["b"])
        #expect(received["redirectURL"] == "")
        #expect(received["headersSize"] == -1)
        #expect(received["bodySize"] == 8)
        #expect(received["content"] == ["size": 8, "mimeType": "application/json", "text": #"{"id":7}"#])
        let cookie = try #require(received["cookies"]?[0])
        #expect(cookie["name"] == "a" && cookie["value"] == "1" && cookie["path"] == "/")
        #expect(cookie["httpOnly"] == true && cookie["secure"] == false)
        let phases = try #require(entry["timings"]?.object)
        #expect(Set(phases.keys) == ["blocked", "dns", "connect", "ssl", "send", "wait", "receive"])
        #expect(phases["ssl"]?.double == -1)
        let sum = phases.filter { $0.key != "ssl" }.reduce(0) { $0 + max(0, $1.value.double ?? 0) }
        #expect(abs((entry["time"]?.double ?? -1) - sum) < 0.001)
    }

    @Test func `each redirect and each retry is an entry, and a failure has a reason`() async throws {
        let server = try await LocalServer { router in
            router.get("/from", .redirect(to: "/to?x=1"))
            router.get("/to") { request in request.sequence == 2 ? .status(503) : .text("there") }
            router.get("/torn", .script(.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .close))
        }
        let recorder = HARRecorder()
        let session = Session(
            interceptor: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0.001), transport: recorder)
        let text = try await session.request(server.url("/from")).validate().serializingString().value
        #expect(text == "there")
        _ = await session.request(server.url("/torn")).serializingData().response
        await session.shutdown()

        let entries = try Self.entries(of: recorder)
        let statuses = entries.prefix(4).map { $0["response"]?["status"]?.int }
        #expect(statuses == [302, 503, 302, 200])
        #expect(entries[0]["response"]?["redirectURL"] == "/to?x=<redacted>")
        #expect(entries[1]["request"]?["url"]?.string == server.url("/to?x=1").absoluteString)
        #expect(entries.last?["response"]?["_error"]?.string?.isEmpty == false)
        #expect(entries.first?["response"]?["_error"] == nil)
    }

    @Test func `stored cookies are recorded with the request`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .text("a", headers: ["Set-Cookie": "id=s3cret"]))
        }
        let recorder = HARRecorder()
        let session = Session(transport: recorder)
        for _ in 1...2 { _ = try await session.request(server.url("/a")).serializingData().value }
        await session.shutdown()
        let entries = try Self.entries(of: recorder)
        #expect(entries[0]["request"]?["cookies"] == [])
        #expect(entries[1]["request"]?["cookies"] == [["name": "id", "value": "<redacted>"]])
        #expect(!String(decoding: recorder.har(), as: UTF8.self).contains("s3cret"))
    }

    // MARK: Timings

    /// Times since the start in milliseconds, and the phases.
    private static let timings: [([String: Int], [String: Double])] = [
        (
            ["queue": 5, "name": 10, "connect": 30, "tls": 70, "start": 71, "first": 100, "total": 120],
            ["blocked": 6, "dns": 10, "connect": 60, "ssl": 40, "send": 0, "wait": 29, "receive": 20]
        ),
        (
            ["name": 1, "connect": 3, "start": 3, "first": 10, "total": 10],
            ["blocked": 0, "dns": 1, "connect": 2, "ssl": -1, "send": 0, "wait": 7, "receive": 0]
        ),
        (
            ["start": 4, "first": 10, "total": 11],
            ["blocked": 4, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 6, "receive": 1]
        ),
        (
            ["name": 4, "total": 9],
            ["blocked": 0, "dns": 4, "connect": -1, "ssl": -1, "send": 0, "wait": 5, "receive": 0]
        ),
        (
            ["start": 8, "first": 2, "total": 9],
            ["blocked": 8, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 0, "receive": 1]
        ),
        ([:], ["blocked": 0, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 0, "receive": 0]),
    ]

    @Test func `phases are the differences between the times of the metrics`() {
        for (times, phases) in Self.timings {
            func time(_ name: String) -> Duration? { times[name].map { .milliseconds($0) } }
            var metrics = TransferMetrics()
            (metrics.queue, metrics.nameLookup, metrics.connect) = (time("queue"), time("name"), time("connect"))
            (metrics.tlsHandshake, metrics.requestStart) = (time("tls"), time("start"))
            (metrics.firstByte, metrics.total) = (time("first"), time("total") ?? .zero)
            #expect(metrics.harPhases == phases, "\(times)")
        }
    }

    // MARK: Secrets

    private static let moreSecrets: [SecretTableTests.Secret] = [
        .body("data: {\"token\":\"s3cret\"}\n\ndata: [{\"password\": \"s3cret\"}]\n\n", type: "text/event-stream"),
        .body("data: {\"password\":\ndata: \"s3cret\"}\n\n", type: "text/event-stream; charset=utf-8"),
        .body("{\"key\":\"s3cret\"}", type: "application/json"),
        .body(
            "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\ns3cret\r\n--b--",
            type: "multipart/form-data; boundary=b"),
    ]

    @Test(arguments: SecretTableTests.secrets + moreSecrets)
    func `no secret is recorded, unless it is asked for`(_ secret: SecretTableTests.Secret) async throws {
        let request = try secret.request()
        let isForm = request.headers["Content-Type"]?.hasPrefix("multipart/") == true
        for includingSecrets in [false, true] {
            var headers = secret.fields
            if !isForm, let type = request.headers["Content-Type"] { headers.append(name: "Content-Type", value: type) }
            let stub = StubTransport { [headers] request in
                .response(headers: headers, body: isForm ? Data() : request.body?.data ?? Data())
            }
            let recorder = HARRecorder(stub, includingSecrets: includingSecrets)
            let session = Session(transport: recorder)
            _ = await session.request(request).serializingData().response
            await session.shutdown()
            let text = String(decoding: recorder.har(), as: UTF8.self)
            #expect(text.contains("\"status\": 200"))
            // A fragment is never sent.
            let isSent = request.url.fragment() == nil
            #expect(text.contains("s3cret") == (includingSecrets && isSent), "\(text)")
        }
    }

    /// The fields, the body, and whether secrets cannot be found in it.
    @Test(
        arguments: [
            (
                ["Content-Type": "application/json; charset=latin1"],
                Data(#"{"n":"J"#.utf8) + [0xf6] + Data("rg\"}".utf8), false, true
            ),
            (["Content-Type": "application/json; charset=utf-16"], Data([0x7b, 0, 0x7d, 0]), false, true),
            (["Content-Type": "application/json"], Data(#"{"n":"Jö"}"#.utf8), false, false),
            // A body that was cut within a character.
            (["Content-Type": "application/json"], Data(#"{"n":"J"#.utf8) + [0xc3], false, false),
            (["Content-Type": "application/json", "Content-Encoding": "deflate"], Data("x".utf8), false, true),
            (["Content-Type": "application/json", "Content-Encoding": "gzip"], Data("x".utf8), true, false),
            (["Content-Type": "multipart/form-data; boundary=b"], Data("x".utf8), true, true),
            (["Content-Type": "image/png"], Data([0x89, 0xff]), true, false),
            ([:], Data(), false, false),
        ] as [(HTTPHeaders, Data, Bool, Bool)])
    func `a body is left out if secrets cannot be found in it`(
        _ headers: HTTPHeaders, _ body: Data, isDecoded: Bool, isHidden: Bool
    ) {
        let text = HARText(includesSecrets: false)
        #expect(text.isHidden(body, headers: headers, isDecoded: isDecoded) == isHidden)
        #expect(!HARText(includesSecrets: true).isHidden(body, headers: headers, isDecoded: isDecoded))
    }

    @Test func `a compressed request body is not recorded`() async throws {
        let recorder = HARRecorder(StubTransport { _ in .text("fine") })
        let session = Session(interceptor: DeflateRequestCompressor(), transport: recorder)
        let secret = ["token": String(repeating: "s3cret", count: 1000)]
        let request = session.request("http://a.test/", method: .post, parameters: secret, encoder: .json)
        #expect(try await request.serializingString().value == "fine")
        await session.shutdown()
        let entry = try JSONValue(parsing: recorder.har())["log"]?["entries"]?.array?.first
        #expect(entry?["request"]?["postData"]?["text"] == nil)
        #expect(entry?["request"]?["postData"]?["comment"]?.string == "The body was not recorded.")
        #expect(entry?["response"]?["content"]?["text"]?.string == "fine")
    }

    // MARK: Bodies and limits

    @Test func `binary bodies are recorded in Base64, and all others as they are`() {
        let every = Data((0...255).map { UInt8($0) })
        let rows: [(Data, String?, String, String?)] = [
            (every, "image/png", every.base64EncodedString(), "base64"),
            (Data("größe\r\n\u{1}".utf8), nil, "größe\r\n\u{1}", nil),
            (Data([0x61, 0]), "text/plain", "YQA=", "base64"),
            (Data(), nil, "", nil),
        ]
        for (body, type, text, encoding) in rows {
            let recorded = HARText(includesSecrets: false).body(body, type: type)
            #expect(recorded.text == text)
            #expect(recorded.encoding == encoding)
        }
    }

    @Test func `a stream is recorded up to the limit, and the rest is only counted`() async throws {
        let server = try await LocalServer { router in
            router.get("/lines") { _ in
                .stream(headers: ["Content-Type": "text/plain"]) { writer in
                    for _ in 1...3 { try await writer.write("größe\n") }
                }
            }
        }
        // The limit is in the middle of a character.
        let recorder = HARRecorder(maximumBodyBytes: 11)
        let session = Session(transport: recorder)
        var lines: [String] = []
        for try await line in session.streamRequest(server.url("/lines")).streamTask().lines { lines.append(line) }
        await session.shutdown()
        #expect(lines == ["größe", "größe", "größe"])
        let content = try #require(try Self.entries(of: recorder).first?["response"]?["content"])
        #expect(content["text"] == "größe\ngr")
        #expect(content["encoding"] == nil)
        #expect(content["size"] == 24)
        #expect(content["comment"] == "Cut after 11 of 24 bytes.")
    }

    @Test func `bodies that are too long or not in memory are left out of the request`() async throws {
        let server = try await LocalServer { router in router.post("/a", .ok) }
        let recorder = HARRecorder(maximumBodyBytes: 3)
        let session = Session(transport: recorder)
        let stream = RequestBody.stream { Chunks([Data("ab".utf8)]) }
        for body in [.data(Data("abc".utf8)), .data(Data("abcd".utf8)), stream] {
            let request = HTTPRequest(url: server.url("/a"), method: .post, body: body)
            _ = await session.request(request).serializingData().response
        }
        await session.shutdown()
        let sent = try Self.entries(of: recorder).map { $0["request"] }
        #expect(sent.map { $0?["postData"]?["text"]?.string } == ["abc", nil, nil])
        #expect(sent.map { $0?["bodySize"]?.int } == [3, 4, -1])
        #expect(sent.map { $0?["postData"]?["comment"] != nil } == [false, true, true])
    }

    @Test func `the oldest entries are dropped`() async throws {
        let recorder = HARRecorder(StubTransport { _ in .ok }, maximumEntries: 2)
        let session = Session(transport: recorder)
        for number in 1...5 { _ = await session.request("https://stub.test/\(number)").serializingData().response }
        await session.shutdown()
        let urls = try Self.entries(of: recorder).map { $0["request"]?["url"]?.string }
        #expect(urls == ["https://stub.test/4", "https://stub.test/5"])
    }

    @Test func `a running stream has an entry with its beginning`() async throws {
        let server = try await LocalServer { router in
            router.get("/events") { _ in
                .script(
                    .bytes("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n"), .stall)
            }
        }
        let recorder = HARRecorder()
        let session = Session(transport: recorder)
        for try await _ in session.eventSource(server.url("/events")) {
            let response = try Self.entries(of: recorder).first?["response"]
            #expect(response?["status"] == 200)
            #expect(response?["content"]?["text"] == "data: 1\n\n")
            break
        }
        await session.shutdown(within: .zero)
        let response = try Self.entries(of: recorder).first?["response"]
        #expect(response?["comment"] == "The client ended the exchange early.")
        #expect(response?["_error"] == nil)
    }

    // MARK: Files

    @Test func `an archive is saved for its owner only, and replaces another file`() async throws {
        let directory = try TestDirectory()
        let file = directory.url("a b.har")
        try Data("old".utf8).write(to: file)
        let recorder = HARRecorder(StubTransport { _ in .ok })
        let session = Session(transport: recorder)
        _ = await session.request("https://stub.test/").serializingData().response
        try await recorder.save(to: file)
        await session.shutdown()
        #expect(try Data(contentsOf: file) == recorder.har())
        var status = stat()
        #expect(unsafe stat(file.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url("").path).count == 1)
    }

    @Test(arguments: ["https://me:s3cret@stub.test/a", "file:///dev/null/a.har"])
    func `an archive that cannot be saved throws an error`(_ text: String) async throws {
        let recorder = HARRecorder(StubTransport())
        let url = try #require(URL(string: text))
        let error = await #expect(throws: RequestError.self) { try await recorder.save(to: url) }
        if case .download? = error?.kind {} else { Issue.record("\(error as Any)") }
        #expect(error.map { "\($0)".contains("s3cret") } == false)
    }
}
