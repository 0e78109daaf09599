import Bluebonnet
import Testing

struct MediaTypeTests {
    @Test(arguments: [
        ("text/html", "text/html"), ("Text/HTML;charset=utf-8", "text/html"), (" a/b ; c=d", "a/b"), ("*/*", "*/*"),
        ("image/*;q=0.5", "image/*"), ("application/vnd.api+json", "application/vnd.api+json"),
        ("text/html, text/plain", "text/html"), ("a/b\t", "a/b"),
    ])
    func `type and subtype are converted to lower case`(text: String, essence: String) {
        #expect(MediaType(text)?.essence == essence)
    }

    @Test(arguments: ["", "text", "/", "a/", "/b", "a b/c", "a/b c", "a/b/c", "ä/b", ";a/b", "a;b/c", "a /b"])
    func `text that is not two tokens is not a media type`(text: String) {
        #expect(MediaType(text) == nil)
    }

    @Test(arguments: [
        ("a/b; charset=utf-8", "utf-8"), ("a/b;charset=\"utf-8\"", "utf-8"), ("a/b; CHARSET = x ;y=z", "x"),
        ("a/b; x=\"a;charset=no\\\"\"; charset=yes", "yes"), ("a/b; charset=\"a\\\\b\"", "a\\b"),
        ("a/b;;;charset=x", "x"), ("a/b; charset=x; charset=y", "x"), ("a/b; charset=", ""),
        ("a/b; charset=\"x", "x"), ("a/b; charset=\"x\\", "x\\"), ("a/b; flag; charset=x", "x"),
    ])
    func `a parameter is found`(text: String, value: String) {
        #expect(MediaType(text)?.parameter("charset") == value)
    }

    @Test(arguments: ["a/b", "a/b; xcharset=y", "a/b; x=charset=y", "a/b; =y", "a/b;", "a/b; charset"])
    func `a parameter that is not there is nil`(text: String) throws {
        let mediaType = try #require(MediaType(text))
        #expect(mediaType.parameter("charset") == nil)
    }

    @Test(arguments: [
        ("*/*", "text/html", true), ("text/*", "text/html", true), ("text/html", "text/html;charset=x", true),
        ("TEXT/html", "text/HTML", true), ("text/html", "text/plain", false), ("text/*", "image/png", false),
        ("*/json", "application/json", true), ("text/html", "*/*", true),
    ])
    func `a range matches all types of its wildcards`(range: String, other: String, expected: Bool) throws {
        #expect(try #require(MediaType(range)).matches(try #require(MediaType(other))) == expected)
    }

    @Test func `media types are equal when their parameters are`() {
        #expect(MediaType("a/b;c=d") == MediaType("A/B; C=\"d\""))
        #expect(MediaType("a/b;c=d") != MediaType("a/b;c=D"))
        #expect(Set([MediaType("a/b;c=d"), MediaType("A/B; C=\"d\"")]).count == 1)
    }
}
