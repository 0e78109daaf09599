import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Sockets that connect again, with servers that follow a script and sleeps that a test controls.
@Suite(.timeLimit(.minutes(10))) struct ReconnectingWebSocketTests {
    private typealias Fixture = WebSocketFixture
    fileprivate typealias Step = LocalServer.Script.Step

    /// Sleeps that end when a gate opens.
    private final class Sleeps: Sendable {
        let delays = Locked<[Duration]>([])
        let began = Gate()
        let mayEnd: Gate

        init(mayEnd: Bool = true) { self.mayEnd = Gate(isOpen: mayEnd) }

        func session(_ interceptor: (any RequestInterceptor)? = nil) -> Session {
            var configuration = Session.Configuration()
            configuration.proxy = .none
            configuration.timeouts = Timeouts(connect: .seconds(20))
            configuration.sleep = { [self] duration in
                delays.withLock { $0.append(duration) }
                began.open()
                await mayEnd.wait()
                try Task.checkCancellation()
            }
            return Session(configuration: configuration, interceptor: interceptor)
        }
    }

    /// A server with a script for each connection; further connections get the last one.
    private static func server(_ scripts: [Step]...) async throws -> LocalServer {
        let count = Counter()
        return try await LocalServer { router in
            router.get("/socket") { request in
                let index = min(count.next(), scripts.count) - 1
                return .script(LocalServer.Script([Fixture.accept(request)] + scripts[index]))
            }
        }
    }

    private static func socket(
        _ session: Session, _ server: LocalServer, _ reconnection: WebSocketReconnection = .init()
    ) -> ReconnectingWebSocket {
        session.reconnectingWebSocket(
            "ws://127.0.0.1:\(server.port)/socket", configuration: Fixture.plain, reconnection: reconnection)
    }

    /// The events of a loop in a few words, and the error of its end.
    private static func events(_ socket: ReconnectingWebSocket) async -> ([String], RequestError?) {
        var events: [String] = []
        do throws(RequestError) {
            for try await event in socket.events {
                switch event {
                case .opened: events.append("opened")
                case .message(.text(let text)): events.append(text)
                case .message: events.append("bytes")
                case .disconnected(let error, _): events.append(error.map { "\($0.kind)" } ?? "end")
                }
            }
            return (events, nil)
        } catch {
            return (events, error)
        }
    }

    private static func error(_ body: () async throws(RequestError) -> Void) async -> RequestError? {
        do throws(RequestError) {
            try await body()
            return nil
        } catch { return error }
    }

    @Test func `a value is sent as JSON when a connection is open`() async throws {
        let server = try await LocalServer { $0.webSocket("/socket") }
        let session = TestHarness.session()
        let socket = Self.socket(session, server)
        async let sending: Void = socket.send(json: ["a": 1])
        var received: WebSocketMessage?
        for try await event in socket.events {
            guard case .message(let message) = event else { continue }
            received = message
            break
        }
        try await sending
        #expect(received == .text(#"{"a":1}"#))
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["events", "messages", "values"])
    func `a cancelled task receives nothing more of what has arrived`(reads: String) async throws {
        let server = try await Self.server([
            Fixture.text("1"), Fixture.text("2"), Fixture.text("3"), .waitForClose,
        ])
        let session = Sleeps().session()
        let socket = Self.socket(session, server)
        let loop = CancelledLoop()
        let reader = Task {
            switch reads {
            case "events":
                for try await event in socket.events {
                    if case .message = event { loop.receive() }
                }
            case "messages": for try await _ in socket.messages { loop.receive() }
            default: for try await _ in socket.decodables(of: Int.self) { loop.receive() }
            }
        }
        let error = await #expect(throws: RequestError.self) { try await reader.value }
        #expect(error?.isCancellation == true && error?.url != nil)
        #expect(loop.count == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `messages and decoded values come from all connections, without the other events`() async throws {
        let scripts: [[Step]] = [
            [Fixture.text("1"), .close], [Fixture.text("2"), Fixture.close(1000), Fixture.received(2)],
        ]
        let server = try await Self.server(scripts[0], scripts[1], scripts[0], scripts[1])
        let session = Sleeps().session()
        var messages: [WebSocketMessage] = []
        for try await message in Self.socket(session, server).messages { messages.append(message) }
        #expect(messages == [.text("1"), .text("2")])
        var values: [Int] = []
        for try await value in Self.socket(session, server).decodables(of: Int.self) { values.append(value) }
        #expect(values == [1, 2])
        try await TestHarness.end(session, server)
    }

    @Test func `a value that cannot be decoded ends the loop with an error`() async throws {
        let server = try await Self.server([Fixture.text("x"), .waitForClose])
        let session = Sleeps().session()
        let error = await Self.error { () async throws(RequestError) in
            for try await value in Self.socket(session, server).decodables(of: Int.self) { Issue.record("\(value)") }
        }
        #expect(error?.kind == .serialization(.decodingFailed))
        try await TestHarness.end(session, server)
    }

    @Test func `a ping waits for a connection and for its pong`() async throws {
        let server = try await LocalServer { $0.webSocket("/socket") }
        let session = TestHarness.session()
        let socket = Self.socket(session, server)
        let reader = Task { await Self.events(socket) }
        #expect(try await socket.ping() > .zero)
        try await socket.close()
        #expect(await reader.value.1 == nil)
        #expect(await Self.error { () async throws(RequestError) in try await socket.ping() } != nil)
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling a task ends its connection without a close frame`() async throws {
        let server = try await Fixture.server(.waitForClose)
        let session = TestHarness.session()
        let task = Fixture.request(session, server).webSocketTask()
        _ = try await task.response
        task.cancel()
        let (messages, error) = await Fixture.messages(task)
        #expect(messages.isEmpty && error?.kind == .cancelled && task.closeCode == .abnormalClosure)
        try await TestHarness.end(session, server)
    }

    @Test func `the socket connects again until the server closes it normally, and adapters run again`() async throws {
        let server = try await Self.server(
            [Fixture.text("a"), .close], [Fixture.text("b"), Fixture.close(1001), Fixture.received(2)],
            [Fixture.text("c"), Fixture.close(1000), Fixture.received(2)])
        let sleeps = Sleeps()
        let tokens = Counter()
        let session = sleeps.session(
            Interceptor(adapters: [
                Adapter { request, _ in
                    var request = request
                    request.headers.update(name: "Authorization", value: "Bearer \(tokens.next())")
                    return request
                }
            ]))
        let (events, error) = await Self.events(Self.socket(session, server))
        let lost = RequestError.Kind.webSocket(.closed(.abnormalClosure)).description
        #expect(events == ["opened", "a", lost, "opened", "b", "end", "opened", "c"])
        #expect(error == nil)
        let delays = sleeps.delays.withLock { $0 }.filter { $0 < .seconds(5) }
        #expect(delays.count == 2)
        #expect(delays.allSatisfy { $0 >= .seconds(3) && $0 <= .milliseconds(3750) })
        for number in 1...3 { #expect(try await server.nextRequest().headers["Authorization"] == "Bearer \(number)") }
        try await TestHarness.end(session, server)
    }

    @Test func `send waits for a connection, and fails when the loop has ended`() async throws {
        let server = try await Self.server(
            [Fixture.received(3), .close], [Fixture.received(3), Fixture.close(1000), Fixture.received(2)])
        let session = Sleeps().session()
        let socket = Self.socket(session, server)
        let sender = Task { try await socket.send("one") }
        let reader = Task { await Self.events(socket) }
        try await sender.value
        _ = try await server.nextRequest()
        _ = try await server.nextRequest()
        // The second connection is open, or opens now.
        try await socket.send("two")
        let (events, error) = await reader.value
        #expect(events.filter { $0 == "opened" }.count == 2)
        #expect(error == nil)
        let late = await Self.error { () async throws(RequestError) in try await socket.send("late") }
        #expect(late?.kind == .webSocket(.closed(.normalClosure)))
        try await TestHarness.end(session, server)
    }

    @Test func `a final close code, a refused handshake and the last attempt end the loop with their error`()
        async throws
    {
        let refused = try await Self.server([Fixture.close(1008, "no"), Fixture.received(2)])
        let session = Sleeps().session()
        let (events, error) = await Self.events(Self.socket(session, refused))
        #expect(events == ["opened"])
        #expect(error?.kind == .webSocket(.closed(.policyViolation)))
        #expect(error?.detail == "no")
        await refused.stop()

        let count = Counter()
        let server = try await LocalServer { router in
            router.get("/socket") { _ in .text("no", status: count.next() == 1 ? 503 : 403) }
        }
        let (attempts, last) = await Self.events(Self.socket(session, server))
        #expect(attempts.count == 1)
        #expect(last?.kind == .webSocket(.handshake(.unacceptableStatusCode(403))))
        #expect(last?.body == Data("no".utf8))
        await server.stop()

        let (failures, end) = await Self.events(Self.socket(session, server, .init(maximumAttempts: 3)))
        #expect(failures.count == 2)
        #expect(end?.kind == .connection(.refused))
        await session.shutdown()
    }

    /// Where a socket is when something ends it.
    enum Place: CaseIterable { case connecting, open, waiting }

    /// A session and a server with a socket that has arrived at a place.
    private static func arrive(
        at place: Place
    ) async throws -> (Session, LocalServer, ReconnectingWebSocket, Task<([String], RequestError?), Never>) {
        let sleeps = Sleeps(mayEnd: false)
        let session = sleeps.session()
        let server =
            switch place {
            case .connecting: try await LocalServer.scripted(.waitForRequest, .waitForClose)
            case .open: try await Self.server([Fixture.text("a"), Fixture.received(2), Fixture.close(1000)])
            case .waiting: try await Self.server([.close])
            }
        let socket = Self.socket(session, server)
        let reader = Task { await Self.events(socket) }
        switch place {
        case .connecting: _ = try await server.nextRequest()
        case .open: _ = try await socket.openTask
        case .waiting: await sleeps.began.wait()
        }
        return (session, server, socket, reader)
    }

    @Test(arguments: Place.allCases)
    func `closing ends the loop without an error`(_ place: Place) async throws {
        let (session, server, socket, reader) = try await Self.arrive(at: place)
        try await socket.close()
        let (_, error) = await reader.value
        #expect(error == nil)
        let late = await Self.error { () async throws(RequestError) in try await socket.send("late") }
        #expect(late?.kind == .webSocket(.closed(.normalClosure)))
        let (events, _) = await Self.events(socket)
        #expect(events.isEmpty)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: Place.allCases)
    func `cancelling the reader ends the loop and the waits of senders`(_ place: Place) async throws {
        let (session, server, socket, reader) = try await Self.arrive(at: place)
        reader.cancel()
        let (_, error) = await reader.value
        #expect(error?.kind == .cancelled)
        let late = await Self.error { () async throws(RequestError) in try await socket.send("late") }
        #expect(late?.kind == .cancelled)
        try await server.waitForOpenConnections(atMost: 0)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [Place.connecting, .waiting])
    func `cancelling all requests of the session ends the loop`(_ place: Place) async throws {
        let (session, server, socket, reader) = try await Self.arrive(at: place)
        await session.cancelAllRequests()
        let (_, error) = await reader.value
        #expect(error?.kind == .cancelled)
        _ = socket
        try await TestHarness.end(session, server)
    }

    @Test func `shutting down the session while the socket waits ends everything`() async throws {
        let (session, server, socket, reader) = try await Self.arrive(at: .waiting)
        let sender = Task { await Self.error { () async throws(RequestError) in try await socket.send("a") } }
        await session.shutdown()
        let (_, error) = await reader.value
        #expect(error?.kind == .sessionShutDown)
        #expect(await sender.value?.kind == .sessionShutDown)
        await server.stop()
    }

    @Test func `leaving the loop closes the connection`() async throws {
        let server = try await Self.server([Fixture.text("a"), Fixture.received(2), Fixture.close(1000)])
        let session = Sleeps().session()
        let socket = Self.socket(session, server)
        for try await event in socket.events {
            if case .message = event { break }
        }
        let late = await Self.error { () async throws(RequestError) in try await socket.send("late") }
        #expect(late?.kind == .webSocket(.closed(.normalClosure)))
        try await server.waitForOpenConnections(atMost: 0)
        try await TestHarness.end(session, server)
    }

    @Test func `closing the task of a connection ends the loop, and a broken message does not`() async throws {
        let server = try await Self.server(
            [Fixture.received(1), Fixture.received(2), Fixture.close(1001)], [Fixture.received(2), Fixture.close(4000)])
        let session = Sleeps().session()
        struct Failure: Error {}
        var opened = 0
        for try await event in Self.socket(session, server).events {
            guard case .opened(let task) = event else { continue }
            opened += 1
            if opened == 2 {
                try await task.close(code: 4000)
                continue
            }
            let pieces = AsyncThrowingStream<Data, any Error> { input in
                input.yield(Data([1]))
                input.finish(throwing: Failure())
            }
            let error = await Self.error { () async throws(RequestError) in try await task.send(binary: pieces) }
            #expect(error?.underlying is Failure)
        }
        #expect(opened == 2)
        try await TestHarness.end(session, server)
    }

    @Test func `shutdown against reconnection always ends`() async throws {
        for round in 0..<40 {
            let server = try await Self.server([Fixture.text("a"), .close])
            let session = Sleeps().session()
            let socket = Self.socket(session, server)
            let reader = Task { await Self.events(socket) }
            let sender = Task {
                while await Self.error({ () async throws(RequestError) in try await socket.send("a") })?.kind
                    != .sessionShutDown
                {
                    // On a busy machine, the loop must not keep the others from their turn.
                    try? await Task.sleep(for: .microseconds(100))
                }
            }
            for _ in 0..<(round % 10) { _ = try await server.nextRequest() }
            await session.shutdown()
            let (_, error) = await reader.value
            #expect(error?.kind == .sessionShutDown)
            await sender.value
            await server.stop()
        }
    }

    @Test func `a server that is killed and starts again is found again`() async throws {
        var program = try Python.start("servers/websocket_echo.py", ["plain"])
        defer { program.send(9) }
        var lines = program.lines.makeAsyncIterator()
        let port = try #require(await lines.next())
        let session = TestHarness.session()
        let socket = session.reconnectingWebSocket(
            "ws://127.0.0.1:\(port)/",
            reconnection: .init(reconnectionTime: .milliseconds(50), maximumReconnectionDelay: .milliseconds(100)))
        var events = socket.events.makeAsyncIterator()
        for text in ["one", "two", "three"] {
            // The first attempts may come too early.
            while let event = try await events.next() { if case .opened = event { break } }
            try await socket.send(text)
            guard case .message(.text(text)) = try await events.next() else { throw RequestError(.internal) }
            program.send(9)
            guard case .disconnected(let error, _) = try await events.next() else { throw RequestError(.internal) }
            #expect(error != nil)
            program = try Python.start("servers/websocket_echo.py", ["plain", "--port", port])
            lines = program.lines.makeAsyncIterator()
            #expect(await lines.next() == port)
        }
        // The server's order to close with its own code, after which the next connection is closed by us.
        while let event = try await events.next() { if case .opened = event { break } }
        try await socket.send("close")
        guard case .disconnected(let error, _) = try await events.next() else { throw RequestError(.internal) }
        #expect(error?.kind == .webSocket(.closed(3001)))
        while let event = try await events.next() { if case .opened = event { break } }
        try await socket.close()
        let end = try await events.next()
        #expect(end == nil)
        await session.shutdown()
    }
}
