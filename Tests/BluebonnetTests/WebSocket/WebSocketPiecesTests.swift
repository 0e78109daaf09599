import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Messages that are received in pieces, and the size limit of collected messages.
@Suite(.timeLimit(.minutes(10))) struct WebSocketPiecesTests {
    private typealias Fixture = WebSocketFixture

    private static func socket(_ session: Session, _ server: LocalServer, maximum: Int) -> WebSocketTask {
        session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket",
            configuration: .init(
                closeTimeout: .milliseconds(100), maximumMessageBytes: maximum, compressesMessages: false)
        ).webSocketTask()
    }

    /// A head of a binary message with an 8-byte length, without its payload.
    private static func head(_ length: Int) -> [UInt8] {
        [0x82, 127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
    }

    @Test func `a message that is larger than the limit arrives in pieces, and waits for its reader`() async throws {
        var options = LocalServer.Options()
        options.sendBufferBytes = 64 * 1024
        let payload = Data(repeating: 5, count: 60_000)
        let server = try await LocalServer(options: options) { router in
            router.get("/socket") { request in
                let middle = Array(repeating: Fixture.Step.webSocketFrame(0, payload), count: 1022)
                return .script(
                    LocalServer.Script(
                        [Fixture.accept(request), .webSocketFrame(0x02, payload)] + middle
                            + [.webSocketFrame(0x80, payload), Fixture.close(1000), Fixture.received(2)]))
            }
        }
        let session = TestHarness.session {
            $0.bodyHighWatermark = 256 * 1024
            $0.bodyLowWatermark = 64 * 1024
        }
        let task = Self.socket(session, server, maximum: 1000)
        var pieces = task.pieces.makeAsyncIterator()
        var (size, ends) = (try #require(try await pieces.next()).size, 0)
        _ = try await server.waitForQuiet()
        #expect(task.request.downloadProgress.completed <= 60_000 + (256 + 3 * 256) * 1024)
        while let piece = try await pieces.next() {
            size += piece.size
            guard case .binary(let bytes, let isFinal) = piece else { throw RequestError(.internal) }
            #expect(bytes.allSatisfy { $0 == 5 })
            if isFinal { ends += 1 }
        }
        #expect(size == 1024 * 60_000)
        #expect(ends == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `a piece is delivered before the rest of its message`() async throws {
        let hasRead = Gate()
        let server = try await Fixture.server(
            .bytes(Fixture.frame(0x01, Array("Gr".utf8) + [0xC3])), .wait { await hasRead.wait() },
            .bytes(Fixture.frame(0x80, [0xBC] + Array("ße".utf8)) + Fixture.frame(0x82, [])), Fixture.close(1000),
            Fixture.received(2))
        let session = TestHarness.session()
        var pieces = Fixture.request(session, server).webSocketTask().pieces.makeAsyncIterator()
        #expect(try await pieces.next() == .text("Gr", isFinal: false))
        hasRead.open()
        #expect(try await pieces.next() == .text("üße", isFinal: true))
        #expect(try await pieces.next() == .binary(Data(), isFinal: true))
        #expect(try await pieces.next() == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `a connection that is lost within a message is an error after its pieces`() async throws {
        let server = try await Fixture.server(.bytes(Fixture.frame(0x02, [1, 2])), .close)
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        var pieces = task.pieces.makeAsyncIterator()
        #expect(try await pieces.next() == .binary(Data([1, 2]), isFinal: false))
        let error = await #expect(throws: RequestError.self) { try await pieces.next() }
        #expect(error?.kind == .webSocket(.closed(.abnormalClosure)))
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling the task of a loop over pieces closes the socket`() async throws {
        let server = try await Fixture.server(
            .bytes(Fixture.frame(0x02, [1])), Fixture.received(2), Fixture.close(1000))
        let session = TestHarness.session()
        let request = Fixture.request(session, server)
        let hasRead = Gate()
        let reader = Task { for try await _ in request.webSocketTask().pieces { hasRead.open() } }
        await hasRead.wait()
        reader.cancel()
        let result = await reader.result
        #expect(throws: RequestError.self) { try result.get() }
        try await TestHarness.end(session, server)
        #expect(request.state == .finished)
    }

    // MARK: The limit of collected messages

    @Test func `the head of a message that is too big is refused before its bytes arrive`() async throws {
        // The close frame of the client has 8 bytes and a reason.
        let isRefused = Gate()
        let server = try await Fixture.server(
            .bytes(Self.head(1 << 40)), .waitForBytes(8), .wait { isRefused.open() }, .waitForClose)
        let session = TestHarness.session()
        let (messages, error) = await Fixture.messages(Self.socket(session, server, maximum: 1000))
        #expect(messages.isEmpty)
        #expect(error?.kind == .webSocket(.violation(.messageTooBig)))
        #expect(error?.detail == "a message is longer than 1000 bytes")
        await isRefused.wait()
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [0x00, 0x80] as [UInt8])
    func `fragments without an end are refused at the limit`(_ last: UInt8) async throws {
        let fragment = Fixture.frame(0, Array(repeating: 1, count: 1000))
        let fragments = Data(Fixture.frame(0x02, [1]) + (0..<5000).flatMap { _ in fragment })
        let server = try await Fixture.server(
            .bytes(fragments + Data(Fixture.frame(last, [1]))), .waitForBytes(8), .waitForClose)
        let session = TestHarness.session { $0.bodyHighWatermark = 64 * 1024 }
        let task = Self.socket(session, server, maximum: 100_000)
        let (messages, error) = await Fixture.messages(task)
        #expect(messages.isEmpty)
        #expect(error?.kind == .webSocket(.violation(.messageTooBig)))
        #expect(task.request.error?.kind == error?.kind)
        try await TestHarness.end(session, server)
    }

    @Test func `a message that is too big is an error even after the server's close frame`() async throws {
        let server = try await Fixture.server(
            .bytes(Fixture.frame(0x82, [1, 2, 3])), Fixture.close(1000), Fixture.received(2))
        let session = TestHarness.session()
        let task = session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket", configuration: .init(maximumMessageBytes: 2)
        ).webSocketTask(automaticallyClosing: false)
        _ = try await task.response
        try await task.close()
        let (messages, error) = await Fixture.messages(task)
        #expect(messages.isEmpty)
        #expect(error?.kind == .webSocket(.violation(.messageTooBig)))
        try await TestHarness.end(session, server)
    }

    @Test func `a violation that is found after the server's close frame is kept`() {
        var state = WebSocketState()
        let close = WebSocketClose(valid: .normalClosure)
        #expect(state.received(.close(close)) == .sendClose(close))
        let violation = WebSocketViolation(code: .messageTooBig, reason: "too big")
        #expect(state.received(.violation(violation)) == .none)
        #expect(state.connectionEnded() == .end(WebSocketClosure(sent: close, received: close, violation: violation)))
    }

    @Test func `empty messages count for the limit of what waits`() async throws {
        let server = try await Fixture.server(
            .bytes(Data((0..<1_000_000).flatMap { _ in [0x82, 0] as [UInt8] })), .waitForClose)
        let session = TestHarness.session {
            $0.bodyHighWatermark = 64 * 1024
            $0.bodyLowWatermark = 16 * 1024
        }
        let task = Fixture.request(session, server).webSocketTask()
        var messages = task.messages.makeAsyncIterator()
        #expect(try await messages.next() == .binary(Data()))
        let received = try await StreamFixture.settled(session) { Int(task.request.downloadProgress.completed) }
        #expect(received <= (64 + 3 * 256) * 1024)
        for _ in 0..<10_000 { #expect(try await messages.next() == .binary(Data())) }
        task.request.cancel()
        try await TestHarness.end(session, server)
    }
}
