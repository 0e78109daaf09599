import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// A jar has bounds, whatever servers set.
@Suite(.timeLimit(.minutes(10))) struct CookieLimitTests {
    @Test func `a site has about 180 cookies at most, and the oldest are removed`() async throws {
        let scene = try await CookieTestSession()
        for round in 0..<20 {
            let host = round.isMultiple(of: 2) ? "example.com" : "www.example.com"
            try await scene.get("http://\(host)/", setting: (0..<30).map { "n\(round * 30 + $0)=1" })
        }
        let cookies = try await scene.session.cookies.all()
        #expect((150...210).contains(cookies.count), "\(cookies.count)")
        let newest = Set((600 - cookies.count / 2..<600).map { "n\($0)" })
        #expect(newest.isSubset(of: cookies.map(\.name)))
        try await scene.end()
    }

    @Test func `a site that sets too many cookies does not remove another site's cookies`() async throws {
        let scene = try await CookieTestSession()
        try await scene.get("http://example.org/", setting: ["mine=1"])
        for round in 0..<20 {
            try await scene.get("http://example.com/", setting: (0..<30).map { "n\(round * 30 + $0)=1" })
        }
        #expect(try await scene.get("http://example.org/") == "mine=1")
        try await scene.end()
    }

    @Test func `a cookie that is set repeatedly stays with the other cookies of its site`() async throws {
        let scene = try await CookieTestSession()
        try await scene.get("http://example.com/", setting: (0..<40).map { "n\($0)=1" })
        for round in 0..<20 {
            try await scene.get("http://example.com/", setting: (0..<30).map { "n\($0)=\(round)" })
        }
        #expect(try await scene.session.cookies.all().count == 40)
        try await scene.end()
    }

    @Test func `a session has at most 3,600 cookies, and those of the latest sites stay`() async throws {
        let session = TestHarness.session()
        for round in 0..<30 {
            let cookies = (0..<200).map { number in
                Cookie(name: "n\(number)", value: "1", domain: "host\(number % 20).site\(round).example")
            }
            try await session.cookies.set(cookies)
        }
        let left = try await session.cookies.all()
        #expect((3000...3600).contains(left.count))
        #expect(left.count { $0.domain.hasSuffix("site29.example") } >= 150)
        #expect(!left.contains { $0.domain.hasSuffix("site0.example") })
        await session.shutdown()
    }
}
