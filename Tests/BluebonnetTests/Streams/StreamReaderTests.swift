import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Several who read one body.
@Suite(.timeLimit(.minutes(1))) struct StreamReaderTests {
    private static let size = 5 << 20

    private static func server() async throws -> LocalServer {
        try await LocalServer { $0.get("/a") { _ in StreamScene.patterned(length: size) } }
    }

    @Test func `readers at different paces see the same bytes`() async throws {
        let server = try await Self.server()
        let session = Weather.session(startRequestsImmediately: false)
        let task = session.streamRequest(server.url("/a")).streamTask()
        let (first, second) = (task.bytes, task.bytes)
        task.resume()
        async let quick = StreamScene.body(first)
        async let slow = {
            var body = Data()
            for try await piece in second {
                body += piece
                for _ in 1...50 { await Task.yield() }
            }
            return body
        }()
        let (body, other) = (await quick, try await slow)
        #expect(body.error == nil)
        #expect(body.data.count == Self.size && StreamScene.isRight(body.data, at: 0))
        #expect(body.data == other)
        try await Weather.end(session, server)
    }

    @Test func `the slowest reader sets the pace of all, until it leaves`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamScene.patterned() } }
        let session = Weather.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        let quick = task.bytes
        let count = Locked(0)
        let reader = try await {
            var slow = task.bytes.makeAsyncIterator()
            let reader = Task {
                for try await piece in quick {
                    #expect(StreamScene.isRight(piece, at: count.withLock { $0 }))
                    count.withLock { $0 += piece.count }
                }
            }
            let offset = try await StreamScene.readPattern(&slow, from: 0, count: 1)
            let received = try await StreamScene.settled(session) { count.withLock { $0 } }
            #expect(received <= offset + (1024 + 3 * 256) * 1024)
            return reader
        }()
        // The slow one is gone, and the other goes on, undisturbed.
        for await progress in task.request.downloadProgressUpdates() where progress.completed > 8 << 20 { break }
        task.cancel()
        let error = await #expect(throws: RequestError.self) { try await reader.value }
        #expect(error?.isCancellation == true)
        #expect(count.withLock { $0 } > 8 << 20)
        try await Weather.end(session, server)
    }

    @Test func `a reader that leaves does not disturb the other`() async throws {
        let server = try await Self.server()
        let session = Weather.session(startRequestsImmediately: false)
        let task = session.streamRequest(server.url("/a")).streamTask()
        let (first, second) = (task.bytes, task.bytes)
        task.resume()
        async let whole = StreamScene.body(first)
        for try await _ in second { break }
        let (body, error) = await whole
        #expect(error == nil)
        #expect(body.count == Self.size && StreamScene.isRight(body, at: 0))
        #expect(task.request.state == .finished)
        try await Weather.end(session, server)
    }

    @Test func `a sequence sees everything from when it was asked for`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/a") { _ in
                .stream { writer in
                    try await writer.write("early")
                    await gate.wait()
                    try await writer.write("late")
                }
            }
        }
        let session = Weather.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        let all = task.bytes
        for await progress in task.request.downloadProgressUpdates() where progress.completed == 5 { break }
        let rest = task.bytes
        gate.open()
        #expect(await StreamScene.body(all).data == Data("earlylate".utf8))
        #expect(await StreamScene.body(rest).data == Data("late".utf8))
        try await Weather.end(session, server)
    }

    @Test func `what came before the first sequence waits for it`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("body")) }
        let session = Weather.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        _ = try await task.response
        for await _ in task.request.downloadProgressUpdates() {}
        #expect(task.request.isFinished)
        #expect(await StreamScene.body(task.bytes).data == Data("body".utf8))
        #expect(await StreamScene.body(task.bytes).data.isEmpty)
        try await Weather.end(session, server)
    }

    @Test func `a second loop over a sequence begins where it is`() async throws {
        let server = try await Self.server()
        let session = Weather.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        let bytes = task.bytes
        let (whole, error) = await StreamScene.body(bytes)
        #expect(whole.count == Self.size && error == nil)
        let again = await StreamScene.body(bytes)
        #expect(again.data.isEmpty && again.error == nil)
        try await Weather.end(session, server)
    }

    @Test func `a sequence asked for after the end ends at once`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("1\n2\n")) }
        let session = Weather.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        #expect(await StreamScene.read(task.lines).elements == ["1", "2"])
        #expect(await StreamScene.read(task.lines).elements.isEmpty)
        #expect(await StreamScene.body(task.bytes).data.isEmpty)
        var events: [DataStreamRequest.Stream<Data, Never>] = []
        for await event in task.streamingData() { events.append(event) }
        #expect(events.count == 1)
        #expect(events.first?.completion?.response?.statusCode == 200)
        try await Weather.end(session, server)
    }

    @Test func `a sequence asked for after a failure throws it`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .reset)
        let session = Weather.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        for _ in 1...3 {
            let (body, error) = await StreamScene.body(task.bytes)
            #expect(body.isEmpty)
            #expect(error?.kind == .connection(.lost))
        }
        let error = await #expect(throws: RequestError.self) { try await task.response }
        #expect(error?.kind == .connection(.lost))
        for await event in task.streamingLines() { #expect(event.completion?.error?.kind == .connection(.lost)) }
        #expect(server.requestCount == 1)
        try await Weather.end(session, server)
    }

    @Test func `nothing starts before somebody reads, nor in a session that waits for resume`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("body")) }
        let session = Weather.session(startRequestsImmediately: false)
        let task = session.streamRequest(server.url("/a")).streamTask()
        #expect(task.request.isInitialized)
        let bytes = task.bytes
        #expect(task.request.isInitialized)
        async let body = StreamScene.body(bytes)
        #expect(server.requestCount == 0)
        task.resume()
        #expect(await body.data == Data("body".utf8))
        try await Weather.end(session, server)
    }

    @Test func `a queue that is never empty does not keep the places of what was taken`() {
        var queue = PieceQueue()
        let piece = Data(count: 8192)
        queue.append(piece)
        for _ in 1...10_000 {
            queue.append(piece)
            #expect(queue.popFirst()?.count == 8192)
        }
        let places = Mirror(reflecting: queue).descendant("pieces") as? [Data]
        #expect((places?.count ?? .max) < 10)
        #expect(queue.count == 8192)
    }
}
