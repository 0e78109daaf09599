import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Synchronization
import Testing

/// WebSockets of a server and of a stub, which behave alike.
@Suite(.timeLimit(.minutes(10))) struct WebSocketRouteTests {
    enum Kind: CaseIterable { case server, stub }

    /// Calls a closure with a session and the URL of a WebSocket.
    private static func with(
        _ kind: Kind, protocols: [String] = [], maximumMessageBytes: Int = 16 << 20, first: [WebSocketReply] = [],
        reply: (@Sendable (WebSocketMessage) async throws -> [WebSocketReply])? = nil,
        _ body: (Session, String) async throws -> Void
    ) async throws {
        let server = try await LocalServer { router in
            router.webSocket(
                "/socket", protocols: protocols, maximumMessageBytes: maximumMessageBytes, first: first, reply: reply)
        }
        let transport = StubTransport()
        transport.stub(
            .get, "/socket",
            .webSocket(
                protocols: protocols, maximumMessageBytes: maximumMessageBytes, first: first, reply: reply))
        let session = kind == .server ? Session() : Session(transport: transport)
        try await body(session, "ws://127.0.0.1:\(server.port)/socket")
        try await transport.waitUntilIdle()
        await session.shutdown()
        try await server.waitForOpenConnections(atMost: 0)
        await server.stop()
    }

    @Test(arguments: Kind.allCases) func `messages are sent back until the client closes`(kind: Kind) async throws {
        try await Self.with(kind) { session, url in
            let task = session.webSocket(url).webSocketTask()
            var messages = task.messages.makeAsyncIterator()
            for message: WebSocketMessage in [
                .text("né"), .binary(Data()), .binary(Data(repeating: 1, count: 300_000)),
            ] {
                try await task.send(message)
                #expect(try await messages.next() == message)
            }
            #expect(try await task.ping() >= .zero)
            try await task.close(code: 4000, reason: "bye")
            #expect(try await messages.next() == nil)
            #expect(task.closeCode == 4000)
            #expect(task.request.error == nil)
        }
    }

    @Test(arguments: Kind.allCases) func `first messages, replies and a close frame`(kind: Kind) async throws {
        try await Self.with(kind, protocols: ["v2"], first: [.text("welcome"), .ping()]) { message in
            guard message != .text("end") else { return [.close(.goingAway, reason: "late")] }
            return [.frame(0x01, Data("a".utf8)), .frame(0x80, Data("b".utf8)), .message(message)]
        } _: { session, url in
            let task = session.webSocket(url, protocols: ["v1", "v2"]).webSocketTask()
            var messages = task.messages.makeAsyncIterator()
            #expect(try await messages.next() == .text("welcome"))
            #expect(task.negotiatedProtocol == "v2")
            try await task.send("x")
            #expect(try await messages.next() == .text("ab"))
            #expect(try await messages.next() == .text("x"))
            try await task.send("end")
            #expect(try await messages.next() == nil)
            #expect(task.closeCode == .goingAway)
            #expect(task.closeReason == "late")
        }
    }

    @Test(arguments: Kind.allCases) func `a handler that throws closes the WebSocket`(kind: Kind) async throws {
        try await Self.with(kind) { _ in
            throw LocalServer.Failure.stopped
        } _: { session, url in
            let task = session.webSocket(url).webSocketTask()
            try await task.send("x")
            let error = await #expect(throws: RequestError.self) { for try await _ in task.messages {} }
            #expect(error?.kind == .webSocket(.closed(.internalError)))
            #expect(error?.detail == "the server was stopped")
        }
    }

    @Test(arguments: Kind.allCases) func `a connection can be lost`(kind: Kind) async throws {
        try await Self.with(kind, first: [.text("a"), .bytes(Data([0x81, 2, 0x62])), .disconnect]) { session, url in
            let task = session.webSocket(url).webSocketTask()
            var messages = task.messages.makeAsyncIterator()
            let message = try await messages.next()
            #expect(message == .text("a"))
            let error = await #expect(throws: RequestError.self) { _ = try await messages.next() }
            #expect(error?.kind == .webSocket(.closed(.abnormalClosure)))
        }
    }

    @Test(arguments: Kind.allCases) func `a message that is too big is refused`(kind: Kind) async throws {
        try await Self.with(kind, maximumMessageBytes: 1000) { session, url in
            let task = session.webSocket(url).webSocketTask()
            try await task.send(Data(repeating: 1, count: 1001))
            let error = await #expect(throws: RequestError.self) { for try await _ in task.messages {} }
            #expect(error?.kind == .webSocket(.closed(.messageTooBig)))
        }
    }

    @Test(arguments: Kind.allCases) func `cancellation ends a handler that waits`(kind: Kind) async throws {
        let (asked, ended) = (Gate(), Gate())
        try await Self.with(kind) { _ in
            asked.open()
            try? await Task.sleep(for: .seconds(3600))
            ended.open()
            return []
        } _: { session, url in
            let task = session.webSocket(url).webSocketTask()
            try await task.send("x")
            await asked.wait()
            task.request.cancel()
            await ended.wait()
        }
    }

    @Test(arguments: Kind.allCases) func `another request than a handshake gets 426`(kind: Kind) async throws {
        try await Self.with(kind) { session, url in
            let response = await session.request("http" + url.dropFirst(2)).serializingData().response
            #expect(response.response?.statusCode == 426)
        }
    }

    @Test func `messages wait in the server's socket while a message is answered`() async throws {
        let (asked, mayAnswer) = (Gate(), Gate())
        let running = Atomic(0)
        try await Self.with(.server) { message in
            #expect(running.wrappingAdd(1, ordering: .relaxed).oldValue == 0)
            defer { running.wrappingSubtract(1, ordering: .relaxed) }
            asked.open()
            await mayAnswer.wait()
            return [.message(message)]
        } _: { session, url in
            let task = session.webSocket(url).webSocketTask()
            for number in 0..<100 { try await task.send("\(number)") }
            await asked.wait()
            mayAnswer.open()
            var messages = task.messages.makeAsyncIterator()
            for number in 0..<100 { #expect(try await messages.next() == .text("\(number)")) }
            try await task.close()
        }
    }

    @Test func `a stub that does not answer makes the sender wait`() async throws {
        let mayAnswer = Gate()
        let transport = StubTransport()
        transport.stub(
            .get, "/socket",
            .webSocket { _ in
                await mayAnswer.wait()
                return []
            })
        var configuration = Session.Configuration()
        configuration.bodyHighWatermark = 64 * 1024
        configuration.bodyLowWatermark = 16 * 1024
        let session = Session(configuration: configuration, transport: transport)
        let task = session.webSocket("ws://stub.test/socket").webSocketTask()
        // There is still room for this message.
        try await task.send("x")
        let sender = Task { for _ in 0..<200 { try await task.send(Data(repeating: 1, count: 10_000)) } }
        while task.request.uploadProgress.completed <= 1 { await Task.yield() }
        #expect(task.request.uploadProgress.completed < 1_000_000)
        mayAnswer.open()
        try await sender.value
        try await task.close()
        await session.shutdown()
    }

    @Test func `a suspended WebSocket of a stub gets nothing`() async throws {
        let received = Mutex(0)
        let transport = StubTransport()
        transport.stub(
            .get, "/socket",
            .webSocket { message in
                received.withLock { $0 += 1 }
                return [.message(message)]
            })
        let session = Session(transport: transport)
        let task = session.webSocket("ws://stub.test/socket").webSocketTask()
        _ = try await task.response
        task.request.suspend()
        try await task.send("x")
        try await Task.sleep(for: .milliseconds(20))
        #expect(received.withLock(\.self) == 0)
        task.request.resume()
        var messages = task.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("x"))
        await transport.shutDown()
        await #expect(throws: RequestError.self) { _ = try await messages.next() }
        await session.shutdown()
    }

    @Test func `a route can choose its replies by the request`() async throws {
        let server = try await LocalServer { router in
            router.get("/rooms/:name") { request in
                guard let name = request.parameters["name"], name != "none" else { return .status(404) }
                return .webSocket(request, first: [.text(name)]) { _ in [.text("bye \(name)"), .close(.normalClosure)] }
            }
        }
        let session = Session()
        let task = session.webSocket("ws://127.0.0.1:\(server.port)/rooms/blue").webSocketTask()
        try await task.send("x")
        var messages: [WebSocketMessage] = []
        for try await message in task.messages { messages.append(message) }
        #expect(messages == [.text("blue"), .text("bye blue")])
        let refused = session.webSocket("ws://127.0.0.1:\(server.port)/rooms/none").webSocketTask()
        let error = await #expect(throws: RequestError.self) { _ = try await refused.response }
        #expect(error?.response?.statusCode == 404)
        await session.shutdown()
        await server.stop()
    }

    @Test func `a script can answer messages between other steps`() async throws {
        let server = try await LocalServer { router in
            router.get("/socket") { request in
                .script(
                    .acceptWebSocket(request), .waitForWebSocketFrame(ofSize: 1), .webSocketMessage(.text("step")),
                    .answerWebSocket { _ in [.disconnect] }, .webSocketFrame(0x81, Data("more".utf8)),
                    .answerWebSocket())
            }
        }
        let session = Session()
        let task = session.webSocket(
            "ws://127.0.0.1:\(server.port)/socket", configuration: .init(compressesMessages: false)
        ).webSocketTask()
        var messages = task.messages.makeAsyncIterator()
        try await task.send("a")
        #expect(try await messages.next() == .text("step"))
        try await task.send("b")
        #expect(try await messages.next() == .text("more"))
        try await task.send("c")
        #expect(try await messages.next() == .text("c"))
        try await task.close()
        await session.shutdown()
        await server.stop()
    }
}
