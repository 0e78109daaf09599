import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// How credentials are sent to proxies, and to no other servers.
@Suite(.timeLimit(.minutes(10))) struct ProxyAuthenticationTests {
    typealias Proxy = Session.Configuration.Proxy

    private static let wrong = Credential(username: "user", password: "hidden-word")

    // MARK: Refusals

    /// Proxies, each with a request that lacks the right credential.
    enum Refusal: CaseIterable {
        case nobody, userInfo, credential, digestNobody, digest, digestUserInfo, ntlmNobody, ntlm, negotiate

        var server: TestServers {
            switch self {
            case .nobody, .userInfo, .credential: .proxyWithPassword
            case .digestNobody, .digest, .digestUserInfo: .digestProxy
            case .ntlmNobody, .ntlm: .ntlm
            case .negotiate: .negotiatingProxy
            }
        }

        /// Tinyproxy answers a wrong credential with 401.
        var status: Int { self == .userInfo || self == .credential ? 401 : 407 }

        func proxy() throws -> Proxy {
            switch self {
            case .nobody, .digestNobody, .ntlmNobody: .url(try server.proxyURL())
            case .userInfo, .digestUserInfo: .url(try server.proxyURL(userInfo: "user:hidden-word"))
            case .credential, .digest, .ntlm: .url(try server.proxyURL(), credential: wrong)
            case .negotiate: .url(try server.proxyURL(), credential: .negotiate)
            }
        }
    }

    @Test(arguments: Refusal.allCases)
    func `a refusal is the response without TLS, and an error with the proxy with TLS`(
        _ refusal: Refusal
    ) async throws {
        let session = try ProxyFixture.session(try refusal.proxy())
        let response = await session.request(try ProxyFixture.request()).serializingString().response
        #expect(response.response?.statusCode == refusal.status, "\(response)")
        #expect(response.error == nil)
        let task = session.request(try ProxyFixture.request(.httpbinHTTP2)).serializingString()
        let error = try await TestHarness.expect(
            task, in: session, failsWith: .connection(.proxy), saying: "\(refusal.status)",
            "through \(try refusal.server.proxyURL())")
        #expect(!error.description.contains("hidden-word"))
        #expect(await task.response.response == nil)
        await session.shutdown()
    }

    @Test(arguments: [
        Proxy.url("", credential: wrong), .url("user:hidden-word"), .url(""),
    ])
    func `a SOCKS proxy's refusal is an error that names it`(_ way: Proxy) async throws {
        var proxy = Proxy.url(try TestServers.socksWithPassword.proxyURL())
        if case .url(let userInfo, let credential, _) = way {
            let url = try TestServers.socksWithPassword.proxyURL(userInfo: userInfo.isEmpty ? nil : userInfo)
            proxy = .url(url, credential: credential)
        }
        let session = try ProxyFixture.session(proxy)
        let error = try await TestHarness.expect(
            session.request(try ProxyFixture.request()).serializingData(), in: session, failsWith: .connection(.proxy),
            saying: "through \(try TestServers.socksWithPassword.proxyURL())")
        #expect(!error.description.contains("hidden-word"))
        await session.shutdown()
    }

    @Test func `a tunnel for one credential is not used for another credential`() async throws {
        let session = try ProxyFixture.session(.none)
        let url = try TestServers.proxyWithPassword.proxyURL()
        let known = [
            Proxy.url(url, credential: ProxyFixture.credential),
            .url(try TestServers.proxyWithPassword.proxyURL(userInfo: "user:secret")),
        ]
        for proxy in known {
            let request = try ProxyFixture.request(.httpbinHTTP2, through: proxy)
            #expect(try await ProxyFixture.echo(request, in: session).origin == ProxyFixture.address)
            for other in [Proxy.url(url), .url(url, credential: Self.wrong)] {
                let request = try ProxyFixture.request(.httpbinHTTP2, through: other)
                #expect(await session.request(request).serializingData().response.error?.kind == .connection(.proxy))
            }
        }
        await session.shutdown()
    }

    // MARK: Schemes

    @Test(arguments: [TestServers.proxyWithPassword, .digestProxy], TestServers.httpbins)
    func `a credential answers the challenge of a proxy, and bodies are sent again`(
        proxy: TestServers, server: TestServers
    ) async throws {
        let session = try ProxyFixture.session(.url(try proxy.proxyURL(), credential: ProxyFixture.credential))
        for number in 0..<2 {
            for body in [RequestBody.data(Data("body \(number)".utf8)), nil] {
                let request = HTTPRequest(url: try server.url("/anything"), method: .post, body: body)
                let answer = try await WireResponse(of: session.request(request))
                #expect(answer.status == 200)
                #expect(try answer.echoedBody() == Data(body == nil ? "".utf8 : "body \(number)".utf8))
                #expect(!answer.text.lowercased().contains("proxy-auth"))
            }
        }
        await session.shutdown()
    }

    @Test(.enabled(if: Libcurl.schemes.contains(.ntlm), "this libcurl was built without NTLM"))
    func `NTLM authenticates the connection to a proxy and sends the body after authentication`() async throws {
        let credential = Credential(username: "GARDEN\\user", password: "secret")
        let session = try ProxyFixture.session(.url(try TestServers.ntlm.proxyURL(), credential: credential))
        for (number, expected) in ["GARDEN\\user body - NTLM", "GARDEN\\user body - -"].enumerated() {
            let request = HTTPRequest(
                url: try #require(URL(string: "http://example.com/\(number)")), method: .post,
                body: .data(Data("body".utf8)))
            #expect(try await session.request(request).serializingString().value == expected)
        }
        await session.shutdown()
    }

    @Test func `user info is sent at once with Basic, and a credential waits for a challenge`() async throws {
        let proxy = try await LocalServer { router in
            router.fallback { request in
                guard !request.headers.contains("Proxy-Authorization") else { return .text("in") }
                return .status(407, headers: ["Proxy-Authenticate": "Basic realm=a"])
            }
        }
        let url = "127.0.0.1:\(proxy.port)"
        let session = TestHarness.session { $0.proxy = .url("http://user:secret@\(url)") }
        let field = HTTPHeader.authorization(username: "user", password: "secret").value
        var request = HTTPRequest(url: try #require(URL(string: "http://example.com/")))
        #expect(try await session.request(request).serializingString().value == "in")
        #expect(proxy.requests.map { $0.headers["Proxy-Authorization"] } == [field])
        request.proxy = .url(url, credential: ProxyFixture.credential)
        (request.method, request.body) = (.post, .data(Data("body".utf8)))
        #expect(await ChallengedKind.stream.answer(request, in: session).heads == [200])
        #expect(proxy.requests.map { $0.headers["Proxy-Authorization"] } == [field, nil, field])
        try await TestHarness.end(session, proxy)
    }

    @Test func `a proxy's challenge does not repeat a body that is not replayable`() async throws {
        let proxy = try await LocalServer { router in
            router.fallback { _ in .status(407, headers: ["Proxy-Authenticate": "Basic realm=a"]) }
        }
        let session = TestHarness.session {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)", credential: ProxyFixture.credential)
        }
        let body = AsyncStream<Data> { continuation in
            continuation.yield(Data("body".utf8))
            continuation.finish()
        }
        let request = HTTPRequest(
            url: try #require(URL(string: "http://example.com/")), method: .post, body: .stream(body, length: 4))
        let answer = await ChallengedKind.data.answer(request, in: session)
        #expect(answer.error?.kind == .requestBody(.notReplayable), "\(answer)")
        #expect(proxy.requestCount == 1)
        try await TestHarness.end(session, proxy)
    }

    @Test(arguments: ChallengedKind.allCases)
    func `a proxy's Digest that libcurl does not support is refused`(kind: ChallengedKind) async throws {
        let challenge = "Digest realm=a, nonce=b, qop=auth, algorithm=SHA-512-256"
        let proxy = try await LocalServer { router in
            router.fallback { _ in .status(407, headers: ["Proxy-Authenticate": challenge]) }
        }
        let session = TestHarness.session {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)", credential: ProxyFixture.credential)
        }
        let answer = await kind.answer(
            HTTPRequest(url: try #require(URL(string: "http://example.com/"))), in: session)
        #expect(answer.error?.kind == .authentication(.unsupportedDigestAlgorithm("SHA-512-256")))
        #expect(answer.error?.response?.statusCode == 407)
        #expect(proxy.requests.map { $0.headers.contains("Proxy-Authorization") } == [false])
        try await TestHarness.end(session, proxy)
    }

    @Test func `another scheme is used if the proxy offers it`() async throws {
        let proxy = try await LocalServer { router in
            router.fallback { request in
                guard !request.headers.contains("Proxy-Authorization") else { return .text("in") }
                var headers: HTTPHeaders = ["Proxy-Authenticate": "Digest realm=a, nonce=b, algorithm=SHA-512"]
                headers.append(name: "Proxy-Authenticate", value: "Basic realm=a")
                return .status(407, headers: headers)
            }
        }
        let session = TestHarness.session {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)", credential: ProxyFixture.credential)
        }
        #expect(try await session.request("http://example.com/").serializingString().value == "in")
        let field = HTTPHeader.authorization(username: "user", password: "secret").value
        #expect(proxy.requests.map { $0.headers["Proxy-Authorization"] } == [nil, field])
        try await TestHarness.end(session, proxy)
    }

    // MARK: The field

    private static let field = HTTPHeader(name: "Proxy-Authorization", value: "Basic dXNlcjpzZWNyZXQ=")

    @Test(arguments: [true, false])
    func `a custom field reaches the proxy`(isSessions: Bool) async throws {
        let configured: (inout Session.Configuration) throws -> Void = {
            $0.proxy = .url(try TestServers.proxyWithPassword.proxyURL())
            if isSessions { $0.headers.append(Self.field) }
        }
        var configuration = Session.Configuration.conformance
        try configured(&configuration)
        let session = Session(configuration: configuration)
        for server in TestServers.httpbins {
            var request = try ProxyFixture.request(server)
            if !isSessions { request.headers.append(Self.field) }
            let echo = try await ProxyFixture.echo(request, in: session)
            #expect(echo.origin == ProxyFixture.address)
            #expect(!echo.fields.keys.contains { $0.lowercased() == "proxy-authorization" })
        }
        await session.shutdown()
    }

    @Test(arguments: [true, false])
    func `a custom field for the proxy never reaches a server`(isSessions: Bool) async throws {
        let server = try await LocalServer { $0.get("/", .text("in")) }
        let ways: [Proxy] = [.none, .url(try TestServers.socks.proxyURL())]
        for proxy in ways {
            let session = TestHarness.session {
                $0.proxy = proxy
                if isSessions { $0.headers.append(Self.field) }
            }
            let headers: HTTPHeaders = isSessions ? [:] : HTTPHeaders([Self.field])
            #expect(try await session.request(server.url("/"), headers: headers).serializingString().value == "in")
            await session.shutdown()
        }
        #expect(server.requests.map { $0.headers.contains("Proxy-Authorization") } == [false, false])
        let session = try ProxyFixture.session(.url(try TestServers.proxyWithPassword.proxyURL()))
        var request = try ProxyFixture.request(.httpbinHTTP2)
        request.headers.append(Self.field)
        let echo = try await ProxyFixture.echo(request, in: session)
        #expect(!echo.fields.keys.contains { $0.lowercased() == "proxy-authorization" })
        await session.shutdown()
    }
}
