import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Messages, pings and closing handshakes with servers that follow a script.
@Suite(.timeLimit(.minutes(10))) struct WebSocketWireTests {
    private typealias Fixture = WebSocketFixture

    @Test func `messages go both ways, and the server's close ends the loop`() async throws {
        let server = try await Fixture.server(
            Fixture.received(5), Fixture.text("hi"), .bytes(Fixture.frame(0x82, [1, 2, 3])),
            Fixture.close(1000, "done"),
            Fixture.received(2))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        try await task.send("hello")
        let (messages, error) = await Fixture.messages(task)
        #expect(messages == [.text("hi"), .binary(Data([1, 2, 3]))])
        #expect(error == nil)
        #expect(task.closeCode == .normalClosure)
        #expect(task.closeReason == "done")
        #expect(task.request.state == .finished)
        #expect(task.request.response?.statusCode == 101)
        let sent = try await server.nextRequest()
        #expect(sent.headers["Upgrade"] == "websocket")
        #expect(sent.headers["Connection"] == "Upgrade")
        #expect(sent.headers["Host"] == "127.0.0.1:\(server.port)")
        #expect(sent.headers["User-Agent"] != nil)
        await #expect(throws: RequestError.self) { try await task.send("late") }
        try await TestHarness.end(session, server)
    }

    @Test func `a message may arrive byte by byte and in fragments with a ping between them`() async throws {
        let bytes =
            Fixture.frame(0x01, Array("Grü".utf8)) + Fixture.frame(0x89, [7]) + Fixture.frame(0x80, Array("ße".utf8))
        let server = try await LocalServer { router in
            router.get("/socket") { request in
                let drips = bytes.map { LocalServer.Script.Step.bytes([$0]) }
                let end = [Fixture.received(1), Fixture.close(1001), Fixture.received(2)]
                return .script(LocalServer.Script([Fixture.accept(request)] + drips + end))
            }
        }
        let session = TestHarness.session()
        let (messages, error) = await Fixture.messages(Fixture.request(session, server).webSocketTask())
        #expect(messages == [.text("Grüße")])
        #expect(error == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `another close code of the server is an error with its reason`() async throws {
        let server = try await Fixture.server(Fixture.text("a"), Fixture.close(1011, "oops"), Fixture.received(2))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        let (messages, error) = await Fixture.messages(task)
        #expect(messages == [.text("a")])
        #expect(error?.kind == .webSocket(.closed(.internalError)))
        #expect(error?.detail == "oops")
        #expect(task.request.error?.kind == error?.kind)
        try await TestHarness.end(session, server)
    }

    @Test func `a connection that ends without a close frame is an error`() async throws {
        let server = try await Fixture.server(Fixture.text("a"), .bytes([0x81]), .close)
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        let (messages, error) = await Fixture.messages(task)
        #expect(messages == [.text("a")])
        #expect(error?.kind == .webSocket(.closed(.abnormalClosure)))
        #expect(task.closeCode == .abnormalClosure)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        ([UInt8](arrayLiteral: 0xC1, 0), WebSocketCloseCode.protocolError), ([0x81, 1, 0xFF], .invalidPayload),
    ])
    func `a violation is answered with its close code, and is an error`(
        bytes: [UInt8], code: WebSocketCloseCode
    ) async throws {
        let isAnswered = Gate()
        let server = try await Fixture.server(
            .bytes(bytes), .waitForBytes(8), .wait { isAnswered.open() }, .waitForClose)
        let session = TestHarness.session()
        let request = session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket",
            configuration: .init(closeTimeout: .milliseconds(100), compressesMessages: false))
        let (_, error) = await Fixture.messages(request.webSocketTask())
        #expect(error?.kind == .webSocket(.violation(code)))
        await isAnswered.wait()
        try await TestHarness.end(session, server)
    }

    @Test func `after a violation, the error of a message names it, and the URL`() async throws {
        let server = try await Fixture.server(.bytes([0xC1, 0]), .stall)
        let session = TestHarness.session()
        let task = session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket", configuration: .init(closeTimeout: .seconds(60))
        ).webSocketTask()
        _ = try await task.response
        while task.closeCode == nil { await Task.yield() }
        for send in [{ try await task.send("x") }, { _ = try await task.ping() }] {
            let error = await #expect(throws: RequestError.self) { try await send() }
            #expect(error?.kind == .webSocket(.violation(.protocolError)))
            #expect(error?.url == "http://127.0.0.1:\(server.port)/socket")
        }
        task.cancel()
        try await TestHarness.end(session, server)
    }

    @Test func `a message that is too large is refused`() async throws {
        let server = try await Fixture.server(
            .bytes(Fixture.frame(0x82, Array(repeating: 1, count: 101))), .waitForClose)
        let session = TestHarness.session()
        let request = session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket",
            configuration: .init(closeTimeout: .milliseconds(50), maximumMessageBytes: 100))
        let (messages, error) = await Fixture.messages(request.webSocketTask())
        #expect(messages.isEmpty)
        #expect(error?.kind == .webSocket(.violation(.messageTooBig)))
        try await TestHarness.end(session, server)
    }

    // MARK: Closing

    @Test func `close waits for the server's answer`() async throws {
        let server = try await Fixture.server(Fixture.received(6), Fixture.text("last"), Fixture.close(3000, "done"))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask(automaticallyClosing: false)
        _ = try await task.response
        try await task.close(code: 3000, reason: "done")
        #expect(task.request.state == .finished)
        #expect(task.request.error == nil)
        #expect(task.closeCode == 3000)
        let (messages, error) = await Fixture.messages(task)
        #expect(messages == [.text("last")])
        #expect(error == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `a server that does not answer the close frame is left after the limit`() async throws {
        let server = try await Fixture.server(.stall)
        let session = TestHarness.session()
        let task = session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket", configuration: .init(closeTimeout: .milliseconds(50))
        ).webSocketTask()
        _ = try await task.response
        let reader = Task { await Fixture.messages(task) }
        try await task.close()
        #expect(task.request.error?.kind == .webSocket(.closed(.abnormalClosure)))
        let (_, error) = await reader.value
        #expect(error == nil && task.closeCode == .abnormalClosure)
        try await server.waitForOpenConnections(atMost: 0)
        try await TestHarness.end(session, server)
    }

    @Test func `a message that is not whole is an error, also after the own close frame`() async throws {
        let server = try await Fixture.server(.bytes([0x82, 10, 1, 2, 3]), .stall)
        let session = TestHarness.session()
        let task = session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket",
            configuration: .init(closeTimeout: .milliseconds(50), compressesMessages: false)
        ).webSocketTask()
        var iterator = task.pieces.makeAsyncIterator()
        #expect(try await iterator.next() == .binary(Data([1, 2, 3]), isFinal: false))
        try await task.close()
        let error = await #expect(throws: RequestError.self) { _ = try await iterator.next() }
        #expect(error?.kind == .webSocket(.closed(.abnormalClosure)))
        try await TestHarness.end(session, server)
    }

    @Test func `leaving the loop closes the socket`() async throws {
        let server = try await Fixture.server(Fixture.text("a"), Fixture.received(2), Fixture.close(1000))
        let session = TestHarness.session()
        let request = Fixture.request(session, server)
        let task = request.webSocketTask()
        for try await message in task.messages {
            #expect(message == .text("a"))
            break
        }
        try await server.waitForOpenConnections(atMost: 0)
        try await TestHarness.end(session, server)
        #expect(request.state == .finished)
        #expect(request.error == nil)
    }

    @Test func `a loop may be left without closing, and continued`() async throws {
        let server = try await Fixture.server(
            Fixture.text("a"), Fixture.received(1), Fixture.text("b"), Fixture.close(1000), Fixture.received(2))
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask(automaticallyClosing: false)
        for try await _ in task.messages { break }
        try await task.send("x")
        let (messages, error) = await Fixture.messages(task)
        #expect(messages == [.text("b")])
        #expect(error == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `a cancelled task receives no more messages`() async throws {
        let server = try await Fixture.server(
            Fixture.text("a"), Fixture.text("b"), Fixture.text("c"), Fixture.close(1000), Fixture.received(2))
        let session = TestHarness.session()
        for reads in ["messages", "pieces", "decodables"] {
            let task = Fixture.request(session, server).webSocketTask()
            let count = Locked(0)
            func stop() {
                count.withLock { $0 += 1 }
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            }
            let reader = Task {
                switch reads {
                case "messages": for try await _ in task.messages { stop() }
                case "pieces": for try await _ in task.pieces { stop() }
                default: for try await _ in task.decodables(of: String.self, decoder: TextDecoder()) { stop() }
                }
            }
            let result = await reader.result
            #expect(throws: RequestError.self) { try result.get() }
            #expect(count.withLock(\.self) == 1, "\(reads)")
        }
        try await TestHarness.end(session, server)
    }

    private struct TextDecoder: DataDecoder {
        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            try #require(String(decoding: data, as: UTF8.self) as? Value)
        }
    }

    @Test func `an invalid close code is refused`() async throws {
        let task = Session().webSocket("ws://example.com/").webSocketTask()
        for code in [1005, 1006, 999, 2000] as [WebSocketCloseCode] {
            await #expect {
                try await task.close(code: code)
            } throws: {
                ($0 as? RequestError)?.kind == .webSocket(.invalidClose)
            }
        }
        try await task.close()
        #expect(task.request.state == .cancelled)
    }

    // MARK: Pings

    @Test func `a ping returns when it is answered`() async throws {
        let server = try await Fixture.server(
            Fixture.received(8), .bytes(Fixture.frame(0x8A, Array(repeating: 0, count: 8))), .waitForClose)
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        let time = try await task.ping()
        #expect(time > .zero)
        task.request.cancel()
        try await TestHarness.end(session, server)
    }

    @Test func `a ping fails when the connection ends`() async throws {
        let server = try await Fixture.server(Fixture.received(8), .close)
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        await #expect {
            try await task.ping()
        } throws: {
            ($0 as? RequestError)?.kind == .webSocket(.closed(.abnormalClosure))
        }
        try await TestHarness.end(session, server)
    }

    @Test func `an unanswered keep-alive ping ends the socket`() async throws {
        let server = try await Fixture.server(.waitForClose)
        let session = TestHarness.session()
        let task = session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket", configuration: .init(pingInterval: .milliseconds(20))
        ).webSocketTask()
        let (_, error) = await Fixture.messages(task)
        #expect(error?.kind == .webSocket(.pingUnanswered))
        try await TestHarness.end(session, server)
    }

    @Test func `the idle limit ends a silent socket, and the session's idle limit does not`() async throws {
        let server = try await Fixture.server(.waitForClose)
        let session = TestHarness.session { $0.timeouts.idle = .seconds(3) }
        let silent = Fixture.request(session, server).webSocketTask()
        _ = try await silent.response
        let limited = session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket", configuration: .init(idleTimeout: .milliseconds(4500))
        ).webSocketTask()
        let (_, error) = await Fixture.messages(limited)
        #expect(error?.kind == .timedOut(.idle))
        #expect(silent.request.state == .resumed)
        silent.request.cancel()
        try await TestHarness.end(session, server)
    }
}
