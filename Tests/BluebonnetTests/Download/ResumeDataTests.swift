import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct ResumeDataTests {
    // MARK: What is kept

    @Test func `resume data contains the exchange without its secrets`() throws {
        let url = try #require(URL(string: "https://ada:s3cret@example.com/file.bin?signature=abc"))
        let request = HTTPRequest(
            url: url,
            headers: [
                "Accept": "application/zip", "Authorization": "Bearer s3cret", "Cookie": "sid=s3cret",
                "X-API-Key": "s3cret", "Proxy-Authorization": "s3cret", "Referer": "https://x.example/?token=s3cret",
                "X-Claims": "eyJhbGciOi.s3cret", "Accept-Language": "de", "If-None-Match": "\"x\"",
                "Content-Length": "0",
            ])
        let data = try #require(
            ResumeData(
                request: request, response: try response(["ETag": "\"a\"", "Content-Length": "1000"]), path: path))
        #expect(data.url.absoluteString == "https://example.com/file.bin?signature=abc")
        #expect(data.headers == ["Accept": "application/zip", "Accept-Language": "de"])
        #expect(data.validator == .entityTag("\"a\"") && data.total == 1000 && data.bytes == 0 && data.path == path)
        #expect(!String(decoding: data.encoded(), as: UTF8.self).contains("s3cret"))
        #expect(data.isOf(request) && data.request.method == .get)
    }

    struct Exchange: Sendable {
        var method = HTTPMethod.get
        var fields: HTTPHeaders = [:]
        var status = 200
        var headers: HTTPHeaders = ["ETag": "\"a\""]
    }

    static let exchanges: [Exchange] = [
        Exchange(method: .post), Exchange(method: .head), Exchange(method: .query),
        Exchange(fields: ["range": "bytes=0-99"]), Exchange(status: 206), Exchange(status: 203), Exchange(status: 404),
        Exchange(headers: [:]), Exchange(headers: ["ETag": "W/\"a\""]),
        Exchange(headers: ["ETag": "\"a\"", "Content-Encoding": "gzip"]),
    ]

    @Test(arguments: exchanges)
    func `an exchange that cannot be resumed has no resume data`(_ exchange: Exchange) throws {
        let url = try #require(URL(string: "https://example.com/"))
        let request = HTTPRequest(url: url, method: exchange.method, headers: exchange.fields)
        let response = HTTPResponse(url: url, statusCode: exchange.status, headers: exchange.headers)
        #expect(ResumeData(request: request, response: response, path: path) == nil)
    }

    @Test(
        arguments: [
            ("https://example.com/a", "https://example.com/a", true),
            ("https://example.com/a", "https://u:p@example.com/a", true),
            ("https://example.com/a", "https://example.com/b", false),
            ("https://example.com/a", "https://example.com/a?x=1", false),
            ("https://example.com/a", "http://example.com/a", false),
        ] as [(String, String, Bool)])
    func `resume data matches a resource with the same URL`(_ one: String, other: String, expected: Bool) throws {
        let data = try sample(url: one)
        let url = try #require(URL(string: other))
        #expect(data.isOf(HTTPRequest(url: url)) == expected)
        #expect(!data.isOf(HTTPRequest(url: url, method: .post)))
        #expect(!data.isOf(HTTPRequest(url: url, headers: ["Range": "bytes=1-"])))
    }

    // MARK: Encoding

    @Test func `encoded resume data decodes to the same value`() throws {
        for validator in [ResumeValidator.entityTag("\"é\""), .lastModified("Sun, 06 Nov 1994 08:49:37 GMT")] {
            for total in [nil, 0, 77, Int64.max] as [Int64?] {
                var data = try sample(url: "https://example.com/ü?a=b")
                data.headers = ["A": "1", "a": "2", "B": "\"/\\é"]
                (data.validator, data.total, data.bytes) = (validator, total, 12_345_678_901)
                #expect(try ResumeData(decoding: data.encoded()) == data)
            }
        }
    }

    @Test(arguments: [
        ("version", "2"), ("version", "\"1\""), ("version", "null"), ("url", "\"\""), ("url", "\"ftp://example.com/\""),
        ("url", "\"file:///etc/passwd\""), ("url", "\"/relative\""), ("url", "7"), ("headers", "[[\"a\"]]"),
        ("headers", "[[\"a\",\"b\",\"c\"]]"), ("headers", "[[\"a b\",\"c\"]]"),
        ("headers", "[[\"a\",\"b\\r\\nc: d\"]]"),
        ("headers", "{}"), ("entityTag", "null"), ("entityTag", "\"a\""), ("entityTag", "\"W/\\\"a\\\"\""),
        ("entityTag", "\"\\\"a\\r\\nb\\\"\""), ("total", "-1"), ("total", "1.5"), ("total", "9223372036854775808"),
        ("bytes", "-1"), ("bytes", "null"), ("path", "\"\""), ("path", "\"relative/.x.part\""),
        ("path", "\"/etc/passwd\""),
        ("path", "\"/etc/.passwd\""), ("path", "\"/etc/passwd.part\""), ("path", "\"/tmp/.a\\u0000/.x.part\""),
        ("path", "null"),
    ])
    func `changed resume data is refused`(_ member: String, value: String) throws {
        let valid: [String: String] = [
            "version": "1", "id": "\"x\"", "url": "\"https://example.com/\"", "headers": "[]",
            "entityTag": "\"\\\"a\\\"\"", "total": "10", "path": "\"/tmp/.x.part\"", "bytes": "5",
        ]
        #expect(throws: Never.self) { try ResumeData(decoding: json(valid)) }
        #expect { try ResumeData(decoding: json(valid.merging([member: value]) { $1 })) } throws: {
            ($0 as? RequestError)?.kind == .download(.resumeDataInvalid)
        }
    }

    @Test(arguments: [
        Data(), Data("junk".utf8), Data("[]".utf8), Data("{}".utf8), Data([0xff, 0xfe, 0x00]),
        Data("{\"version\":1".utf8),
        Data("{\"version\":1}".utf8), Data(repeating: 0x20, count: ResumeData.limit + 1),
        Data(String(repeating: "[", count: 100_000).utf8),
    ])
    func `random bytes are refused`(_ data: Data) {
        #expect { try ResumeData(decoding: data) } throws: {
            ($0 as? RequestError)?.kind == .download(.resumeDataInvalid)
        }
    }

    // MARK: Helpers

    private let path = "/tmp/.x.part"

    private func json(_ members: [String: String]) -> Data {
        Data(("{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}").utf8)
    }

    private func sample(url: String) throws -> ResumeData {
        ResumeData(
            id: "x", url: try #require(URL(string: url)), headers: [:], validator: .entityTag("\"a\""), total: 10,
            path: path, bytes: 5)
    }

    private func response(_ headers: HTTPHeaders) throws -> HTTPResponse {
        HTTPResponse(url: try #require(URL(string: "https://example.com/")), statusCode: 200, headers: headers)
    }
}
