import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The ends of readers, tasks and sequences that share a body.
@Suite(.timeLimit(.minutes(10))) struct StreamSharingTests {
    private static let size = 6 << 20

    private func withStream(
        length: Int? = size, _ body: (Session, LocalServer) async throws -> Void
    ) async throws {
        let server = try await LocalServer { router in
            router.get("/a") { _ in StreamFixture.patterned(length: length) }
            router.get("/empty") { _ in LocalServer.Response(status: 204) }
        }
        let session = TestHarness.session()
        try await body(session, server)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [true, false])
    func `a sequence keeps the body of a task that is released`(automatically: Bool) async throws {
        func bytes(_ session: Session, _ url: URL) async throws -> DataStreamTask.Bytes {
            let task = session.streamRequest(url).streamTask(automaticallyCancelling: automatically)
            _ = try await task.response
            return task.bytes
        }
        try await withStream { session, server in
            let (body, error) = await StreamFixture.body(try await bytes(session, server.url("/a")))
            #expect(error == nil && body.count == Self.size && StreamFixture.isRight(body, at: 0))
        }
    }

    @Test func `a cancelled task that begins to read does not end the other readers`() async throws {
        try await withStream { session, server in
            let task = session.streamRequest(server.url("/a")).streamTask()
            let readers = task.readers(2)
            var first = readers[0].bytes.makeAsyncIterator()
            let offset = try await StreamFixture.readPattern(&first, from: 0, count: 1)
            // One reader in its place, and one that is too late.
            for other in [readers[1], task] {
                let gate = Gate()
                let cancelled = Task {
                    await gate.wait()
                    return await StreamFixture.body(other.bytes).error
                }
                cancelled.cancel()
                gate.open()
                #expect(await cancelled.value?.kind == .cancelled)
            }
            let end = try await StreamFixture.readPattern(&first, from: offset, count: Self.size - offset)
            #expect(end == Self.size)
            #expect(try await first.next() == nil)
        }
    }

    @Test func `waiting for the head in a cancelled task does not end the other readers`() async throws {
        try await withStream { session, server in
            let readers = session.streamRequest(server.url("/a")).streamTask().readers(2)
            let gate = Gate()
            let cancelled = Task {
                await gate.wait()
                return try await readers[1].response
            }
            cancelled.cancel()
            gate.open()
            let error = await #expect(throws: RequestError.self) { try await cancelled.value }
            #expect(error?.kind == .cancelled)
            async let second = StreamFixture.body(readers[1].bytes)
            let (body, failure) = await StreamFixture.body(readers[0].bytes)
            #expect(failure == nil && body.count == Self.size)
            #expect(await second.data.count == Self.size)
        }
    }

    /// Much less than the high watermark waits, so the first reader must not wait for the second.
    @Test(arguments: [256 * 1024, 0])
    func `a reader that shares a body continues up to the high watermark`(lowWatermark: Int) async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned(length: 900_000) } }
        let session = TestHarness.session { $0.bodyLowWatermark = lowWatermark }
        let task = session.streamRequest(server.url("/a")).streamTask()
        // Without a reader, the body is held back from its first piece on.
        _ = try await task.response
        for await progress in task.request.downloadProgressUpdates() where progress.completed > 0 { break }
        let readers = task.readers(2)
        for reader in readers {
            let (body, error) = await StreamFixture.body(reader.bytes)
            #expect(error == nil && body.count == 900_000 && StreamFixture.isRight(body, at: 0))
        }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [true, false])
    func `a cancelled task stops waiting for the head of a request that was not started`(
        automatically: Bool
    ) async throws {
        let session = Session(startRequestsImmediately: false)
        let request = session.streamRequest("http://127.0.0.1:1/")
        let task = request.streamTask(automaticallyCancelling: automatically)
        let waiting = Task { try await task.response }
        await Task.yield()
        waiting.cancel()
        let error = await #expect(throws: RequestError.self) { try await waiting.value }
        #expect(error?.kind == .cancelled)
        #expect(request.isCancelled == automatically)
        await session.shutdown()
    }

    @Test func `a request that was resumed and whose readers are all released is cancelled`() async throws {
        try await withStream(length: nil) { session, server in
            let request = session.streamRequest(server.url("/a"))
            do {
                let task = request.streamTask()
                let readers = task.readers(2)
                task.resume()
                for await progress in request.downloadProgressUpdates() where progress.completed > 0 { break }
                withExtendedLifetime((task, readers)) {}
            }
            try await server.waitForOpenConnections(atMost: 0)
            #expect(request.isCancelled)
        }
    }

    @Test func `an empty body can be read twice, since nothing of it is missed`() async throws {
        try await withStream { session, server in
            let task = session.streamRequest(server.url("/empty")).streamTask()
            for _ in 1...2 {
                let (body, error) = await StreamFixture.body(task.bytes)
                #expect(error == nil && body.isEmpty)
            }
        }
    }

    /// The bytes of a transport may have a deallocator that uses the request.
    @Test func `bytes that no reader took are released without a lock`() {
        let body = BodyFanOut(highWatermark: 1 << 20, lowWatermark: 0)
        let isReleased = Locked(false)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 1 << 16, alignment: 1)
        // Safety: the deallocator is the only code that frees the memory, after the last use.
        let action = unsafe body.receive(
            Data(
                bytesNoCopy: memory, count: 1 << 16,
                deallocator: .custom { pointer, _ in
                    unsafe pointer.deallocate()
                    _ = body.reserve(cancelsRequest: false)
                    isReleased.withLock { $0 = true }
                }))
        #expect(action == .pause)
        body.leave(body.join(cancelsRequest: false))
        #expect(isReleased.withLock { $0 })
    }
}
