import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Requests through real proxies: tinyproxy, haproxy, microsocks, Apache.
@Suite(.timeLimit(.minutes(10))) struct ProxyWireTests {
    typealias Proxy = Session.Configuration.Proxy

    /// A proxy, and the way in which the user is named to it.
    enum CredentialSource: CaseIterable {
        case http, userInfo, credential, secure, socks, socksUserInfo, socksCredential, socksLocalNames

        var isTransparent: Bool {
            switch self {
            case .http, .userInfo, .credential, .secure: false
            case .socks, .socksUserInfo, .socksCredential, .socksLocalNames: true
            }
        }

        func proxy() throws -> Proxy {
            switch self {
            case .http: .url(try TestServers.proxy.proxyURL())
            case .userInfo: .url(try TestServers.proxyWithPassword.proxyURL(userInfo: "user:s%65cret"))
            case .credential:
                .url(try TestServers.proxyWithPassword.proxyURL(), credential: ProxyFixture.credential)
            case .secure: .url(try TestServers.secureProxy.proxyURL())
            case .socks: .url(try TestServers.socks.proxyURL())
            case .socksUserInfo: .url(try TestServers.socksWithPassword.proxyURL(userInfo: "user:s%65cret"))
            case .socksCredential:
                .url(try TestServers.socksWithPassword.proxyURL(), credential: ProxyFixture.credential)
            case .socksLocalNames: .url(try TestServers.socks.proxyURL(scheme: "socks5"))
            }
        }
    }

    @Test(arguments: CredentialSource.allCases, TestServers.httpbins)
    func `a session's requests go through its proxy`(source: CredentialSource, server: TestServers) async throws {
        let session = try ProxyFixture.session(try source.proxy())
        for number in 0..<3 {
            let echo = try await ProxyFixture.echo(try ProxyFixture.request(server), in: session)
            #expect(echo.origin == ProxyFixture.address)
            #expect(!echo.fields.keys.contains { $0.lowercased().hasPrefix("proxy-") })
            // As an HTTP proxy, tinyproxy speaks HTTP/1.0; as a tunnel, it lets both ends speak.
            guard source.isTransparent || server == .httpbinHTTP2 else { continue }
            #expect(echo.answer.head.httpVersion == server.spokenVersion)
            if number > 0 { #expect(echo.answer.metrics.isReusedConnection) }
        }
        await session.shutdown()
    }

    @Test(arguments: CredentialSource.allCases, TestServers.httpbins)
    func `a request's proxy is used for this request only`(source: CredentialSource, server: TestServers) async throws {
        let session = try ProxyFixture.session(.none)
        let through = try ProxyFixture.request(server, through: try source.proxy())
        for (request, origin) in [
            (try ProxyFixture.request(server), "127.0.0.1"), (through, ProxyFixture.address),
            (try ProxyFixture.request(server), "127.0.0.1"), (through, ProxyFixture.address),
            (try ProxyFixture.request(server), "127.0.0.1"),
        ] {
            #expect(try await ProxyFixture.echo(request, in: session).origin == origin)
        }
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins)
    func `a request can bypass the session's proxy`(_ server: TestServers) async throws {
        let session = try ProxyFixture.session(.url(try TestServers.proxy.proxyURL()))
        for _ in 0..<2 {
            #expect(try await ProxyFixture.echo(try ProxyFixture.request(server), in: session).origin == "127.0.0.2")
            let direct = try ProxyFixture.request(server, through: Proxy.none)
            #expect(try await ProxyFixture.echo(direct, in: session).origin == "127.0.0.1")
        }
        await session.shutdown()
    }

    /// Libcurl before 8.3.0 chooses connections whose tunnels are not open yet, and then fails.
    @Test func `many requests at once wait for the tunnels of HTTP/2 connections`() async throws {
        let session = try ProxyFixture.session(.url(try TestServers.proxy.proxyURL()))
        for round in 0..<5 {
            _ = try await ProxyFixture.echo(try ProxyFixture.request(.httpbinHTTP2), in: session)
            session.renewConnections()
            let failures = await withTaskGroup(of: RequestError?.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        guard var request = try? ProxyFixture.request(.httpbinHTTP2) else {
                            return RequestError(.internal)
                        }
                        if number % 2 == 0 {
                            (request.method, request.body) = (.post, .data(Data(repeating: 0x61, count: 100)))
                        }
                        return await session.request(request).serializingData().response.error
                    }
                }
                return await group.reduce(into: [RequestError]()) { if let error = $1 { $0.append(error) } }
            }
            #expect(failures.isEmpty, "\(round): \(failures.count), \(failures.first.map { "\($0)" } ?? "")")
        }
        await session.shutdown()
    }

    @Test(arguments: [
        ["127.0.0.1"], ["example.com", "127.0.0.0/8"], ["*"], ["*", "example.com"], ["127.*"], ["PORT"],
        ["http://127.0.0.1"],
    ])
    func `excluded hosts are reached without the proxy`(_ excluded: [String]) async throws {
        let dead = "http://127.0.0.1:\(try DeadPort.refusing())"
        let request = try ProxyFixture.request()
        let port = try #require(request.url.port)
        let excluded = excluded.map { $0.replacing("PORT", with: "127.0.0.1:\(port)") }
        let session = try ProxyFixture.session(.url(dead, excluding: excluded))
        #expect(try await ProxyFixture.echo(request, in: session).origin == "127.0.0.1")
        let own = try ProxyFixture.request(through: .url(dead))
        #expect(await session.request(own).serializingData().response.error?.kind == .connection(.refused))
        await session.shutdown()
    }

    @Test(arguments: [[], ["example.com"], ["10.0.0.0/8"], ["127.0.0.2"], ["127.0.0.1:1"], ["https://127.0.0.1"]])
    func `other hosts are reached through the proxy`(_ excluded: [String]) async throws {
        let proxy = Proxy.url(try TestServers.proxy.proxyURL(), excluding: excluded)
        let session = try ProxyFixture.session(proxy)
        #expect(try await ProxyFixture.echo(try ProxyFixture.request(), in: session).origin == ProxyFixture.address)
        await session.shutdown()
    }

    @Test(arguments: [
        ("socks4", "4 address 127.0.0.1 80 user"), ("socks4a", "4a name localhost 80 user"),
        ("socks5", "5 address 127.0.0.1 80"), ("socks5h", "5 name localhost 80"),
    ])
    func `each kind of SOCKS resolves names where it should`(scheme: String, expected: String) async throws {
        let url = try TestServers.socksEcho.proxyURL(
            userInfo: scheme.hasPrefix("socks4") ? "user" : nil, scheme: scheme)
        let session = try ProxyFixture.session(.url(url))
        let request = session.request("http://localhost/a")
        let answer = try await request.serializingString().value
        // Of the two addresses of this name, newer versions of libcurl choose either.
        #expect(answer == expected || answer == expected.replacing("5 address 127.0.0.1", with: "5 address ::1"))
        if scheme == "socks4a" || scheme == "socks5h" {
            let elsewhere = session.request("http://no-such-host.invalid:81/a")
            #expect(try await elsewhere.serializingString().value.contains("name no-such-host.invalid 81"))
        }
        await session.shutdown()
    }

    @Test(arguments: ["socks4", "socks4a", "socks5", "socks5h"])
    func `a SOCKS proxy that refuses is an error that names it`(_ scheme: String) async throws {
        let url = try TestServers.socksEcho.proxyURL(userInfo: "user:hidden-word", scheme: scheme)
        let session = try ProxyFixture.session(.url(url))
        let error = try await TestHarness.expect(
            session.request("http://127.0.0.1:1/a").serializingData(), in: session, failsWith: .connection(.proxy),
            saying: "through \(try TestServers.socksEcho.proxyURL(scheme: scheme))")
        #expect(!error.description.contains("hidden-word"))
        await session.shutdown()
    }

    @Test func `a proxy whose certificate is not trusted receives nothing`() async throws {
        let url = try TestServers.secureProxy.proxyURL(userInfo: "user:hidden-word")
        let session = TestHarness.session { $0.proxy = .url(url) }
        let error = try await TestHarness.expect(
            session.request("http://example.com/a").serializingData(), in: session, failsWith: .trust(.untrustedIssuer),
            saying: "through \(try TestServers.secureProxy.proxyURL())")
        #expect(!error.description.contains("hidden-word"))
        await session.shutdown()
    }

    @Test func `redirects use the same proxy, also to other origins`() async throws {
        let proxy = try await LocalServer { router in
            router.fallback { request in
                request.target == "http://a.example/" ? .redirect(to: "http://b.example/end") : .text(request.target)
            }
        }
        let session = TestHarness.session()
        var request = HTTPRequest(url: try #require(URL(string: "http://a.example/")))
        request.proxy = .url("http://user:secret@127.0.0.1:\(proxy.port)")
        #expect(try await session.request(request).serializingString().value == "http://b.example/end")
        let field = HTTPHeader.authorization(username: "user", password: "secret").value
        #expect(proxy.requests.map { $0.headers["Proxy-Authorization"] } == [field, field])
        try await TestHarness.end(session, proxy)
    }

    @Test(arguments: ["socks4", "socks4a", "socks5", "socks5h"])
    func `a SOCKS proxy that sends nothing results in a connect timeout`(_ scheme: String) async throws {
        let proxy = try await LocalServer.scripted(.waitForBytes(3), .stall)
        let session = TestHarness.session {
            $0.proxy = .url("\(scheme)://127.0.0.1:\(proxy.port)")
            $0.timeouts = Timeouts(connect: .milliseconds(150), idle: .seconds(20))
        }
        try await TestHarness.expect(
            session.request("http://127.0.0.1:9/").serializingData(), in: session, failsWith: .timedOut(.connect),
            saying: "connecting took too long", "through \(scheme)://127.0.0.1:\(proxy.port)")
        try await TestHarness.end(session, proxy)
    }

    @Test func `cancelling while a tunnel is opened`() async throws {
        let proxy = try await LocalServer.scripted(.waitForHead, .stall)
        let session = TestHarness.session { $0.proxy = .url("http://127.0.0.1:\(proxy.port)") }
        let request = session.request("https://example.com/")
        let task = request.serializingData()
        _ = try await proxy.nextRequest()
        request.cancel()
        #expect(await task.response.error?.kind == .cancelled)
        try await TestHarness.end(session, proxy)
    }
}
