import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

@Suite(.timeLimit(.minutes(10))) struct SessionEndTests {
    /// A server that answers when the gate is opened.
    private func lateServer(_ gate: Gate) async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/late") { _ in
                await gate.wait()
                return .text("late")
            }
        }
    }

    @Test func `shutting down lets requests finish, then closes the connections`() async throws {
        let gate = Gate()
        let server = try await lateServer(gate)
        let session = TestHarness.session()
        let tasks = (1...5).map { _ in session.request(server.url("/late")).serializingString() }
        _ = try await server.request(5)
        let end = Task { await session.shutdown() }
        gate.open()
        for task in tasks { #expect(try await task.value == "late") }
        await end.value
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `cancelling the shutdown cancels the requests`() async throws {
        let server = try await lateServer(Gate())
        let session = TestHarness.session()
        let tasks = (1...5).map { _ in session.request(server.url("/late")).serializingString() }
        _ = try await server.request(5)
        let end = Task { await session.shutdown() }
        end.cancel()
        await end.value
        for task in tasks { try await TestHarness.expect(task, in: session, failsWith: .cancelled) }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `requests after the shutdown fail`() async throws {
        let server = try await lateServer(Gate(isOpen: true))
        let session = TestHarness.session()
        #expect(try await session.request(server.url("/late")).serializingString().value == "late")
        let early = session.request(server.url("/late"))
        await session.shutdown()
        await session.shutdown()
        for request in [early, session.request(server.url("/late")), session.request("not a URL")] {
            let task = request.serializingString()
            let error = try #require(await task.response.error)
            #expect(error.kind == .sessionShutDown)
            #expect(error.description.hasPrefix("the session was shut down"))
            #expect(request.state == .finished)
        }
        #expect(server.requestCount == 1)
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `a session that was never used is shut down at once`() async throws {
        await TestHarness.session().shutdown()
    }

    @Test func `requests continue when their session is released`() async throws {
        let gate = Gate()
        let server = try await lateServer(gate)
        var session: Session? = TestHarness.session()
        weak let dropped = session
        let tasks = (1...5).map { _ in session?.request(server.url("/late")).serializingString() }
        session = nil
        #expect(dropped == nil)
        _ = try await server.request(5)
        gate.open()
        for task in tasks { #expect(try await task?.value == "late") }
        // The connections are closed after the last request.
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `a request that is not awaited ends after its session is released`() async throws {
        let server = try await lateServer(Gate(isOpen: true))
        do {
            let session = TestHarness.session()
            _ = session.request(server.url("/late")).serializingString()
        }
        _ = try await server.nextRequest()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `a request whose session was released before its start completes`() async throws {
        let server = try await lateServer(Gate(isOpen: true))
        let request = TestHarness.session(startRequestsImmediately: false).request(server.url("/late"))
        let task = request.serializingString()
        request.resume()
        let answer = await task.response
        // The connections of its session may already be closed. The request ends in both cases.
        #expect(answer.value == "late" || answer.error?.kind == .sessionShutDown, "\(answer)")
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test(arguments: [false, true])
    func `a task that waits for an unstarted request resumes when all requests end`(shuttingDown: Bool) async throws {
        let transport = StubTransport { _ in .ok }
        let session = Session(startRequestsImmediately: false, transport: transport)
        let tasks = (1...5).map { session.request("http://example.com/\($0)").serializingData() }
        let answers = tasks.map { task in Task { await task.response } }
        while await session.withAllRequests({ $0.count < 5 }) { await Task.yield() }
        if shuttingDown { await session.shutdown() } else { await session.cancelAllRequests() }
        for answer in answers {
            #expect(await answer.value.error?.kind == (shuttingDown ? .sessionShutDown : .cancelled))
        }
        #expect(transport.requestCount == 0)
    }

    @Test(arguments: [false, true])
    func `a task that waits after the end of all requests resumes`(shuttingDown: Bool) async throws {
        let transport = StubTransport { _ in .ok }
        let session = Session(startRequestsImmediately: false, transport: transport)
        let tasks = (1...5).map { session.request("http://example.com/\($0)").serializingData() }
        if shuttingDown { await session.shutdown() } else { await session.cancelAllRequests() }
        for task in tasks {
            #expect(await task.response.error?.kind == (shuttingDown ? .sessionShutDown : .cancelled))
            task.resume()
        }
        #expect(transport.requestCount == 0)
    }

    @Test func `cancelling all requests does not affect later requests`() async throws {
        let server = try await lateServer(Gate(isOpen: true))
        let session = TestHarness.session()
        await session.cancelAllRequests()
        #expect(try await session.request(server.url("/late")).serializingString().value == "late")
        try await TestHarness.end(session, server)
    }

    @Test func `all requests are listed while they run, and no request after it has ended`() async throws {
        let gate = Gate()
        let server = try await lateServer(gate)
        let session = TestHarness.session()
        let tasks = (1...3).map { _ in session.request(server.url("/late")).serializingString() }
        _ = try await server.request(3)
        let running = await session.withAllRequests { $0.map(\.id) }
        #expect(running == tasks.map(\.request.id))
        gate.open()
        for task in tasks { #expect(try await task.value == "late") }
        #expect(await session.withAllRequests { $0.isEmpty })
        try await TestHarness.end(session, server)
    }

    @Test func `all requests end when their server stops`() async throws {
        let server = try await lateServer(Gate())
        let session = TestHarness.session()
        let tasks = (1...20).map { _ in session.request(server.url("/late")).serializingString() }
        _ = try await server.request(20)
        await server.stop()
        for task in tasks { #expect(await task.response.error?.kind == .connection(.lost)) }
        await session.shutdown()
    }
}
