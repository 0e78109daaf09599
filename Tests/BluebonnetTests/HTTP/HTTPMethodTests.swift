import Bluebonnet
import Testing

struct HTTPMethodTests {
    @Test(arguments: ["GET", "get", "M-SEARCH", "!#$%&'*+-.^_`|~09azAZ"])
    func `a token is a method`(text: String) {
        #expect(HTTPMethod(rawValue: text).isValid)
    }

    @Test(arguments: ["", "GET ", "G ET", "GET\r\nX: y", "GÉT", "GET/", "\u{0}", "a,b", "{", "\u{7f}"])
    func `text that is not a token is not a method`(text: String) {
        #expect(!HTTPMethod(rawValue: text).isValid)
    }

    @Test func `methods are case-sensitive`() {
        #expect(HTTPMethod.get != HTTPMethod(rawValue: "get"))
        #expect(HTTPMethod.get == HTTPMethod(rawValue: "GET"))
    }

    @Test func `the constants are the registered names`() {
        let methods: [HTTPMethod] = [.connect, .delete, .get, .head, .options, .patch, .post, .put, .query, .trace]
        #expect(
            methods.map(\.description)
                == ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"])
    }

    @Test(arguments: [(HTTPVersion.http1_0, "HTTP/1.0"), (.http1_1, "HTTP/1.1"), (.http2, "HTTP/2")])
    func `a version is described as in a status line`(version: HTTPVersion, text: String) {
        #expect(version.description == text)
    }

    @Test func `default timeouts are 30 s to connect and 60 s idle`() {
        #expect(Timeouts.default.connect == .seconds(30) && Timeouts.default.idle == .seconds(60))
        #expect(Timeouts.default.pool == nil && Timeouts.default.total == nil)
    }
}
