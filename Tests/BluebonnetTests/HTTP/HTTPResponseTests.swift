import Bluebonnet
import FoundationEssentials
import Testing

struct HTTPResponseTests {
    private static func response(_ headers: HTTPHeaders, url: String = "http://h/") throws -> HTTPResponse {
        HTTPResponse(url: try url.asURL(), statusCode: 200, headers: headers)
    }

    @Test(
        arguments: [
            ("text/HTML; charset=UTF-8", "text/html", "utf-8"), ("application/json", "application/json", nil),
            ("text/plain; charset=\"ISO-8859-1\"", "text/plain", "iso-8859-1"), ("nonsense", nil, nil), ("", nil, nil),
        ] as [(String, String?, String?)])
    func `the content type has the type and the encoding`(field: String, mimeType: String?, encoding: String?) throws {
        let response = try Self.response(["Content-Type": field])
        #expect(response.mimeType == mimeType)
        #expect(response.textEncoding == encoding)
    }

    @Test(
        arguments: [
            (["Content-Length": "12"], 12), (["Content-Length": "0"], 0), ([:], nil), (["Content-Length": ""], nil),
            (["Content-Length": "-1"], nil), (["Content-Length": "+1"], nil), (["Content-Length": "1 2"], nil),
            (["Content-Length": "99999999999999999999"], nil), (["Content-Length": "0x10"], nil),
            (["Content-Length": "5", "content-length": "5"], 5), (["Content-Length": "5, 5"], 5),
            (["Content-Length": "5, 6"], nil), (["Content-Length": "5,"], nil),
            (["Content-Length": "5", "Content-Encoding": "gzip"], nil),
            (["Content-Length": "5", "Content-Encoding": "Identity"], 5),
            (["Content-Length": "5", "Transfer-Encoding": "chunked"], nil),
        ] as [(HTTPHeaders, Int64?)])
    func `the expected length is that of the decoded body, or unknown`(headers: HTTPHeaders, expected: Int64?) throws {
        #expect(try Self.response(headers).expectedContentLength == expected)
    }

    @Test(arguments: [
        ("attachment; filename=a.txt", "a.txt"),
        ("attachment; filename=\"a b.txt\"", "a b.txt"),
        ("attachment; filename=\"a\\\"b.txt\"", "a\"b.txt"),
        ("attachment; filename=\"../../etc/passwd\"", "passwd"),
        ("attachment; filename=\"C:\\\\Users\\\\me\\\\a.txt\"", "a.txt"),
        ("attachment; filename=\"a\r\nb\u{0}.txt\"", "ab.txt"),
        ("attachment; filename=plain.txt; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
        ("attachment; filename*=iso-8859-1'en'%A3.txt", "£.txt"),
        ("attachment; filename*=UTF-8''..%2F..%2Fa.txt", "a.txt"),
        ("attachment; filename*=UTF-8''%zz; filename=b.txt", "b.txt"),
        ("attachment; filename*=UTF-8''%E4; filename=b.txt", "b.txt"),
        ("attachment; filename*=koi8-r''x; filename=b.txt", "b.txt"),
        ("attachment; filename*=x; filename=b.txt", "b.txt"),
        ("attachment; filename=..", "last"), ("attachment; filename=\".\"", "last"),
        ("attachment; filename=\"dir/\"", "last"), ("attachment; filename=\"\"", "last"), ("inline", "last"),
        ("", "last"),
    ])
    func `the disposition provides a file name and never a path`(field: String, expected: String) throws {
        let response = try Self.response(["Content-Disposition": field], url: "http://h/a/last?x")
        #expect(response.suggestedFilename == expected)
    }

    @Test(
        arguments: [
            ("http://h/a/b.txt?c#d", "b.txt"), ("http://h/na%C3%AFve.txt", "naïve.txt"), ("http://h/a%2F..%2Fb", "b"),
            ("http://h/", nil), ("http://h", nil), ("http://h/a/", nil), ("http://h/..%2F", nil),
            ("http://h/%2E%2E", nil),
        ] as [(String, String?)])
    func `without a disposition, the path provides the file name`(url: String, expected: String?) throws {
        #expect(try Self.response([:], url: url).suggestedFilename == expected)
    }

    @Test func `the description shows no secrets`() throws {
        let response = HTTPResponse(url: try "http://u:p@h/?a=b".asURL(), statusCode: 404, httpVersion: .http2)
        #expect(response.description == "HTTP/2 404 http://h/?a=<redacted>")
    }

    @Test func `a response takes four machine words at most`() {
        #expect(MemoryLayout<HTTPResponse>.size <= 4 * MemoryLayout<Int>.size)
    }
}
