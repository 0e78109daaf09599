import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// The rules of RFC 6265 for received cookies, and for cookies that a session stores explicitly.
@Suite(.timeLimit(.minutes(10))) struct CookieRuleTests {
    @Test(arguments: [
        ("0.1", "http://127.0.1/"), ("127.1", "http://9.127.1/"), ("0.0.1", "http://127.0.0.1/"),
        ("3.4.", "http://1.2.3.4./"),
        ("0x1", "http://127.0.0x1/"), ("1", "http://2130706433/"), ("b.0x7f", "http://a.b.0x7f/"),
        ("b.0X7F", "http://a.b.0x7f/"), ("b.0x", "http://a.b.0x/"), ("b.7", "http://a.b.7/"),
    ])
    func `an address has no parent domain in any spelling`(domain: String, url: String) throws {
        let url = try #require(URL(string: url))
        #expect(throws: RequestError.self) { try Cookie(setCookie: "s=1; Domain=\(domain)", for: url) }
    }

    @Test(arguments: CookieRow.all)
    func `a cookie of a response is sent only to matching hosts and paths`(_ row: CookieRow) async throws {
        let scene = try await CookieTestSession()
        #expect(try await scene.get(row.from, setting: row.sets) == nil)
        #expect(try await scene.get(row.asked) == row.sent)
        // The store lists exactly the cookies that are sent.
        let url = try #require(URL(string: row.asked))
        let reported = try await scene.session.cookies.cookies(for: url).map { "\($0.name)=\($0.value)" }
        #expect(reported.joined(separator: "; ") == row.sent ?? "")
        try await scene.end()
    }

    @Test(arguments: CookieRow.all)
    func `a cookie from the value of a field is sent only to matching hosts and paths`(_ row: CookieRow) async throws {
        let scene = try await CookieTestSession()
        let from = try #require(URL(string: row.from))
        for field in row.sets { _ = try? await scene.session.cookies.set(field, for: from) }
        #expect(try await scene.get(row.asked) == row.sent)
        try await scene.end()
    }

    @Test func `a cookie for a path with a slash stays after a request for the path without it`() async throws {
        let scene = try await CookieTestSession()
        try await scene.get("http://example.com/x", setting: ["a=1; Path=/p/; Max-Age=1000", "b=2; Path=/p/"])
        let cookies = Set(try await scene.session.cookies.all())
        for _ in 0..<2 {
            #expect(try await scene.get("http://example.com/p") == nil)
            #expect(try await scene.get("http://example.com/p/q") == "a=1; b=2")
        }
        // The cookie of the response to this request is newer.
        let changes = ["a=3; Path=/p/", "b=; Path=/p/; Max-Age=0"]
        #expect(try await scene.get("http://example.com/p", setting: changes) == nil)
        #expect(try await scene.get("http://example.com/p/q") == "a=3")
        #expect(cookies.map(\.path) == ["/p/", "/p/"])
        #expect(try await scene.session.cookies.all().map(\.value) == ["3"])
        try await scene.end()
    }

    @Test(arguments: [
        ("a=2; Path=p", "http://example.com/x"), ("a=2; Domain=example.com; Path=p", "http://other.example"),
        ("a=1; Path=p; Secure", "http://example.com/x"), ("a=2; Path=\"/\"", "http://example.com/x"),
    ])
    func `a refused field does not remove a cookie of other hosts`(_ field: String, from url: String) async throws {
        let scene = try await CookieTestSession()
        let secure = Cookie(name: "a", value: "1", domain: "example.com", isSecure: true)
        let common = Cookie(name: "b", value: "1", domain: "example.com", includesSubdomains: true)
        try await scene.session.cookies.set([secure, common])
        try await scene.get(url, setting: [field])
        #expect(Set(try await scene.session.cookies.all()) == [secure, common])
        try await scene.end()
    }

    @Test func `a cookie set without TLS does not replace a secure cookie`() async throws {
        let scene = try await CookieTestSession()
        let secure = Cookie(name: "a", value: "1", domain: "example.com", isSecure: true)
        try await scene.session.cookies.set(secure)
        #expect(try await scene.get("http://example.com", setting: ["a=2"]) == nil)
        #expect(try await scene.get("http://example.com") == nil)
        #expect(try await scene.session.cookies.all() == [secure])
        try await scene.end()
    }

    @Test func `cookies are sent in one field in every kind of request`() async throws {
        let scene = try await CookieTestSession()
        try await scene.get("http://example.com", setting: ["a=1", "bb=2", "ccc=3"])
        let url = try #require(URL(string: "http://example.com/p"))
        for method in [HTTPMethod.get, .post, .put, .delete] {
            let body: RequestBody? = method == .post || method == .put ? .data(Data("x".utf8)) : nil
            #expect(try await scene.send(HTTPRequest(url: url, method: method, body: body)) == "a=1; bb=2; ccc=3")
        }
        try await scene.end()
    }
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("6 november 94 8:49:37", 784_111_777),
            ("1994-NOV-06... 08:49:37.5 +0100", 784_111_777), ("06th Nov. 1994, 08:49:37z", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 1),
            ("06x Nov 1994y 08:49:37", 784_111_777), ("01 Jan 69 00:00:00", 3_124_224_000), ("01 Jan 1601 00:00:00", 1),
            ("01 Jan 1600 00:00:00", nil), ("30 Feb 2099 00:00:00", nil), ("01 Jan 2099", nil),
            ("01 Jan 2099 24:00:00", nil),
            ("Sat, 15-Apr-17 91:22:33 21:01:22", nil), ("25:00:00 10:00:00 1 Jan 2030", nil),
            ("01 Jan 2099 1a:22:33", nil), ("01 Jan 2099 1a:22:33 10:00:00", 4_070_944_800),
            ("", nil), ("tomorrow", nil),
        ] as [(String, Int?)])
    func `the expiry date is parsed leniently`(_ text: String, _ seconds: Int?) throws {
        let url = try #require(URL(string: "http://example.com"))
        let cookie = try Cookie(setCookie: "a=1; Expires=\(text)", for: url)
        #expect(cookie.expires == seconds.map { Date(timeIntervalSince1970: Double($0)) })
    }
}
