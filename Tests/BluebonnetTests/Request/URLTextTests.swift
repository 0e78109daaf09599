import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// URLs of text that is not quite a URL, as in the URL standard (WHATWG).
@Suite(.timeLimit(.minutes(10))) struct URLTextTests {
    private static let same = [
        "https://a.test", "https://a.test/", "https://a.test/a%2Fb?c=%2B&d=%20#e%25", "http://u:p@a.test:80/?a#b",
        "http://[::1]:8080/a", "/a/b?c", "a.b?c=d", "//a.test/x", "http://a.test?x", "https://a.test/a..b/.c/d...",
        "mailto:a@b.test", "https://a.test/~a!$&'()*+,;=:@/-._",
    ]

    @Test(arguments: same) func `a valid URL does not change`(_ text: String) {
        #expect(URLText.url(text)?.relativeString == text)
        #expect(URLText.url(text) == URL(string: text))
    }

    @Test(arguments: [
        // Existing escapes stay.
        ("https://a.test/?tag[]=1&sig=a%2Bb%3D", "https://a.test/?tag%5B%5D=1&sig=a%2Bb%3D"),
        ("/pg?ids[]=7&cursor=eyJpZCI6N30%3D", "/pg?ids%5B%5D=7&cursor=eyJpZCI6N30%3D"),
        ("https://a.test/a b%20c", "https://a.test/a%20b%20c"),
        ("https://a.test/caf\u{e9}%2F", "https://a.test/caf%C3%A9%2F"),
        ("https://a.test/a|b^c`{}\"<>%7C", "https://a.test/a%7Cb%5Ec%60%7B%7D%22%3C%3E%7C"),
        ("https://a.test/100%/%zz%4/%41", "https://a.test/100%25/%25zz%254/%41"),
        ("https://a.test/a#b#c d%20", "https://a.test/a#b%23c%20d%20"),
        ("https://[::1]:8080/[a]%5B", "https://[::1]:8080/%5Ba%5D%5B"),
        ("https://u:p%40@a.test/[]", "https://u:p%40@a.test/%5B%5D"),
        // Text from a file.
        (" https://a.test/a\n", "https://a.test/a"), ("\thttps://a.test/?a\nb\r\n", "https://a.test/?a%0Ab"),
        // Segments of dots, and backslashes.
        ("https://a.test/a/./b/../c", "https://a.test/a/c"), ("https://a.test/a/..", "https://a.test/"),
        ("https://a.test/../%2e%2E/a%2Fb", "https://a.test/a%2Fb"),
        ("https://a.test\\@b.test/", "https://a.test/@b.test/"),
        ("https://a.test/a\\b?c\\d", "https://a.test/a/b?c%5Cd"), ("../a b", "../a%20b"),
        // International names are one origin in both of their forms.
        ("http://bücher.example:8080/", "http://xn--bcher-kva.example:8080/"),
        ("https://u@B%C3%BCcher.example", "https://u@xn--bcher-kva.example"),
        ("http://exa%6Dple.test/", "http://example.test/"),
        // No user.
        ("http://@a.test/", "http://a.test/"), ("http://:@a.test/[", "http://a.test/%5B"),
    ])
    func `only what is invalid changes`(_ text: String, result: String) {
        #expect(URLText.url(text)?.relativeString == result)
    }

    @Test func `a name and its ASCII form are one origin`() throws {
        let plain = Origin(of: try #require(URL(string: "http://xn--bcher-kva.example/")))
        for text in ["http://bücher.example/", "http://b%C3%BCcher.example/", "http://BÜCHER.example/"] {
            #expect(Origin(of: try #require(URL(string: text))) == plain)
            #expect(Origin(of: try #require(URLText.url(text))) == plain)
        }
    }

    @Test func `the server receives what was escaped once`() async throws {
        let server = try await LocalServer { router in
            router.get("/first") { _ in
                .text("1", headers: ["Link": "</pg?ids[]=7&cursor=eyJpZCI6N30%3D>; rel=\"next\""])
            }
            router.fallback { .text($0.target) }
        }
        let session = TestHarness.session { $0.baseURL = server.url("/v1/") }
        let query = "?tag[]=1&sig=a%2Bb%3D"
        for (text, target) in [
            ("\(server.url("/a"))\(query)", "/a?tag%5B%5D=1&sig=a%2Bb%3D"),
            ("b\(query)", "/v1/b?tag%5B%5D=1&sig=a%2Bb%3D"),
            ("users:batchGet", "/v1/users:batchGet"), ("\(server.url("/a"))/../c d%20e\n", "/c%20d%20e"),
        ] {
            #expect(try await session.request(text).serializingString().value == target)
        }
        let first = await session.request("/first").serializingString().response
        let link = try #require(first.response?.link(relation: "next"))
        let target = "/pg?ids%5B%5D=7&cursor=eyJpZCI6N30%3D"
        #expect(try await session.request(link).serializingString().value == target)
        try await TestHarness.end(session, server)
    }
}
