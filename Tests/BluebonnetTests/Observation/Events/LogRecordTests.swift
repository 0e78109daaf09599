import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct LogRecordTests {
    // MARK: JSON

    static let hostile = [
        "", "plain", #"a "quoted" word"#, #"back\slash"#, "two\nlines", "a\r\nb", "tab\t", "nul\0", "bell\u{7}",
        "escape\u{1b}[31m", "delete\u{7f}", "é😀", #"","level":"error"#, "{\"a\":1}",
    ]

    @Test(arguments: hostile)
    func `A JSON line is read back, whatever its texts contain`(_ text: String) throws {
        let record = LogRecord(
            time: Date(timeIntervalSince1970: 1_700_000_000.25), level: .warning, event: text, message: text,
            attributes: [
                (text + "-name", .string(text)), ("integer", 42), ("double", 0.5), ("bool", true), ("null", nil),
                ("list", [.string(text)]),
            ])
        let line = record.jsonLine
        #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f }, "\(line)")
        let value = try JSONDecoder().decode([String: JSONValue].self, from: Data(line.utf8))
        #expect(
            value == [
                "time": "2023-11-14T22:13:20.250Z", "level": "warning", "event": .string(text),
                "message": .string(text), text + "-name": .string(text), "integer": 42, "double": 0.5, "bool": true,
                "null": nil, "list": [.string(text)],
            ])
    }

    @Test(arguments: ["\u{85}", "\u{9b}", "\u{2028}", "\u{2029}", "\u{202e}"])
    func `A line break that JSON allows in a string becomes a space`(_ character: String) throws {
        let line = LogRecord(level: .info, event: "e", message: "a\(character)b").jsonLine
        let value = try JSONDecoder().decode([String: JSONValue].self, from: Data(line.utf8))
        #expect(value["message"] == "a b")
    }

    @Test func `The members are in the order of the record`() {
        let record = LogRecord(
            time: Date(timeIntervalSince1970: 0), level: .info, event: "e", message: "m",
            attributes: [("b", 1), ("a", .double(.nan))])
        let line = #"{"time":"1970-01-01T00:00:00.000Z","level":"info","event":"e","message":"m","b":1,"a":null}"#
        #expect(record.jsonLine == line)
    }

    // MARK: Records of requests

    private let records = Locked<[LogRecord]>([])

    private func session(
        _ level: LoggingEventMonitor.Level = .brief, interceptor: (any RequestInterceptor)? = nil,
        _ transport: StubTransport
    ) -> Session {
        let records = records
        let monitor = LogRecordMonitor(level: level) { record in records.withLock { $0.append(record) } }
        return Session(interceptor: interceptor, eventMonitors: [monitor], transport: transport)
    }

    private func members(_ index: Int) -> [String: JSONValue] {
        let record = records.withLock { $0[index] }
        return Dictionary(uniqueKeysWithValues: record.attributes.map { ($0.name, $0.value) })
    }

    private var events: [String] { records.withLock { $0 }.map { "\($0.level) \($0.event)" } }

    @Test func `A request has records with levels, names and typed values`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/a", .status(503), .response(status: 302, headers: ["Location": "/b?c=d"]))
        transport.stub(nil, "/b", .text("x"))
        let retrier = Retrier { _, _, _ in .retryWithDelay(.milliseconds(1)) }
        let session = session(interceptor: retrier, transport)
        let request = session.request("http://stub.test/a?q=1").validate().tag(RouteTag.self, "/{page}")
        _ = try await request.serializingString().value
        await session.shutdown()

        #expect(
            events == [
                "debug exchange.started", "info exchange.ended", "warning request.retrying",
                "debug exchange.started", "info exchange.ended", "info request.redirected",
                "debug exchange.started", "info exchange.ended", "info request.finished",
            ])
        let id = JSONValue.integer(Int64(request.id.number))
        #expect(
            members(0) == [
                "bluebonnet.request.id": id, "http.request.method": "GET", "bluebonnet.request.attempt": 1,
                "url.full": "http://stub.test/a?q=<redacted>", "url.template": "/{page}",
            ])
        #expect(members(1)["http.response.status_code"] == 503 && members(1)["network.protocol.version"] == "1.1")
        #expect(members(1)["http.client.request.duration"]?.double ?? -1 >= 0)
        #expect(members(2)["error.type"] == "validation" && members(2)["bluebonnet.retry.delay"] == 0.001)
        #expect(members(3)["bluebonnet.request.attempt"] == 2)
        #expect(members(5)["bluebonnet.redirect.url"] == "http://stub.test/b?c=<redacted>")
        #expect(members(5)["url.full"] == "http://stub.test/a?q=<redacted>")
        #expect(members(8)["http.response.status_code"] == 200 && members(8)["url.template"] == "/{page}")
        #expect(records.withLock { $0[0].message } == "GET http://stub.test/a?q=<redacted>: sent")
    }

    @Test func `The records have the texts of the lines`() async throws {
        let lines = Locked<[String]>([])
        let log = LoggingEventMonitor { line in lines.withLock { $0.append(line) } }
        let (texts, done) = (records, StubTransport { _ in .failure(RequestError(.connection(.lost))) })
        let structured = LogRecordMonitor { record in texts.withLock { $0.append(record) } }
        let session = Session(eventMonitors: [log, structured], transport: done)
        let request = session.request("http://stub.test/")
        _ = await request.serializingString().response
        await session.shutdown()
        let messages = records.withLock { $0 }.map { "[\(request.id)] \($0.message)" }
        #expect(lines.withLock { $0 } == messages && messages.count == 3)
        #expect(events == ["debug exchange.started", "warning exchange.failed", "error request.failed"])
        #expect(members(1)["error.type"] == "connection.lost" && members(2)["error.type"] == "connection.lost")
    }

    @Test func `A cancellation is not an error, and a request that is not sent is`() async throws {
        let session = session(.brief, StubTransport { _ in .never })
        let task = session.request("http://stub.test/").serializingString()
        task.cancel()
        _ = await task.response
        _ = await session.request("nothing://stub.test/").serializingString().response
        await session.shutdown()
        #expect(events.contains("info request.cancelled") && events.contains("info request.failed"))
        #expect(events.suffix(2) == ["error request.not_sent", "error request.failed"])
        #expect(records.withLock { $0.last }?.attributes.contains { $0.name == "error.type" } == true)
    }

    @Test func `Header fields have an array of values for each name`() async throws {
        let transport = StubTransport { _ in
            .response(headers: [HTTPHeader(name: "Vary", value: "a"), HTTPHeader(name: "VARY", value: "b")])
        }
        let session = session(.headers, transport)
        _ = await session.request("http://stub.test/", headers: ["Authorization": "Bearer s3cret", "Accept": "x"])
            .serializingNothing().response
        await session.shutdown()
        #expect(members(0)["http.request.headers"]?["authorization"] == ["<redacted>"])
        #expect(members(0)["http.request.headers"]?["accept"] == ["x"])
        #expect(members(1)["http.response.headers"] == ["vary": ["a", "b"]])
        #expect(!members(2).keys.contains("http.response.headers"))
    }
}
