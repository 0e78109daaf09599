import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Hosts are evaluated on every route of a request, through proxies and with URLs without TLS.
@Suite(.timeLimit(.minutes(10))) struct TrustRouteTests {
    private static func secureProxy(host: String = "localhost") throws -> Session.Configuration.Proxy {
        .url(try TestServers.secureProxy.proxyURL().replacing("127.0.0.1", with: host))
    }

    private static func kind(_ session: Session, _ url: String) async -> RequestError.Kind? {
        await session.request(url, method: .post, headers: ["Authorization": "hidden"]).serializingData().response
            .error?.kind
    }

    @Test func `a host behind an https proxy is evaluated, even after requests to it without TLS`() async throws {
        let server = try await Recorder(.threeLevels)
        let wrong = try TrustFixture.evaluator(.otherKey, for: .threeLevels)
        let manager = ServerTrustManager(evaluators: ["localhost": .default(), "127.0.0.1": wrong])
        let proxy = try Self.secureProxy()
        let session = try TrustFixture.session(manager) { $0.proxy = proxy }
        let plain = try TestServers.nginx.url("/small.json").absoluteString
        for _ in 1...2 {
            #expect(await session.request(plain).serializingData().response.error == nil)
            #expect(await Self.kind(session, server.url("/?secret")) == .trust(.publicKeyPinningFailed))
        }
        await session.shutdown()
        let counts = try await server.finalCounts()
        #expect(counts.bytes == 0 && counts.connections == 2)
        try await server.stop()
    }

    @Test func `an https proxy is evaluated for a request without TLS, even to the same host`() async throws {
        let (right, wrong) = (
            try TrustFixture.evaluator(.leafKey, for: .nginxTLS), try TrustFixture.evaluator(.otherKey, for: .nginxTLS)
        )
        let url = try TestServers.nginx.url("/small.json").absoluteString.replacing("127.0.0.1", with: "localhost")
        for (evaluator, kind) in [(right, nil), (wrong, RequestError.Kind.trust(.publicKeyPinningFailed))] {
            let proxy = try Self.secureProxy()
            let session = try TrustFixture.session(evaluator, host: "localhost") { $0.proxy = proxy }
            #expect(await session.request(url).serializingData().response.error?.kind == kind)
            await session.shutdown()
        }
    }

    /// Libcurl treats all of these URLs as equal.
    @Test(arguments: ["https:/", "HTTPS:/", "https://", "https:///", "HttpS:///"])
    func `an https proxy is evaluated however many slashes its URL has`(_ scheme: String) async throws {
        let plain = try TestServers.nginx.url("/small.json").absoluteString
        let secure = try TestServers.nginxTLS.url("/small.json").absoluteString
        guard case .url(let url, _, _) = try Self.secureProxy() else { return }
        let refused = RequestError.Kind.trust(.publicKeyPinningFailed)
        for (evaluatorKind, kind) in [(TrustFixture.EvaluatorKind.leafKey, nil), (.otherKey, refused)] {
            let manager = ServerTrustManager(
                allHostsMustBeEvaluated: false,
                evaluators: ["localhost": try TrustFixture.evaluator(evaluatorKind, for: .nginxTLS)])
            let session = try TrustFixture.session(manager) { $0.proxy = .url(url.replacing("https://", with: scheme)) }
            for url in [plain, secure] {
                let error = await session.request(url).serializingData().response.error
                #expect(error?.kind == kind, "\(url): \(error?.description ?? "no error")")
            }
            await session.shutdown()
        }
    }

    /// Addresses are not named in handshakes, but here there is only one.
    @Test(arguments: [TrustFixture.EvaluatorKind.leafKey, .otherKey])
    func `an https proxy and a host without TLS may both be addresses`(_ evaluatorKind: TrustFixture.EvaluatorKind)
        async throws
    {
        let proxy = try Self.secureProxy(host: "127.0.0.1")
        let session = try TrustFixture.session(try TrustFixture.evaluator(evaluatorKind, for: .nginxTLS)) {
            $0.proxy = proxy
        }
        // No server listens there, which the proxy reports with a response.
        let response = await session.request("http://127.0.0.2:1/").serializingData().response
        if evaluatorKind == .leafKey {
            #expect(response.response?.statusCode ?? 0 >= 500)
        } else {
            #expect(response.error?.kind == .trust(.publicKeyPinningFailed))
        }
        await session.shutdown()
    }

    @Test func `a proxy and a host that are both addresses are refused with a clear error`() async throws {
        let server = try await Recorder(.threeLevels)
        let proxy = try Self.secureProxy(host: "127.0.0.1")
        let session = try TrustFixture.session(ServerTrustManager { _ in DisabledTrustEvaluator() }) {
            $0.proxy = proxy
        }
        let response = await session.request(server.url(host: "127.0.0.2")).serializingData().response
        #expect(response.error?.kind == .trust(.notEvaluated))
        #expect(response.error?.detail?.contains("cannot be distinguished") == true)
        await session.shutdown()
        #expect(try await server.counts().connections == 0)
        try await server.stop()
    }

    /// The connection is closed during the evaluation, and opened again after it.
    @Test func `the durations of a request include the evaluation of its server`() async throws {
        let session = try TrustFixture.session(
            AsyncClosureTrustEvaluator { _, _ in try await Task.sleep(for: .milliseconds(50)) })
        let url = try TestServers.nginxTLS.url("/small.json")
        let response = await session.request(url).serializingData().response
        let metrics = try #require(response.metrics, "\(response)")
        let connect = try #require(metrics.connect)
        let requestStart = try #require(metrics.requestStart)
        #expect(.milliseconds(50) <= connect && connect <= requestStart && requestStart <= metrics.total)
        await session.shutdown()
    }

    @Test
    func `a host with HSTS is evaluated when it is requested without TLS`() async throws {
        let directory = try TestDirectory()
        try directory.write(".example.test \"20990101 00:00:00\"\n", to: "hsts.txt")
        let file = directory.path("hsts.txt")
        let server = try await Recorder(.wildcard)
        let plain = try await LocalServer { $0.fallback { _ in .text("plain") } }
        let manager = ServerTrustManager(evaluators: [
            "a.example.test": try TrustFixture.evaluator(.otherKey, for: .wildcard),
            "b.example.test": AsyncClosureTrustEvaluator { _, _ in throw TestFailure("not this one") },
            "c.example.test": .default(),
        ])
        let session = try TrustFixture.session(manager) {
            $0.hsts = .file(file)
            $0.dns.connectTo = [":443": "127.0.0.1:\(server.port)", ":80": "127.0.0.1:\(plain.port)"]
        }
        for (host, kind) in [
            ("a", RequestError.Kind.trust(.publicKeyPinningFailed)), ("b", .trust(.customEvaluationFailed)),
            ("other", .trust(.noRequiredEvaluator(host: "other.example.test"))),
        ] {
            for _ in 1...2 { #expect(await Self.kind(session, "http://\(host).example.test/?secret") == kind) }
        }
        let counts = try await server.finalCounts()
        // A host without the required evaluator is not contacted.
        #expect(counts.bytes == 0 && counts.connections == 4)
        // One that is accepted is so with its URL of either kind, on one connection.
        for scheme in ["http", "https", "http"] {
            #expect(await Self.kind(session, "\(scheme)://c.example.test/") == nil)
        }
        #expect(try await server.counts().requests.count == 3)
        #expect(try await server.counts().connections == 5)
        #expect(plain.requestCount == 0)
        // A host without TLS needs no evaluator.
        #expect(await Self.kind(session, "http://other.test/") == nil)
        #expect(plain.requestCount == 1)
        await session.shutdown()
        try await server.stop()
    }

    /// To libcurl `127.1.` is a name, which can want TLS, and `0X7F.1` is in some versions.
    @Test(arguments: ["127.1.", "0X7F.1", "127.1", "127.0.0.1."])
    func `an address that libcurl treats as a name is evaluated over TLS`(
        _ host: String
    ) async throws {
        let directory = try TestDirectory()
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        try directory.write("\(name.lowercased()) \"20990101 00:00:00\"\n", to: "hsts.txt")
        let file = directory.path("hsts.txt")
        let server = try await Recorder(.addresses)
        let plain = try await LocalServer { $0.fallback { _ in .text("plain") } }
        let refusing = ClosureTrustEvaluator { _, _ in throw TestFailure("not this one") }
        let session = try TrustFixture.session(refusing) {
            $0.hsts = .file(file)
            $0.dns.connectTo = [":443": "127.0.0.1:\(server.port)", ":80": "127.0.0.1:\(plain.port)"]
        }
        let answer = await session.request("http://\(host)/").serializingString().response
        #expect(
            answer.error?.kind == .trust(.customEvaluationFailed) || answer.value == "plain", "\(answer)")
        await session.shutdown()
        #expect(try await server.finalCounts().bytes == 0)
        try await server.stop()
    }

    /// A proxy receives the host that libcurl connects to; some of these differ from their lower case.
    @Test(arguments: [
        "stra%E1%BA%9Ee.test", "STRA%C3%9FE.test", "B%C3%9CCHER.test", "%EF%BC%A1b.test", "%E2%85%A7.test",
        "%CE%91%CE%A3.test", "%C7%85.test", "%EF%AC%81.test", "%E2%84%AA.test",
    ])
    func `an evaluator is for the contacted host, in any form`(_ host: String) async throws {
        let proxy = try await LocalServer { $0.fallback { .text($0.headers["Host"] ?? "") } }
        let proxied = TestHarness.session { $0.proxy = .url("http://127.0.0.1:\(proxy.port)") }
        let contacted = try await proxied.request("http://\(host)/").serializingString().value
        #expect(contacted.utf8.allSatisfy { $0 < 0x80 && $0 != UInt8(ascii: "%") })
        try await TestHarness.end(proxied, proxy)
        let server = try await Recorder(.threeLevels)
        let refusing = ClosureTrustEvaluator { _, _ in throw TestFailure("not this one") }
        let manager = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [contacted: refusing])
        let session = try TrustFixture.session(manager) {
            $0.dns.connectTo = [":443": "127.0.0.1:\(server.port)"]
        }
        #expect(await Self.kind(session, "https://\(host)/") == .trust(.customEvaluationFailed))
        await session.shutdown()
        #expect(try await server.finalCounts().bytes == 0)
        try await server.stop()
    }

    // MARK: As a table

    /// A host, if it is spoken to with TLS, the proxies, the name that a handshake is for, and whom that is with.
    static let handshakes: [(host: String?, proxies: [String], name: String?, expected: String?)] = [
        ("a.test", [], nil, "a.test"),
        ("a.test", [], "other.test", "a.test"),
        ("1.1.1.1", [], nil, "1.1.1.1"),
        ("a.test", ["p.test"], "a.test", "a.test"),
        ("a.test", ["p.test"], "P.test", "p.test"),
        ("a.test", ["p.test", "q.test"], "q.test", "q.test"),
        ("a.test", ["p.test", "q.test"], "a.test", "a.test"),
        ("a.test", ["1.1.1.1"], nil, "1.1.1.1"),
        ("1.1.1.1", ["p.test"], nil, "1.1.1.1"),
        ("1.1.1.1", ["1.1.1.1"], nil, "1.1.1.1"),
        ("p.test", ["p.test"], "p.test", "p.test"),
        (nil, ["1.1.1.1"], nil, "1.1.1.1"),
        (nil, ["p.test"], "p.test", "p.test"),
        (nil, ["p.test"], "a.test", nil),
        ("1.1.1.1", ["1.1.1.2"], nil, nil),
        (nil, ["1.1.1.1", "1.1.1.2"], nil, nil),
        ("a.test", ["p.test"], nil, nil),
    ]

    @Test(arguments: handshakes)
    func `the host of a handshake`(_ host: String?, _ proxies: [String], _ name: String?, _ expected: String?) {
        let evaluators = Dictionary(uniqueKeysWithValues: proxies.map { ($0, Named(host: $0)) })
        let policy = TrustPolicy(host: host, evaluator: host.map(Named.init), proxies: evaluators)
        #expect(policy.host(named: name) == expected)
        #expect((policy.evaluator(named: name) as? Named)?.host == expected)
    }

    private struct Describing: ServerTrustEvaluating {
        let seen = Locked<[String]>([])

        func evaluate(_ trust: ServerTrust, forHost host: String) {
            seen.withLock { $0 += [trust.protocolVersion, trust.cipher] }
        }
    }

    /// With TLS 1.2, certificates are verified before the session has a cipher.
    @Test(arguments: [(TestServers.tls1_2, "TLSv1.2", "ECDHE-"), (.tls1_3, "TLSv1.3", "TLS_")])
    func `an evaluator sees the cipher`(_ server: TestServers, version: String, prefix: String) async throws {
        let evaluator = Describing()
        let session = try TrustFixture.session(evaluator) { $0.tls.minimumVersion = .v1_2 }
        let error = await session.request(try server.url("/tls")).serializingData().response.error
        #expect(error == nil)
        await session.shutdown()
        let seen = evaluator.seen.withLock { $0 }
        #expect(seen.count == 2 && seen[0] == version && seen[1].hasPrefix(prefix), "\(seen)")
    }

    private struct Named: ServerTrustEvaluating {
        let host: String

        func evaluate(_ trust: ServerTrust, forHost host: String) {}
    }
}
