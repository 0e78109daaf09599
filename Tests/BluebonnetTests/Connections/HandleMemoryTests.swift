import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// Later requests use the information that libcurl keeps in its handles.
@Suite(.timeLimit(.minutes(10))) struct HandleMemoryTests {
    /// How many of so many new connections, one after the other, resume a TLS session.
    private static func resumed(_ count: Int, from url: String, _ session: Session) async throws -> Int {
        var resumed = 0
        for _ in 0..<count {
            // The server closes the connection after the answer.
            let text = try await session.request(url, headers: ["Connection": "close"]).serializingString().value
            if text.contains(" r ") { resumed += 1 }
        }
        return resumed
    }

    @Test(arguments: [Session.Configuration.TLS.Version.v1_2, .v1_3])
    func `all new connections except the first resume the TLS session`(
        _ version: Session.Configuration.TLS.Version
    ) async throws {
        let session = try TestHarness.trustingSession {
            $0.tls.maximumVersion = version
            $0.httpVersion = .http1_1
        }
        let url = "https://127.0.0.1:\(try ChainServer.threeLevels.port())/"
        #expect(try await Self.resumed(100, from: url, session) == 99)
        await session.shutdown()
    }

    @Test func `no connection resumes a session that an evaluator has checked`() async throws {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.httpVersion = .http1_1
        configuration.tls.caFile = try TestCertificates().authority
        let manager = ServerTrustManager(evaluators: ["127.0.0.1": DefaultTrustEvaluator()])
        let session = Session(configuration: configuration, serverTrustManager: manager)
        let url = "https://127.0.0.1:\(try ChainServer.threeLevels.port())/"
        #expect(try await Self.resumed(5, from: url, session) == 0)
        await session.shutdown()
    }

    @Test func `clients with another identity do not resume each other's sessions`() async throws {
        let files = try TestCertificates()
        let url = "https://127.0.0.1:\(try ChainServer.threeLevels.port())/"
        let session = try TestHarness.trustingSession { $0.httpVersion = .http1_1 }
        let other = try TestHarness.trustingSession {
            $0.httpVersion = .http1_1
            $0.tls.clientIdentity = .pem(file: files.client, keyFile: files.clientKey)
        }
        #expect(try await Self.resumed(2, from: url, session) == 1)
        #expect(try await Self.resumed(2, from: url, other) == 1)
        await session.shutdown()
        await other.shutdown()
    }

    /// Libcurl 8.20.0 and later resumes no session of an identity without a file name.
    @Test(arguments: [Session.Configuration.TLS.Version.v1_2, .v1_3])
    func `connections with an identity in memory resume sessions`(
        _ version: Session.Configuration.TLS.Version
    ) async throws {
        let files = try TestCertificates()
        let certificate = try Data(contentsOf: URL(filePath: files.client))
        let key = try Data(contentsOf: URL(filePath: files.clientKey))
        let url = "https://127.0.0.1:\(try ChainServer.threeLevels.port())/"
        let session = try TestHarness.trustingSession {
            $0.httpVersion = .http1_1
            $0.tls.maximumVersion = version
            $0.tls.clientIdentity = .pem(data: certificate, key: key)
        }
        #expect(try await Self.resumed(10, from: url, session) == 9)
        await session.shutdown()
    }

    @Test func `each request after the first uses the alternative service, also on new connections`() async throws {
        let first = try #require(try TestServers.tls1_2.url().port)
        let second = try #require(try TestServers.tls1_3.url().port)
        let session = try TestHarness.trustingSession {
            $0.altSvc = .memory
            $0.dns.overrides = ["named.test:\(first)": ["127.0.0.1"]]
        }
        func answer(_ path: String) async throws -> Int? {
            let url = "https://named.test:\(first)\(path)"
            let text = try await session.request(url, headers: ["Connection": "close"]).serializingString().value
            return Int(text.dropLast())
        }
        #expect(try await answer("/alternative?port=\(second)") == first)
        for _ in 0..<20 { #expect(try await answer("/port") == second) }
        await session.shutdown()
    }
}
