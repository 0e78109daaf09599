import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct ProxyRouteTests {
    typealias Proxy = Session.Configuration.Proxy

    private static let credential = Credential(username: "user", password: "secret")
    private static let plain = Proxy.url("http://proxy:1")

    struct Row: Sendable {
        var own: Proxy?
        var session: Proxy
        var url: String?
        var isSocks = false
        var isPrivate = false
    }

    @Test(arguments: [
        Row(session: .environment),
        Row(session: .none, url: ""),
        Row(session: plain, url: "http://proxy:1"),
        Row(own: .environment, session: plain),
        Row(own: Proxy.none, session: plain, url: ""),
        Row(own: plain, session: .none, url: "http://proxy:1"),
        Row(own: .url("SOCKS5h://a"), session: plain, url: "SOCKS5h://a", isSocks: true),
        Row(session: .url("a", excluding: ["b", "10.0.0.0/8"]), url: "a"),
        Row(session: .url("a", excluding: ["b", "*"]), url: "a"),
        // Tunnels with the session's own credentials are shared, tunnels with others are not.
        Row(session: .url("http://a:b@proxy:1"), url: "http://a:b@proxy:1"),
        Row(
            own: .url("http://a:b@proxy:1"), session: .url("http://a:b@proxy:1"), url: "http://a:b@proxy:1"),
        Row(
            own: .url("http://a:b@proxy:1"), session: plain, url: "http://a:b@proxy:1", isPrivate: true),
        Row(own: plain, session: .url("http://a:b@proxy:1"), url: "http://proxy:1", isPrivate: true),
        Row(own: .url("socks5://a:b@c"), session: plain, url: "socks5://a:b@c", isSocks: true),
    ])
    func `the route depends on the proxies of the request and of the session`(_ row: Row) throws {
        let route = try ProxyRoute(row.own, session: row.session)
        #expect(route.url == row.url)
        #expect(route.isSocks == row.isSocks && route.isPrivate == row.isPrivate && route.credential == nil)
    }

    @Test func `a credential is kept and makes the tunnel of a request private`() throws {
        let proxy = Proxy.url("http://a", credential: Self.credential)
        let shared = try ProxyRoute(nil, session: proxy)
        #expect(shared.credential == Self.credential && !shared.isPrivate)
        #expect(try ProxyRoute(proxy, session: .none).isPrivate)
        #expect(try ProxyRoute(.url("http://a"), session: proxy).isPrivate)
    }

    @Test(arguments: [
        Proxy.url(""), .url(" "), .url("http://a\0b"), .url("http://a b"), .url("http://a\r\nb"),
        .url("http://user:hidden@a", credential: credential),
        .url("http://a", credential: Credential(username: "a\0hidden", password: "")),
        .url("http://a", excluding: [""]), .url("http://a", excluding: ["b,c"]), .url("http://a", excluding: ["b c"]),
        .url("http://a", excluding: ["b", "10.0.0.0/33"]), .url("http://a", excluding: ["me:hidden@b"]),
    ])
    func `an invalid proxy is refused and never bypassed`(_ proxy: Proxy) async throws {
        let session = TestHarness.session { $0.proxy = proxy }
        let error = await session.request("http://127.0.0.1:9/").serializingData().response.error
        guard case .invalidRequest(.configuration)? = error?.kind else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return
        }
        #expect(error?.description.contains("hidden") == false)
        if proxy == .url("http://a", excluding: ["b", "10.0.0.0/33"]) {
            #expect(error?.description.contains("10.0.0.0/33") == true, "\(error.map { "\($0)" } ?? "")")
        }
        await session.shutdown()
    }

    @Test(arguments: [
        (Proxy.environment, "the environment's proxy"), (.none, "no proxy"),
        (.url("http://user:hidden@host:1", excluding: ["a"]), "http://host:1"),
        (.url("user:hidden@host:1"), "host:1"),
        (.url("http://host:1", credential: Credential(username: "hidden", password: "hidden")), "http://host:1"),
    ])
    func `a description shows no secrets`(proxy: Proxy, expected: String) {
        #expect("\(proxy)" == expected)
        var text = ""
        dump(proxy, to: &text)
        #expect(!(text + String(reflecting: proxy)).contains("hidden"))
    }

    @Test(
        arguments: [
            ([:], true, []),
            (["HTTP_PROXY": "https://a", "no_proxy": "*"], true, []),
            (["all_proxy": ""], true, []),
            (["all_proxy": "socks5://a"], false, []),
            (["http_proxy": "http://a", "ALL_PROXY": "HTTPS://B.example:3128"], false, ["b.example"]),
            (["https_proxy": "https://user:word@d", "http_proxy": "https://c"], false, ["c", "d"]),
            // The URL is parsed like in libcurl, because libcurl connects to the proxy.
            (["all_proxy": "https://us{e|r:word@E.example.:1"], false, ["e.example"]),
            (["all_proxy": "https://[0::1]:1"], false, ["::1"]),
            (["all_proxy": "https://127.1"], false, ["127.0.0.1"]),
            // Libcurl treats one slash and three slashes as two slashes.
            (["all_proxy": "https:/a:1"], false, ["a"]),
            (["https_proxy": "HttpS:/u:w@a", "http_proxy": "https:///b"], false, ["a", "b"]),
            (["all_proxy": "https:a"], false, []),
            (["all_proxy": "https:1"], false, []),
        ] as [([String: String], Bool, [String])])
    func `the proxies of the environment are read`(_ variables: [String: String], _ isEmpty: Bool, _ hosts: [String]) {
        let environment = ProxyEnvironment(variables)
        #expect(environment.isEmpty == isEmpty)
        #expect(ProxyRoute.secureHosts(of: .environment, in: environment) == hosts)
        #expect(ProxyRoute.secureHosts(of: .none, in: environment) == [])
        #expect(ProxyRoute.secureHosts(of: .url("https://e"), in: environment) == ["e"])
        #expect(ProxyRoute.secureHosts(of: .url("https:/e:1"), in: environment) == ["e"])
    }

    @Test(
        arguments: [
            ([:], nil, nil, []),
            (["HTTP_PROXY": "a", "no_proxy": "b"], nil, nil, ["b"]),
            (["http_proxy": "a", "NO_PROXY": "b,c"], "a", nil, ["b", "c"]),
            (["https_proxy": "a", "HTTPS_PROXY": "b", "no_proxy": "*", "NO_PROXY": "c"], nil, "a", ["b", "c", "d"]),
            (["HTTPS_PROXY": "a", "all_proxy": "b", "ALL_PROXY": "c"], "b", "a", []),
            (
                ["http_proxy": "", "https_proxy": "a", "ALL_PROXY": "b", "no_proxy": "", "NO_PROXY": "c"], "b", "a",
                ["c"]
            ),
        ] as [([String: String], String?, String?, Set<String>)])
    func `the environment's proxies are those that libcurl would find`(
        _ variables: [String: String], _ plain: String?, _ secure: String?, _ excluded: Set<String>
    ) throws {
        let environment = ProxyEnvironment(variables)
        #expect(environment.plain == plain && environment.secure == secure)
        for host in ["b", "c", "d"] {
            let url = try #require(URL(string: "http://\(host)/"))
            #expect(environment.exclusions.contains(url) == excluded.contains(host), "\(host)")
        }
        #expect(environment.isSplit == (plain != secure))
    }

    @Test(
        arguments: [
            ("socks5://a", true), ("SOCKS4A:/a:1", true), ("socks5h:///a", true), ("socks://a", true),
            ("socks-proxy.example:1080", false), ("socks5", false), ("socks5:1080", false), ("http://socks5", false),
        ])
    func `a proxy uses SOCKS if libcurl uses SOCKS`(_ url: String, _ isSocks: Bool) throws {
        #expect(try ProxyRoute(nil, session: .url(url)).isSocks == isSocks)
    }
}
