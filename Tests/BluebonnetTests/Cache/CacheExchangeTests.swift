import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// A session with a cache, before a transport that answers what the test says.
@Suite(.timeLimit(.minutes(1)))
struct CacheExchangeTests {
    @Test func `a fresh response answers the next request, with its age, and equals the first`() async throws {
        let scene = CacheScene { _ in
            .response(status: 200, headers: ["Cache-Control": "max-age=60", "X-A": "1"], text: "hello")
        }
        let first = await scene.answer()
        scene.clock.advance(by: 30)
        let second = await scene.answer()
        #expect(first.origin == .network)
        #expect(second.origin == .cache)
        #expect(second.text == "hello")
        #expect(second.headers["Age"] == "30")
        #expect(!second.hasMetrics)
        #expect(Set(second.headers).subtracting(first.headers).map(\.name) == ["Age"])
        #expect(Set(first.headers).isSubset(of: second.headers))
        #expect(scene.transport.requestCount == 1)
        let statistics = scene.cache.statistics
        #expect(statistics.hits == 1 && statistics.misses == 1 && statistics.stores == 1)
    }

    @Test func `a stale response is validated, and what the 304 says counts from then on`() async throws {
        let scene = CacheScene { request in
            guard request.headers["If-None-Match"] == "\"1\"" else {
                return .response(
                    status: 200,
                    headers: ["Cache-Control": "max-age=60", "ETag": "\"1\"", "X-A": "1", "Content-Type": "text/plain"],
                    text: "hello")
            }
            return .response(
                status: 304,
                headers: ["Cache-Control": "max-age=600", "X-A": "2", "Content-Type": "text/html", "Content-Length": "0"],
                text: "")
        }
        _ = await scene.answer()
        scene.clock.advance(by: 61)
        let second = await scene.answer()
        #expect(second.origin == .validated)
        #expect(second.status == 200 && second.text == "hello")
        #expect(second.headers["X-A"] == "2")
        #expect(second.headers["Content-Type"] == "text/plain")
        #expect(second.headers["Age"] == nil)
        scene.clock.advance(by: 599)
        #expect(await scene.answer().origin == .cache)
        #expect(scene.transport.requestCount == 2)
        #expect(scene.cache.statistics.validations == 1)
    }
}
