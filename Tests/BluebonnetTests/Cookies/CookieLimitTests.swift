import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// A jar has bounds, whatever servers set.
@Suite(.timeLimit(.minutes(5))) struct CookieLimitTests {
    @Test func `a site has at most 180 cookies and those of a response or two, and the oldest go`() async throws {
        let scene = try await CookieScene()
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

    @Test func `a site's cookies do not go because another site sets too many`() async throws {
        let scene = try await CookieScene()
        try await scene.get("http://example.org/", setting: ["mine=1"])
        for round in 0..<20 {
            try await scene.get("http://example.com/", setting: (0..<30).map { "n\(round * 30 + $0)=1" })
        }
        #expect(try await scene.get("http://example.org/") == "mine=1")
        try await scene.end()
    }

    @Test func `a cookie that is set again and again stays, with the others of its site`() async throws {
        let scene = try await CookieScene()
        try await scene.get("http://example.com/", setting: (0..<40).map { "n\($0)=1" })
        for round in 0..<20 {
            try await scene.get("http://example.com/", setting: (0..<30).map { "n\($0)=\(round)" })
        }
        #expect(try await scene.session.cookies.all().count == 40)
        try await scene.end()
    }

    @Test func `a session has at most 3,600 cookies, and those of the latest sites stay`() async throws {
        let session = Weather.session()
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

    /// The memory of one process, and times of one run: those of a session without cookies beside those of one with.
    @Test func `600 responses with 50 large cookies each cost no more memory or time in the end than in the beginning`()
        async throws
    {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let value = String(repeating: "x", count: 4000)
            let server = try await LocalServer { router in
                router.otherwise { request in
                    let number = Int(request.path.dropFirst()) ?? 0
                    let cookies = (0..<50).map { HTTPHeader(name: "Set-Cookie", value: "c\(number)-\($0)=\(value)") }
                    return .text("", headers: HTTPHeaders(cookies))
                }
            }
            func time(_ range: Range<Int>, _ session: Session) async throws -> Duration {
                let clock = ContinuousClock()
                let start = clock.now
                for number in range {
                    _ = try await session.request(server.url("/\(number)"))
                        .serializingData(emptyResponseCodes: [200]).value
                }
                return clock.now - start
            }
            let (session, control) = (Weather.session(), Weather.session { $0.cookies.policy = .never })
            _ = try await time(0..<50, control)
            // As many as there may be are there from here on.
            _ = try await time(0..<50, session)
            let before = try ProcessHoldings.now()
            let early = (try await time(50..<100, session), try await time(50..<100, control))
            _ = try await time(100..<550, session)
            let late = (try await time(550..<600, session), try await time(550..<600, control))
            let after = try ProcessHoldings.now()
            let count = try await session.cookies.all().count
            print("before: \(before), 50 requests \(early); after: \(after), \(late), \(count) cookies")
            #expect(count <= 210)
            #expect(Sanitizer.current != nil || after.residentKiB <= before.residentKiB + 8 * 1024)
            // Twice as long as in the beginning, and some of what the control takes, for what else the machine does.
            #expect(late.0 <= early.0 * 2 + late.1 * 2)
            await session.shutdown()
            await control.shutdown()
        }
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        for line in output.split(separator: "\n") where line.contains("before") { print(line) }
    }
}
