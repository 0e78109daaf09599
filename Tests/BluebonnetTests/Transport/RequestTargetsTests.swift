import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The targets that requests have on the wire, where libcurl would change them.
///
/// Without ``RequestTargets``, libcurl 7.88.1 sends `http://a.test/a` for `http://a.test/a?` to a proxy, libcurl 8.14.1
/// sends `/a` for `/a?`, and libcurl 8.23.0 sends `/%C3` for `/%c3`.
@Suite(.timeLimit(.minutes(10))) struct RequestTargetsTests {
    @Test(arguments: [
        ("http://a.test/", nil, nil), ("http://a.test/b?c=%C3%12", nil, nil), ("http://%c3.test/?b", "/?b", nil),
        ("http://a.test/?", "/?", "http://a.test/?"), ("http://a.test?", "/?", "http://a.test/?"),
        ("http://a.test?%c3", "/?%c3", "http://a.test/?%c3"),
        ("http://user:pw@a.test:81/%2e/", "/%2e/", "http://a.test:81/%2e/"),
        ("http://[::1]:81/%Ce?", "/%Ce?", "http://[::1]:81/%Ce?"), ("http://a.test/%", nil, nil),
        ("http://a.test/%c3ü", nil, nil), ("http://ü.test/?", "/?", nil),
    ])
    func `the target of a URL that libcurl would change`(url: String, origin: String?, absolute: String?) {
        let isChanged = RequestTargets.changes(url, changesCase: true)
        #expect((isChanged ? RequestTargets.target(of: url, .origin) : nil) == origin)
        guard url.hasPrefix("http://%") == false else { return }
        #expect((isChanged ? RequestTargets.target(of: url, .absolute) : nil) == absolute)
    }

    @Test(arguments: ["/%c3%bc", "/a?", "/?a=%2f", "/a"])
    func `a proxy receives the whole URL unchanged`(target: String) async throws {
        let server = try await LocalServer { $0.fallback { _ in .ok } }
        let proxy = "http://127.0.0.1:\(server.port)"
        let session = TestHarness.session { $0.proxy = .url(proxy) }
        for host in ["a.test", "b.test:81"] {
            let request = session.request("http://user:password@\(host)\(target)#fragment")
            #expect(try await WireResponse(of: request).status == 200)
            #expect(try await server.nextRequest().target == "http://\(host)\(target)")
        }
        try await TestHarness.end(session, server)
    }

    @Test func `a server that is excluded from a proxy receives a path`() async throws {
        let server = try await LocalServer { $0.fallback { _ in .ok } }
        let proxy = Session.Configuration.Proxy.url("http://127.0.0.1:\(server.port)", excluding: ["127.0.0.1"])
        let session = TestHarness.session { $0.proxy = proxy }
        #expect(try await WireResponse(of: session.request(server.url("/%c3"))).status == 200)
        #expect(try await server.nextRequest().target.lowercased() == "/%c3")
        #expect(try await WireResponse(of: session.request("http://a.test/%c3")).status == 200)
        #expect(try await server.nextRequest().target.lowercased() == "http://a.test/%c3")
        try await TestHarness.end(session, server)
    }

    /// With redirected connections, libcurl opens a tunnel even for `http`.
    @Test func `a server behind a tunnel receives a path`() async throws {
        let server = try await LocalServer { $0.fallback { _ in .ok } }
        let proxy = try TestServers.proxy.proxyURL()
        let session = TestHarness.session {
            $0.proxy = .url(proxy)
            $0.dns.connectTo = ["a.test:80": "127.0.0.1:\(server.port)"]
        }
        #expect(try await WireResponse(of: session.request("http://a.test/b?")).status == 200)
        #expect(try await server.nextRequest().target.hasPrefix("/b"))
        try await TestHarness.end(session, server)
    }

    /// The response to the challenge contains the target, and the server compares both.
    @Test(arguments: [401, 407])
    func `the response to a Digest challenge is for the target that is sent`(status: Int) async throws {
        let name = status == 401 ? "Authorization" : "Proxy-Authorization"
        let field = HTTPHeader(
            name: status == 401 ? "WWW-Authenticate" : "Proxy-Authenticate",
            value: #"Digest realm="r", nonce="n", qop="auth", algorithm=MD5"#)
        let server = try await LocalServer { router in
            router.fallback { request in
                guard let answer = request.headers[name] else { return .text("", status: status, headers: [field]) }
                let matches = answer.contains(#"uri="\#(request.uriOfDigest)""#)
                return .text(matches ? "matches" : "\(answer) \(request.target)")
            }
        }
        let credential = Credential(username: "user", password: "password")
        let session = TestHarness.session {
            if status == 407 { $0.proxy = .url("http://127.0.0.1:\(server.port)", credential: credential) }
        }
        for target in ["/%c3", "/a?", "/a?b=%c3"] {
            let request = session.request(server.url(target)) { $0.credential = status == 401 ? credential : nil }
            #expect(try await request.serializingString().value == "matches", "\(target)")
        }
        try await TestHarness.end(session, server)
    }
}

extension LocalServer.Request {
    /// The target that libcurl uses in the response to a challenge: without the proxy's form.
    fileprivate var uriOfDigest: String {
        query.text.isEmpty ? path : "\(path)?\(query.text)"
    }
}
