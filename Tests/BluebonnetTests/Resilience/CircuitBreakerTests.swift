import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// A breaker in sessions, by a clock that the test moves.
@Suite(.timeLimit(.minutes(10))) struct CircuitBreakerTests {
    private enum Route: RequestTag { typealias Value = String }

    private let now = Locked(Duration.zero)

    private var policy: CircuitBreaker.Policy {
        var policy = CircuitBreaker.Policy()
        policy.trip = .consecutiveFailures(2)
        policy.openDuration = .seconds(10)
        policy.now = { [now] in now.withLock { $0 } }
        return policy
    }

    @Test func `a server that fails is left alone, and used again after it has recovered`() async throws {
        let status = Locked(503)
        let server = try await LocalServer { router in
            router.get("/a") { _ in .status(status.withLock { $0 }) }
        }
        let session = Session(transport: CircuitBreaker(CurlTransport(), policy: policy))
        func answer() async -> (Int?, RequestError.Kind?) {
            let request = session.request(server.url("/a"))
            let response = await request.serializingData(emptyResponseCodes: [200, 503]).response
            return (response.response?.statusCode, response.error?.kind)
        }
        for _ in 1...2 { #expect(await answer().0 == 503) }
        #expect(await answer().1 == .circuitOpen(retryAfter: .seconds(10)))
        #expect(server.requestCount == 2)
        now.withLock { $0 = .seconds(10) }
        #expect(await answer().0 == 503, "the probe fails")
        #expect(await answer().1 == .circuitOpen(retryAfter: .seconds(10)))
        status.withLock { $0 = 200 }
        now.withLock { $0 = .seconds(20) }
        for _ in 1...3 { #expect(await answer().0 == 200) }
        #expect(server.requestCount == 6)
        await session.shutdown()
    }

    @Test func `a refused connection and a slow answer count as failures`() async throws {
        let server = try await LocalServer { router in
            router.get("/slow") { _ in
                await Gate().wait()
                return .ok
            }
        }
        let session = Session(transport: CircuitBreaker(CurlTransport(), policy: policy))
        let slow = session.request(server.url("/slow")) { $0.timeouts.total = .milliseconds(50) }
        #expect(await slow.serializingData().response.error?.isTimeout == true)
        await server.stop()
        let lost = await session.request(server.url("/slow")).serializingData().response.error
        #expect(lost?.isConnectionFailure == true)
        let refused = await session.request(server.url("/slow")).serializingData().response.error
        #expect(refused?.kind == .circuitOpen(retryAfter: .seconds(10)))
        #expect(refused?.description.contains("127.0.0.1:\(server.port)") == true)
        await session.shutdown()
    }

    @Test func `a refused request is not retried, and other keys are not refused`() async throws {
        let transport = StubTransport { request in .status(request.url.path == "/bad" ? 503 : 200) }
        var policy = policy
        policy.key = { $0.tags[Route.self] ?? "none" }
        let session = Session(
            interceptor: RetryPolicy(retryLimit: 5, exponentialBackoffScale: 0.001),
            transport: CircuitBreaker(transport, policy: policy))
        let bad = session.request("http://stub.test/bad").tag(Route.self, "bad").validate()
        let error = await bad.serializingData().response.error
        #expect(error?.kind == .circuitOpen(retryAfter: .seconds(10)))
        #expect(transport.requestCount == 2 && bad.retryCount == 2)
        let good = session.request("http://stub.test/good").tag(Route.self, "good").validate()
        #expect(await good.serializingData(emptyResponseCodes: [200]).response.error == nil)
        await session.shutdown()
    }

    /// Otherwise, a stream without an end would keep all other requests waiting.
    @Test func `the head of a stream decides about a probe`() async throws {
        let isFailing = Locked(true)
        let gate = Gate()
        let origin = try await LocalServer { router in
            router.get("/lines") { _ in
                guard !isFailing.withLock({ $0 }) else { return .status(500) }
                return .stream { writer in
                    try await writer.write(Data("one\n".utf8))
                    await gate.wait()
                }
            }
            router.get("/a", .text("a"))
        }
        let session = Session(transport: CircuitBreaker(CurlTransport(), policy: policy))
        for _ in 1...2 { _ = await session.request(origin.url("/lines")).serializingData().response }
        isFailing.withLock { $0 = false }
        now.withLock { $0 = .seconds(10) }
        var lines = session.streamRequest(origin.url("/lines")).streamTask().lines.makeAsyncIterator()
        let first = try await lines.next()
        #expect(first == "one")
        #expect(try await session.request(origin.url("/a")).serializingString().value == "a")
        gate.open()
        let end = try await lines.next()
        #expect(end == nil)
        await session.shutdown()
    }

    @Test func `a stored response is used although the circuit is open`() async throws {
        let transport = StubTransport { request in
            request.url.path == "/a" ? .text("a", headers: ["Cache-Control": "max-age=60"]) : .status(500)
        }
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(
            configuration: configuration, transport: CircuitBreaker(transport, policy: policy))
        #expect(try await session.request("http://stub.test/a").serializingString().value == "a")
        for _ in 1...2 { _ = await session.request("http://stub.test/b").serializingData().response }
        let refused = await session.request("http://stub.test/b").serializingData().response.error?.kind
        #expect(refused == .circuitOpen(retryAfter: .seconds(10)))
        #expect(try await session.request("http://stub.test/a").serializingString().value == "a")
        await session.shutdown()
    }
}
