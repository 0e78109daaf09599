import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Back-pressure, suspension, cancellation and shutdown.
@Suite(.timeLimit(.minutes(10))) struct WebSocketFlowTests {
    private typealias Fixture = WebSocketFixture

    @Test func `a server waits for a loop that does not read`() async throws {
        var options = LocalServer.Options()
        options.sendBufferBytes = 64 * 1024
        let frames = Data((0..<1024).flatMap { _ in Fixture.frame(0x82, Array(repeating: 5, count: 60_000)) })
        let server = try await LocalServer(options: options) { router in
            router.get("/socket") {
                .script(Fixture.accept($0), .bytes(frames), Fixture.close(1000), Fixture.received(2))
            }
        }
        let session = TestHarness.session {
            $0.bodyHighWatermark = 256 * 1024
            $0.bodyLowWatermark = 64 * 1024
        }
        let task = Fixture.request(session, server).webSocketTask()
        var iterator = task.messages.makeAsyncIterator()
        #expect(try await iterator.next() == .binary(Data(repeating: 5, count: 60_000)))
        _ = try await server.waitForQuiet()
        #expect(server.traffic.bytesSent < 16 << 20)
        // The queue, and the bytes of one turn of the loop.
        #expect(task.request.downloadProgress.completed <= 60_000 + (256 + 3 * 256) * 1024)
        var count = 1
        while try await iterator.next() != nil { count += 1 }
        #expect(count == 1024)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [(10, [10, 10, 5]), (25, [25]), (1 << 20, [25]), (0, Array(repeating: 1, count: 25))])
    func `a message is sent in frames of the configured size`(_ size: Int, frames: [Int]) async throws {
        let received = Locked<[UInt8]>([])
        let server = try await LocalServer { router in
            router.get("/socket") { request in
                .script(
                    Fixture.accept(request),
                    .read { bytes, isEnd in
                        received.withLock { all in
                            all += bytes
                            return isEnd || all.count >= 25 + 6 * frames.count
                        }
                    }, Fixture.close(1000), .waitForClose)
            }
        }
        let session = TestHarness.session()
        var configuration = Fixture.plain
        configuration.maximumFrameBytes = size
        let url = "ws://127.0.0.1:\(server.port)/socket"
        let task = session.webSocket(url, configuration: configuration).webSocketTask()
        try await task.send(Data(count: 25))
        let (messages, error) = await Fixture.messages(task)
        #expect(messages == [] && error == nil)
        var (rest, sizes, isLast): (ArraySlice<UInt8>, [Int], Bool) = (received.withLock(\.self)[...], [], false)
        while rest.count > 6, !isLast {
            let size = Int(rest[rest.startIndex + 1] & 0x7f)
            (isLast, sizes) = (rest[rest.startIndex] & 0x80 != 0, sizes + [size])
            // The head of a frame, with its mask, has 6 bytes.
            rest = rest.dropFirst(6 + size)
        }
        #expect(sizes == frames && isLast && rest.isEmpty)
        try await TestHarness.end(session, server)
    }

    /// What the system keeps looks sent, and a ping waits behind it.
    @Test func `the system keeps few bytes for a server that does not read`() async throws {
        var options = LocalServer.Options()
        options.receiveBufferBytes = 64 * 1024
        let mayRead = Gate()
        let server = try await LocalServer(options: options) { router in
            router.get("/socket") { .script(Fixture.accept($0), .wait { await mayRead.wait() }, .waitForClose) }
        }
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        _ = try await task.response
        let sender = Task { try await task.send(Data(count: 16 << 20)) }
        let settled = try await StreamFixture.settled(session) { Int(task.request.uploadProgress.completed) }
        #expect(settled < 1 << 20)
        mayRead.open()
        try await sender.value
        task.request.cancel()
        try await TestHarness.end(session, server)
    }

    @Test func `send waits for a server that does not read, and cancellation ends the wait`() async throws {
        var options = LocalServer.Options()
        options.receiveBufferBytes = 64 * 1024
        let mayRead = Gate()
        let server = try await LocalServer(options: options) { router in
            router.get("/socket") { .script(Fixture.accept($0), .wait { await mayRead.wait() }, .waitForClose) }
        }
        let session = TestHarness.session {
            $0.bodyHighWatermark = 256 * 1024
            $0.bodyLowWatermark = 64 * 1024
        }
        let task = Fixture.request(session, server).webSocketTask()
        _ = try await task.response
        let sent = Locked(0)
        let sender = Task {
            while true {
                try await task.send(Data(repeating: 1, count: 50_000))
                sent.withLock { $0 += 1 }
            }
        }
        let settled = try await StreamFixture.settled(session) { sent.withLock { $0 } }
        #expect(settled < 400)
        let unsent = Int64(settled) * 50_008 - task.request.uploadProgress.completed
        #expect(unsent <= 256 * 1024 + 50_008)
        sender.cancel()
        let result = await sender.result
        #expect(throws: RequestError.self) { try result.get() }
        #expect(task.request.state == .resumed)
        task.request.cancel()
        mayRead.open()
        try await TestHarness.end(session, server)
    }

    @Test func `messages of many tasks are whole and none is lost`() async throws {
        let count = 40
        let size = 100_000
        // Each message has two frames of at most 64 KiB.
        let server = try await Fixture.server(
            .waitForBytes(count * (size + 16)), Fixture.close(1000), Fixture.received(2))
        let session = TestHarness.session { $0.bodyHighWatermark = 64 * 1024 }
        let task = Fixture.request(session, server).webSocketTask()
        try await withThrowingTaskGroup { group in
            for number in 0..<count {
                group.addTask { try await task.send(Data(repeating: UInt8(number), count: size)) }
            }
            try await group.waitForAll()
        }
        let (_, error) = await Fixture.messages(task)
        #expect(error == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `a suspended socket neither sends nor receives`() async throws {
        let server = try await Fixture.server(
            Fixture.received(1), Fixture.text("a"), Fixture.received(1), Fixture.text("b"), Fixture.close(1000),
            Fixture.received(2))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        try await task.send("1")
        var iterator = task.messages.makeAsyncIterator()
        #expect(try await iterator.next() == .text("a"))
        task.request.suspend()
        let before = try await server.waitForQuiet()
        try await task.send("2")
        #expect(try await server.waitForQuiet() == before)
        task.request.resume()
        #expect(try await iterator.next() == .text("b"))
        #expect(try await iterator.next() == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling the loop's task ends its wait and closes the socket`() async throws {
        let server = try await Fixture.server(Fixture.text("a"), Fixture.received(2), Fixture.close(1000))
        let session = TestHarness.session()
        let request = Fixture.request(session, server)
        let hasRead = Gate()
        let reader = Task {
            for try await _ in request.webSocketTask().messages { hasRead.open() }
        }
        await hasRead.wait()
        reader.cancel()
        let result = await reader.result
        #expect(throws: RequestError.self) { try result.get() }
        try await TestHarness.end(session, server)
        #expect(request.state == .finished)
    }

    @Test func `cancelling the request ends all waits`() async throws {
        let server = try await Fixture.server(.waitForClose)
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        _ = try await task.response
        let reader = Task { await Fixture.messages(task).1?.kind }
        let pinger = Task { () async -> RequestError.Kind? in
            do throws(RequestError) {
                try await task.ping()
                return nil
            } catch { return error.kind }
        }
        let closer = Task { try await task.close() }
        task.request.cancel()
        #expect(await reader.value == .cancelled)
        #expect(await pinger.value != nil)
        try await closer.value
        #expect(task.request.state == .cancelled)
        try await server.waitForOpenConnections(atMost: 0)
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling during the handshake ends it`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .waitForClose)
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        let sender = Task { try await task.send("a") }
        _ = try await server.nextRequest()
        task.request.cancel()
        let result = await sender.result
        #expect(throws: RequestError.self) { try result.get() }
        try await TestHarness.end(session, server)
    }

    @Test func `a session that ends closes its sockets`() async throws {
        let server = try await Fixture.server(Fixture.text("a"), .waitForClose)
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        var iterator = task.messages.makeAsyncIterator()
        #expect(try await iterator.next() == .text("a"))
        let shutdown = Task { await session.shutdown() }
        shutdown.cancel()
        await shutdown.value
        #expect(task.request.state == .cancelled)
        try await server.waitForOpenConnections(atMost: 0)
        await server.stop()
    }

    @Test func `values are sent and received as JSON`() async throws {
        struct Point: Codable, Equatable { let x: Int }
        let server = try await Fixture.server(
            Fixture.received(7), Fixture.text("{\"x\":2}"), Fixture.text("no"), Fixture.received(2))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        try await task.send(json: Point(x: 1))
        var iterator = task.decodables(of: Point.self).makeAsyncIterator()
        #expect(try await iterator.next() == Point(x: 2))
        await #expect(throws: RequestError.self) { try await iterator.next() }
        task.request.cancel()
        try await TestHarness.end(session, server)
    }
}
