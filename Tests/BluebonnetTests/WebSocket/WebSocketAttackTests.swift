import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Servers that try to use memory, to block the event loop, or to make the client wait without a limit.
@Suite(.timeLimit(.minutes(10))) struct WebSocketAttackTests {
    private typealias Fixture = WebSocketFixture

    // MARK: Memory

    @Test(arguments: [[0x81, 0], [0x82, 0], [0x81, 1, 0x61], [0x82, 1, 0x61], [0x02, 0, 0x80, 0], [0x02, 1, 7]])
    func `messages without bytes, and pieces of few bytes, fill the queue as well`(frame: [UInt8]) {
        var queues = WebSocketQueues(high: 64 * 1024, low: 16 * 1024, maximumMessageSize: .max)
        _ = queues.opened(nil, nil)
        var frame = frame
        if frame[0] == 0x02, frame.count == 3 {
            // The first fragment of a message without an end.
            _ = queues.received(Data(frame))
            frame[0] = 0x00
        }
        var messages = 0
        for _ in 0..<200 {
            let isReading = queues.received(Data((0..<1000).flatMap { _ in frame }))
            messages += 1000
            if !isReading { break }
        }
        #expect(messages <= 3000)
    }

    /// Each frame takes time of the event loop, however few bytes it has.
    @Test(arguments: [[0x89, 0], [0x8a, 0], [0x00, 1, 0x61], [0x00, 0]])
    func `many small frames are parsed a few at a time`(frame: [UInt8]) {
        var queues = WebSocketQueues(high: 1 << 30, low: 16 * 1024, maximumMessageSize: .max)
        _ = queues.opened(nil, nil)
        _ = queues.received(Data([0x01, 1, 0x61]))
        let isReading = queues.received(Data((0..<8000).flatMap { _ in frame }))
        #expect(!isReading)
        var turns = 0
        while case let effects? = queues.takeEffects() {
            let isLater = effects.rare.contains { if case .parseLater = $0 { true } else { false } }
            guard isLater else { break }
            turns += 1
            queues.parseMore()
        }
        // Frames without bytes are read in groups.
        #expect(turns > (frame == [0x00, 0] ? 0 : 10))
        let isReadingAgain = queues.received(Data([0x89, 0]))
        #expect(isReadingAgain)
    }

    /// Before, the frames of the pongs took 96 MB.
    @Test func `only some pings of a peer that does not read are answered`() {
        var queues = WebSocketQueues(high: 1 << 20, low: 16 * 1024, maximumMessageSize: .max)
        _ = queues.opened(nil, nil)
        for _ in 0..<1000 { _ = queues.received(Data([0x89, 0])) }
        #expect(Self.count(of: queues.takeFrames()) == 64)
        queues.sent = 64 * 6
        #expect(Self.count(of: queues.takeFrames()) == 1, "the last ping is answered")
        _ = queues.received(Data([0x89, 0]))
        #expect(Self.count(of: queues.takeFrames()) == 1)
    }

    private static func count(of frames: TinyArray<Data>) -> Int {
        var count = 0
        frames.forEach { _ in count += 1 }
        return count
    }

    // MARK: Signs of life

    @Test func `bytes that arrive are signs of life`() {
        var queues = WebSocketQueues(high: 1 << 20, low: 16 * 1024, maximumMessageSize: .max)
        _ = queues.opened(nil, nil)
        queues.keepAliveElapsed(isSuspended: false)
        // A long message, whose bytes arrive slowly. The pong is behind it.
        _ = queues.received(Data([0x82, 127, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff]))
        for _ in 0..<5 {
            _ = queues.received(Data([0]))
            queues.keepAliveElapsed(isSuspended: false)
            #expect(queues.phase.isOpen)
        }
        queues.keepAliveElapsed(isSuspended: false)
        #expect(queues.phase.closure?.isPingUnanswered == true)
    }

    @Test func `bytes that the peer takes are signs of life while the ping waits behind them`() {
        var queues = WebSocketQueues(high: 1 << 20, low: 16 * 1024, maximumMessageSize: .max)
        _ = queues.opened(nil, nil)
        _ = queues.enqueued(Data(count: 10_000), isLast: true)
        for sent in stride(from: Int64(0), to: 10_000, by: 2_000) {
            queues.sent = sent
            queues.keepAliveElapsed(isSuspended: false)
            #expect(queues.phase.isOpen)
        }
        // The ping is sent, and then nothing happens.
        queues.sent = 10_000 + 14 * 5
        queues.keepAliveElapsed(isSuspended: false)
        #expect(queues.phase.isOpen)
        queues.sent += 14
        queues.keepAliveElapsed(isSuspended: false)
        #expect(queues.phase.closure?.isPingUnanswered == true)
    }

    /// The bytes of the ping itself are no sign.
    @Test func `a silent peer fails when the next ping is due`() {
        var queues = WebSocketQueues(high: 1 << 20, low: 16 * 1024, maximumMessageSize: .max)
        _ = queues.opened(nil, nil)
        queues.keepAliveElapsed(isSuspended: false)
        queues.sent = 14
        queues.keepAliveElapsed(isSuspended: false)
        #expect(queues.phase.closure?.isPingUnanswered == true)
    }

    /// The systems of both ends may take megabytes before the peer reads a byte.
    @Test(arguments: [false, true])
    func `pings within a long message show that the peer reads it`(isKeptAlive: Bool) {
        var queues = WebSocketQueues(
            high: 1 << 30, low: 16 * 1024, maximumMessageSize: .max, isKeptAlive: isKeptAlive)
        _ = queues.opened(nil, nil)
        for _ in 0..<63 { _ = queues.enqueued(Data(count: 64 * 1024), isLast: false) }
        _ = queues.enqueued(Data(count: 64 * 1024), isLast: true)
        for _ in 0..<1000 { _ = queues.enqueued(Data(count: 1024), isLast: true) }
        #expect(Self.count(of: queues.takeFrames()) == 1064 + (isKeptAlive ? 16 + 3 : 0))
    }

    @Test func `a peer that takes no bytes shows no sign of life`() {
        var queues = WebSocketQueues(high: 1 << 20, low: 16 * 1024, maximumMessageSize: .max)
        _ = queues.opened(nil, nil)
        _ = queues.enqueued(Data(count: 10_000), isLast: true)
        queues.sent = 5_000
        queues.keepAliveElapsed(isSuspended: false)
        queues.keepAliveElapsed(isSuspended: false)
        #expect(queues.phase.closure?.isPingUnanswered == true)
    }

    @Test func `pieces that were read are released`() {
        var queues = WebSocketQueues(high: 64 * 1024, low: 16 * 1024, maximumMessageSize: .max)
        _ = queues.opened(nil, nil)
        let released = Locked(0)
        for _ in 0..<100 {
            let frame = Fixture.frame(0x82, Array(repeating: 1, count: 100))
            let memory = UnsafeMutableRawPointer.allocate(byteCount: frame.count, alignment: 1)
            unsafe memory.copyMemory(from: frame, byteCount: frame.count)
            let bytes = unsafe Data(
                bytesNoCopy: memory, count: frame.count,
                deallocator: .custom { pointer, _ in
                    unsafe pointer.deallocate()
                    released.withLock { $0 += 1 }
                })
            _ = queues.received(bytes)
        }
        #expect(released.withLock { $0 } == 100)
    }

    @Test func `a socket without a reader does not decode`() {
        var queues = WebSocketQueues(high: 64 * 1024, low: 16 * 1024, maximumMessageSize: .max)
        _ = queues.opened(nil, .init())
        _ = queues.closeRequested(WebSocketClose(valid: .normalClosure), isDiscarding: true)
        // This is no compressed data. The close frame behind it is still found.
        let frames = Fixture.frame(0xc2, Array(repeating: 0xff, count: 200)) + [0x88, 2, 0x03, 0xe8]
        _ = queues.received(Data(frames))
        let closure = queues.phase.closure
        #expect(closure?.received?.code == .normalClosure)
        #expect(closure?.violation == nil)
    }

    @Test func `a message that is discarded in its midst does not disturb the next`() {
        var queues = WebSocketQueues(high: 100_000, low: 16 * 1024, maximumMessageSize: .max)
        _ = queues.opened(nil, .init())
        // Two messages of 200,000 zeros, of which the first one has been received and is not decoded completely.
        let zeros = Deflater(windowBits: -15)?.compress(Data(count: 200_000), flushes: true).dropLast(4) ?? Data()
        let frame = Data(Fixture.frame(0xc2, Array(zeros)))
        let isReading = queues.received(frame)
        #expect(!isReading)
        _ = queues.closeRequested(WebSocketClose(valid: .normalClosure), isDiscarding: false)
        _ = queues.received(frame + [0x88, 2, 0x03, 0xe8])
        let closure = queues.phase.closure
        #expect(closure?.received?.code == .normalClosure)
        #expect(closure?.violation == nil)
    }

    @Test func `a connection that was closed before it is open delivers nothing`() {
        let close = WebSocketClose(valid: .normalClosure)
        for isEarly in [true, false] {
            var queues = WebSocketQueues(high: 1024, low: 512, maximumMessageSize: .max)
            let isClosing = isEarly ? queues.closeRequested(close, isDiscarding: false) : true
            let hasOpened = queues.opened(nil, nil)
            let closesLater = queues.closeRequested(close, isDiscarding: false)
            #expect([isClosing, hasOpened, closesLater] == (isEarly ? [false, false, false] : [true, true, true]))
            _ = queues.received(Data(Fixture.frame(0x81, Array("0".utf8))))
            queues.finished(with: RequestError(.cancelled))
            let read = queues.takeMessage()
            switch read {
            case .value(let message): #expect(!isEarly && message == .text("0"))
            case .end(let error): #expect(isEarly && error?.kind == .cancelled)
            case .wait: Issue.record("the reader waits without an end")
            }
        }
    }

    // MARK: Waits

    @Test func `a later send does not overtake a send that waits for room`() async {
        let (waiting, effects) = (Locked<WebSocketQueues.Waiter?>(nil), Locked(0))
        let waiter = Task {
            await withResumption { resumption in
                waiting.withLock { $0 = WebSocketQueues.Waiter(id: 1, event: .turn, resumption: resumption) }
            }
        }
        while waiting.withLock({ $0 == nil }) { await Task.yield() }
        var queues = WebSocketQueues(high: 100, low: 10, maximumMessageSize: .max)
        _ = queues.enqueued(Data(count: 150), isLast: true)
        let mayAtFirst = queues.allows(.turn, isWaiting: false)
        #expect(!mayAtFirst)
        if let first = waiting.withLock({ $0 }) { queues.waiters.append(first) }
        // There is some room, but the first send waits for more of it.
        queues.sent = 100
        let tooEarly = queues.takeEffects()
        #expect(tooEarly == nil)
        let mayOvertake = queues.allows(.turn, isWaiting: false)
        #expect(!mayOvertake)
        queues.sent = 145
        for resumption in queues.takeEffects()?.ready ?? TinyArray() {
            resumption.resume(returning: true)
            effects.withLock { $0 += 1 }
        }
        #expect(await waiter.value)
        #expect(effects.withLock { $0 } == 1)
    }

    @Test func `a send fails if the connection is lost while messages wait for their reader`() async throws {
        let mayReset = Gate()
        let frames = Data((0..<64).flatMap { _ in Fixture.frame(0x82, Array(repeating: 5, count: 60_000)) })
        let server = try await Fixture.server(.bytes(frames), .wait { await mayReset.wait() }, .reset)
        let session = TestHarness.session {
            $0.bodyHighWatermark = 64 * 1024
            $0.bodyLowWatermark = 16 * 1024
        }
        let task = Fixture.request(session, server).webSocketTask()
        _ = try await task.response
        let sender = Task { () async -> RequestError? in
            do throws(RequestError) {
                while true { try await task.send(Data(count: 30_000)) }
            } catch { return error }
        }
        _ = try await server.waitForQuiet()
        mayReset.open()
        await server.closeConnections(resetting: true)
        #expect(await sender.value?.kind == .connection(.lost))
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "\r\n", "\n"])
    func `a handshake does not wait through endless informational responses or empty lines`(text: String) async throws {
        let endless = String(repeating: text, count: 400_000 / text.utf8.count)
        let server = try await LocalServer.scripted(.waitForRequest, .text(endless), .waitForClose)
        let session = TestHarness.session { $0.maximumResponseHeadBytes = 10_000 }
        let (_, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        #expect(error?.kind == .invalidResponse(.headTooLarge(limit: 10_000)))
        try await TestHarness.end(session, server)
    }

    // MARK: Meanings

    @Test func `the messages are not decoded by a content coding of the handshake's response`() async throws {
        let server = try await LocalServer { router in
            router.get("/socket") {
                .script(
                    Fixture.accept($0, ["Content-Encoding": "gzip"]), Fixture.text("a"), Fixture.close(1000),
                    Fixture.received(2))
            }
        }
        let session = TestHarness.session()
        let (messages, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        #expect(messages == [.text("a")])
        #expect(error == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `a reason with control characters does not begin a line of a log`() async throws {
        let server = try await Fixture.server(Fixture.close(1011, "a\r\nERROR\u{1b}[2J\u{2028}b"), Fixture.received(2))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        let (_, error) = await Fixture.messages(task)
        #expect(task.closeReason == "a\r\nERROR\u{1b}[2J\u{2028}b")
        let text = error?.description ?? ""
        #expect(text.contains("ERROR"))
        #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control || $0 == "\u{2028}" })
        try await TestHarness.end(session, server)
    }

    @Test func `an extension of the server is not shown with control characters, nor in full length`() async throws {
        let name = "a\u{1b}[2J" + String(repeating: "b", count: 5000)
        let server = try await LocalServer { router in
            router.get("/socket") {
                .script(Fixture.accept($0, ["Sec-WebSocket-Extensions": name]), .waitForClose)
            }
        }
        let session = TestHarness.session()
        let (_, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        let text = error?.description ?? ""
        #expect(text.utf8.count < 500)
        #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control })
        try await TestHarness.end(session, server)
    }

    // MARK: Closing

    @Test func `a loop still receives the messages that waited when another task closed the socket`() async throws {
        let frames = Data((0..<20).flatMap { _ in Fixture.frame(0x82, Array(repeating: 5, count: 10_000)) })
        let server = try await Fixture.server(
            .bytes(frames), Fixture.received(2), Fixture.close(1000))
        let session = TestHarness.session {
            $0.bodyHighWatermark = 64 * 1024
            $0.bodyLowWatermark = 16 * 1024
        }
        let task = Fixture.request(session, server).webSocketTask()
        var iterator = task.messages.makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        _ = try await server.waitForQuiet()
        try await task.close()
        var count = 0
        while try await iterator.next() != nil { count += 1 }
        #expect(count >= 5)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [0, 1])
    func `what arrived before the end of the connection is read behind the bound of the queue`(seen: Int) async throws {
        let frames = Data((0..<20).flatMap { _ in Fixture.frame(0x82, Array(repeating: 5, count: 2000)) })
        // The server does not wait for the answer to its close frame. All fits into the first window of TCP: it would be
        // lost otherwise, when something is sent to the closed connection.
        let server = try await Fixture.server(.bytes(frames + [0x88, 2, 0x03, 0xe8]))
        let session = TestHarness.session {
            $0.bodyHighWatermark = 8 * 1024
            $0.bodyLowWatermark = 4 * 1024
        }
        let task = Fixture.request(session, server).webSocketTask()
        _ = try await task.response
        var iterator = task.messages.makeAsyncIterator()
        for _ in 0..<seen { #expect(try await iterator.next() != nil) }
        try await server.waitForOpenConnections(atMost: 0)
        await TestHarness.performEarlierCommands(of: session)
        if seen > 0 {
            await #expect(throws: RequestError.self) { while true { try await task.send(Data(count: 50_000)) } }
        }
        for _ in seen..<20 { #expect(try await iterator.next() == .binary(Data(repeating: 5, count: 2000))) }
        #expect(try await iterator.next() == nil)
        #expect(task.closeCode == .normalClosure)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [false, true])
    func `a socket that ended with unread messages ends when it is closed or cancelled`(cancels: Bool) async throws {
        let frames = Data((0..<20).flatMap { _ in Fixture.frame(0x82, Array(repeating: 5, count: 10_000)) })
        let server = try await Fixture.server(.bytes(frames))
        let session = TestHarness.session { $0.bodyHighWatermark = 64 * 1024 }
        let task = Fixture.request(session, server).webSocketTask()
        _ = try await task.response
        try await server.waitForOpenConnections(atMost: 0)
        await TestHarness.performEarlierCommands(of: session)
        if cancels { task.request.cancel() } else { try await task.close() }
        let (messages, error) = await Fixture.messages(task)
        #expect(messages.count < 20)
        let kind = RequestError.Kind.webSocket(.closed(.abnormalClosure))
        #expect(error?.kind == (cancels ? .cancelled : kind), "\(messages.count): \(String(describing: error))")
        try await TestHarness.end(session, server)
    }

    @Test func `shutting down closes an open socket with 1001, and ends its loop`() async throws {
        let server = try await Fixture.server(
            Fixture.text("a"), Fixture.received(2), Fixture.text("b"), Fixture.close(1001))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        var iterator = task.messages.makeAsyncIterator()
        #expect(try await iterator.next() == .text("a"))
        await session.shutdown()
        #expect(try await iterator.next() == .text("b"))
        #expect(try await iterator.next() == nil)
        #expect(task.request.state == .finished)
        #expect(task.request.error == nil)
        await server.stop()
    }

    @Test func `shutting down does not wait longer than the close limit`() async throws {
        let server = try await Fixture.server(.stall)
        let session = TestHarness.session()
        let request = session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket", configuration: .init(closeTimeout: .milliseconds(50)))
        let task = request.webSocketTask()
        _ = try await task.response
        request.suspend()
        await session.shutdown()
        #expect(request.error?.kind == .webSocket(.closed(.abnormalClosure)))
        await server.stop()
    }

    @Test func `shutting down closes a socket whose handshake is not complete yet`() async throws {
        let (mayAccept, isShuttingDown) = (Gate(), Gate())
        let server = try await LocalServer { router in
            router.get("/socket") {
                .script(
                    .wait { await mayAccept.wait() }, Fixture.accept($0), Fixture.received(2), Fixture.close(1000))
            }
        }
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        let reader = Task { await Fixture.messages(task) }
        _ = try await server.nextRequest()
        let shutdown = Task {
            isShuttingDown.open()
            await session.shutdown()
        }
        await isShuttingDown.wait()
        // A request that is refused shows that the shutdown has begun.
        while await session.request(server.url("/")).serializingData().response.error?.kind != .sessionShutDown {}
        mayAccept.open()
        await shutdown.value
        #expect(await reader.value.1 == nil)
        await server.stop()
    }
}
