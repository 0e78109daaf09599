import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct CancellationTests {
    /// The source of the cancellation.
    enum Canceller: CaseIterable {
        case request, dataTask, task, session
    }

    private static let `continue` = "HTTP/1.1 100 Continue\r\n\r\n"

    // MARK: Stages

    @Test func `before the start`() async throws {
        let transport = StubTransport { _ in .ok }
        let session = Session(startRequestsImmediately: false, transport: transport)
        let request = session.request("http://example.com/a")
        let task = request.serializingData()
        request.cancel()
        try await TestHarness.expect(task, in: session, failsWith: .cancelled, saying: "the request was cancelled")
        request.resume()
        #expect(request.state == .cancelled)
        #expect(transport.requestCount == 0)
    }

    @Test func `before a serializer is attached`() async throws {
        let transport = StubTransport { _ in .ok }
        let session = Session(transport: transport)
        let request = session.request("http://example.com/a").cancel()
        for _ in 1...2 {
            try await TestHarness.expect(request.serializingData(), in: session, failsWith: .cancelled)
        }
        #expect(transport.requestCount == 0)
    }

    @Test func `in a task that is cancelled already`() async throws {
        let transport = StubTransport { _ in .never }
        let session = Session(transport: transport)
        let gate = Gate()
        let answer = Task {
            await gate.wait()
            return await session.request("http://example.com/a").serializingData().response
        }
        answer.cancel()
        #expect(await answer.value.error?.kind == .cancelled)
        await session.shutdown()
    }

    @Test(arguments: Canceller.allCases)
    func `while the host's name is looked up`(_ canceller: Canceller) async throws {
        let session = TestHarness.session()
        for _ in 1...50 {
            let task = session.request("http://no-such-host.invalid/a").serializingData()
            await cancel(task, in: session, by: canceller)
            let kind = await task.response.error?.kind
            if kind == .cancelled { return await session.shutdown() }
            // The lookup may be over before anyone could cancel.
            #expect(kind == .connection(.nameNotResolved))
        }
        Issue.record("no request was cancelled")
    }

    @Test(arguments: Canceller.allCases)
    func `while connecting`(_ canceller: Canceller) async throws {
        let hole = "http://127.0.0.1:\(try DeadPort.ignoring())"
        let loop = EventLoop(name: "connecting")
        let session = TestHarness.session { $0.eventLoop = loop }
        let task = session.request(hole + "/a").serializingData()
        // The loop has received the request and, in the next turn, begun to connect.
        for _ in 1...3 { await withCheckedContinuation { done in loop.submit { done.resume() } } }
        try await expectCancellation(of: task, in: session, by: canceller)
    }

    @Test(arguments: Canceller.allCases)
    func `in the TLS handshake`(_ canceller: Canceller) async throws {
        let gate = Gate()
        let server = try await LocalServer.scripted(.waitForBytes(1), .wait { gate.open() }, .stall)
        let session = TestHarness.session()
        let task = session.request("https://127.0.0.1:\(server.port)/a").serializingData()
        await gate.wait()
        try await expectCancellation(of: task, in: session, by: canceller)
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test(arguments: Canceller.allCases)
    func `while the body is sent`(_ canceller: Canceller) async throws {
        let server = try await LocalServer.scripted(.waitForHead, .bytes(Self.continue), .waitForBytes(1), .stall)
        let session = TestHarness.session()
        let request = session.request(server.url("/a"), method: .post) { $0.body = .data(Data(count: 64 << 20)) }
        let task = request.serializingData()
        _ = try await server.nextRequest()
        try await expectCancellation(of: task, in: session, by: canceller)
        // The server has not read the sent bytes, so it does not notice the end.
        await server.closeConnections()
    }

    @Test(arguments: Canceller.allCases)
    func `while the head is awaited`(_ canceller: Canceller) async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .stall)
        let session = TestHarness.session()
        let task = session.request(server.url("/a?token=hidden")).serializingData()
        _ = try await server.nextRequest()
        let error = try await expectCancellation(of: task, in: session, by: canceller)
        #expect(error.description == "the request was cancelled [GET \(server.url)/a?token=<redacted>]")
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test(arguments: Canceller.allCases)
    func `within the body`(_ canceller: Canceller) async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789"), .stall)
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).validate().serializingData()
        for await progress in task.downloadProgressUpdates() where progress.completed == 10 { break }
        try await expectCancellation(of: task, in: session, by: canceller)
        let answer = await task.response
        #expect(answer.response?.statusCode == 200)
        #expect(answer.data?.count == 10)
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test(arguments: Canceller.allCases)
    func `while a serializer hangs and ignores the cancellation`(_ canceller: Canceller) async throws {
        let hanging = HangingSerializer()
        defer { hanging.gate.open() }
        let session = Session(transport: StubTransport { _ in .text("text") })
        let task = session.request("http://example.com/a").serializingResponse(using: hanging)
        await hanging.hasBegun.wait()
        try await expectCancellation(of: task, in: session, by: canceller)
        // The received bytes are available nevertheless.
        #expect(await task.response.response?.statusCode == 200)
        #expect(await task.response.data?.count == 4)
    }

    @Test func `cancelling after the end changes nothing`() async throws {
        let session = Session(transport: StubTransport { _ in .text("text") })
        let task = session.request("http://example.com/a").serializingString()
        #expect(try await task.value == "text")
        task.cancel()
        #expect(try await task.value == "text")
        #expect(task.request.state == .finished)
        #expect(try await task.request.serializingString().value == "text")
    }

    @Test func `from within the request's own code`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .text("text"))
        }
        let session = TestHarness.session()
        let fromModifier = Mutex<DataRequest?>(nil)
        let request = session.request(server.url("/a")) { _ in fromModifier.withLock { _ = $0?.cancel() } }
        fromModifier.withLock { $0 = request }
        try await TestHarness.expect(request.serializingData(), in: session, failsWith: .cancelled)

        let fromValidator = Mutex<DataRequest?>(nil)
        let other = session.request(server.url("/a")).validate { _, _, _ in
            fromValidator.withLock { _ = $0?.cancel() }
            return .success(())
        }
        fromValidator.withLock { $0 = other }
        try await TestHarness.expect(other.serializingData(), in: session, failsWith: .cancelled)
        #expect(server.requestCount == 1)
        fromModifier.withLock { $0 = nil }
        fromValidator.withLock { $0 = nil }
        try await TestHarness.end(session, server)
    }

    @Test func `an earlier failure is the cancellation's underlying error`() async throws {
        let hanging = HangingSerializer()
        let session = Session(transport: StubTransport { _ in .text("text", status: 500) })
        let cell = Mutex<DataRequest?>(nil)
        let request = session.request("http://example.com/a").validate { _, _, _ in
            cell.withLock { _ = $0?.cancel() }
            return .failure(TestFailure("refused"))
        }
        cell.withLock { $0 = request }
        let error = try await TestHarness.expect(
            request.serializingResponse(using: hanging), in: session, failsWith: .cancelled,
            saying: "the request was cancelled", "a validator refused the response", "refused")
        #expect((error.underlying as? RequestError)?.kind == .validation(.customValidationFailed))
        cell.withLock { $0 = nil }
    }

    // MARK: Cancelled requests

    @Test func `a task without automatic cancellation does not cancel its request`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/a") { _ in
                await gate.wait()
                return .text("late")
            }
        }
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).serializingString(automaticallyCancelling: false)
        let awaiting = Task { await task.response }
        _ = try await server.nextRequest()
        awaiting.cancel()
        #expect(task.request.state == .resumed)
        gate.open()
        #expect(await awaiting.value.value == "late")
        #expect(try await task.value == "late")
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling one of many waiting tasks cancels the request for all`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .stall)
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).serializingString()
        let awaiting = (1...10).map { _ in Task { await task.response } }
        _ = try await server.nextRequest()
        awaiting[4].cancel()
        for task in awaiting { #expect(await task.value.error?.kind == .cancelled) }
        try await TestHarness.end(session, server)
    }

    @Test func `a cancelled task group cancels the requests that it awaits`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .stall)
        let session = TestHarness.session()
        await withTaskGroup(of: RequestError.Kind?.self) { group in
            for _ in 1...5 {
                group.addTask { await session.request(server.url("/a")).serializingData().response.error?.kind }
            }
            try? await server.waitForConnections(atLeast: 5)
            group.cancelAll()
            for await kind in group { #expect(kind == .cancelled) }
        }
        try await TestHarness.end(session, server)
    }

    @Test func `every sequence ends with the request`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .stall)
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).serializingData()
        let before = task.downloadProgressUpdates()
        _ = try await server.nextRequest()
        task.cancel()
        for await _ in before {}
        for await _ in task.downloadProgressUpdates() {}
        try await TestHarness.end(session, server)
    }

    // MARK: Support

    /// Cancels, and expects that the request is cancelled and reports it.
    @discardableResult
    private func expectCancellation<Value>(
        of task: DataTask<Value>, in session: Session, by canceller: Canceller,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> RequestError {
        await cancel(task, in: session, by: canceller)
        let error = try await TestHarness.expect(
            task, in: session, failsWith: .cancelled, saying: "the request was cancelled",
            sourceLocation: sourceLocation)
        #expect(error.isCancellation, sourceLocation: sourceLocation)
        await session.shutdown()
        return error
    }

    private func cancel<Value>(_ task: DataTask<Value>, in session: Session, by canceller: Canceller) async {
        switch canceller {
        case .request: task.request.cancel()
        case .dataTask: task.cancel()
        case .task:
            let awaiting = Task { await task.response }
            awaiting.cancel()
            _ = await awaiting.value
        case .session: await session.cancelAllRequests()
        }
    }
}

/// Waits for its gate even if its task is cancelled.
struct HangingSerializer: ResponseSerializer {
    let hasBegun = Gate()
    let gate = Gate()

    func serialize(_ input: SerializerInput) async throws -> String {
        hasBegun.open()
        // A task that is never cancelled.
        await Task.detached { [gate] in await gate.wait() }.value
        return "too late"
    }
}
