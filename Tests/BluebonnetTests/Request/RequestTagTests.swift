import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Values that a request carries.
@Suite(.timeLimit(.minutes(10))) struct RequestTagTests {
    enum Screen: RequestTag { typealias Value = String }
    enum Number: RequestTag { typealias Value = Int }

    @Test func `tags reach adapters, retriers and the response, in each attempt`() async throws {
        let isFirst = Locked(true)
        let server = try await LocalServer { router in
            router.get("/once", .redirect(to: "/"))
            router.get("/") { _ in
                isFirst.withLock { exchange(&$0, with: false) } ? .status(503) : .text("right")
            }
        }
        let seen = Locked<[String]>([])
        let session = TestHarness.session()
        let request = session.request(server.url("/once")).tag(Screen.self, "first").tag(Screen.self, "home")
            .tag(Number.self, 7)
            .adapt { request, _ in
                seen.withLock { $0.append("\(request.tags[Screen.self] ?? "-") \(request.tags[Number.self] ?? 0)") }
                return request
            }
            .retry { _, _, _ in .retry }
        let answer = await request.validate().serializingString().response
        #expect(answer.value == "right")
        #expect(seen.withLock { $0 } == ["home 7", "home 7"])
        #expect(answer.request?.tags[Screen.self] == "home" && answer.request?.tags[Number.self] == 7)
        try await TestHarness.end(session, server)
    }

    @Test func `tags of the HTTP request stay, and are in no description`() async throws {
        let server = try await LocalServer { $0.get("/", .text("right")) }
        let session = TestHarness.session()
        var request = HTTPRequest(url: server.url("/"))
        request.tags[Screen.self] = "secret"
        request.tags[Number.self] = 1
        request.tags[Number.self] = nil
        let answer = await session.request(request).tag(Number.self, 2).serializingString().response
        #expect(answer.request?.tags[Screen.self] == "secret" && answer.request?.tags[Number.self] == 2)
        #expect(!"\(answer.debugDescription)\(String(reflecting: request))\(request.tags)".contains("secret"))
        try await TestHarness.end(session, server)
    }

    /// A value that uses its request in `deinit` would wait for the lock of the request indefinitely.
    @Test func `a replaced value is released outside of the request's lock`() async throws {
        enum Key: RequestTag { typealias Value = RequestTagTests.Box }
        let session = TestHarness.session()
        let other = session.request("http://a.test/")
        let request = session.request("http://b.test/")
        request.tag(Key.self, Box { _ = request.state })
        request.tag(Key.self, Box { _ = other.state })
        request.cancel()
        await session.shutdown()
    }

    final class Box: Sendable {
        let atEnd: @Sendable () -> Void
        init(_ atEnd: @escaping @Sendable () -> Void) { self.atEnd = atEnd }
        deinit { atEnd() }
    }
}
