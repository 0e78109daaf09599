import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct SuspensionTests {
    @Test func `nothing is sent while a request is suspended before its start`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .text("text"))
            router.get("/b", .text("other"))
        }
        let session = TestHarness.session()
        let request = session.request(server.url("/a")).suspend()
        let task = request.serializingString()
        #expect(request.state == .suspended)
        #expect(try await session.request(server.url("/b")).serializingString().value == "other")
        #expect(server.requestCount == 1 && server.connectionCount == 1)
        task.resume()
        #expect(try await task.value == "text")
        #expect(server.requestCount == 2)
        try await TestHarness.end(session, server)
    }

    @Test func `a request that is suspended at once may have been sent, but ends only when resumed`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .text("text"))
            router.get("/b", .text("other"))
        }
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).serializingString()
        task.suspend()
        for _ in 1...20 { #expect(try await session.request(server.url("/b")).serializingString().value == "other") }
        task.resume()
        #expect(try await task.value == "text")
        try await TestHarness.end(session, server)
    }

    @Test func `nothing is read while suspended within the body, and all bytes are read when resumed`() async throws {
        let total = 64 << 20
        let gate = Gate()
        let written = Mutex(0)
        let piece = Self.pattern(65_536)
        let server = try await LocalServer { router in
            router.get("/large") { _ in
                .stream(length: total) { writer in
                    try await writer.write(piece)
                    await gate.wait()
                    for _ in 1..<total / piece.count {
                        try await writer.write(piece)
                        written.withLock { $0 += piece.count }
                    }
                }
            }
            router.get("/small", .text("small"))
        }
        let session = TestHarness.session()
        let request = session.request(server.url("/large"))
        let task = request.serializingData()
        for await progress in task.downloadProgressUpdates() where progress.completed == Int64(piece.count) { break }
        task.suspend()
        // Once another request has been answered, the loop knows of the suspension.
        #expect(try await session.request(server.url("/small")).serializingString().value == "small")
        gate.open()
        // Many turns of the same loop.
        try await passTime(in: session, on: server, for: .milliseconds(300))
        #expect(request.downloadProgress.completed == Int64(piece.count))
        // The buffers of the sockets contain only a small part of the body.
        #expect(written.withLock { $0 } < total - piece.count)
        #expect(request.state == .suspended)
        task.resume()
        let value = try await task.value
        #expect(value.count == total)
        for start in stride(from: 0, to: total, by: piece.count) {
            guard value[start..<start + piece.count] == piece else {
                Issue.record("the bytes from \(start) on are others")
                break
            }
        }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [1, 10, 100])
    func `suspending and resuming many times loses nothing`(times: Int) async throws {
        let body = Self.pattern(8 << 20)
        let server = try await LocalServer { router in
            router.get("/a", .data(body))
        }
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).serializingData()
        let toggling = Task {
            for _ in 1...times {
                task.suspend()
                await Task.yield()
                task.resume()
                await Task.yield()
            }
        }
        #expect(try await task.value == body)
        await toggling.value
        try await TestHarness.end(session, server)
    }

    @Test func `the idle timeout does not apply while suspended and restarts when resumed`() async throws {
        let limit = Duration.milliseconds(300)
        let silent = try await LocalServer.scripted(.waitForRequest, .stall)
        let server = try await LocalServer { router in
            router.get("/small", .text("small"))
        }
        let session = TestHarness.session()
        var task: DataTask<String>
        var attempts = 0
        repeat {
            // On a busy machine, the limit may be over before the request is suspended.
            attempts += 1
            task = session.request(silent.url("/a")) { $0.timeouts = Timeouts(idle: limit) }.serializingString()
            _ = try await silent.request(attempts)
            task.suspend()
            try await passTime(in: session, on: server, for: limit * 3)
        } while !task.request.isSuspended && attempts < 10
        #expect(task.request.isSuspended)
        let resumption = ContinuousClock.now
        task.resume()
        try await TestHarness.expect(task, in: session, failsWith: .timedOut(.idle))
        #expect(ContinuousClock.now - resumption >= limit)
        try await TestHarness.end(session, server)
        await silent.stop()
    }

    @Test(arguments: [false, true])
    func `cancelling while suspended`(inMidBody: Bool) async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789"), .stall)
        let session = TestHarness.session()
        let request = session.request(server.url("/a"))
        if !inMidBody { request.suspend() }
        let task = request.serializingData()
        if inMidBody {
            for await progress in task.downloadProgressUpdates() where progress.completed == 10 { break }
            task.suspend()
        }
        #expect(request.state == .suspended)
        task.cancel()
        try await TestHarness.expect(task, in: session, failsWith: .cancelled)
        task.resume()
        #expect(request.state == .cancelled)
        try await TestHarness.end(session, server)
    }

    @Test func `shutting down ends requests that were suspended before their start`() async throws {
        let transport = StubTransport { _ in .ok }
        let session = Session(transport: transport)
        let task = session.request("http://example.com/a").suspend().serializingData()
        let answer = Task { await task.response }
        while await session.withAllRequests({ $0.isEmpty }) { await Task.yield() }
        await session.shutdown()
        #expect(await answer.value.error?.kind == .sessionShutDown)
        #expect(transport.requestCount == 0)
    }

    @Test func `shutting down waits for requests that are suspended within the body`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789"),
            .bytes("0123456789"))
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).serializingString()
        for await progress in task.downloadProgressUpdates() where progress.completed >= 10 { break }
        task.suspend()
        let end = Task { await session.shutdown() }
        task.resume()
        await end.value
        #expect(try await task.value == "01234567890123456789")
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `cancelling the shutdown ends requests that are suspended within the body`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789"), .stall)
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).serializingString()
        for await progress in task.downloadProgressUpdates() where progress.completed == 10 { break }
        task.suspend()
        let end = Task { await session.shutdown() }
        end.cancel()
        await end.value
        #expect(await task.response.error?.kind == .cancelled)
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `suspended states follow the rules`() async throws {
        let session = Session(startRequestsImmediately: false, transport: StubTransport { _ in .text("text") })
        let request = session.request("http://example.com/a")
        let task = request.serializingString()
        #expect(request.isInitialized)
        #expect(request.suspend().isSuspended)
        #expect(request.suspend().isSuspended)
        #expect(request.resume().isResumed || request.isFinished)
        #expect(try await task.value == "text")
        #expect(request.suspend().isFinished)
        #expect(request.resume().isFinished)
        #expect(request.cancel().isFinished)
    }

    /// Bytes in which missing or repeated bytes are detected.
    private static func pattern(_ count: Int) -> Data {
        var data = Data((0..<251).map { UInt8($0) })
        // The check is cheap, because a long computation delays other tests.
        while data.count < count { data += data }
        return data.prefix(count)
    }

    /// Sends requests, one after the other, until the time has passed.
    private func passTime(in session: Session, on server: LocalServer, for duration: Duration) async throws {
        let end = ContinuousClock.now + duration
        repeat {
            #expect(try await session.request(server.url("/small")).serializingString().value == "small")
        } while ContinuousClock.now < end
    }
}
