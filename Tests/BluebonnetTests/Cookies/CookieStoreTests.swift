import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Reading, setting and deleting by hand, and when that is possible.
@Suite(.timeLimit(.minutes(10))) struct CookieStoreTests {
    private let a = Cookie(name: "a", value: "1", domain: "example.com")
    private let b = Cookie(name: "b", value: "2", domain: "www.example.com", path: "/p", isSecure: true)
    private let c = Cookie(
        name: "c", value: "", domain: "example.org", includesSubdomains: true, isHTTPOnly: true,
        expires: Date(timeIntervalSince1970: 4_102_444_800))

    private func session() -> Session { TestHarness.session() }

    @Test func `a cookie that is set can be read`() async throws {
        let session = session()
        try await session.cookies.set([a, b, c])
        #expect(Set(try await session.cookies.all()) == [a, b, c])
        let other = Cookie(name: "a", value: "other", domain: "EXAMPLE.com")
        try await session.cookies.set(other)
        #expect(Set(try await session.cookies.all()) == [other, b, c])
        await session.shutdown()
    }

    @Test func `an expired cookie deletes the cookie that it replaces`() async throws {
        let session = session()
        try await session.cookies.set([a, b])
        var expired = a
        expired.expires = Date(timeIntervalSince1970: 0)
        try await session.cookies.set(expired)
        #expect(try await session.cookies.all() == [b])
        await session.shutdown()
    }

    @Test func `deleting a cookie deletes no other cookie`() async throws {
        let session = session()
        let onPath = Cookie(name: "a", value: "2", domain: "example.com", path: "/p")
        let below = Cookie(name: "a", value: "3", domain: "example.com", includesSubdomains: true)
        try await session.cookies.set([a, onPath, below])
        try await session.cookies.delete(Cookie(name: "a", value: "unknown", domain: "example.com"))
        #expect(Set(try await session.cookies.all()) == [onPath, below])
        try await session.cookies.delete(below)
        #expect(try await session.cookies.all() == [onPath])
        await session.shutdown()
    }

    @Test func `the cookies of a domain and its subdomains are deleted`() async throws {
        let session = session()
        try await session.cookies.set([a, b, c])
        try await session.cookies.deleteAll(ofDomain: "ample.com")
        #expect(try await session.cookies.all().count == 3)
        try await session.cookies.deleteAll(ofDomain: ".Example.com")
        #expect(try await session.cookies.all() == [c])
        await session.shutdown()
    }

    @Test func `session cookies are deleted, and all cookies are deleted`() async throws {
        let session = session()
        try await session.cookies.set([a, b, c])
        try await session.cookies.deleteSessionCookies()
        #expect(try await session.cookies.all() == [c])
        try await session.cookies.deleteAll()
        #expect(try await session.cookies.all().isEmpty)
        await session.shutdown()
    }

    /// Cookies that cannot be kept, and why.
    private static let refused: [(Cookie, RequestError.CookieReason)] = [
        (Cookie(name: "", value: "1", domain: "a.example"), RequestError.CookieReason.invalidName),
        (Cookie(name: "a ", value: "1", domain: "a.example"), .invalidName),
        (Cookie(name: "a=b", value: "1", domain: "a.example"), .invalidName),
        (Cookie(name: "a\r\nX: y", value: "1", domain: "a.example"), .invalidName),
        (Cookie(name: "a", value: "1;2", domain: "a.example"), .invalidValue(name: "a")),
        (Cookie(name: "a", value: "1\r\nX: y", domain: "a.example"), .invalidValue(name: "a")),
        (Cookie(name: "a", value: "1\t2", domain: "a.example"), .invalidValue(name: "a")),
        (Cookie(name: "a", value: " 1", domain: "a.example"), .invalidValue(name: "a")),
        (Cookie(name: "a", value: "1\0", domain: "a.example"), .invalidValue(name: "a")),
        (Cookie(name: "a", value: "1", domain: "a.example", path: ""), .invalidPath(name: "a")),
        (Cookie(name: "a", value: "1", domain: "a.example", path: "p"), .invalidPath(name: "a")),
        (Cookie(name: "a", value: "1", domain: "a.example", path: "/\t"), .invalidPath(name: "a")),
        (Cookie(name: "a", value: "1", domain: ""), .invalidDomain(name: "a")),
        (Cookie(name: "a", value: "1", domain: "a\tb.example"), .invalidDomain(name: "a")),
        (Cookie(name: "a", value: "1", domain: "#a.example"), .invalidDomain(name: "a")),
        (Cookie(name: "a", value: "1", domain: "127.0.0.1", includesSubdomains: true), .invalidDomain(name: "a")),
        (Cookie(name: "a", value: String(repeating: "v", count: 4096), domain: "a.example"), .tooLarge(name: "a")),
        (Cookie(name: "__Secure-a", value: "1", domain: "a.example"), .prefix(name: "__Secure-a")),
        (
            Cookie(name: "__Host-a", value: "1", domain: "a.example", path: "/p", isSecure: true),
            .prefix(name: "__Host-a")
        ),
        (
            Cookie(name: "a", value: "1", domain: "co.uk", includesSubdomains: true),
            .publicSuffix(name: "a", domain: "co.uk")
        ),
    ]

    @Test(arguments: refused)
    func `a cookie that cannot be stored is refused with the other cookies of the call`(
        _ cookie: Cookie, reason: RequestError.CookieReason
    ) async throws {
        let session = session()
        let error = await #expect(throws: RequestError.self) { try await session.cookies.set([a, cookie]) }
        #expect(error?.kind == .cookies(reason))
        #expect(try await session.cookies.all().isEmpty)
        await session.shutdown()
    }

    /// A custom transport may have the storage of the transport with libcurl, and pass it unchecked cookies.
    @Test(arguments: refused)
    func `the storage of the transport refuses an invalid cookie too`(
        _ cookie: Cookie, reason: RequestError.CookieReason
    ) async throws {
        let transport = CurlTransport()
        let storage = try #require(transport.cookieStorage)
        try await storage.changeCookies(.set([b]))
        let error = await #expect(throws: RequestError.self) { try await storage.changeCookies(.set([a, cookie])) }
        #expect(error?.kind == .cookies(reason))
        #expect(try await storage.cookies() == [b])
        await transport.shutDown()
    }

    @Test(arguments: [
        ("nothing", RequestError.CookieReason.malformed), ("", .malformed), ("=1", .malformed),
        ("a=1; Domain=example.org", .foreignDomain(name: "a", domain: "example.org")),
        ("a=1; Secure", .insecure(name: "a")), ("__Host-a=1", .prefix(name: "__Host-a")),
        ("a=1; Domain=com", .publicSuffix(name: "a", domain: "com")),
    ])
    func `an invalid value of a field is refused`(
        _ field: String, reason: RequestError.CookieReason
    ) async throws {
        let session = session()
        let url = try #require(URL(string: "http://www.example.com/"))
        let error = await #expect(throws: RequestError.self) { try await session.cookies.set(field, for: url) }
        #expect(error?.kind == .cookies(reason))
        await session.shutdown()
    }

    @Test func `a session begins with the cookies of its configuration`() async throws {
        let scene = try await CookieTestSession { $0.cookies.initial = [a, b] }
        #expect(try await scene.get("http://example.com/") == "a=1")
        #expect(Set(try await scene.session.cookies.all()) == [a, b])
        try await scene.end()
    }

    @Test func `a session whose configuration has an invalid cookie sends no request`() async throws {
        let bad = Cookie(name: "a;", value: "1", domain: "example.com")
        let session = TestHarness.session { $0.cookies.initial = [a, bad] }
        try await TestHarness.expect(
            session.request("http://example.com/").serializingData(), in: session, failsWith: .cookies(.invalidName))
        await session.shutdown()
    }

    @Test func `after the shutdown, everything fails and nothing hangs`() async throws {
        let session = session()
        let store = session.cookies
        try await store.set(a)
        await session.shutdown()
        let file = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-\(UUID().uuidString)")
        let reading = await #expect(throws: RequestError.self) { try await store.all() }
        let cookie = a
        let setting = await #expect(throws: RequestError.self) { try await store.set(cookie) }
        let deleting = await #expect(throws: RequestError.self) { try await store.deleteAll() }
        let saving = await #expect(throws: RequestError.self) { try await store.save(to: file) }
        for error in [reading, setting, deleting, saving] { #expect(error?.kind == .sessionShutDown) }
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test func `a store outlives its session, and then throws`() async throws {
        var session: Session? = TestHarness.session()
        let store = try #require(session).cookies
        try await store.set(a)
        session = nil
        // A separate task shuts the transport down.
        while let cookies = try? await store.all() {
            #expect(cookies == [a])
            await Task.yield()
        }
    }

    @Test func `a transport without cookies has none`() async throws {
        let session = Session(transport: StubTransport())
        #expect(try await session.cookies.all().isEmpty)
        let error = await #expect(throws: RequestError.self) { try await session.cookies.set(a) }
        #expect(error?.kind == .cookies(.disabled))
        try await session.cookies.delete(a)
        try await session.cookies.deleteAll()
        await session.shutdown()
    }

    @Test func `many requests and many readers at once`() async throws {
        let scene = try await CookieTestSession()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try await scene.get(
                        "http://h\(number).example/", setting: ["a=\(number); Domain=h\(number).example"])
                    #expect(try await scene.get("http://www.h\(number).example/p") == "a=\(number)")
                }
                group.addTask {
                    let cookie = Cookie(name: "mine", value: "\(number)", domain: "mine.example", path: "/\(number)")
                    try await scene.session.cookies.set(cookie)
                    #expect(try await scene.session.cookies.all().contains(cookie))
                    if number % 2 == 0 { try await scene.session.cookies.delete(cookie) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await scene.session.cookies.all().count == 60)
        try await scene.end()
    }
}
