import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Messages whose bytes come from a sequence.
@Suite(.timeLimit(.minutes(10))) struct WebSocketSequenceTests {
    private typealias Fixture = WebSocketFixture

    private struct Failure: Error, Equatable {}

    /// A sequence that yields a piece, waits for a gate, and then throws or ends.
    private static func piece(_ data: Data, then gate: Gate, failing: Bool = false) -> AsyncThrowingStream<
        Data, any Error
    > {
        let hasYielded = Locked(false)
        return AsyncThrowingStream {
            if !hasYielded.withLock({ exchange(&$0, with: true) }) { return data }
            await gate.wait()
            if failing { throw Failure() }
            return nil
        }
    }

    private static func error(_ body: () async throws(RequestError) -> Void) async -> RequestError? {
        do throws(RequestError) {
            try await body()
            return nil
        } catch { return error }
    }

    @Test func `each piece is sent at once, pings are answered between them, and other messages wait`() async throws {
        let mayEnd = Gate()
        let server = try await Fixture.server(
            Fixture.received(3), .webSocketFrame(0x89, Data([7, 7])), Fixture.received(2), .wait { mayEnd.open() },
            Fixture.received(0), Fixture.received(5), Fixture.close(1000), Fixture.received(2))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        async let first: Void = task.send(binary: Self.piece(Data([1, 2, 3]), then: mayEnd))
        // The second message needs the turn of the first one, which waits for the server.
        try await task.send("other")
        try await first
        let (_, error) = await Fixture.messages(task)
        #expect(error == nil)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [true, false])
    func `the server receives one message, with and without compression`(isCompressed: Bool) async throws {
        let program = try Python.start("servers/websocket_echo.py", ["plain"])
        defer { program.send(9) }
        var lines = program.lines.makeAsyncIterator()
        let port = try #require(await lines.next())
        let session = TestHarness.session()
        let task = session.webSocket(
            "ws://127.0.0.1:\(port)/", configuration: .init(compressesMessages: isCompressed)
        ).webSocketTask()
        var messages = task.messages.makeAsyncIterator()
        let pieces = [0, 1, 70_000, 0, 200_000].map { Data(repeating: 7, count: $0) }
        async let sending: Void = task.send(binary: AsyncStream(pieces))
        #expect(try await messages.next() == .binary(Data(repeating: 7, count: 270_001)))
        try await sending
        try await task.send(text: AsyncStream(["Gr", "üße", ""]))
        #expect(try await messages.next() == .text("Grüße"))
        try await task.send(text: AsyncStream(["Grüße"[...]]))
        #expect(try await messages.next() == .text("Grüße"))
        try await task.send(binary: AsyncStream<Data>([]))
        #expect(try await messages.next() == .binary(Data()))
        try await task.close()
        await session.shutdown()
    }

    @Test func `a sequence that fails within a message closes the socket`() async throws {
        let mayFail = Gate()
        let server = try await Fixture.server(
            Fixture.received(3), .wait { mayFail.open() }, Fixture.received(2), Fixture.close(1001))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        let error = await Self.error { () async throws(RequestError) in
            try await task.send(binary: Self.piece(Data([1, 2, 3]), then: mayFail, failing: true))
        }
        #expect(error?.kind == .requestBody(.sequenceFailed))
        #expect(error?.underlying is Failure)
        #expect(error?.detail == "the message is incomplete, so the WebSocket was closed")
        let late = await Self.error { () async throws(RequestError) in try await task.send("late") }
        #expect(late != nil)
        let (_, end) = await Fixture.messages(task)
        #expect(end == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `a sequence that fails before its first piece leaves the socket open`() async throws {
        let server = try await Fixture.server(Fixture.received(5), Fixture.close(1000), Fixture.received(2))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        let error = await Self.error { () async throws(RequestError) in
            try await task.send(binary: Self.piece(Data(), then: Gate(isOpen: true), failing: true))
        }
        #expect(error?.kind == .requestBody(.sequenceFailed))
        #expect(error?.detail == nil)
        try await task.send("after")
        let (_, end) = await Fixture.messages(task)
        #expect(end == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `a cancelled message is not completed, and the socket is closed`() async throws {
        let isReceived = Gate()
        let server = try await Fixture.server(
            Fixture.received(3), .wait { isReceived.open() }, Fixture.received(2), Fixture.close(1001))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        // This sequence ends when its task is cancelled.
        let (pieces, input) = AsyncStream<Data>.makeStream()
        input.yield(Data([1, 2, 3]))
        let sender = Task {
            await Self.error { () async throws(RequestError) in try await task.send(binary: pieces) }
        }
        await isReceived.wait()
        sender.cancel()
        let error = await sender.value
        #expect(error?.kind == .cancelled && error?.url != nil)
        #expect(error?.detail == "the message is incomplete, so the WebSocket was closed")
        let (_, end) = await Fixture.messages(task)
        #expect(end == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `a sequence waits for a server that does not read`() async throws {
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
        let made = Locked(0)
        let pieces = AsyncStream {
            made.withLock { $0 += 1 }
            return Data(repeating: 1, count: 50_000)
        }
        let sender = Task { await Self.error { () async throws(RequestError) in try await task.send(binary: pieces) } }
        let settled = try await StreamFixture.settled(session) { made.withLock { $0 } }
        let unsent = Int64(settled) * 50_008 - task.request.uploadProgress.completed
        #expect(unsent <= 256 * 1024 + 50_008)
        task.request.cancel()
        #expect(await sender.value != nil)
        mayRead.open()
        try await TestHarness.end(session, server)
    }
}

extension AsyncStream where Element: Sendable {
    /// A stream of the elements of an array.
    fileprivate init(_ elements: [Element]) {
        self.init { input in
            for element in elements { input.yield(element) }
            input.finish()
        }
    }
}
