import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Synchronization
import Testing

/// The results of serializers and validators that are attached early, late and in numbers.
@Suite(.timeLimit(.minutes(10))) struct AnswerTests {
    private struct Problem: Codable, Equatable {
        var code: Int
        var text: String
    }

    // MARK: Serializers

    @Test func `several serializers share one exchange, each with its own value`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .json(Problem(code: 1, text: "a")))
        }
        let session = TestHarness.session()
        let request = session.request(server.url("/a"))
        let text = request.serializingString()
        let data = request.serializingData()
        let problem = request.serializingDecodable(Problem.self)
        let wrong = request.serializingDecodable([Int].self)
        #expect(try await text.value == #"{"code":1,"text":"a"}"#)
        #expect(try await data.value.count == 21)
        #expect(try await problem.value == Problem(code: 1, text: "a"))
        #expect(await wrong.response.error?.kind == .serialization(.decodingFailed))
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `a serializer attached after the end uses the kept body`() async throws {
        let server = try await LocalServer { router in
            router.post("/a", { _ in .text("once", status: 201) })
        }
        let session = TestHarness.session()
        let request = session.request(server.url("/a"), method: .post)
        #expect(try await request.serializingString().value == "once")
        await server.stop()
        #expect(try await request.serializingData().value == Data("once".utf8))
        #expect(await request.serializingDecodable(Int.self).response.error?.kind == .serialization(.decodingFailed))
        await session.shutdown()
        #expect(try await request.serializingString().value == "once")
        #expect(server.requestCount == 1)
        #expect(request.state == .finished && request.requests.count == 1)
    }

    @Test func `a serializer attached after a failure receives the failure`() async throws {
        let port = try DeadPort.refusing()
        let session = TestHarness.session()
        let request = session.request("http://127.0.0.1:\(port)/a")
        for _ in 1...3 {
            try await TestHarness.expect(request.serializingData(), in: session, failsWith: .connection(.refused))
        }
        #expect(request.requests.count == 1)
        await session.shutdown()
    }

    @Test func `a serializer attached after a cancellation receives the cancellation`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .stall)
        let session = TestHarness.session()
        let request = session.request(server.url("/a"))
        let task = request.serializingData()
        _ = try await server.nextRequest()
        request.cancel()
        try await TestHarness.expect(request.serializingString(), in: session, failsWith: .cancelled)
        try await TestHarness.expect(task, in: session, failsWith: .cancelled)
        try await TestHarness.expect(request.serializingJSON(), in: session, failsWith: .cancelled)
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `all tasks that wait for one task receive the same value`() async throws {
        let count = Mutex(0)
        let session = Session(transport: StubTransport { _ in .text("text") })
        let serializer = CountingSerializer { count.withLock { $0 += 1 } }
        let task = session.request("http://example.com/a").serializingResponse(using: serializer)
        await withTaskGroup(of: String?.self) { group in
            for _ in 1...100 { group.addTask { await task.response.value } }
            for await value in group { #expect(value == "text") }
        }
        #expect(count.withLock { $0 } == 1)
    }

    @Test func `an error that a serializer throws is the underlying error, with the response`() async throws {
        let session = Session(transport: StubTransport { _ in .text("text", status: 207) })
        let serializer = CountingSerializer { throw TestFailure("no sense in it") }
        let task = session.request("http://example.com/a?b=c").serializingResponse(using: serializer)
        let error = try await TestHarness.expect(
            task, in: session, failsWith: .serialization(.customSerializationFailed),
            saying: "a serializer failed: no sense in it")
        #expect(error.underlying as? TestFailure == TestFailure("no sense in it"))
        #expect(error.response?.statusCode == 207)
        #expect(error.body == Data("text".utf8))
    }

    @Test func `an empty body is an error if a value is required`() async throws {
        let session = Session(transport: StubTransport { _ in .status(200) })
        try await TestHarness.expect(
            session.request("http://example.com/a").serializingString(), in: session,
            failsWith: .serialization(.inputDataNilOrZeroLength), saying: "the response has no body")
    }

    // MARK: Validation

    @Test func `an error that a validator throws or returns is the underlying error`() async throws {
        let session = Session(transport: StubTransport { _ in .text("text", status: 299) })
        let throwing = session.request("http://example.com/a").validate { _, _, _ in throw TestFailure("thrown") }
        let returning = session.request("http://example.com/a").validate { _, _, _ in .failure(TestFailure("returned"))
        }
        for (request, words) in [(throwing, "thrown"), (returning, "returned")] {
            let error = try await TestHarness.expect(
                request.serializingString(), in: session, failsWith: .validation(.customValidationFailed),
                saying: "a validator refused the response: \(words)", "[GET http://example.com/a]")
            #expect(error.underlying as? TestFailure == TestFailure(words))
            #expect(error.response?.statusCode == 299)
            #expect(error.body == Data("text".utf8))
        }
    }

    @Test func `validators are called in order until one of them refuses`() async throws {
        let asked = Mutex<[Int]>([])
        let session = Session(transport: StubTransport { _ in .text("text", status: 404) })
        let request = session.request("http://example.com/a")
            .validate { _, response, _ in
                asked.withLock { $0.append(response.statusCode) }
                return .success(())
            }
            .validate(statusCode: 200..<300)
            .validate { _, _, _ in
                asked.withLock { $0.append(-1) }
                return .success(())
            }
        let error = try await TestHarness.expect(
            request.serializingString(), in: session, failsWith: .validation(.unacceptableStatusCode(404)),
            saying: "the status code 404 is not acceptable")
        #expect(error.statusCode == 404)
        #expect(asked.withLock { $0 } == [404])
    }

    @Test func `a validator is not called for a failed exchange`() async throws {
        let session = Session(transport: StubTransport { _ in .failure(RequestError(.connection(.lost))) })
        let request = session.request("http://example.com/a").validate { _, _, _ in
            Issue.record("asked")
            return .success(())
        }
        try await TestHarness.expect(request.serializingString(), in: session, failsWith: .connection(.lost))
    }

    @Test func `an API's own error is decoded from the body that failed validation`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .json(Problem(code: 7, text: "seven"), status: 422))
            router.get("/b", .text("not JSON", status: 500))
            router.get("/c", .status(500))
        }
        let session = TestHarness.session()
        func error(_ path: String) async throws -> RequestError {
            try #require(
                await session.request(server.url(path)).validate().serializingDecodable(Int.self).response.error)
        }
        let problem = try await error("/a")
        #expect(try problem.decodeBody(as: Problem.self) == Problem(code: 7, text: "seven"))
        #expect(problem.response?.headers["Content-Type"] == "application/json")
        let other = try await error("/b")
        #expect(throws: DecodingError.self) { try other.decodeBody(as: Problem.self) }
        let empty = try await error("/c")
        #expect(empty.body?.isEmpty ?? true)
        #expect(throws: (any Error).self) { try empty.decodeBody(as: Problem.self) }
        let none = RequestError(.cancelled)
        #expect { try none.decodeBody(as: Problem.self) } throws: { ($0 as? RequestError)?.kind == .cancelled }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 1_000_000])
    func `an error keeps the first 64 KiB of a body`(_ size: Int) async throws {
        let server = try await LocalServer { router in
            router.get("/a", .data(Data(repeating: 65, count: size), status: 500))
        }
        let session = TestHarness.session()
        let refused = session.request(server.url("/a")).validate().serializingData()
        let error = try await TestHarness.expect(
            refused, in: session, failsWith: .validation(.unacceptableStatusCode(500)))
        #expect(error.body?.count == min(size, 65_536))
        #expect(await refused.response.data?.count == size)
        guard size > 0 else { return }
        let unreadable = session.request(server.url("/a")).serializingDecodable(Int.self)
        let other = try await TestHarness.expect(unreadable, in: session, failsWith: .serialization(.decodingFailed))
        #expect(other.body?.count == min(size, 65_536))
        try await TestHarness.end(session, server)
    }
}

/// Runs a closure, and returns the body as text.
private struct CountingSerializer: ResponseSerializer {
    let action: @Sendable () throws -> Void

    init(_ action: @escaping @Sendable () throws -> Void) {
        self.action = action
    }

    func serialize(_ input: SerializerInput) async throws -> String {
        try action()
        return String(decoding: input.data, as: UTF8.self)
    }
}
