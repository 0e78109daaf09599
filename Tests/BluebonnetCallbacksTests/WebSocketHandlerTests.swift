import Bluebonnet
import BluebonnetCallbacks
import BluebonnetTesting
import Dispatch
import FoundationEssentials
import Testing

/// WebSockets whose events are passed to handlers.
@Suite(.timeLimit(.minutes(10))) struct WebSocketHandlerTests {
    private struct Order: Codable, Equatable { var id: Int }

    /// An event in one line.
    private static func text<Success, Failure>(_ event: WebSocketRequest.Event<Success, Failure>) -> String {
        switch event {
        case .connected(let name): "connected \(name ?? "-")"
        case .receivedMessage(let message): "\(message)"
        case .serializerFailed(let error): "\(error)"
        case .disconnected(let code, let reason): "disconnected \(code.rawValue) \(reason ?? "-")"
        case .completed(let completion):
            "completed \(completion.response?.statusCode ?? 0) \(completion.error.map { "\($0.kind)" } ?? "-")"
        }
    }

    private static func session(_ response: StubTransport.Response) -> Session {
        let transport = StubTransport()
        transport.stub(.get, "/socket", response)
        return Session(transport: transport)
    }

    private static let url = "ws://stub.test/socket"

    @Test func `events arrive in order on the queue`() async throws {
        let queue = DispatchQueue(label: "events")
        let log = CallLog<String>()
        let session = Self.session(.webSocket(protocols: ["v1"]))
        let socket = session.webSocketRequest(to: Self.url, protocols: ["v1"])
        socket.streamMessageEvents(on: queue) { event in
            dispatchPrecondition(condition: .onQueue(queue))
            log.note(Self.text(event))
            if case .receivedMessage(.text("2")) = event { socket.close(sending: 4000, reason: "bye") }
        }
        socket.send(.text("1"))
        socket.send(.text("2"))
        #expect(
            await log.wait(for: 5) == [
                "connected v1", #"text("1")"#, #"text("2")"#, "disconnected 4000 ", "completed 101 -",
            ])
        await session.shutdown()
    }

    @Test func `messages are sent in the order of the calls, and the close frame after them`() async throws {
        let log = CallLog<Int>()
        let sent = CallLog<Bool>()
        let session = Self.session(
            .webSocket { message in
                if case .text(let text) = message { log.note(Int(text) ?? -1) }
                return []
            })
        let socket = session.webSocketRequest(to: Self.url)
        for number in 0..<200 {
            socket.send(.text("\(number)"), queue: .global()) { result in sent.note((try? result.get()) != nil) }
        }
        socket.close()
        #expect(await log.wait(for: 200) == Array(0..<200))
        #expect(await sent.wait(for: 200) == Array(repeating: true, count: 200))
        await session.shutdown()
    }

    @MainActor @Test func `handlers of the main actor run on the main queue`() async throws {
        let log = CallLog<String>()
        let session = Self.session(
            .webSocket(first: [.binary(Data("{\"id\":1}".utf8)), .text("?"), .text("{\"id\":2}")]))
        let socket = session.webSocketRequest(to: Self.url)
        socket.streamDecodableEvents(of: Order.self) { event in
            MainActor.assertIsolated()
            if case .receivedMessage(let order) = event {
                log.note("\(order.id)")
                if order.id == 2 { socket.close() }
            }
            if case .serializerFailed(let error) = event { log.note("\(error.isResponseSerializationError)") }
            if case .completed = event { log.note("end") }
        }
        #expect(await log.wait(for: 4) == ["1", "true", "2", "end"])
        await session.shutdown()
    }

    @Test func `a refused handshake has a completion only`() async throws {
        let log = CallLog<String>()
        let sent = CallLog<Bool>()
        let session = Self.session(.status(403))
        let socket = session.webSocketRequest(to: Self.url)
        socket.streamMessageEvents(on: .global()) { log.note(Self.text($0)) }
        socket.send(.text("x"), queue: .global()) { result in sent.note((try? result.get()) == nil) }
        let error = RequestError.WebSocketReason.handshake(.unacceptableStatusCode(403))
        #expect(await log.wait(for: 1) == ["completed 403 \(RequestError.Kind.webSocket(error))"])
        #expect(await sent.wait(for: 1) == [true])
        await session.shutdown()
    }

    @Test func `a slow handler slows down the server`() async throws {
        let log = CallLog<String>()
        let (entered, mayReturn) = (Gate(), DispatchSemaphore(value: 0))
        let server = try await LocalServer { router in
            router.webSocket("/socket", first: Array(repeating: .binary(Data(count: 100_000)), count: 300))
        }
        var configuration = Session.Configuration()
        configuration.bodyHighWatermark = 256 * 1024
        let session = Session(configuration: configuration)
        let socket = session.webSocketRequest(to: "ws://127.0.0.1:\(server.port)/socket")
        socket.streamMessageEvents(on: DispatchQueue(label: "slow")) { event in
            guard case .receivedMessage = event else { return }
            if !entered.isOpen {
                entered.open()
                mayReturn.wait()
            }
            log.note("")
        }
        await entered.wait()
        #expect(try await server.waitForQuiet().bytesSent < 20_000_000)
        mayReturn.signal()
        _ = await log.wait(for: 300)
        socket.cancel()
        await session.shutdown()
        await server.stop()
    }

    @Test func `a close frame that cannot be sent cancels the request`() async throws {
        let log = CallLog<String>()
        let session = Self.session(.webSocket())
        let socket = session.webSocketRequest(to: Self.url)
        socket.streamMessageEvents(on: .global()) { event in
            log.note(Self.text(event))
            if case .connected = event { socket.close(sending: 1005) }
        }
        #expect(await log.wait(for: 3).last == "completed 101 \(RequestError.Kind.cancelled)")
        await session.shutdown()
    }
}
