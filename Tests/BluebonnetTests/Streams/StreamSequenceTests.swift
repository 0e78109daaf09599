import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Lines, values, events and text on the wire, with the borders of the chunks in the worst places: everywhere.
@Suite(.timeLimit(.minutes(10))) struct StreamSequenceTests {
    private struct Person: Codable, Equatable {
        let name: String
    }

    private static let text = "é\r\n€uro\r\n\r\n𝄞 clef\nlast"
    private static let lines = ["é", "€uro", "", "𝄞 clef", "last"]
    private static let json = "{\"name\":\"Zoë\"}\r\n\n{\"name\":\"Ada 👩‍💻\"}\n{\"name\":\"x\"}"
    private static let people = [Person(name: "Zoë"), Person(name: "Ada 👩‍💻"), Person(name: "x")]
    private static let events =
        "\u{FEFF}: hi\r\ndata: é\r\ndata:2\r\n\r\nid: 7\revent: ü\rdata: €\r\rretry: 1\ndata: x\n\ndata: cut"

    /// Starts a server that responds byte by byte, and creates a task that reads the response.
    private func scene(
        _ text: String, contentType: String = "text/plain", startsImmediately: Bool = true
    ) async throws -> (Session, LocalServer, DataStreamTask) {
        let pace = Pace()
        let server = try await LocalServer { $0.get("/a") { _ in pace.dripping(text, contentType: contentType) } }
        let session = TestHarness.session(startRequestsImmediately: startsImmediately)
        let request = session.streamRequest(server.url("/a")).validate()
        pace.follow(request)
        return (session, server, request.streamTask())
    }

    private func check<Element: Sendable>(
        _ stream: StreamOf<DataStreamRequest.Stream<Element, some Error>>,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [Element] {
        var values: [Element] = []
        var completion: DataStreamRequest.Completion?
        for await event in stream {
            #expect(completion == nil, "the completion is the last event", sourceLocation: sourceLocation)
            if let value = event.value { values.append(value) }
            #expect(event.error == nil, sourceLocation: sourceLocation)
            completion = event.completion
        }
        let end = try #require(completion, sourceLocation: sourceLocation)
        #expect(end.error == nil, sourceLocation: sourceLocation)
        #expect(end.response?.statusCode == 200, sourceLocation: sourceLocation)
        #expect(end.request?.url.path == "/a", sourceLocation: sourceLocation)
        #expect((end.metrics?.bytesReceived ?? 0) > 0, sourceLocation: sourceLocation)
        return values
    }

    // MARK: Sequences that throw

    @Test func `lines`() async throws {
        let (session, server, task) = try await scene(Self.text)
        let reading = await StreamFixture.read(task.lines)
        #expect(reading.elements == Self.lines)
        #expect(reading.error == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `lines in an older charset`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .data(Data([0xe9, 0x0a, 0xfc]), contentType: "text/plain; charset=iso-8859-1"))
        }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        #expect(await StreamFixture.read(task.lines).elements == ["é", "ü"])
        try await TestHarness.end(session, server)
    }

    @Test func `values`() async throws {
        let (session, server, task) = try await scene(Self.json, contentType: "application/x-ndjson")
        let reading = await StreamFixture.read(task.decodables(of: Person.self))
        #expect(reading.elements == Self.people)
        #expect(reading.error == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `events`() async throws {
        let (session, server, task) = try await scene(Self.events, contentType: "text/event-stream")
        let reading = await StreamFixture.read(task.serverSentEvents)
        #expect(reading.elements.map(\.data) == ["é\n2", "€", "x"])
        #expect(reading.elements.map(\.event) == ["message", "ü", "message"])
        #expect(reading.elements.map(\.id) == ["", "7", "7"])
        #expect(reading.error == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `several sequences at the same time from one request`() async throws {
        let (session, server, task) = try await scene(Self.text, startsImmediately: false)
        let (lines, bytes, strings) = (task.lines, task.bytes, task.streamingStrings())
        task.resume()
        async let first = StreamFixture.read(lines).elements
        async let second = StreamFixture.body(bytes).data
        async let third = check(strings)
        #expect(await first == Self.lines)
        #expect(await second == Data(Self.text.utf8))
        #expect(try await third.joined() == Self.text)
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `a value that cannot be decoded ends the sequence and the request`() async throws {
        let server = try await LocalServer { router in
            router.get("/a") { _ in .endless(Data("{\"name\":\"a\"}\nnonsense\n".utf8)) }
        }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        let reading = await StreamFixture.read(task.decodables(of: Person.self))
        #expect(reading.elements == [Person(name: "a")])
        #expect(reading.error?.kind == .serialization(.decodingFailed))
        try await server.waitForOpenConnections(atMost: 0)
        #expect(task.request.isCancelled)
        try await TestHarness.end(session, server)
    }

    @Test func `a line without an end is too long`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in .endless(Data(repeating: 0x61, count: 65_536)) } }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        let reading = await StreamFixture.read(task.lines)
        #expect(reading.elements.isEmpty)
        #expect(reading.error?.kind == .invalidResponse(.bodyTooLarge(limit: Int64(LineFramer.defaultLimit))))
        try await server.waitForOpenConnections(atMost: 0)

        let other = session.streamRequest(server.url("/a")).streamTask()
        var failures: [RequestError.Kind?] = []
        for await event in other.streamingLines() {
            failures.append(event.error?.kind)
            #expect(event.value == nil)
        }
        #expect(failures == [.invalidResponse(.bodyTooLarge(limit: Int64(LineFramer.defaultLimit))), nil])
        try await TestHarness.end(session, server)
    }

    // MARK: Sequences of events

    @Test func `streaming data`() async throws {
        let (session, server, task) = try await scene(Self.text)
        let pieces = try await check(task.streamingData())
        // Pieces that wait for a slow reader are joined.
        #expect(pieces.count <= Self.text.utf8.count && !pieces.contains { $0.isEmpty })
        #expect(pieces.reduce(Data(), +) == Data(Self.text.utf8))
        try await TestHarness.end(session, server)
    }

    @Test func `streaming strings`() async throws {
        let (session, server, task) = try await scene(Self.text)
        let strings = try await check(task.streamingStrings())
        #expect(strings.joined() == Self.text)
        #expect(!strings.contains { $0.contains("\u{FFFD}") || $0.isEmpty })
        try await TestHarness.end(session, server)
    }

    @Test func `streaming lines and values`() async throws {
        let (session, server, task) = try await scene(Self.json)
        let (lines, values) = (task.streamingLines(), task.streamingDecodables(of: Person.self))
        async let people = check(values)
        #expect(try await check(lines).joined(separator: "\n") == Self.json.replacing("\r\n", with: "\n"))
        #expect(try await people == Self.people)
        try await TestHarness.end(session, server)
    }

    @Test func `a last line without an end that cannot be decoded is an error event`() async throws {
        let (session, server, task) = try await scene("{\"name\":\"a\"}\nnonsense")
        var (values, failures): ([Person], [RequestError.Kind]) = ([], [])
        for await event in task.streamingDecodables(of: Person.self) {
            if let value = event.value { values.append(value) }
            if let error = event.error { failures.append(error.kind) }
        }
        #expect(values == [Person(name: "a")])
        #expect(failures == [.serialization(.decodingFailed)])
        try await TestHarness.end(session, server)
    }

    @Test func `streaming the values of a serializer`() async throws {
        let (session, server, task) = try await scene("abc")
        #expect(try await check(task.streamingResponses(using: StringStreamSerializer())).joined() == "abc")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [false, true])
    func `a serializer that throws cancels the request if this is enabled`(cancels: Bool) async throws {
        let (turns, turn) = AsyncStream<Void>.makeStream()
        let server = try await LocalServer { router in
            router.get("/a") { _ in
                .stream { writer in
                    // Each piece is sent after the previous piece has been read, because waiting pieces are joined.
                    var turns = turns.makeAsyncIterator()
                    for piece in ["a", "x", "b", "c"] {
                        try await writer.write(piece)
                        await turns.next()
                    }
                }
            }
        }
        let session = TestHarness.session()
        let request = session.streamRequest(server.url("/a"), automaticallyCancelOnStreamError: cancels)
        let stream = request.streamTask().streamingResponses(using: FailingSerializer())
        var (values, failures): ([String], [RequestError]) = ([], [])
        var completion: DataStreamRequest.Completion?
        for await event in stream {
            #expect(completion == nil)
            if let value = event.value { values.append(value) }
            if let error = event.error { failures.append(error) }
            completion = event.completion
            // What arrives before the cancellation does is read: there is nothing more after the error.
            if !cancels || failures.isEmpty { turn.yield() }
        }
        turn.finish()
        #expect(values.joined() == (cancels ? "a" : "abc"))
        #expect(failures.map(\.kind) == [.serialization(.customSerializationFailed)])
        #expect(failures.first?.underlying as? TestFailure == TestFailure("no x"))
        #expect(completion?.error?.kind == (cancels ? .cancelled : nil))
        #expect(request.isCancelled == cancels)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [true, false])
    func `The completion has the error of a body that cannot be decoded`(cancels: Bool) async throws {
        let transport = StubTransport()
        let type: HTTPHeaders = ["Content-Type": "text/plain; charset=x-unknown"]
        transport.stub(nil, "/", .response(headers: type, body: Data([0x61, 0x0A, 0xE9, 0x0A])))
        let session = Session(transport: transport)
        let request = session.streamRequest("http://a.test/")
        var completion: DataStreamRequest.Completion?
        for await event in request.streamTask().streamingLines(automaticallyCancelling: cancels) {
            completion = event.completion
        }
        #expect(completion?.error?.kind == .serialization(.stringSerializationFailed(encoding: "x-unknown")))
        await session.shutdown()
    }

    /// The request has finished when the last element is read, so that it can no longer be cancelled.
    @Test func `The completion has the error of a last element that cancels the request`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", .text("{\"x\":1"))
        let session = Session(transport: transport)
        let request = session.streamRequest("http://a.test/", automaticallyCancelOnStreamError: true)
        var completion: DataStreamRequest.Completion?
        for await event in request.streamTask().streamingDecodables([String: Int].self) {
            completion = event.completion
        }
        #expect(completion?.error?.kind == .cancelled)
        #expect(completion?.error?.url == "http://a.test/")
        let underlying = try #require(completion?.error?.underlying as? RequestError)
        #expect(underlying.kind == .serialization(.decodingFailed))
        await session.shutdown()
    }
}

/// Fails at an x.
private struct FailingSerializer: DataStreamSerializer {
    func serialize(_ data: Data) async throws -> String {
        guard data.first != UInt8(ascii: "x") else { throw TestFailure("no x") }
        return String(decoding: data, as: UTF8.self)
    }
}
