import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The head of a streamed response, and the closures that run before the body.
@Suite(.timeLimit(.minutes(10))) struct StreamHeadTests {
    // MARK: Validators

    @Test func `validators check the head before any bytes of the body`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/a") { _ in
                .stream(headers: ["X-Name": "value"]) { writer in
                    await gate.wait()
                    try await writer.write("body")
                }
            }
        }
        let session = TestHarness.session()
        let seen = Locked<[String]>([])
        let request = session.streamRequest(server.url("/a")).validate { request, response in
            let words = "\(request?.url.path ?? "") \(response.statusCode) \(response.headers["X-Name"] ?? "")"
            seen.withLock { $0.append(words) }
            return .success(())
        }
        let task = request.validate().streamTask()
        _ = try await task.response
        #expect(seen.withLock { $0 } == ["/a 200 value"])
        #expect(request.downloadProgress.completed == 0)
        gate.open()
        #expect(await StreamFixture.body(task.bytes).data == Data("body".utf8))
        #expect(seen.withLock { $0 }.count == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `the error of a custom validator is reported`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("reason")) }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a"))
            .validate { _, _ in .failure(TestFailure("not that")) }.streamTask()
        let (body, error) = await StreamFixture.body(task.bytes)
        #expect(body.isEmpty)
        #expect(error?.kind == .validation(.customValidationFailed))
        #expect(error?.underlying as? TestFailure == TestFailure("not that"))
        #expect(error?.body == Data("reason".utf8))
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [0, 10, 65_535, 65_536, 65_537, 1 << 20])
    func `an unacceptable response is an error with its head and the beginning of its body`(_ size: Int) async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned(length: size, status: 503) } }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).validate().streamTask()
        let (body, failure) = await StreamFixture.body(task.bytes)
        let error = try #require(failure)
        #expect(body.isEmpty)
        #expect(error.kind == .validation(.unacceptableStatusCode(503)))
        #expect(error.response?.statusCode == 503)
        #expect(error.response?.headers["Content-Length"] == "\(size)")
        let kept = error.body ?? Data()
        #expect(kept.count == min(size, 65_536))
        #expect(StreamFixture.isRight(kept, at: 0))
        #expect(task.request.state == .finished)
        #expect(task.request.error?.kind == error.kind)
        #expect(task.request.metrics != nil)
        #expect(await #expect(throws: RequestError.self) { try await task.response }?.kind == error.kind)
        try await TestHarness.end(session, server)
    }

    @Test func `an endless error body is cut off`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned(status: 500) } }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).validate().streamTask()
        let error = await #expect(throws: RequestError.self) { try await task.response }
        #expect(error?.kind == .validation(.unacceptableStatusCode(500)))
        #expect(error?.body?.count == 65_536)
        try await server.waitForOpenConnections(atMost: 0)
        try await TestHarness.end(session, server)
    }

    @Test func `an error whose body is incomplete keeps the bytes received`() async throws {
        let server = try await TestHarness.server(answering: "HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\nnot here")
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).validate().streamTask()
        let error = await #expect(throws: RequestError.self) { try await task.response }
        #expect(error?.kind == .validation(.unacceptableStatusCode(404)))
        #expect(error?.body == Data("not here".utf8))
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling while an error body is received is a cancellation`() async throws {
        let server = try await LocalServer { router in
            router.get("/a") { _ in .stream(status: 500, length: 100) { _ in await Gate().wait() } }
        }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).validate().streamTask()
        let heads = task.request.httpResponses()
        async let body = StreamFixture.body(task.bytes)
        for await head in heads {
            #expect(head.statusCode == 500)
            task.cancel()
        }
        #expect(await body.error?.kind == .cancelled)
        try await TestHarness.end(session, server)
    }

    // MARK: Closures

    @Test func `a closure that returns cancel ends the request without a body`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned() } }
        let session = TestHarness.session()
        let asked = Locked<[Int]>([])
        let task = session.streamRequest(server.url("/a"))
            .onHTTPResponse { response in
                asked.withLock { $0.append(response.statusCode) }
                return .cancel
            }
            .onHTTPResponse { _ in asked.withLock { $0.append(0) } }
            .streamTask()
        let (body, error) = await StreamFixture.body(task.bytes)
        #expect(body.isEmpty)
        #expect(error?.kind == .cancelled)
        #expect(asked.withLock { $0 } == [200])
        #expect(task.request.isCancelled)
        #expect(task.request.downloadProgress.completed == 0)
        try await server.waitForOpenConnections(atMost: 0)
        try await TestHarness.end(session, server)
    }

    @Test func `a slow closure delays the body`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("body")) }
        let session = TestHarness.session()
        let (asked, gate) = (Gate(), Gate())
        let request = session.streamRequest(server.url("/a")).onHTTPResponse { _ in
            asked.open()
            await gate.wait()
        }
        let task = request.streamTask()
        async let body = StreamFixture.body(task.bytes)
        await asked.wait()
        _ = try await StreamFixture.settled(session) { Int(request.downloadProgress.completed) }
        #expect(request.downloadProgress.completed == 0)
        #expect(request.response == nil)
        gate.open()
        #expect(await body.data == Data("body".utf8))
        #expect(request.response?.statusCode == 200)
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling does not wait for a closure that never returns`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("body")) }
        let session = TestHarness.session()
        let (asked, latch) = (Gate(), Latch())
        let request = session.streamRequest(server.url("/a")).onHTTPResponse { _ in
            asked.open()
            await latch.wait()
        }
        let task = request.streamTask()
        async let body = StreamFixture.body(task.bytes)
        await asked.wait()
        task.cancel()
        #expect(await body.error?.kind == .cancelled)
        latch.open()
        try await TestHarness.end(session, server)
    }

    @Test func `closures are called for responses with bodies in memory too`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("body")) }
        let session = TestHarness.session()
        let asked = Locked(0)
        let request = session.request(server.url("/a")).onHTTPResponse { _ in asked.withLock { $0 += 1 } }
        #expect(try await request.serializingString().value == "body")
        #expect(asked.withLock { $0 } == 1)
        let refused = session.request(server.url("/a")).onHTTPResponse { _ in .cancel }
        let answer = await refused.serializingString().response
        #expect(answer.error?.kind == .cancelled)
        #expect(answer.data?.isEmpty != false)
        try await TestHarness.end(session, server)
    }

    // MARK: Sequences of messages

    @Test func `requests and responses are delivered as they arrive and end with the request`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/a") { _ in .stream { _ in await gate.wait() } }
        }
        let session = TestHarness.session()
        let request = session.streamRequest(server.url("/a"))
        let (requests, responses) = (request.httpRequests(), request.httpResponses())
        let task = request.streamTask()
        async let body = StreamFixture.body(task.bytes)
        var (methods, statusCodes): ([HTTPMethod], [Int]) = ([], [])
        for await response in responses {
            statusCodes.append(response.statusCode)
            #expect(!request.isFinished)
            gate.open()
        }
        for await request in requests { methods.append(request.method) }
        #expect(methods == [.get] && statusCodes == [200])
        #expect(await body.error == nil)
        // Late readers get the latest value.
        for await response in request.httpResponses() { statusCodes.append(response.statusCode) }
        for await request in request.httpRequests() { methods.append(request.method) }
        #expect(methods == [.get, .get] && statusCodes == [200, 200])
        try await TestHarness.end(session, server)
    }

    /// Before, a download did not deliver it.
    @Test(arguments: ["data", "stream", "download"])
    func `a redirect that is refused is the response of every kind of request`(kind: String) async throws {
        let server = try await LocalServer { router in router.get("/a") { _ in .redirect(to: "/b") } }
        let session = TestHarness.session { $0.redirects.maximum = 0 }
        let request: any Request =
            switch kind {
            case "data": session.request(server.url("/a"))
            case "stream": session.streamRequest(server.url("/a"))
            default: session.download(server.url("/a"))
            }
        let responses = request.httpResponses()
        request.resume()
        var statusCodes: [Int] = []
        for await response in responses { statusCodes.append(response.statusCode) }
        #expect(statusCodes == [302])
        #expect(request.error?.kind == .redirect(.tooMany(limit: 0)))
        try await TestHarness.end(session, server)
    }

    @Test func `the requests of every attempt are delivered, also as commands`() async throws {
        let transport = StubTransport()
        transport.stub(.get, "/a", .status(503), .status(200))
        let session = Session(
            interceptor: Retrier { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry },
            transport: transport)
        let request = session.request("https://stub.test/a?token=hidden").validate()
        let (responses, commands) = (request.httpResponses(), request.cURLDescriptions())
        _ = await request.serializingData().response
        var (statusCodes, texts): ([Int], [String]) = ([], [])
        for await response in responses { statusCodes.append(response.statusCode) }
        for await command in commands { texts.append(command) }
        #expect(statusCodes == [503, 200])
        #expect(texts.count == 2 && texts.allSatisfy { $0.hasPrefix("curl ") && $0.contains("stub.test/a") })
        #expect(texts.allSatisfy { !$0.contains("hidden") })
        await session.shutdown()
    }

    // MARK: No body

    @Test(arguments: [HTTPMethod.get, .head], [200, 204, 304])
    func `a response without a body has a head and ends`(method: HTTPMethod, status: Int) async throws {
        let server = try await LocalServer { $0.get("/a", .status(status, headers: ["X-Name": "value"])) }
        let session = TestHarness.session()
        for _ in 1...3 {
            let task = session.streamRequest(server.url("/a"), method: method)
                .validate(statusCode: [status]).validate(contentType: ["application/json"]).streamTask()
            #expect(try await task.response.headers["X-Name"] == "value")
            let (body, error) = await StreamFixture.body(task.bytes)
            #expect(body.isEmpty && error == nil)
            #expect(await StreamFixture.read(task.lines).elements.isEmpty)
            #expect(task.request.state == .finished)
        }
        #expect(server.connectionCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `the head of a HEAD request describes a body that is not sent`() async throws {
        let server = try await LocalServer { $0.get("/a", .text("a body of some length")) }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a"), method: .head).validate().streamTask()
        #expect(try await task.response.expectedContentLength == 21)
        #expect(await StreamFixture.body(task.bytes).data.isEmpty)
        #expect(task.request.error == nil)
        try await TestHarness.end(session, server)
    }
}
