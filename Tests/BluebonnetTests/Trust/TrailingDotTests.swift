import BluebonnetTesting
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

    /// The name of the ClientHello's extension server_name (RFC 6066 §3): a length of two bytes, and ASCII.
    @Test(arguments: ["named.test.", "named.test"])
    func `the handshake names the host without the dot`(host: String) async throws {
        let hello = Locked<[UInt8]>([])
        let server = try await LocalServer.scripted(
            .read { bytes, isEnd in
                hello.withLock { hello in
                    hello += bytes
                    return isEnd || hello.count > 5 && hello.count >= 5 + Int(hello[3]) << 8 + Int(hello[4])
                }
            }, .close)
        let session = TestHarness.session {
            $0.dns.overrides = ["\(host):\(server.port)": ["127.0.0.1"]]
        }
        _ = await session.request("https://\(host):\(server.port)/").serializingData().response
        let bytes = hello.withLock(\.self)
        // The extension's type and sizes, the kind of the name, and its length.
        #expect(bytes.firstRange(of: [0, 0, 0, 15, 0, 13, 0, 0, 10] + Array("named.test".utf8)) != nil, "\(bytes)")
        try await TestHarness.end(session, server)
    }

    /// Its key is the target URI (RFC 9111 §2), whose host is another one.
    @Test func `the cache stores another response`() async throws {
        let scene = CacheTestSession { _ in .text("a", headers: ["Cache-Control": "max-age=60"]) }
        var sources: [ResponseSource?] = []
        for url in ["http://a.test/", "http://a.test./", "http://a.test./", "http://a.test/"] {
            sources.append(await scene.session.request(url).serializingData().response.source)
        }
        #expect(sources == [.network, .network, .cache, .cache])
        await scene.session.shutdown()
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
