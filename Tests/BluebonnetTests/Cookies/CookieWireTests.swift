import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Cookies with a third-party server: httpbin by HTTP/1.1, and by HTTP/2 with TLS.
@Suite(.timeLimit(.minutes(10))) struct CookieWireTests {
    private static let servers = [TestServers.httpbin, .httpbinHTTP2]

    private func cookies(_ session: Session, _ server: TestServers) async throws -> JSONValue? {
        try await session.request(try server.url("/cookies")).validate().serializingJSON().value["cookies"]
    }

    /// The redirecting response is enough: it sets the cookies.
    private func ask(_ path: String, _ session: Session, _ server: TestServers) async throws {
        _ = await session.request(try server.url(path)).serializingData(emptyResponseCodes: [302]).response
    }

    @Test(arguments: servers)
    func `httpbin sets, shows and deletes cookies`(_ server: TestServers) async throws {
        let session = try TestHarness.trustingSession()
        #expect(try await cookies(session, server) == [:])
        try await ask("/cookies/set?a=1&b=2", session, server)
        #expect(try await cookies(session, server) == ["a": "1", "b": "2"])
        try await ask("/cookies/set/c/3", session, server)
        #expect(try await cookies(session, server) == ["a": "1", "b": "2", "c": "3"])
        try await ask("/cookies/delete?b", session, server)
        #expect(try await cookies(session, server) == ["a": "1", "c": "3"])
        #expect(Set(try await session.cookies.all().map(\.name)) == ["a", "c"])
        try await session.cookies.deleteAll()
        #expect(try await cookies(session, server) == [:])
        await session.shutdown()
    }

    @Test func `a secure cookie is sent with TLS`() async throws {
        let server = TestServers.httpbinHTTP2
        let session = try TestHarness.trustingSession()
        let set = try server.url("/response-headers?Set-Cookie=__Host-a%3D1%3B%20Secure%3B%20Path%3D/")
        _ = try await session.request(set).validate().serializingData().value
        let cookie = try #require(try await session.cookies.all().first)
        #expect(cookie.isSecure && cookie.isHostOnly && cookie.name == "__Host-a")
        #expect(try await cookies(session, server) == ["__Host-a": "1"])
        await session.shutdown()
    }

    /// Hosts that lead to this machine, and to which no exception for it applies.
    private func url(_ server: TestServers, host: String, setting cookie: String? = nil) throws -> URL {
        var parts = try #require(URLComponents(url: try server.url("/cookies"), resolvingAgainstBaseURL: false))
        parts.host = host
        if let cookie {
            parts.path = "/response-headers"
            parts.queryItems = [URLQueryItem(name: "Set-Cookie", value: cookie)]
        }
        return try #require(parts.url)
    }

    @Test(.enabled(if: Libcurl.version >= 0x07_55_00, "libcurl that knows the hosts below localhost"))
    func `secure cookies on hosts that are not this machine by their names`() async throws {
        let session = try TestHarness.trustingSession()
        let (plain, secure) = (TestServers.httpbin, TestServers.httpbinHTTP2)
        let (shop, below) = ("shop.localhost", "www.shop.localhost")
        func sent(_ server: TestServers, to host: String) async throws -> JSONValue? {
            try await session.request(try url(server, host: host)).validate().serializingJSON().value["cookies"]
        }
        func set(_ cookie: String, by server: TestServers) async throws {
            let url = try url(server, host: shop, setting: cookie)
            _ = try await session.request(url).validate().serializingData().value
        }
        for server in [plain, secure] {
            try await set("a=\(server == secure ? 1 : 2); Secure; Path=/; Domain=\(shop)", by: server)
            try await set("__Host-b=\(server == secure ? 1 : 2); Secure; Path=/", by: server)
            try await set("__Secure-c=\(server == secure ? 1 : 2); Secure; Path=/", by: server)
        }
        try await set("__Host-d=1; Secure; Path=/; Domain=\(shop)", by: secure)
        #expect(try await sent(secure, to: shop) == ["a": "1", "__Host-b": "1", "__Secure-c": "1"])
        #expect(try await sent(secure, to: below) == ["a": "1"])
        #expect(try await sent(plain, to: shop) == [:])
        // Cookies without TLS do not replace or expire these cookies.
        try await set("a=3; Path=/; Domain=\(shop)", by: plain)
        try await set("a=; Max-Age=0; Path=/; Domain=\(shop)", by: plain)
        #expect(try await sent(secure, to: below) == ["a": "1"])
        try await set("a=; Max-Age=0; Path=/; Domain=\(shop); Secure", by: secure)
        #expect(try await sent(secure, to: below) == [:])
        await session.shutdown()
    }

    @Test func `a secure cookie is not sent without TLS`() async throws {
        let scene = try await CookieTestSession()
        let https = try #require(URL(string: "https://example.com/"))
        try await scene.session.cookies.set("a=1; Secure", for: https)
        try await scene.session.cookies.set("b=2", for: https)
        #expect(try await scene.get("http://example.com/") == "b=2")
        #expect(try await scene.session.cookies.cookies(for: https).count == 2)
        try await scene.end()
    }

    @Test func `a hundred streams at once share the cookies`() async throws {
        let session = try TestHarness.trustingSession()
        let server = TestServers.httpbinHTTP2
        try await ask("/cookies/set/a/1", session, server)
        try await withThrowingTaskGroup(of: JSONValue?.self) { group in
            for _ in 0..<100 { group.addTask { try await cookies(session, server) } }
            for try await shown in group { #expect(shown == ["a": "1"]) }
        }
        await session.shutdown()
    }
}
