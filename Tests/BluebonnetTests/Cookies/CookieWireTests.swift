import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Cookies with servers that nobody here wrote: httpbin by HTTP/1.1, and by HTTP/2 with TLS.
@Suite(.timeLimit(.minutes(1))) struct CookieWireTests {
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
        let session = try Weather.trustingSession()
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

    @Test func `a secure cookie goes with TLS`() async throws {
        let server = TestServers.httpbinHTTP2
        let session = try Weather.trustingSession()
        let set = try server.url("/response-headers?Set-Cookie=__Host-a%3D1%3B%20Secure%3B%20Path%3D/")
        _ = try await session.request(set).validate().serializingData().value
        let cookie = try #require(try await session.cookies.all().first)
        #expect(cookie.isSecure && cookie.isHostOnly && cookie.name == "__Host-a")
        #expect(try await cookies(session, server) == ["__Host-a": "1"])
        await session.shutdown()
    }

    @Test func `a secure cookie does not go without TLS`() async throws {
        let scene = try await CookieScene()
        let https = try #require(URL(string: "https://example.com/"))
        try await scene.session.cookies.set("a=1; Secure", for: https)
        try await scene.session.cookies.set("b=2", for: https)
        #expect(try await scene.get("http://example.com/") == "b=2")
        #expect(try await scene.session.cookies.cookies(for: https).count == 2)
        try await scene.end()
    }

    @Test func `a hundred streams at once share the cookies`() async throws {
        let session = try Weather.trustingSession()
        let server = TestServers.httpbinHTTP2
        try await ask("/cookies/set/a/1", session, server)
        try await withThrowingTaskGroup(of: JSONValue?.self) { group in
            for _ in 0..<100 { group.addTask { try await cookies(session, server) } }
            for try await shown in group { #expect(shown == ["a": "1"]) }
        }
        await session.shutdown()
    }
}
