import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Readers that leave early, and requests that are paused within the stream.
@Suite(.timeLimit(.minutes(10))) struct StreamAbandonmentTests {
    /// The ways to read a part of a stream and no more.
    enum Loop: CaseIterable {
        case bytes, lines, events, data, strings

        func readOne(of task: DataStreamTask) async throws {
            switch self {
            case .bytes: for try await _ in task.bytes { break }
            case .lines: for try await _ in task.lines { break }
            case .events: for try await _ in task.serverSentEvents { break }
            case .data: for await _ in task.streamingData() { break }
            case .strings: for await _ in task.streamingStrings() { break }
            }
        }
    }

    private static func endless() async throws -> LocalServer {
        try await LocalServer {
            $0.get("/a") { _ in .endless(Data(String(repeating: "data: text\n\n", count: 4096).utf8)) }
        }
    }

    @Test(arguments: Loop.allCases)
    func `leaving a loop cancels the request and closes its connection`(_ loop: Loop) async throws {
        let server = try await Self.endless()
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        try await loop.readOne(of: task)
        try await server.waitForOpenConnections(atMost: 0)
        #expect(task.request.isCancelled)
        await session.shutdown()
        #expect(task.request.error?.kind == .cancelled)
        // The body may end a little later than the request.
        var late = await StreamFixture.body(task.bytes).error
        while late?.kind == .bodyAlreadyRead { late = await StreamFixture.body(task.bytes).error }
        #expect(late?.kind == .cancelled)
    }

    @Test(arguments: Loop.allCases)
    func `a request without automatic cancellation completes without readers`(_ loop: Loop) async throws {
        let size = 11 << 20
        let server = try await LocalServer { router in
            router.get("/a") { _ in
                .stream(length: size) { writer in
                    for _ in 0..<(size / 11) / 65_536 {
                        try await writer.write(String(repeating: "data: text\n", count: 65_535))
                        try await writer.write("data:text\n\n")
                    }
                }
            }
        }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask(automaticallyCancelling: false)
        try await loop.readOne(of: task)
        await session.shutdown()
        #expect(task.request.state == .finished)
        #expect(task.request.error == nil)
        #expect(task.request.downloadProgress.completed == Int64(size))
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `releasing a task after the head cancels the request`() async throws {
        let server = try await Self.endless()
        let session = TestHarness.session()
        let request = session.streamRequest(server.url("/a"))
        _ = try await request.streamTask().response
        try await server.waitForOpenConnections(atMost: 0)
        await session.shutdown()
        #expect(request.isCancelled)
    }

    @Test func `releasing a reader unread cancels the request`() async throws {
        let server = try await Self.endless()
        let session = TestHarness.session()
        let request = session.streamRequest(server.url("/a"))
        _ = request.streamTask().bytes
        #expect(request.isInitialized)
        _ = request.streamTask().bytes.makeAsyncIterator()
        await session.shutdown()
        #expect(request.isCancelled)
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `a request whose task is released continues while its sequence is retained`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned(length: 2 << 20) } }
        let session = TestHarness.session()
        func bytes() -> DataStreamTask.Bytes { session.streamRequest(server.url("/a")).streamTask().bytes }
        let (body, error) = await StreamFixture.body(bytes())
        #expect(body.count == 2 << 20 && error == nil)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [true, false])
    func `cancelling the task of a loop ends the loop with a cancellation`(automatically: Bool) async throws {
        let server = try await Self.endless()
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask(automaticallyCancelling: automatically)
        let (began, hold) = (Gate(), Gate())
        let reader = Task { () -> RequestError? in
            do throws(RequestError) {
                for try await _ in task.bytes {
                    began.open()
                    await hold.wait()
                }
                return nil
            } catch {
                return error
            }
        }
        await began.wait()
        reader.cancel()
        #expect(await reader.value?.kind == .cancelled)
        if automatically {
            try await server.waitForOpenConnections(atMost: 0)
            #expect(task.request.isCancelled)
        } else {
            #expect(task.request.isResumed)
            // The request continues, and its bytes are dropped.
            let received = task.request.downloadProgress.completed
            for await progress in task.request.downloadProgressUpdates()
            where progress.completed > received + 8 << 20 { break }
            task.cancel()
        }
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling a task that waits for bytes ends its loop`() async throws {
        let server = try await LocalServer { router in
            router.get("/a") { _ in .script(.bytes("HTTP/1.1 200 OK\r\n\r\n"), .stall) }
        }
        let session = TestHarness.session()
        for _ in 1...20 {
            let task = session.streamRequest(server.url("/a")).streamTask()
            let bytes = task.bytes
            _ = try await task.response
            let reader = Task { await StreamFixture.body(bytes) }
            await Task.yield()
            reader.cancel()
            #expect(await reader.value.error?.kind == .cancelled)
        }
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling the task that waits for the head cancels the request`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .stall)
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        let reader = Task { try await task.response }
        _ = try await server.nextRequest()
        reader.cancel()
        let error = await #expect(throws: RequestError.self) { try await reader.value }
        #expect(error?.kind == .cancelled)
        #expect(task.request.isCancelled)
        try await TestHarness.end(session, server)
    }

    @Test func `a suspended stream pauses and continues at the same position`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned() } }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        let bytes = task.bytes
        let count = Locked(0)
        let reader = Task {
            for try await piece in bytes {
                let offset = count.withLock { $0 }
                #expect(StreamFixture.isRight(piece, at: offset))
                count.withLock { $0 = offset + piece.count }
            }
        }
        for round in 1...5 {
            for await progress in task.request.downloadProgressUpdates()
            where progress.completed > Int64(round) << 21 { break }
            task.suspend()
            #expect(task.request.isSuspended)
            let read = try await StreamFixture.settled(session) { count.withLock { $0 } }
            let sent = try await StreamFixture.settled(session) { server.traffic.bytesSent }
            #expect(count.withLock { $0 } == read)
            #expect(try sent - read < StreamFixture.bytesUnderway())
            task.resume()
        }
        for await progress in task.request.downloadProgressUpdates() where progress.completed > 16 << 20 { break }
        task.cancel()
        let error = await #expect(throws: RequestError.self) { try await reader.value }
        #expect(error?.kind == .cancelled)
        try await TestHarness.end(session, server)
    }

    @Test func `a suspended stream with a waiting reader continues only when both continue`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned(length: 8 << 20) } }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        var iterator = task.bytes.makeAsyncIterator()
        var offset = try await StreamFixture.readPattern(&iterator, from: 0, count: 1)
        for order in 0...3 {
            _ = try await StreamFixture.settled(session) { Int(task.request.downloadProgress.completed) }
            task.suspend()
            let end = Int(task.request.downloadProgress.completed)
            // The order of resuming and making room.
            if order.isMultiple(of: 2) { task.resume() }
            offset = try await StreamFixture.readPattern(&iterator, from: offset, count: end - offset)
            task.resume()
        }
        offset = try await StreamFixture.readPattern(&iterator, from: offset, count: (8 << 20) - offset)
        #expect(try await iterator.next() == nil)
        try await TestHarness.end(session, server)
    }
}
