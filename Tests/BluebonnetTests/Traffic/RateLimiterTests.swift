import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// A limiter in sessions, by a clock that the test moves.
@Suite(.timeLimit(.minutes(10))) struct RateLimiterTests {
    /// Time that passes when a task sleeps and the test allows it.
    private final class Clock: Sendable {
        private let state = Locked((now: Duration.zero, sleepers: [CheckedContinuation<Void, Never>]()))
        let sleeps = Counter()

        var now: Duration { state.withLock { $0.now } }

        /// Sleeps until the test moves the clock, whatever the time.
        func sleep() async {
            await withCheckedContinuation { continuation in
                state.withLock { $0.sleepers.append(continuation) }
                sleeps.next()
            }
        }

        func advance(by duration: Duration) {
            let sleepers = state.withLock { state in
                state.now += duration
                defer { state.sleepers = [] }
                return state.sleepers
            }
            for sleeper in sleepers { sleeper.resume() }
        }
    }

    private let clock = Clock()

    private func limiter(_ rate: Double, burst: Int) -> RateLimiter {
        RateLimiter(
            requestsPerSecond: rate, burst: burst, now: { [clock] in clock.now },
            sleep: { [clock] _ in await clock.sleep() })
    }

    private let url = URL(string: "http://example.com/a")

    /// Lets others run until something is so.
    private func until(_ condition: () -> Bool) async {
        while !condition() { await Task.yield() }
    }

    @Test func `requests are sent in order at the allowed rate`() async throws {
        let limiter = limiter(1, burst: 2)
        let url = try #require(url)
        let transport = StubTransport { .text($0.url.absoluteString) }
        let session = Session(interceptor: limiter, transport: transport)
        var tasks: [DataTask<String>] = []
        for number in 0..<5 {
            tasks.append(session.request("http://example.com/\(number)").serializingString())
            // Each request waits or was sent before the next request starts.
            await until {
                transport.requests.count == min(number + 1, 2) && limiter.waitingCount(for: url) == max(0, number - 1)
            }
        }
        _ = try await tasks[0].value
        _ = try await tasks[1].value
        for number in 2..<5 {
            #expect(transport.requests.count == number)
            await until { clock.sleeps.value == number - 1 }
            clock.advance(by: .milliseconds(1001))
            #expect(try await tasks[number].value == "http://example.com/\(number)")
        }
        #expect(limiter.waitingCount(for: url) == 0)
        await session.shutdown()
    }

    @Test func `other hosts and other ports have their own limit`() async throws {
        let limiter = limiter(1, burst: 1)
        let session = Session(interceptor: limiter, transport: StubTransport { _ in .text("ok") })
        for url in ["http://a.example/", "http://b.example/", "http://a.example:8080/"] {
            #expect(try await session.request(url).serializingString().value == "ok")
        }
        await session.shutdown()
    }

    @Test func `cancelling ends the wait and lets other requests proceed`() async throws {
        let limiter = limiter(1, burst: 1)
        let url = try #require(url)
        let session = Session(interceptor: limiter, transport: StubTransport { _ in .text("ok") })
        #expect(try await session.request(url).serializingString().value == "ok")
        let first = session.request(url).serializingString()
        await until { limiter.waitingCount(for: url) == 1 }
        let second = session.request(url).serializingString()
        await until { limiter.waitingCount(for: url) == 2 && clock.sleeps.value == 1 }
        first.cancel()
        #expect(await first.response.error?.kind == .cancelled)
        await until { limiter.waitingCount(for: url) == 1 }
        clock.advance(by: .milliseconds(1001))
        #expect(try await second.value == "ok")
        await session.shutdown()
    }

    @Test func `each attempt counts as a request`() async throws {
        let limiter = limiter(1, burst: 2)
        let transport = StubTransport()
        transport.stub(.get, "/a", .status(503), .status(503), .text("ok"))
        var configuration = Session.Configuration()
        RecordedSleeps().use(in: &configuration)
        let session = Session(
            configuration: configuration, interceptor: Interceptor(adapters: [limiter], retriers: [.retryPolicy]),
            transport: transport)
        let task = session.request("http://example.com/a").validate().serializingString()
        await until { clock.sleeps.value == 1 }
        #expect(transport.requests.count == 2)
        clock.advance(by: .milliseconds(1001))
        #expect(try await task.value == "ok")
        await session.shutdown()
    }

    @Test func `each value of a tag has its own queue`() async throws {
        let limiter = RateLimiter(
            requestsPerSecond: 1, burst: 1, key: { $0.tags[TenantTag.self] ?? "" }, now: { [clock] in clock.now },
            sleep: { [clock] _ in await clock.sleep() })
        let transport = StubTransport { _ in .text("tea") }
        let session = Session(interceptor: limiter, transport: transport)
        var request = HTTPRequest(url: try #require(URL(string: "http://a.test/")))
        for tenant in ["a", "b", "c"] {
            request.tags[TenantTag.self] = tenant
            #expect(try await session.request(request).serializingString().value == "tea")
        }
        #expect(transport.requestCount == 3)
    }

    @Test(arguments: [0, -1, -Double.infinity, .nan])
    func `a limiter that permits nothing refuses each request`(_ rate: Double) async throws {
        let session = Session(
            interceptor: RateLimiter(requestsPerSecond: rate), transport: StubTransport { _ in .text("tea") })
        let error = await session.request("http://a.test/").serializingString().response.error
        #expect((error?.underlying as? RequestError)?.code == "invalid_request")
        #expect(error?.description.contains("a rate limiter permits \(rate) requests per second") == true)
        await session.shutdown()
    }

    private enum TenantTag: RequestTag { typealias Value = String }
}
