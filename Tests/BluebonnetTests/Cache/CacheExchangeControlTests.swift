import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Suspending and cancelling a hit, and the amount that is stored.
@Suite(.timeLimit(.minutes(10)))
struct CacheExchangeControlTests {
    private static let minute: HTTPHeaders = ["Cache-Control": "max-age=60"]

    // MARK: Control

    @Test func `a cached response waits while its request is suspended`() async throws {
        let scene = CacheTestSession { _ in .text("hello", headers: Self.minute) }
        _ = await scene.answer()
        let url = try #require(URL(string: "http://stub.test/"))
        let lazy = Session(
            configuration: scene.session.configuration, startRequestsImmediately: false, transport: scene.transport)
        let request = lazy.request(url)
        let task = request.serializingData()
        request.suspend()
        request.resume()
        request.suspend()
        async let answer = task.response
        for _ in 0..<20 { await Task.yield() }
        #expect(request.state == .suspended || request.state == .finished)
        request.resume()
        #expect(await answer.source == .cache)
    }

    @Test func `a waiting cached response can be cancelled and ends with its transport`() async throws {
        let scene = CacheTestSession { _ in .text("hello", headers: Self.minute) }
        _ = await scene.answer()
        let transport = CachingTransport(scene.transport, cache: scene.cache, configuration: Session.Configuration())
        for ends in [false, true] {
            let observer = OutcomeObserver()
            let exchange = transport.start(
                HTTPRequest(url: try #require(URL(string: "http://stub.test/"))),
                options: ExchangeOptions(startsSuspended: true), observer: observer)
            if ends { await transport.shutDown() } else { exchange.cancel() }
            let outcome = await observer.outcome
            #expect(outcome.error?.kind == (ends ? .sessionShutDown : .cancelled))
            exchange.resume()
        }
        let late = OutcomeObserver()
        _ = transport.start(
            HTTPRequest(url: try #require(URL(string: "http://stub.test/"))), options: ExchangeOptions(),
            observer: late)
        #expect(await late.outcome.error?.kind == .sessionShutDown)
    }

    // MARK: Room

    @Test func `memory is bounded and the least recently used responses are removed first`() async throws {
        let scene = CacheTestSession(memoryCapacity: 100_000) { _ in
            .text(String(repeating: "x", count: 10_000), headers: Self.minute)
        }
        for index in 0..<50 {
            _ = await scene.answer("/\(index)")
            _ = await scene.answer("/0")
            #expect(scene.cache.statistics.memoryBytes <= 100_000)
        }
        #expect(await scene.answer("/0").source == .cache)
        #expect(await scene.answer("/49").source == .cache)
        #expect(await scene.answer("/2").source == .network)
    }

    /// The bodies alone would be no bytes.
    @Test func `many empty responses are bounded, too`() async throws {
        let scene = CacheTestSession(memoryCapacity: 100_000) { _ in .text("", headers: Self.minute) }
        for index in 0..<300 { _ = await scene.answer("/\(index)") }
        #expect(scene.cache.statistics.memoryBytes <= 100_000)
        #expect(await scene.answer("/299").source == .cache)
        #expect(await scene.answer("/0").source == .network)
    }

    @Test func `a response that is too large for the cache is not stored`() async throws {
        let scene = CacheTestSession(memoryCapacity: 100_000) { _ in
            .text(String(repeating: "x", count: 20_000), headers: Self.minute)
        }
        _ = await scene.answer()
        #expect(await scene.answer().source == .network)
        #expect(scene.cache.statistics.memoryBytes == 0)
    }

    @Test func `a stored response that is larger than the session's limit is not used`() async throws {
        let scene = CacheTestSession { _ in .text("hello", headers: Self.minute) }
        _ = await scene.answer()
        var configuration = scene.session.configuration
        configuration.maximumResponseBytes = 3
        let other = Session(configuration: configuration, transport: scene.transport)
        let url = try #require(URL(string: "http://stub.test/"))
        let answer = await other.request(url).serializingData().response
        #expect(answer.error?.kind == .invalidResponse(.bodyTooLarge(limit: 3)))
    }
}
