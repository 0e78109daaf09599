import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Adds its name to a field, so that the sent field shows the order of the adapters.
private func adding(_ name: String) -> Adapter {
    Adapter { request, _ in
        var request = request
        request.headers.append(name: "X-Order", value: name)
        return request
    }
}

private struct Refusal: Error, Equatable {}

@Suite(.timeLimit(.minutes(10))) struct AdapterTests {
    @Test func `The session's adapters run before the request's, and adapters before interceptors`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(
            interceptor: Interceptor(adapters: [adding("1"), adding("2")], interceptors: [adding("3")]),
            transport: transport)
        let request = session.request(
            "http://stub.test/", interceptor: .interceptor(adapters: [adding("4")], interceptors: [adding("5")]))
        _ = try await request.adapt(using: adding("6")).serializingString().value
        let sent = try #require(transport.requests.first)
        #expect(sent.headers.values(for: "X-Order") == ["1", "2", "3", "4", "5", "6"])
        #expect(request.requests.map(\.headers) == [sent.headers])
    }

    @Test func `The first adapter that throws ends the attempt, and the error names it`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(interceptor: Adapter { _, _ in throw Refusal() }, transport: transport)
        let asked = Locked(0)
        let response = await session.request("http://stub.test/a?token=secret")
            .adapt { request, _ in
                asked.withLock { $0 += 1 }
                return request
            }
            .serializingString().response
        let error = try #require(response.error)
        #expect(error.kind == .adaptation)
        #expect(error.underlying is Refusal)
        #expect(error.url == "http://stub.test/a?token=…" || error.url?.contains("secret") == false)
        #expect(error.description.contains("in Adapter"))
        #expect(asked.withLock { $0 } == 0)
        #expect(transport.requestCount == 0)
    }

    @Test func `A request that an adapter made invalid is not sent`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport)
        let response = await session.request("http://stub.test/")
            .adapt { request, _ in
                var request = request
                request.headers.append(name: "X-Bad", value: "a\r\nInjected: b")
                return request
            }
            .serializingString().response
        #expect(response.error?.kind == .invalidRequest(.fieldValue(name: "X-Bad")))
        #expect(transport.requestCount == 0)
    }

    @Test func `An adapter receives the request, the session and the attempt`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", .failure(RequestError(.connection(.lost))), .text("x"))
        let states = Locked<[(RequestID, Int)]>([])
        let session = Session(transport: transport)
        let request = session.request("http://stub.test/")
            .adapt { request, state in
                states.withLock { $0.append((state.requestID, state.retryCount)) }
                #expect(state.session === session)
                return request
            }
            .retry { _, _, _ in .retry }
        #expect(try await request.serializingString().value == "x")
        let seen = states.withLock { $0 }
        #expect(seen.map(\.0) == [request.id, request.id])
        #expect(seen.map(\.1) == [0, 1])
    }

    @Test func `A released session is available to the interceptors of its requests`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let request = Session(transport: transport).request("http://stub.test/")
            .adapt { request, state in
                let other = try await state.session.request("http://stub.test/token").serializingString().value
                var request = request
                request.headers.update(name: "X-Token", value: other)
                return request
            }
        #expect(try await request.serializingString().value == "x")
        #expect(transport.requests.last?.headers["X-Token"] == "x")
    }

    @Test func `Each attempt adapts the converted request, not the adapted one`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", .failure(RequestError(.connection(.lost))), .text("x"))
        let session = Session(interceptor: adding("1"), transport: transport)
        let request = session.request("http://stub.test/").retry { _, _, _ in .retry }
        _ = try await request.serializingString().value
        #expect(transport.requests.map { $0.headers.values(for: "X-Order") } == [["1"], ["1"]])
    }

    @Test func `Requests of all kinds are adapted`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(interceptor: adding("1"), transport: transport)
        _ = try await session.upload(Data("b".utf8), to: "http://stub.test/upload").serializingString().value
        let file = try await session.download("http://stub.test/download").serializingURL().value
        try FileManager.default.removeItem(at: file)
        for try await _ in session.streamRequest("http://stub.test/stream").streamTask().bytes {}
        #expect(transport.requests.map(\.url.path) == ["/upload", "/download", "/stream"])
        #expect(transport.requests.allSatisfy { $0.headers["X-Order"] == "1" })
    }

    @Test func `A modifier of the request runs before the adapters`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(interceptor: adding("2"), transport: transport)
        let request = session.request(
            "http://stub.test/", interceptor: adding("3"),
            requestModifier: { $0.headers.append(name: "X-Order", value: "1") })
        _ = try await request.serializingString().value
        #expect(transport.requests.first?.headers.values(for: "X-Order") == ["1", "2", "3"])
    }

    @Test func `A request that is not awaited is adapted and sent too`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(interceptor: adding("1"), transport: transport)
        let tasks = (0..<20).map { session.request("http://stub.test/\($0)").serializingString() }
        // The sequence of the heads does not await the answer: only the session drives the requests.
        for task in tasks {
            for await response in task.request.httpResponses() { #expect(response.statusCode == 200) }
        }
        #expect(transport.requestCount == 20)
        #expect(transport.requests.allSatisfy { $0.headers["X-Order"] == "1" })
    }

    @Test func `A waiting adapter does not delay other requests`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport)
        let gate = AsyncStream<Void>.makeStream()
        let slow = (0..<100).map { _ in
            session.request("http://stub.test/slow").adapt { request, _ in
                for await _ in gate.stream {}
                return request
            }.serializingString()
        }
        let quick = session.request("http://stub.test/quick").adapt { request, _ in request }
        #expect(try await quick.serializingString().value == "x")
        #expect(transport.requestCount == 1)
        gate.continuation.finish()
        for task in slow { #expect(try await task.value == "x") }
    }

    @Test func `A request that is cancelled before it is created is not adapted`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport)
        let asked = Locked(0)
        let tasks = (0..<200).map { _ in
            let request = session.request("http://stub.test/").adapt { request, _ in
                asked.withLock { $0 += 1 }
                return request
            }
            request.cancel()
            return request.serializingString()
        }
        for task in tasks { #expect(await task.response.error?.isCancellation == true) }
        #expect(asked.withLock { $0 } == 0)
        #expect(transport.requestCount == 0)
    }

    @Test func `An adapter never runs on the loop, even if the task prefers the loop`() async throws {
        let server = try await LocalServer { router in router.fallback { _ in .text("x") } }
        let session = TestHarness.session()
        let loop = try #require(session.executor as? EventLoop)
        let isOnLoop = Locked<[Bool]>([])
        let text = try await withTaskExecutorPreference(session.executor) {
            isOnLoop.withLock { $0.append(loop.isCurrentThread) }
            return try await session.request(server.url("/"))
                .adapt { request, _ in
                    isOnLoop.withLock { $0.append(loop.isCurrentThread) }
                    return request
                }
                .serializingString().value
        }
        #expect(text == "x")
        // Where the task is, and where the adapter was.
        #expect(isOnLoop.withLock { $0 } == [true, false])
        try await TestHarness.end(session, server)
    }
}
