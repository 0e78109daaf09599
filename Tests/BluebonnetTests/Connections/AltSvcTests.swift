import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct AltSvcTests {
    private static func session(_ altSvc: Session.Configuration.AltSvc) throws -> Session {
        let port = try port(of: .tls1_2)
        return try TestHarness.trustingSession {
            $0.altSvc = altSvc
            $0.dns.overrides = ["named.test:\(port)": ["127.0.0.1"], "other.test:\(port)": ["127.0.0.1"]]
        }
    }

    private static func port(of server: TestServers) throws -> Int { try #require(try server.url().port) }

    /// The port of the server that answers to a request.
    private static func answer(_ session: Session, _ path: String, host: String = "named.test") async throws -> Int? {
        let url = "https://\(host):\(try port(of: .tls1_2))\(path)"
        return Int(try await session.request(url).serializingString().value.dropLast())
    }

    @Test func `an alternative service is used after the host has announced it`() async throws {
        let (first, second) = (try Self.port(of: .tls1_2), try Self.port(of: .tls1_3))
        let session = try Self.session(.memory)
        #expect(try await Self.answer(session, "/port") == first)
        #expect(try await Self.answer(session, "/alternative?port=\(second)") == first)
        for _ in 1...2 { #expect(try await Self.answer(session, "/port") == second) }
        // It is nothing to other hosts.
        #expect(try await Self.answer(session, "/port", host: "127.0.0.1") == first)
        await session.shutdown()
    }

    @Test func `a service in a file is used from the beginning and the file does not change`() async throws {
        let (first, second) = (try Self.port(of: .tls1_2), try Self.port(of: .tls1_3))
        let directory = try TestDirectory()
        let line = "h2 named.test \(first) h2 127.0.0.1 \(second) \"20991231 10:00:00\" 0 0\n"
        try directory.write(line, to: "alt-svc.txt")
        let session = try Self.session(.file(directory.path("alt-svc.txt")))
        for _ in 1...2 { #expect(try await Self.answer(session, "/port") == second) }
        #expect(try await Self.answer(session, "/alternative?port=\(first)") == second)
        await session.shutdown()
        #expect(directory.text("alt-svc.txt") == line)
    }

    @Test func `a service that cannot prove to be the host is refused`() async throws {
        let wrong = try Self.port(of: .wrongHost)
        let session = try Self.session(.memory)
        _ = try await Self.answer(session, "/alternative?port=\(wrong)")
        let url = "https://named.test:\(try Self.port(of: .tls1_2))/port"
        try await TestHarness.expect(
            session.request(url).serializingData(), in: session, failsWith: .trust(.hostMismatch))
        await session.shutdown()
    }

    @Test func `no alternative service is used by default`() async throws {
        let (first, second) = (try Self.port(of: .tls1_2), try Self.port(of: .tls1_3))
        let session = try Self.session(.off)
        #expect(try await Self.answer(session, "/alternative?port=\(second)") == first)
        #expect(try await Self.answer(session, "/port") == first)
        await session.shutdown()
    }
}
