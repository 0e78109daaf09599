import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Names that only the server for DNS over HTTPS knows.
@Suite(
    .disabled(if: (0x08_05_00..<0x08_09_00).contains(Libcurl.version), "libcurl 8.5.0 to 8.8.0 are refused"),
    .timeLimit(.minutes(10)))
struct DNSOverHTTPSTests {
    /// Creates a session that asks the test server, and trusts its authority unless told otherwise.
    private static func session(
        evaluators: ServerTrustManager? = nil, isTrusting: Bool = true,
        _ change: (inout Session.Configuration) -> Void = { _ in }
    ) throws -> Session {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.timeouts = Timeouts(connect: .seconds(20), idle: .seconds(20))
        configuration.dns.httpsServer = try TestServers.doh.url("/dns-query")
        if isTrusting { configuration.tls.caFile = try TestCertificates().authority }
        change(&configuration)
        return Session(configuration: configuration, serverTrustManager: evaluators)
    }

    private static func server() async throws -> LocalServer { try await LocalServer { $0.get("/", .text("right")) } }

    @Test func `names are looked up over HTTPS`() async throws {
        let server = try await Self.server()
        let session = try Self.session()
        for name in ["a", "b", "a"] {
            let url = "http://\(name).doh.test:\(server.port)/"
            #expect(try await session.request(url).serializingString().value == "right")
        }
        #expect(server.connectionCount == 2)
        // The same session without the option does not find them.
        let plain = TestHarness.session()
        try await TestHarness.expect(
            plain.request("http://a.doh.test:\(server.port)/").serializingData(), in: plain,
            failsWith: .connection(.nameNotResolved))
        await plain.shutdown()
        try await TestHarness.end(session, server)
    }

    @Test func `many lookups at the same time`() async throws {
        let server = try await Self.server()
        // A slow machine needs a while for 100 handshakes.
        let session = try Self.session { $0.timeouts.connect = nil }
        try await withThrowingTaskGroup { group in
            for number in 1...50 {
                group.addTask {
                    let url = "http://n\(number).doh.test:\(server.port)/"
                    let value = try await session.request(url).serializingString().value
                    #expect(value == "right")
                }
            }
            try await group.waitForAll()
        }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["failure.doh.test", "garbage.doh.test", "name.other.test"])
    func `a failed lookup is an error with the host`(_ host: String) async throws {
        let session = try Self.session()
        try await TestHarness.expect(
            session.request("http://\(host)/a").serializingData(), in: session,
            failsWith: .connection(.nameNotResolved), saying: "http://\(host)/a")
        await session.shutdown()
    }

    @Test(arguments: ["https://127.0.0.1:1/dns-query", "/not-there"])
    func `an unusable server is an error, and the system is not asked`(_ address: String) async throws {
        let known = try TestServers.doh.url()
        let server = try #require(URL(string: address, relativeTo: known))
        let session = try Self.session {
            $0.dns.httpsServer = server
        }
        try await TestHarness.expect(
            session.request("http://ip6-localhost/").serializingData(), in: session,
            failsWith: .connection(.nameNotResolved))
        await session.shutdown()
    }

    @Test func `a lookup without an answer ends with the connect limit`() async throws {
        let session = try Self.session { $0.timeouts.connect = .milliseconds(300) }
        try await TestHarness.expect(
            session.request("http://slow.doh.test/").serializingData(), in: session, failsWith: .timedOut(.connect))
        await session.shutdown()
    }

    @Test func `a request is cancelled during its lookup`() async throws {
        let session = try Self.session()
        for _ in 1...20 {
            let request = session.request("http://slow.doh.test/")
            async let response = request.serializingData().response
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...20)))
            request.cancel()
            #expect(await response.error?.isCancellation == true)
        }
        await session.shutdown()
    }

    /// The evaluators are for the hosts of requests.
    @Test func `trust evaluators are not asked about the server`() async throws {
        let port = try #require(try TestServers.nginxTLS.url("/").port)
        let manager = ServerTrustManager(evaluators: ["name.doh.test": DisabledTrustEvaluator()])
        let session = try Self.session(evaluators: manager)
        let url = "https://name.doh.test:\(port)/small.json"
        #expect(try await session.request(url).serializingData().value.count > 10)
        await session.shutdown()
    }

    /// Otherwise an evaluator that accepts every certificate would accept answers from any machine.
    @Test func `a server with an unknown certificate is refused, whatever the evaluators say`() async throws {
        let port = try #require(try TestServers.nginxTLS.url("/").port)
        let manager = ServerTrustManager(
            allHostsMustBeEvaluated: false,
            evaluators: ["127.0.0.1": DisabledTrustEvaluator(), "name.doh.test": DisabledTrustEvaluator()])
        let session = try Self.session(evaluators: manager, isTrusting: false)
        try await TestHarness.expect(
            session.request("https://name.doh.test:\(port)/small.json").serializingData(), in: session,
            failsWith: .connection(.nameNotResolved))
        await session.shutdown()
    }

    /// A connection of a lookup was not evaluated.
    @Test func `a request to the same server is evaluated`() async throws {
        let server = try await Self.server()
        let doh = try TestServers.doh.url("/dns-query")
        let manager = ServerTrustManager(
            allHostsMustBeEvaluated: false,
            evaluators: ["127.0.0.1": PublicKeysTrustEvaluator(keys: [], performDefaultValidation: false)])
        let session = try Self.session(evaluators: manager)
        let url = "http://name.doh.test:\(server.port)/"
        #expect(try await session.request(url).serializingString().value == "right")
        let error = await session.request(doh).serializingData().response.error
        guard case .trust = try #require(error).kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await TestHarness.end(session, server)
    }

    /// The lookup would wait for the connection of its own request.
    @Test(.disabled(if: Libcurl.countsLookupsApart)) func `a limit of all connections is refused`() async throws {
        let session = try Self.session { $0.connectionLimits.total = 10 }
        let error = try #require(await session.request("http://name.doh.test/").serializingData().response.error)
        guard case .invalidRequest(.configuration(let text)) = error.kind else { throw error }
        #expect(text.hasPrefix("connectionLimits.total") && text.contains("8.9.0"))
        await session.shutdown()
    }

    @Test(.enabled(if: Libcurl.countsLookupsApart, "libcurl 8.9.0"))
    func `a limit of one connection leaves room for the lookup`() async throws {
        let server = try await Self.server()
        let session = try Self.session { $0.connectionLimits.total = 1 }
        let url = "http://name.doh.test:\(server.port)/"
        #expect(try await session.request(url).serializingString().value == "right")
        try await TestHarness.end(session, server)
    }
}
