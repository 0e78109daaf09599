import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Pins with indirect and with reused connections.
@Suite(.timeLimit(.minutes(10))) struct PinTests {
    @Test(arguments: [TestServers.proxy, .socks])
    func `the server is evaluated through a proxy`(_ proxy: TestServers) async throws {
        let route = Session.Configuration.Proxy.url(try proxy.proxyURL())
        for (evaluatorKind, reason) in [
            (TrustFixture.EvaluatorKind.leafKey, nil), (.otherKey, RequestError.TrustReason.publicKeyPinningFailed),
        ] {
            let session = try TrustFixture.session(try TrustFixture.evaluator(evaluatorKind, for: .nginxTLS)) {
                $0.proxy = route
            }
            let response = await session.request(try TestServers.nginxTLS.url("/small.json")).serializingData().response
            #expect(response.error?.kind == reason.map { .trust($0) })
            await session.shutdown()
        }
    }

    @Test func `an https proxy is evaluated with its own host`() async throws {
        let proxy = try TestServers.secureProxy.proxyURL().replacing("127.0.0.1", with: "localhost")
        let right = try TrustFixture.evaluator(.leafKey, for: .nginxTLS)
        let wrong = try TrustFixture.evaluator(.otherKey, for: .nginxTLS)
        for (host, origin, kind) in [
            (right, right, nil), (right, wrong, RequestError.Kind.trust(.publicKeyPinningFailed)),
            (wrong, right, .trust(.publicKeyPinningFailed)),
        ] {
            let manager = ServerTrustManager(evaluators: ["localhost": host, "127.0.0.1": origin])
            let session = try TrustFixture.session(manager) { $0.proxy = .url(proxy) }
            let response = await session.request(try TestServers.nginxTLS.url("/small.json")).serializingData().response
            #expect(response.error?.kind == kind)
            await session.shutdown()
        }
    }

    @Test func `the pin of a redirect's host is checked`() async throws {
        let target = try TestServers.nginxTLS.url("/small.json")
        let url = try TestServers.httpbin.url("/redirect-to?url=\(target.absoluteString)")
        for (evaluatorKind, kind) in [
            (TrustFixture.EvaluatorKind.leafKey, nil), (.otherKey, RequestError.Kind.trust(.publicKeyPinningFailed)),
        ] {
            let session = try TrustFixture.session(try TrustFixture.evaluator(evaluatorKind, for: .nginxTLS))
            let response = await session.request(url).serializingData().response
            #expect(response.error?.kind == kind)
            await session.shutdown()
        }
    }

    @Test func `a host without an evaluator is refused, or checked by libcurl`() async throws {
        let url = try TestServers.nginxTLS.url("/small.json")
        let expired = try TestServers.expiredCertificate.url("/")
        let strict = try TrustFixture.session(ServerTrustManager(evaluators: ["example.com": .disabled]))
        let error = try #require(await strict.request(url).serializingData().response.error)
        #expect(error.kind == .trust(.noRequiredEvaluator(host: "127.0.0.1")))
        #expect(error.description.contains("no trust evaluator for 127.0.0.1"))
        let lax = try TrustFixture.session(
            ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: ["example.com": .disabled]))
        #expect(await lax.request(url).serializingData().response.error == nil)
        #expect(await lax.request(expired).serializingData().response.error?.kind == .trust(.certificateExpired))
        await strict.shutdown()
        await lax.shutdown()
    }

    /// A session that was resumed would show no certificate to look for a pin in.
    @Test(arguments: [TestServers.tls1_2, .tls1_3])
    func `every connection is evaluated, also where TLS sessions could be resumed`(_ server: TestServers) async throws {
        let count = Counter()
        let evaluator = ClosureTrustEvaluator { trust, _ in
            count.next()
            try trust.evaluateChain()
        }
        let session = try TrustFixture.session(evaluator) { $0.httpVersion = .http1_1 }
        for _ in 1...3 {
            let request = session.request(
                try server.url("/"), headers: ["Connection": "close"])
            #expect(await request.serializingData().response.error == nil)
        }
        #expect(count.value == 3)
        // On a connection that is kept, once.
        for _ in 1...5 { _ = await session.request(try server.url("/")).serializingData().response }
        #expect(count.value == 4)
        await session.shutdown()
    }

    @Test func `two sessions evaluate one server with their own managers`() async throws {
        let url = try TestServers.nginxTLS.url("/small.json")
        let right = try TrustFixture.session(try TrustFixture.evaluator(.leafKey, for: .nginxTLS))
        let wrong = try TrustFixture.session(try TrustFixture.evaluator(.otherKey, for: .nginxTLS))
        let kinds = await withTaskGroup(of: (Int, RequestError.Kind?).self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let session = number.isMultiple(of: 2) ? right : wrong
                    return (number, await session.request(url).serializingData().response.error?.kind)
                }
            }
            return await group.reduce(into: [(Int, RequestError.Kind?)]()) { $0.append($1) }
        }
        #expect(kinds.count == 1000)
        #expect(
            kinds.allSatisfy { number, kind in
                kind == (number.isMultiple(of: 2) ? nil : .trust(.publicKeyPinningFailed))
            })
        await right.shutdown()
        await wrong.shutdown()
    }

    @Test func `a session with a custom transport cannot have a manager`() async throws {
        let session = Session(
            serverTrustManager: ServerTrustManager(evaluators: [:]), transport: StubTransport { _ in .status(200) })
        let error = await session.request("https://stub.test/").serializingData().response.error
        #expect(error?.kind == .trust(.notEvaluated))
        await session.shutdown()
    }
}
