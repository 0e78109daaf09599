import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// A host with a trailing dot, `https://a.test./`: the same name for DNS and TLS, another one for cookies and caches.
@Suite(.timeLimit(.minutes(10))) struct TrailingDotTests {
    @Test(arguments: [false, true])
    func `the certificate is checked without the dot`(isEvaluated: Bool) async throws {
        let port = try #require(try TestServers.tls1_3.url().port)
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.tls.caFile = try TestCertificates().authority
        configuration.dns.overrides = ["named.test.:\(port)": ["127.0.0.1"], "other.test.:\(port)": ["127.0.0.1"]]
        let evaluator = DefaultTrustEvaluator()
        let session = Session(
            configuration: configuration,
            serverTrustManager: isEvaluated
                ? ServerTrustManager(evaluators: ["named.test": evaluator, "other.test": evaluator]) : nil)
        let answer = await session.request("https://named.test.:\(port)/port").serializingString().response
        #expect(answer.value == "\(port)\n", "\(answer)")
        try await TestHarness.expect(
            session.request("https://other.test.:\(port)/").serializingData(), in: session,
            failsWith: .trust(.hostMismatch))
        await session.shutdown()
    }

    @Test func `HSTS and exclusions of a proxy ignore the dot, and cookies do not`() throws {
        let storage = try #require(SessionHSTS(.memory))
        let url = try #require(URL(string: "https://a.test/"))
        let dotted = try #require(URL(string: "http://a.test./"))
        storage.received("max-age=1000", from: url)
        #expect(storage.secured(dotted).absoluteString == "https://a.test./")
        #expect(ProxyExclusions(["a.test"]).contains(dotted))
        var jar = Bluebonnet.CookieJar()
        jar.received(Array("a=1".utf8), from: url, now: Date())
        #expect(jar.field(for: dotted, now: Date()).isEmpty)
    }
}
