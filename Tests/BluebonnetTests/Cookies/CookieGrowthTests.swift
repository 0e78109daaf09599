import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// The cost of a jar does not grow, whatever servers set.
@Suite(.timeLimit(.minutes(10))) struct CookieGrowthTests {
    /// One change, beside as many changes.
    ///
    /// What is left says how often all cookies were counted: once, at the end, leaves as many as a jar keeps; counting
    /// at each excess leaves those that came after the last one, too.
    @Test func `thousands of cookies are counted once`() {
        let cookies = (0..<5000).map { number in
            Cookie(name: "c\(number)", value: "v", domain: "h\(number).test", path: "/")
        }
        let now = Date()
        var (whole, single) = (Bluebonnet.CookieJar(), Bluebonnet.CookieJar())
        whole.change(.set(cookies), now: now)
        for cookie in cookies { single.change(.set([cookie]), now: now) }
        #expect(whole.cookies(at: now).count == CookieQuota.jar.kept)
        #expect(single.cookies(at: now).count == 3194)
        #expect(whole.cookies(at: now).contains { $0.name == "c4999" })
    }

    /// The cookies of one site are counted in both cases, so that the search in them stays short.
    @Test func `thousands of cookies of one site leave as many as there may be`() {
        let cookies = (0..<5000).map { Cookie(name: "c\($0)", value: "v", domain: "h.test", path: "/") }
        let now = Date()
        var (whole, single) = (Bluebonnet.CookieJar(), Bluebonnet.CookieJar())
        whole.change(.set(cookies), now: now)
        for cookie in cookies { single.change(.set([cookie]), now: now) }
        #expect(whole.cookies(at: now).map(\.name) == single.cookies(at: now).map(\.name))
        #expect(whole.cookies(at: now).count == 164 && whole.cookies(at: now).contains { $0.name == "c4999" })
    }

    /// The memory of one process, and the times of sessions with and without cookies in one run.
    @Test func `600 responses with 50 large cookies each need constant memory and time`()
        async throws
    {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let value = String(repeating: "x", count: 4000)
            let server = try await LocalServer { router in
                router.fallback { request in
                    let number = Int(request.path.dropFirst()) ?? 0
                    let cookies = (0..<50).map { HTTPHeader(name: "Set-Cookie", value: "c\(number)-\($0)=\(value)") }
                    return .text("", headers: HTTPHeaders(cookies))
                }
            }
            /// The time of the process's threads, which depends less on other programs than the time of a clock.
            func now() -> Duration {
                var time = timespec()
                _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
                return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
            }
            func time(_ range: Range<Int>, _ session: Session) async throws -> Duration {
                let start = now()
                for number in range {
                    _ = try await session.request(server.url("/\(number)"))
                        .serializingData(emptyResponseCodes: [200]).value
                }
                return now() - start
            }
            let (session, control) = (TestHarness.session(), TestHarness.session { $0.cookies.policy = .never })
            _ = try await time(0..<50, control)
            // As many as there may be are there from here on.
            _ = try await time(0..<50, session)
            let before = try ProcessResources.now()
            let early = (try await time(50..<100, session), try await time(50..<100, control))
            _ = try await time(100..<550, session)
            let late = (try await time(550..<600, session), try await time(550..<600, control))
            let after = try ProcessResources.now()
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
