import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// The rules of RFC 6265 on the wire, and the same ones where cookies are given to a session by hand.
@Suite(.timeLimit(.minutes(1))) struct CookieRuleTests {
    @Test(arguments: CookieRow.all)
    func `what a response sets is sent where it belongs`(_ row: CookieRow) async throws {
        let scene = try await CookieScene()
        #expect(try await scene.get(row.from, setting: row.sets) == nil)
        #expect(try await scene.get(row.asked) == row.sent)
        // What is said to be sent is what is sent.
        let url = try #require(URL(string: row.asked))
        let told = try await scene.session.cookies.cookies(for: url).map { "\($0.name)=\($0.value)" }
        #expect(told.joined(separator: "; ") == row.sent ?? "")
        try await scene.end()
    }

    @Test(arguments: CookieRow.all)
    func `what is set from a field's value is sent where it belongs`(_ row: CookieRow) async throws {
        let scene = try await CookieScene()
        let from = try #require(URL(string: row.from))
        for field in row.sets { _ = try? await scene.session.cookies.set(field, for: from) }
        #expect(try await scene.get(row.asked) == row.sent)
        try await scene.end()
    }

    @Test func `a cookie set without TLS does not take the place of a secure one`() async throws {
        let scene = try await CookieScene()
        let secure = Cookie(name: "a", value: "1", domain: "example.com", isSecure: true)
        try await scene.session.cookies.set(secure)
        #expect(try await scene.get("http://example.com", setting: ["a=2"]) == nil)
        #expect(try await scene.get("http://example.com") == nil)
        #expect(try await scene.session.cookies.all() == [secure])
        try await scene.end()
    }

    @Test func `a response's cookies are one field, in every kind of request`() async throws {
        let scene = try await CookieScene()
        try await scene.get("http://example.com", setting: ["a=1", "bb=2", "ccc=3"])
        let url = try #require(URL(string: "http://example.com/p"))
        for method in [HTTPMethod.get, .post, .put, .delete] {
            let body: RequestBody? = method == .post || method == .put ? .data(Data("x".utf8)) : nil
            #expect(try await scene.send(HTTPRequest(url: url, method: method, body: body)) == "ccc=3; bb=2; a=1")
        }
        try await scene.end()
    }
}
