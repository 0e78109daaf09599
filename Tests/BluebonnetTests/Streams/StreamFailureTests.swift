import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Truncated bodies: the received bytes are delivered before the error.
@Suite(.timeLimit(.minutes(10))) struct StreamFailureTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"

    private func expectCut(
        _ end: LocalServer.Script.Step, _ kind: RequestError.Kind, timeouts: Timeouts? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let pace = Pace()
        let server = try await LocalServer.scripted { _ in
            // A reset would discard the bytes that the client has not read.
            LocalServer.Script([.waitForRequest, .bytes(Self.head + "one\ntwo"), .wait { await pace.received(7) }, end])
        }
        let session = TestHarness.session(startRequestsImmediately: false) {
            if let timeouts { $0.timeouts = timeouts }
        }
        let request = session.streamRequest(server.url("/a")).validate()
        pace.follow(request)
        let task = request.streamTask()
        let readers = task.readers(3)
        let (bytes, lines, events) = (readers[0].bytes, readers[1].lines, readers[2].streamingData())
        request.resume()
        let (body, error) = await StreamFixture.body(bytes)
        #expect(body == Data("one\ntwo".utf8), sourceLocation: sourceLocation)
        #expect(error?.kind == kind, sourceLocation: sourceLocation)
        let reading = await StreamFixture.read(lines)
        #expect(reading.elements == ["one"], sourceLocation: sourceLocation)
        #expect(reading.error?.kind == kind, sourceLocation: sourceLocation)
        var completions: [DataStreamRequest.Completion?] = []
        for await event in events { completions.append(event.completion) }
        #expect(completions.last??.error?.kind == kind, sourceLocation: sourceLocation)
        #expect(completions.count == 2 && completions.first??.error == nil, sourceLocation: sourceLocation)
        #expect(completions.last??.response?.statusCode == 200, sourceLocation: sourceLocation)
        #expect(try await task.response.statusCode == 200, sourceLocation: sourceLocation)
        #expect(request.state == .finished && request.error?.kind == kind, sourceLocation: sourceLocation)
        #expect(await session.withAllRequests { $0.isEmpty }, sourceLocation: sourceLocation)
        try await TestHarness.end(session, server)
    }

    @Test func `a connection that is closed within the body`() async throws {
        try await expectCut(.close, .invalidResponse(.truncated))
    }

    @Test func `a connection that is reset within the body`() async throws {
        try await expectCut(.reset, .connection(.lost))
    }

    @Test func `a server that stalls within the body causes an idle timeout`() async throws {
        try await expectCut(.stall, .timedOut(.idle), timeouts: Timeouts(idle: .seconds(3)))
    }

    @Test func `a slow server causes a total timeout`() async throws {
        try await expectCut(.stall, .timedOut(.total), timeouts: Timeouts(total: .seconds(5)))
    }

    /// Libcurl drops bytes that it keeps during a pause when an error follows in what it has read.
    @Test(arguments: ["", "Content-Encoding: gzip\r\n"], [1, 3, 300])
    func `a chunked body that is malformed`(_ field: String, _ count: Int) async throws {
        let text = Data((0..<count).map { "line \($0)\n" }.joined().utf8)
        let deflater = try #require(Deflater(.gzip))
        let body = field.isEmpty ? text : deflater.compress(text) + deflater.finish()
        let server = try await LocalServer.scripted { _ in
            var bytes = Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(field)\r\n".utf8)
            for start in stride(from: 0, to: body.count, by: 7) {
                let part = body.dropFirst(start).prefix(7)
                bytes += Data("\(part.count)\r\n".utf8) + part + Data("\r\n".utf8)
            }
            return [.waitForRequest, .bytes(bytes + Data("nonsense\r\n".utf8)), .stall]
        }
        let session = TestHarness.session()
        let (received, error) = await StreamFixture.body(session.streamRequest(server.url("/a")).streamTask().bytes)
        #expect(received == text)
        #expect(error?.kind == .invalidResponse(.malformed))
        let directory = try TestDirectory()
        let file = directory.url("file")
        let download = await session.download(server.url("/a"), to: .file(file)).serializingURL().response
        #expect(download.error?.kind == .invalidResponse(.malformed))
        try await TestHarness.end(session, server)
    }

    /// Libcurl 7.88.1 would read the second part although it is paused, and drop it.
    @Test func `a malformed part after bytes that wait for their reader`() async throws {
        let (head, sent) = (Gate(), Gate())
        let server = try await LocalServer.scripted { _ in
            [
                .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"),
                .wait { await head.wait() }, .bytes("3\r\ntwo\r\nnonsense\r\n"),
                .wait { sent.open() }, .stall,
            ]
        }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        #expect(try await task.response.statusCode == 200)
        await TestHarness.performEarlierCommands(of: session)
        head.open()
        await sent.wait()
        await TestHarness.performEarlierCommands(of: session)
        let (body, error) = await StreamFixture.body(task.bytes)
        #expect(body == Data("onetwo".utf8))
        #expect(error?.kind == .invalidResponse(.malformed))
        try await TestHarness.end(session, server)
    }

    /// Libcurl has ended the transfer, and its bytes wait for a reader.
    @Test(arguments: ["cancel", "suspend", "read"])
    func `what comes between the end of a transfer and its reader`(_ event: String) async throws {
        let text = String(repeating: "one\ntwo\n", count: 12_500)
        let server = try await LocalServer { $0.fallback { _ in .text(text) } }
        let session = TestHarness.session {
            ($0.bodyHighWatermark, $0.bodyLowWatermark) = (1, 0)
        }
        let request = session.streamRequest(server.url("/a"))
        let task = request.streamTask()
        #expect(try await task.response.statusCode == 200)
        await TestHarness.performEarlierCommands(of: session)
        switch event {
        case "cancel": request.cancel()
        case "suspend":
            request.suspend()
            await TestHarness.performEarlierCommands(of: session)
            request.resume()
        default: break
        }
        let (body, error) = await StreamFixture.body(task.bytes)
        #expect(error?.kind == (event == "cancel" ? .cancelled : nil), "\(error.map { "\($0)" } ?? "no error")")
        #expect(event == "cancel" ? text.utf8.starts(with: body) : body == Data(text.utf8))
        try await TestHarness.end(session, server)
    }

    /// The reader has more bytes before it than it takes when the malformed part arrives.
    @Test func `a reader that is slow receives everything before the malformed part`() async throws {
        let text = Data(repeating: 0x61, count: 3_000_000)
        let server = try await LocalServer.scripted { _ in
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            let chunk = Data("2710\r\n".utf8) + text.prefix(10_000) + Data("\r\n".utf8)
            let chunks = (0..<text.count / 10_000).reduce(into: Data()) { bytes, _ in bytes += chunk }
            return [.waitForRequest, .bytes(Data(head.utf8) + chunks + Data("nonsense\r\n".utf8)), .stall]
        }
        let session = TestHarness.session()
        let request = session.streamRequest(server.url("/a"))
        var (count, failure) = (0, RequestError?.none)
        do throws(RequestError) {
            for try await piece in request.streamTask().bytes {
                count += piece.count
                await Task.yield()
            }
        } catch { failure = error }
        #expect(count == text.count)
        #expect(failure?.kind == .invalidResponse(.malformed))
        try await TestHarness.end(session, server)
    }

    @Test func `the idle timeout does not apply to a slow reader`() async throws {
        let server = try await LocalServer { router in
            router.get("/a") { _ in StreamFixture.patterned() }
            router.get("/silent") { _ in .script(.stall) }
        }
        let limit = Duration.seconds(3)
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: limit) }
        // The stream's own limit is no shorter than that of what measures the time.
        let task = session.streamRequest(server.url("/a")) { $0.timeouts = Timeouts(idle: limit) }.streamTask()
        var iterator = task.bytes.makeAsyncIterator()
        var offset = try await StreamFixture.readPattern(&iterator, from: 0, count: 1)
        for _ in 1...2 {
            let silent = await session.request(server.url("/silent")).serializingData().response
            #expect(silent.error?.kind == .timedOut(.idle))
        }
        #expect(!task.request.isFinished)
        offset = try await StreamFixture.readPattern(&iterator, from: offset, count: 4 << 20)
        task.cancel()
        try await TestHarness.end(session, server)
    }

    @Test func `the idle timeout does not apply to a slow closure for the head`() async throws {
        let server = try await LocalServer { router in
            router.get("/a") { _ in StreamFixture.patterned(length: 1 << 20) }
            router.get("/silent") { _ in .script(.stall) }
        }
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: .seconds(3)) }
        let task = session.streamRequest(server.url("/a")).onHTTPResponse { _ in
            for _ in 1...2 {
                let silent = await session.request(server.url("/silent")).serializingData().response
                #expect(silent.error?.kind == .timedOut(.idle))
            }
        }.streamTask()
        let (body, error) = await StreamFixture.body(task.bytes)
        #expect(error == nil)
        #expect(body.count == 1 << 20)
        try await TestHarness.end(session, server)
    }

    @Test func `the idle timeout applies again after a reader has continued`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/a") { _ in
                .stream { writer in
                    try await writer.write(StreamFixture.pattern(0..<500_000))
                    await gate.wait()
                }
            }
        }
        let session = TestHarness.session { $0.timeouts = Timeouts(idle: .seconds(3)) }
        let task = session.streamRequest(server.url("/a")).streamTask()
        let (body, error) = await StreamFixture.body(task.bytes)
        #expect(body.count == 500_000 && StreamFixture.isRight(body, at: 0))
        #expect(error?.kind == .timedOut(.idle))
        gate.open()
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling within the body ends every sequence after the received bytes`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .bytes(Self.head + "one\ntwo\n"), .stall)
        let session = TestHarness.session(startRequestsImmediately: false)
        let task = session.streamRequest(server.url("/a")).streamTask()
        let readers = task.readers(3)
        let (bytes, lines, events) = (readers[0].bytes, readers[1].lines, readers[2].streamingLines())
        task.resume()
        async let body = StreamFixture.body(bytes)
        for await progress in task.request.downloadProgressUpdates() where progress.completed == 8 { break }
        task.cancel()
        #expect(await body.data == Data("one\ntwo\n".utf8))
        #expect(await body.error?.kind == .cancelled)
        let reading = await StreamFixture.read(lines)
        #expect(reading.elements == ["one", "two"] && reading.error?.kind == .cancelled)
        var (values, completions): ([String], [RequestError.Kind?]) = ([], [])
        for await event in events {
            if let value = event.value { values.append(value) }
            if let completion = event.completion { completions.append(completion.error?.kind) }
        }
        #expect(values == ["one", "two"] && completions == [.cancelled])
        try await TestHarness.end(session, server)
    }

    @Test func `an event can cancel its stream`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned() } }
        let session = TestHarness.session()
        var completion: DataStreamRequest.Completion?
        for await event in session.streamRequest(server.url("/a")).streamTask().streamingData() {
            event.cancel()
            completion = event.completion
        }
        #expect(completion?.error?.kind == .cancelled)
        try await TestHarness.end(session, server)
    }

    @Test func `a shutdown that is cancelled ends the session's streams`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned() } }
        let session = TestHarness.session()
        let tasks = (1...5).map { _ in session.streamRequest(server.url("/a")).streamTask() }
        let sequences = tasks.map(\.bytes)
        for task in tasks { _ = try await task.response }
        let end = Task { await session.shutdown() }
        end.cancel()
        await end.value
        for sequence in sequences {
            let (body, error) = await StreamFixture.body(sequence)
            #expect(StreamFixture.isRight(body, at: 0))
            #expect(error?.kind == .cancelled)
        }
        let (_, late) = await StreamFixture.body(session.streamRequest(server.url("/a")).streamTask().bytes)
        #expect(late?.kind == .sessionShutDown)
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `a shutdown waits until a stream is read`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned(length: 4 << 20) } }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        _ = try await task.response
        async let end: Void = session.shutdown()
        let (body, error) = await StreamFixture.body(task.bytes)
        await end
        #expect(body.count == 4 << 20 && error == nil)
        try await server.waitForOpenConnections(atMost: 0)
    }
}
