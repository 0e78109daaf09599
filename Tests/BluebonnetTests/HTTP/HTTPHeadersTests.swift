import Bluebonnet
import Testing

struct HTTPHeadersTests {
    @Test func `appending keeps fields with the same name`() {
        var headers: HTTPHeaders = ["Accept": "a"]
        headers.append(name: "accept", value: "b")
        headers.append(HTTPHeader(name: "ACCEPT", value: "c"))
        #expect(headers.values(for: "Accept") == ["a", "b", "c"])
        #expect(headers.value(for: "accept") == "a, b, c")
        #expect(headers["aCCept"] == "a, b, c")
        #expect(headers.count == 3)
    }

    @Test func `updating replaces all fields with the name at the position of the first field`() {
        var headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3", "C": "4", "A": "5"]
        headers.update(name: "a", value: "6")
        #expect(headers.map(\.name) == ["A", "B", "C"].map { $0 == "A" ? "a" : $0 })
        #expect(headers.map(\.value) == ["6", "2", "4"])
    }

    @Test func `updating a missing name appends`() {
        var headers: HTTPHeaders = ["A": "1"]
        headers.update(HTTPHeader(name: "B", value: "2"))
        #expect(headers.map(\.name) == ["A", "B"])
    }

    @Test func `the subscript updates a field, and nil removes it`() {
        var headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3"]
        headers["a"] = "4"
        #expect(headers.map(\.value) == ["4", "2"])
        headers["A"] = nil
        #expect(headers.map(\.name) == ["B"])
        headers["missing"] = nil
        #expect(headers.count == 1)
        #expect(headers["A"] == nil)
    }

    @Test func `removing removes all fields with the name`() {
        var headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3"]
        headers.remove(name: "a")
        #expect(headers.map(\.name) == ["B"])
        #expect(!headers.contains("A"))
        #expect(headers.contains("b"))
    }

    @Test func `a dictionary is sorted by name`() {
        let dictionary = ["C": "3", "A": "1", "B": "2", "D": "4"]
        #expect(HTTPHeaders(dictionary).map(\.name) == ["A", "B", "C", "D"])
    }

    @Test func `literals keep their order and repetitions`() {
        let pairs: HTTPHeaders = ["B": "1", "A": "2", "B": "3"]
        let list: HTTPHeaders = [.accept("x"), .accept("y")]
        #expect(pairs.map(\.name) == ["B", "A", "B"])
        #expect(list.map(\.value) == ["x", "y"])
    }

    @Test func `sorting ignores case and is stable`() {
        var headers: HTTPHeaders = ["b": "1", "A": "2", "B": "3", "a": "4"]
        #expect(headers.sorted().map(\.value) == ["2", "4", "1", "3"])
        headers.sort()
        #expect(headers.map(\.value) == ["2", "4", "1", "3"])
    }

    @Test func `the dictionary joins repeated fields under the first name`() {
        let headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3"]
        #expect(headers.dictionary == ["A": "1, 3", "B": "2"])
    }

    @Test func `the case of names does not affect equality`() {
        #expect(HTTPHeader(name: "A", value: "x") == HTTPHeader(name: "a", value: "x"))
        #expect(HTTPHeader(name: "A", value: "x") != HTTPHeader(name: "a", value: "X"))
        #expect(Set([HTTPHeader(name: "A", value: "x"), HTTPHeader(name: "a", value: "x")]).count == 1)
        #expect(HTTPHeaders([.accept("x")]) == ["ACCEPT": "x"])
        #expect(HTTPHeaders(["A": "1", "B": "2"] as [String: String]) != ["B": "2", "A": "1"])
    }

    @Test func `only ASCII letters are compared without case`() {
        let headers: HTTPHeaders = ["K": "kelvin", "ä": "1"]
        #expect(headers["\u{212a}"] == nil)
        #expect(headers["Ä"] == nil)
        #expect(headers["k"] == "kelvin")
    }

    @Test(arguments: ["", " ", "A B", "A:", "A\r\nB", "Ä", "A\u{0}", "(a)"])
    func `a name that is not a token is refused`(name: String) {
        let error = #expect(throws: RequestError.self) {
            try HTTPHeaders([HTTPHeader(name: "Ok", value: ""), HTTPHeader(name: name, value: "x")]).validate()
        }
        #expect(error?.kind == .invalidRequest(.fieldName(name)))
    }

    @Test(arguments: ["a\r\nB: c", "a\nb", "a\rb", "\u{0}", "a long value in which there is one\n"])
    func `a value with CR, LF or NUL is refused and not shown`(value: String) {
        let error = #expect(throws: RequestError.self) {
            try HTTPHeaders([HTTPHeader(name: "X-Name", value: value)]).validate()
        }
        #expect(error?.kind == .invalidRequest(.fieldValue(name: "X-Name")))
        #expect(error?.description.contains(value) == false)
    }

    @Test(arguments: ["", " ", "a\tb", "naïve ☂", "\u{1}", "\"quoted\""])
    func `any other value can be sent`(value: String) throws {
        try HTTPHeaders([HTTPHeader(name: "X-Name", value: value)]).validate()
    }

    @Test(arguments: [
        "Authorization", "authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Auth-Token", "X-API-Key",
        "X-Api-Key", "apikey", "X-Amz-Security-Token", "X-Secret", "X-CSRF-Token", "X-Auth", "X_Access_Key",
    ])
    func `the description of a field with secrets does not show them`(name: String) {
        let headers: HTTPHeaders = ["Accept": "x", name: "s3cret"]
        #expect(headers.description == "Accept: x\n\(name): <redacted>")
    }

    @Test(arguments: ["Accept", "Content-Type", "ETag", "Idempotency-Key", "Author", "WWW-Authenticate"])
    func `the description of other fields shows the value`(name: String) {
        #expect(HTTPHeader(name: name, value: "x").description == "\(name): x")
    }

    @Test func `the description of a field with a URL redacts the URL`() {
        let header = HTTPHeader(name: "Location", value: "https://u:p@h/a?code=1")
        #expect(header.description == "Location: https://h/a?code=<redacted>")
    }

    @Test(arguments: [
        (HTTPHeader.accept("v"), "Accept: v"),
        (.acceptCharset("v"), "Accept-Charset: v"),
        (.acceptLanguage("v"), "Accept-Language: v"),
        (.acceptEncoding("v"), "Accept-Encoding: v"),
        (.authorization("v"), "Authorization: v"),
        (.authorization(bearerToken: "t"), "Authorization: Bearer t"),
        (.authorization(username: "Aladdin", password: "sesame"), "Authorization: Basic QWxhZGRpbjpzZXNhbWU="),
        (.authorization(username: "test", password: "123£"), "Authorization: Basic dGVzdDoxMjPCow=="),
        (.contentDisposition("v"), "Content-Disposition: v"),
        (.contentEncoding("v"), "Content-Encoding: v"),
        (.contentType("v"), "Content-Type: v"),
        (.userAgent("v"), "User-Agent: v"),
        (.websocketProtocol("v"), "Sec-WebSocket-Protocol: v"),
    ])
    func `a factory creates the field of its name`(header: HTTPHeader, expected: String) {
        #expect("\(header.name): \(header.value)" == expected)
    }
}
