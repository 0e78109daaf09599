import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Several readers of one body.
@Suite(.timeLimit(.minutes(10))) struct StreamReaderTests {
    private static let size = 5 << 20

    private static func server() async throws -> LocalServer {
        try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned(length: size) } }
    }

    @Test func `readers at different paces receive the same bytes`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session(startRequestsImmediately: false)
        let task = session.streamRequest(server.url("/a")).streamTask()
        let readers = task.readers(2)
        task.resume()
        async let quick = StreamFixture.body(readers[0].bytes)
        async let slow = {
            var body = Data()
            for try await piece in readers[1].bytes {
                body += piece
                for _ in 1...50 { await Task.yield() }
            }
            return body
        }()
        let (body, other) = (await quick, try await slow)
        #expect(body.error == nil)
        #expect(body.data.count == Self.size && StreamFixture.isRight(body.data, at: 0))
        #expect(body.data == other)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["lines", "events", "values"])
    func `a cancelled task receives nothing more of what has arrived`(reads: String) async throws {
        let server = try await LocalServer { router in
            router.get("/lines", .text("1\n2\n3\n"))
            router.get("/values", .text("1\n2\n3\n"))
            router.get("/events", .text("data: 1\n\ndata: 2\n\ndata: 3\n\n"))
        }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/\(reads)")).streamTask()
        let loop = CancelledLoop()
        let reader = Task {
            switch reads {
            case "lines": for try await _ in task.lines { loop.receive() }
            case "events": for try await _ in task.serverSentEvents { loop.receive() }
            default: for try await _ in task.decodables(of: Int.self) { loop.receive() }
            }
        }
        let result = await reader.result
        #expect {
            try result.get()
        } throws: {
            let error = $0 as? RequestError
            return error?.kind == .cancelled && error?.url != nil
        }
        #expect(loop.count == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `the slowest reader sets the pace of all, until it leaves`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned() } }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        let readers = task.readers(2)
        let quick = readers[0].bytes
        let count = Locked(0)
        let reader = try await {
            var slow = readers[1].bytes.makeAsyncIterator()
            let reader = Task {
                for try await piece in quick {
                    #expect(StreamFixture.isRight(piece, at: count.withLock { $0 }))
                    count.withLock { $0 += piece.count }
                }
            }
            let offset = try await StreamFixture.readPattern(&slow, from: 0, count: 1)
            let received = try await StreamFixture.settled(session) { count.withLock { $0 } }
            #expect(received <= offset + (1024 + 3 * 256) * 1024)
            return reader
        }()
        // The slow reader has left, and the other reader continues.
        for await progress in task.request.downloadProgressUpdates() where progress.completed > 8 << 20 { break }
        task.cancel()
        let error = await #expect(throws: RequestError.self) { try await reader.value }
        #expect(error?.isCancellation == true)
        #expect(count.withLock { $0 } > 8 << 20)
        try await TestHarness.end(session, server)
    }

    @Test func `a reader that leaves does not affect the other reader`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session(startRequestsImmediately: false)
        let task = session.streamRequest(server.url("/a")).streamTask()
        let readers = task.readers(2)
        task.resume()
        async let whole = StreamFixture.body(readers[0].bytes)
        for try await _ in readers[1].bytes { break }
        let (body, error) = await whole
        #expect(error == nil)
        #expect(body.count == Self.size && StreamFixture.isRight(body, at: 0))
        #expect(task.request.state == .finished)
        try await TestHarness.end(session, server)
    }

    @Test func `creating sequences has no effect`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        // Were they readers, the body would stall at the high watermark.
        let unread = (task.bytes, task.lines, task.streamingData(), task.serverSentEvents)
        #expect(task.request.isInitialized)
        let (whole, error) = await StreamFixture.body(task.bytes)
        #expect(whole.count == Self.size && error == nil)
        withExtendedLifetime(unread) {}
        try await TestHarness.end(session, server)
    }

    @Test func `a sequence that is released unread delays no reader`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        let reader: DataStreamTask
        let offset: Int
        var iterator: DataStreamTask.Bytes.AsyncIterator
        do {
            let readers = task.readers(3)
            reader = readers[0]
            iterator = reader.bytes.makeAsyncIterator()
            offset = try await StreamFixture.readPattern(&iterator, from: 0, count: 1)
        }
        let end = try await StreamFixture.readPattern(&iterator, from: offset, count: Self.size - offset)
        #expect(end == Self.size)
        #expect(try await iterator.next() == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `a sequence that is not read yet slows down the other readers`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned() } }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        var readers = task.readers(2)
        let (bytes, count) = (readers[0].bytes, Locked(0))
        let reader = Task {
            for try await piece in bytes { count.withLock { $0 += piece.count } }
        }
        let received = try await StreamFixture.settled(session) { count.withLock { $0 } }
        #expect(received <= (1024 + 3 * 256) * 1024)
        readers.removeAll()
        for await progress in task.request.downloadProgressUpdates() where progress.completed > 8 << 20 { break }
        task.cancel()
        await #expect(throws: RequestError.self) { try await reader.value }
        try await TestHarness.end(session, server)
    }

    @Test func `releasing the last reader or the last sequence cancels the request`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned() } }
        let session = TestHarness.session()
        let request = session.streamRequest(server.url("/a"))
        var readers = request.streamTask().readers(2)
        for try await _ in readers[0].bytes { break }
        #expect(request.isResumed)
        readers.removeAll()
        #expect(request.isCancelled)
        try await TestHarness.end(session, server)
    }

    @Test func `unused sequences do not affect the request`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("body")) }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        _ = task.readers(2)
        #expect(task.readers(0).isEmpty && task.readers(-1).isEmpty)
        #expect(await StreamFixture.body(task.bytes).data == Data("body".utf8))
        let late = await StreamFixture.body(task.readers(1)[0].bytes)
        #expect(late.data.isEmpty && late.error?.kind == .bodyAlreadyRead)
        #expect(late.error?.url == server.url("/a").absoluteString)
        try await TestHarness.end(session, server)
    }

    @Test func `bytes that arrive before the first sequence are kept for it`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("body")) }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        _ = try await task.response
        for await _ in task.request.downloadProgressUpdates() {}
        #expect(task.request.isFinished)
        #expect(await StreamFixture.body(task.bytes).data == Data("body".utf8))
        try await TestHarness.end(session, server)
    }

    @Test func `a second loop over a sequence fails instead of receiving an incomplete body`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        let bytes = task.bytes
        let (whole, error) = await StreamFixture.body(bytes)
        #expect(whole.count == Self.size && error == nil)
        let again = await StreamFixture.body(bytes)
        #expect(again.data.isEmpty && again.error?.kind == .bodyAlreadyRead)
        try await TestHarness.end(session, server)
    }

    @Test func `a sequence that begins after the end fails because the body was read`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("1\n2\n")) }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        #expect(await StreamFixture.read(task.lines).elements == ["1", "2"])
        let late = await StreamFixture.read(task.lines)
        #expect(late.elements.isEmpty && late.error?.kind == .bodyAlreadyRead)
        var events: [DataStreamRequest.Stream<Data, Never>] = []
        for await event in task.streamingData() { events.append(event) }
        #expect(events.count == 1)
        #expect(events.first?.completion?.response?.statusCode == 200)
        #expect(events.first?.completion?.error?.kind == .bodyAlreadyRead)
        #expect(task.request.error == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `a sequence that is created after a failure throws the failure`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .reset)
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        for _ in 1...3 {
            let (body, error) = await StreamFixture.body(task.bytes)
            #expect(body.isEmpty)
            #expect(error?.kind == .connection(.lost))
        }
        let error = await #expect(throws: RequestError.self) { try await task.response }
        #expect(error?.kind == .connection(.lost))
        for await event in task.streamingLines() { #expect(event.completion?.error?.kind == .connection(.lost)) }
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `a request starts when a reader reads, or when it is resumed`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("body")) }
        let session = TestHarness.session(startRequestsImmediately: false)
        let task = session.streamRequest(server.url("/a")).streamTask()
        #expect(task.request.isInitialized)
        let bytes = task.bytes
        #expect(task.request.isInitialized)
        async let body = StreamFixture.body(bytes)
        #expect(server.requestCount == 0)
        task.resume()
        #expect(await body.data == Data("body".utf8))
        try await TestHarness.end(session, server)
    }

    @Test func `a queue that is never empty releases the memory of removed elements`() {
        var queue = PieceQueue()
        let piece = Data(count: 8192)
        queue.append(piece, joiningFrom: 0)
        for number in 1...10_000 {
            queue.append(piece, joiningFrom: number)
            queue.removeAll(before: number)
        }
        let places = Mirror(reflecting: queue).descendant("pieces") as? [Data]
        #expect((places?.count ?? .max) < 10)
        #expect(queue.endNumber - queue.startNumber == 1)
    }
}
