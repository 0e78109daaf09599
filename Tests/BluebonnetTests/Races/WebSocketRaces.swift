import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// WebSockets that are closed, cancelled, suspended and shut down at any moment: 10,000 of each kind.
@Suite(.timeLimit(.minutes(10 * raceMultiplier))) struct WebSocketRaces {
    private typealias Fixture = WebSocketFixture

    /// A server that follows a script on each socket, and a session.
    private struct RaceScene: Sendable {
        let server: LocalServer
        let session: Session

        init(loops: Int = 1, _ steps: Fixture.Step...) async throws {
            server = try await LocalServer { router in
                router.get("/socket") { request in .script(LocalServer.Script([Fixture.accept(request)] + steps)) }
            }
            session = Self.session(loops: loops)
        }

        static func session(loops: Int = 1) -> Session {
            TestHarness.session {
                $0.bodyHighWatermark = 16 * 1024
                $0.bodyLowWatermark = 4 * 1024
                $0.eventLoops = .init(loops)
            }
        }

        func task(on session: Session? = nil) -> WebSocketTask {
            Fixture.request(session ?? self.session, server).webSocketTask(automaticallyClosing: false)
        }

        /// Expects that all activity ends.
        func end() async throws {
            #expect(await session.withAllRequests { $0.count } == 0)
            await session.shutdown()
            try await server.waitForOpenConnections(atMost: 0)
            await server.stop()
        }
    }

    private static let close: [UInt8] = Fixture.frame(0x88, [0x03, 0xe8])

    @Test(arguments: [1, 4])
    func `Closing against messages ends the loop once, with a beginning of the messages`(loops: Int) async throws {
        let scene = try await RaceScene(
            loops: loops, Fixture.text("0"), Fixture.text("1"), Fixture.text("2"), Fixture.received(2),
            .bytes(Self.close))
        try await race { iteration in
            let task = scene.task()
            if !iteration.isMultiple(of: 4) { _ = try await task.response }
            async let reading = Fixture.messages(task)
            async let closing: Void = {
                await dawdle(iteration)
                try await task.close()
            }()
            let (messages, error) = try await (reading, closing).0
            #expect(messages == (0..<messages.count).map { .text("\($0)") })
            if task.request.state == .cancelled {
                // It was closed before it was open.
                #expect(error?.kind == .cancelled && messages.isEmpty && iteration.isMultiple(of: 4))
            } else {
                #expect(error == nil && messages.count == 3, "\(error?.description ?? "") \(messages)")
                #expect(task.closeCode == .normalClosure)
            }
            let late = await Fixture.messages(task)
            #expect(late.0.isEmpty && late.1?.kind == error?.kind)
        }
        try await scene.end()
    }

    @Test(arguments: [1, 4])
    func `Cancelling a task that sends ends its wait, and leaves whole messages`(loops: Int) async throws {
        let scene = try await RaceScene(loops: loops, .waitForClose)
        try await race { iteration in
            let task = scene.task()
            if iteration.isMultiple(of: 2) { _ = try await task.response }
            let senders = (0..<3).map { number in
                Task { () async -> RequestError? in
                    do throws(RequestError) {
                        try await task.send(Data(repeating: 1, count: number == 1 ? 150_000 : 10_000))
                        return nil
                    } catch { return error }
                }
            }
            await dawdle(iteration)
            senders[iteration % 3].cancel()
            let results = [await senders[0].value, await senders[1].value, await senders[2].value]
            for (number, error) in results.enumerated() {
                switch error?.kind {
                case nil: break
                case .cancelled: #expect(number == iteration % 3)
                // A message that was sent in part closes the socket for the others.
                case .webSocket(.closed): #expect(iteration % 3 == 1)
                default: Issue.record(error ?? RequestError(.internal))
                }
            }
            task.request.cancel()
            try await task.close()
            #expect(task.request.state == .cancelled)
        }
        try await scene.end()
    }

    @Test(arguments: [1, 4])
    func `Shutting down against opening, messages and closing ends all sockets`(loops: Int) async throws {
        let scene = try await RaceScene(Fixture.text("0"), Fixture.received(2), .bytes(Self.close))
        // 1,000 sessions with ten sockets each.
        try await race(groups: 1000, of: 1) { round in
            let session = RaceScene.session(loops: loops)
            let sockets = (0..<10).map { _ in scene.task(on: session) }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (member, task) in sockets.enumerated() {
                    tasks.addTask {
                        await dawdle(member * 5 + round)
                        let (messages, error) = await Fixture.messages(task)
                        #expect(messages.count <= 1)
                        #expect([nil, .sessionShutDown].contains(error?.kind), "\(error?.description ?? "")")
                    }
                    if member.isMultiple(of: 3) {
                        tasks.addTask {
                            await dawdle(round + member)
                            _ = try? await task.send("late")
                            await dawdle(round)
                            task.request.suspend()
                            await dawdle(member)
                            task.request.resume()
                        }
                    }
                }
                tasks.addTask {
                    await dawdle(round)
                    await session.shutdown()
                }
                try await tasks.waitForAll()
            }
            for task in sockets { #expect(task.request.state == .finished, "\(task.request.state)") }
        }
        try await scene.end()
    }

    @Test(arguments: [1, 4])
    func `Shutting down against reconnection ends all sockets`(loops: Int) async throws {
        let scene = try await RaceScene(Fixture.text("0"), .close)
        let opened = Counter()
        let delay = Duration.milliseconds(1)
        let reconnection = WebSocketReconnection(reconnectionTime: delay, maximumReconnectionDelay: delay)
        // 1,000 sessions with ten sockets each, which connect again and again.
        try await race(groups: 1000, of: 1) { round in
            let session = RaceScene.session(loops: loops)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for member in 0..<10 {
                    let socket = session.reconnectingWebSocket(
                        "ws://127.0.0.1:\(scene.server.port)/socket", configuration: Fixture.plain,
                        reconnection: reconnection)
                    tasks.addTask {
                        await dawdle(member * 5 + round)
                        do throws(RequestError) {
                            for try await event in socket.events { if case .opened = event { opened.next() } }
                            Issue.record("the loop ended without an error")
                        } catch {
                            #expect(error.kind == .sessionShutDown)
                        }
                    }
                    if member.isMultiple(of: 3) {
                        tasks.addTask { while (try? await socket.send("late")) != nil { await dawdle(round) } }
                    }
                }
                tasks.addTask {
                    try await Task.sleep(for: .microseconds(round % 20 * 300))
                    await session.shutdown()
                }
                try await tasks.waitForAll()
            }
        }
        #expect(opened.value > (Sanitizer.current == nil ? 1000 : 100))
        try await scene.end()
    }

    @Test(arguments: [1, 4])
    func `Both ends close at once, and both are satisfied`(loops: Int) async throws {
        let scene = try await RaceScene(loops: loops, .bytes(Self.close), Fixture.received(2))
        try await race { iteration in
            let task = scene.task()
            _ = try await task.response
            async let reading = Fixture.messages(task)
            await dawdle(iteration)
            try await task.close(code: 3000)
            let (messages, error) = await reading
            #expect(messages.isEmpty && error == nil, "\(error?.description ?? "")")
            #expect(task.closeCode == .normalClosure)
            #expect(task.request.state == .finished)
        }
        try await scene.end()
    }

    @Test(arguments: [1, 4])
    func `Suspending and resuming many times loses no message`(loops: Int) async throws {
        let messages = (0..<20).map { Fixture.text("\($0)" + String(repeating: "x", count: $0 * 100)) }
        let server = try await LocalServer { router in
            router.get("/socket") { request in
                .script(
                    LocalServer.Script(
                        [Fixture.accept(request)] + messages + [.bytes(Self.close), Fixture.received(2)]))
            }
        }
        let session = RaceScene.session(loops: loops)
        try await race { iteration in
            let task = Fixture.request(session, server).webSocketTask(automaticallyClosing: false)
            async let reading = Fixture.messages(task)
            await withTaskGroup(of: Void.self) { storm in
                for thread in 0..<3 {
                    storm.addTask {
                        for step in 0..<4 {
                            if (thread + step + iteration).isMultiple(of: 2) {
                                task.request.suspend()
                            } else {
                                task.request.resume()
                            }
                            await dawdle(iteration + step)
                        }
                    }
                }
            }
            task.request.resume()
            let (received, error) = await reading
            #expect(received.count == 20 && error == nil, "\(received.count) \(error?.description ?? "")")
            for (number, message) in received.enumerated() {
                guard case .text(let text) = message else { continue }
                #expect(text.hasPrefix("\(number)") && text.utf8.count >= number * 100)
            }
        }
        #expect(await session.withAllRequests { $0.count } == 0)
        await session.shutdown()
        try await server.waitForOpenConnections(atMost: 0)
        await server.stop()
    }

    @Test(arguments: [1, 4])
    func `Leaving, releasing, cancelling and pinging at any moment ends the socket`(loops: Int) async throws {
        let scene = try await RaceScene(
            loops: loops, Fixture.text("0"), Fixture.text("1"), Fixture.received(2), .bytes(Self.close))
        let requests = Locked<[WebSocketRequest]>([])
        try await race { iteration in
            let request = Fixture.request(scene.session, scene.server)
            requests.withLock { $0.append(request) }
            let task = request.webSocketTask()
            switch iteration % 6 {
            case 0: for try await _ in task.messages { break }
            case 1: _ = try await task.response
            case 2:
                let reader = Task { await Fixture.messages(task) }
                await dawdle(iteration)
                reader.cancel()
                _ = await reader.value
            case 3:
                async let time: Void = { _ = try? await task.ping() }()
                await dawdle(iteration)
                try await task.close()
                await time
            case 4:
                let pinger = Task { _ = try? await task.ping() }
                await dawdle(iteration)
                pinger.cancel()
                await pinger.value
            default:
                async let first = Fixture.messages(task)
                async let second = Fixture.messages(task)
                await dawdle(iteration)
                request.cancel()
                _ = await (first, second)
            }
        }
        // Each socket is closed by its client.
        await scene.session.shutdown()
        for request in requests.withLock({ $0 }) { #expect(request.isFinished || request.isCancelled) }
        try await scene.end()
    }
}

/// Repeats a race; with a sanitizer, a fifth as often.
///
/// With the thread sanitizer, 140,000 sockets would take 13 minutes.
private func race(
    groups: Int = 100, of size: Int = 100, _ body: @escaping @Sendable (_ iteration: Int) async throws -> Void
) async throws {
    try await TestSupport.race(groups: Sanitizer.current == nil ? groups : groups / 5, of: size, body)
}
