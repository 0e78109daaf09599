import Bluebonnet
import FoundationEssentials
import Testing

struct HTTPRequestTests {
    @Test(arguments: [
        "http://h", "https://h/", "HTTPS://H/p?q#f", "http://h:80/", "http://h:/", "http://h:0/", "http://h:65535/",
        "http://[::1]:8080/", "http://[fe80::1%25eth0]/", "http://user:p%40ss@h:80/", "http://h?x=http://y:99999",
        "http://h#@:99999", "http://münchen.de/", "http://m%C3%BCnchen.de/", "http://a_b.c-d/", "http://1.2.3.4",
        "http://user:99999@h/",
    ])
    func `a web URL with a host can be requested`(text: String) throws {
        try HTTPRequest(url: text).validate()
    }

    @Test(arguments: [
        ("http://", "no host"), ("http:/x", "no host"), ("http:x", "no host"), ("http:///x", "no host"),
        ("http://:80/", "no host"), ("http://user@/", "no host"), ("http://?x", "no host"), ("https://#f", "no host"),
        ("//h/x", "no scheme"), ("h/x", "no scheme"), ("?q", "no scheme"), ("h", "no scheme"),
        ("http://h:65536/", "the port is not one"), ("http://h:99999999999999999999999/", "the port is not one"),
        ("http://[::1]:70000/", "the port is not one"),
        ("http://exa%20mple.com", "the host is not a name"), ("http://h%2fx/", "the host is not a name"),
        ("http://%00/", "the host is not a name"), ("http://%E4/", "the host is not a name"),
        ("http://a%40b/", "the host is not a name"), ("http://h%0d%0a/", "the host is not a name"),
    ])
    func `a URL that cannot be requested is refused with the reason`(text: String, detail: String) throws {
        let request = try HTTPRequest(url: text)
        let error = #expect(throws: RequestError.self) { try request.validate() }
        #expect(error?.kind == .invalidURL)
        #expect(error?.url == request.url.redactedDescription)
        #expect(error?.detail == detail)
    }

    @Test(arguments: [
        ("ftp://h/", "ftp"), ("file:///etc/passwd", "file"), ("mailto:a@b", "mailto"), ("httpx://h", "httpx"),
    ])
    func `another scheme is refused by name`(text: String, scheme: String) throws {
        let error = #expect(throws: RequestError.self) { try HTTPRequest(url: text).validate() }
        #expect(error?.kind == .invalidRequest(.unsupportedScheme(scheme)))
    }

    @Test(arguments: ["", "http://h\r\nX: y/", "http://h h/", "http://[::1/", "http://h:ab/"])
    func `text that is not a URL is refused when the request is created`(text: String) {
        let error = #expect(throws: RequestError.self) { try HTTPRequest(url: text) }
        #expect(error?.kind == .invalidURL)
        #expect(error?.url == redactedURL(text))
    }

    @Test func `an invalid method is refused`() throws {
        var request = try HTTPRequest(url: "http://h/")
        request.method = HTTPMethod(rawValue: "GET / HTTP/1.1\r\n")
        let error = #expect(throws: RequestError.self) { try request.validate() }
        #expect(error?.kind == .invalidRequest(.method("GET / HTTP/1.1\r\n")))
    }

    @Test func `invalid fields are refused`() throws {
        let request = try HTTPRequest(url: "http://h/", headers: ["A b": "c"])
        let error = #expect(throws: RequestError.self) { try request.validate() }
        #expect(error?.kind == .invalidRequest(.fieldName("A b")))
    }

    @Test func `a GET, HEAD or TRACE with a body is refused, and any other method may have one`() throws {
        var request = try HTTPRequest(url: "http://h/", body: .data(Data()))
        for method in [HTTPMethod.get, .head, .trace] {
            request.method = method
            let error = #expect(throws: RequestError.self) { try request.validate() }
            #expect(error?.kind == .invalidRequest(.bodyDataInGETRequest))
        }
        for method in [HTTPMethod.post, .put, .patch, .delete, .query, .options] {
            request.method = method
            try request.validate()
        }
    }

    @Test func `a custom error is the underlying error`() {
        struct Odd: Error {}
        struct Route: URLConvertible {
            func asURL() throws -> URL { throw Odd() }
        }
        let error = #expect(throws: RequestError.self) { try HTTPRequest(url: Route()) }
        #expect(error?.kind == .invalidRequest(.conversion))
        #expect(error?.underlying is Odd)
    }

    @Test func `the description shows method and URL without secrets`() throws {
        let request = try HTTPRequest(url: "https://me:pw@h/a?token=s", method: .post)
        #expect(request.description == "POST https://h/a?token=<redacted>")
    }

    @Test func `a request is created from a URL without try`() {
        let url = URL(filePath: "/")
        #expect(HTTPRequest(url: url).method == .get)
        #expect(HTTPRequest(url: url, method: .put, headers: ["A": "b"]).headers["a"] == "b")
    }

    @Test func `components are converted to a URL or to an error without secrets`() throws {
        var components = URLComponents()
        components.scheme = "https"
        components.host = "h"
        #expect(try components.asURL().absoluteString == "https://h")
        components.path = "no-slash"
        components.query = "token=s3cret"
        let error = #expect(throws: RequestError.self) { try components.asURL() }
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func `a body in memory has a length and is replayable`() {
        let body = RequestBody.data(Data([1, 2, 3]))
        #expect(body.data == Data([1, 2, 3]))
        #expect(body.length == 3)
        #expect(body.isReplayable)
    }

    @Test(arguments: [
        ("http://h/a?b=c", "http://h/a?b=c"),
        ("http://h/a?b=c#d", "http://h/a?b=c"),
        ("http://h#d?e#", "http://h"),
        ("http://h/m%C3%BC", "http://h/m%C3%BC"),
        ("http://m%C3%BCnchen.de:8080/ü?q=ü#ü", "http://xn--mnchen-3ya.de:8080/%C3%BC?q=%C3%BC"),
        ("http://u:p%40@m%C3%BCnchen.de", "http://u:p%40@xn--mnchen-3ya.de"),
        ("http://%61%2db/", "http://a-b/"),
        ("http://[fe80::1%25eth0]/", "http://[fe80::1%25eth0]/"),
        ("http://h%20x/", "http://h%20x/"),
        ("http://%E4/#f", "http://%E4/"),
    ])
    func `libcurl receives no fragment and the host in ASCII`(text: String, expected: String) throws {
        #expect(try text.asURL().curlString == expected)
    }

    // With Foundation in the process, `URL` encodes an international name for DNS itself; without, by percent signs.
    @Test func `the name of a URL is passed to libcurl in one of two forms`() throws {
        #expect(try "http://münchen.de/".asURL().curlString == "http://xn--mnchen-3ya.de/")
        let text = try #require(URL(string: "http://münchen.de/")).curlString
        #expect(["http://münchen.de/", "http://xn--mnchen-3ya.de/"].contains(text))
    }

    @Test func `a space in the host is refused`() {
        #expect(throws: RequestError.self) { try HTTPRequest(url: "http://exa mple.com").validate() }
    }

    @Test func `a relative URL is resolved before it is sent`() throws {
        let url = try #require(URL(string: "b?c", relativeTo: URL(string: "http://h/a/x")))
        try HTTPRequest(url: url).validate()
        #expect(url.curlString == "http://h/a/b?c")
    }
}
