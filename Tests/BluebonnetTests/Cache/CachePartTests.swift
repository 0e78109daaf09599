import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Ranges, parts, and the form in which responses are stored (RFC 9111 §3, RFC 9110 §14).
struct CachePartTests {
    @Test(
        arguments: [
            ("bytes=0-4", 0..<5), ("bytes=5-", 5..<10), ("bytes=-3", 7..<10), ("bytes=0-0", 0..<1),
            ("bytes=9-", 9..<10), ("bytes=9-9", 9..<10), ("bytes=8-99", 8..<10), ("bytes=-10", 0..<10),
            ("bytes=-99", 0..<10), ("BYTES=0-4", 0..<5), (" bytes = 0 - 4 ", 0..<5), ("bytes=00-04", 0..<5),
            // Not satisfiable (§14.1.1).
            ("bytes=10-", nil), ("bytes=10-12", nil), ("bytes=-0", nil),
            // Invalid (§14.1.1, §14.1.2).
            ("bytes=4-3", nil), ("bytes=-", nil), ("bytes=", nil), ("bytes", nil), ("", nil), ("bytes=a-b", nil),
            ("bytes=1-b", nil), ("bytes=+1-2", nil), ("bytes=--1", nil), ("bytes=1-2-3", nil),
            ("bytes=99999999999999999999-", nil),
            // Not supported.
            ("bytes=0-1,3-4", nil), ("bytes=0-1, 3-4", nil), ("lines=0-4", nil),
        ] as [(String, Range<Int64>?)])
    func `RFC 9110 §14.1.2: a range of ten bytes`(_ text: String, bytes: Range<Int64>?) {
        #expect(ByteRange(text)?.bytes(in: 10) == bytes)
    }

    @Test func `RFC 9110 §14.1.2: an empty representation has no range`() {
        for text in ["bytes=0-", "bytes=0-0", "bytes=-1"] { #expect(ByteRange(text)?.bytes(in: 0) == nil) }
    }

    @Test(
        arguments: [
            ("bytes 0-4/10", 5, 0..<5), ("bytes 5-9/10", 5, 5..<10), ("bytes 2-2/10", 1, 2..<3),
            ("bytes 0-9/10", 10, 0..<10), ("bytes 5-6/10", 2, 5..<7), ("bytes 4-9/10", 5, nil),
            ("bytes 0-4/10", 6, nil), ("bytes 0-4/*", 5, nil), ("bytes */10", 5, nil), ("bytes 4-3/10", 5, nil),
            ("bytes 0-10/10", 11, nil), ("lines 0-4/10", 5, nil), ("", 5, nil),
        ] as [(String, Int, Range<Int64>?)])
    func `RFC 9110 §14.4: the bytes in a 206 response`(
        _ range: String, count: Int, bytes: Range<Int64>?
    ) throws {
        let response = try CacheFixtures.response(
            ["Content-Range": range, "Content-Length": String(count)], status: 206)
        let extent = Extent(response, count: count)
        #expect(extent?.bytes == bytes)
        #expect(extent.map { $0.total == 10 } ?? true)
    }

    @Test func `§3.3: a lost connection leaves the first bytes of a part`() throws {
        let response = try CacheFixtures.response(
            ["Content-Range": "bytes 0-9/10", "Content-Length": "10"], status: 206)
        #expect(Extent(response, count: 3)?.bytes == 0..<3)
    }

    // MARK: Joining

    struct Join: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var stored: Range<Int>? = 0..<5
        var own: HTTPHeaders = ["ETag": "\"1\""]
        var new: Range<Int>? = 5..<10
        var fields: HTTPHeaders = ["ETag": "\"1\""]
        /// The joined bytes; `nil` if the parts cannot be joined.
        let expected: Range<Int>?
    }

    static let joins: [Join] = [
        Join(testDescription: "§3.4: the rest", expected: 0..<10),
        Join(testDescription: "§3.4: the start", stored: 5..<10, new: 0..<5, expected: 0..<10),
        Join(testDescription: "§3.4: overlapping", stored: 0..<7, new: 3..<10, expected: 0..<10),
        Join(testDescription: "§3.4: within", stored: 0..<8, new: 3..<5, expected: 0..<8),
        Join(testDescription: "§3.4: around", stored: 3..<5, new: 1..<8, expected: 1..<8),
        Join(testDescription: "§3.4: beside", stored: 2..<4, new: 4..<6, expected: 2..<6),
        Join(testDescription: "§3.4: of a whole response", stored: nil, new: 3..<5, expected: 0..<10),
        Join(testDescription: "§3.4: a gap", stored: 0..<4, new: 5..<10, expected: nil),
        Join(testDescription: "§3.4: a gap before", stored: 6..<10, new: 0..<5, expected: nil),
        Join(testDescription: "§3.4: another tag", fields: ["ETag": "\"2\""], expected: nil),
        Join(testDescription: "§3.4: no tag", fields: [:], expected: nil),
        Join(testDescription: "§3.4: no stored tag", own: [:], expected: nil),
        Join(testDescription: "§3.4: weak tags", own: ["ETag": "W/\"1\""], fields: ["ETag": "W/\"1\""], expected: nil),
        Join(
            testDescription: "§3.4: a strong date", own: ["Last-Modified": CacheFixtures.date(-100)],
            fields: ["Last-Modified": CacheFixtures.date(-100)], expected: 0..<10),
        Join(
            testDescription: "§3.4: a weak date", own: ["Last-Modified": CacheFixtures.date(0)],
            fields: ["Last-Modified": CacheFixtures.date(0)], expected: nil),
        Join(
            testDescription: "§3.4: coded", fields: ["ETag": "\"1\"", "Content-Encoding": "gzip"], expected: nil),
    ]

    @Test(arguments: joins) func `parts with the same strong validator are joined`(_ row: Join) throws {
        let text = Array(CacheRule.representation.utf8)
        func message(_ fields: HTTPHeaders, _ part: Range<Int>?, _ mark: String) throws -> (HTTPResponse, String) {
            var fields = fields
            fields.append(name: "X-Part", value: mark)
            fields["Content-Range"] = part.map { "bytes \($0.lowerBound)-\($0.upperBound - 1)/10" }
            let response = try CacheFixtures.response(fields, status: part == nil ? 200 : 206)
            return (response, String(decoding: text[part ?? 0..<10], as: UTF8.self))
        }
        let range = try CacheFixtures.request(["Range": "bytes=0-"])
        let (old, oldBody) = try message(row.own, row.stored, "old")
        let entry = try CacheFixtures.stored(old.headers, status: old.statusCode, body: oldBody, for: range)
        let (new, newBody) = try message(row.fields, row.new, "new")
        let joined = entry.joined(
            with: new, Data(newBody.utf8), to: range, requestTime: CacheFixtures.begin,
            responseTime: CacheFixtures.begin)
        #expect((joined == nil) == (row.expected == nil))
        guard let joined, let expected = row.expected else { return }
        #expect(try joined.body.all() == Data(text[expected]))
        #expect(joined.response.statusCode == (expected == 0..<10 ? 200 : 206))
        #expect(joined.response.headers["X-Part"] == "new")
        #expect(joined.response.headers["Content-Length"] == String(expected.count))
        let state = "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/10"
        #expect(joined.response.headers["Content-Range"] == (expected == 0..<10 ? nil : state))
    }

    // MARK: Storing

    @Test(arguments: [
        "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
        "Proxy-Authenticate", "Proxy-Authentication-Info", "proxy-authorization", "A", "b",
    ])
    func `§3.1: fields of the connection and of proxies are not stored`(_ name: String) throws {
        let headers: HTTPHeaders = [
            HTTPHeader(name: "connection", value: "a, B"),
            HTTPHeader(name: "Connection", value: "C,cache-control,vary"),
            HTTPHeader(name: name, value: "x"), HTTPHeader(name: "D", value: "4"),
            HTTPHeader(name: "Cache-Control", value: "max-age=5"), HTTPHeader(name: "Vary", value: "E"),
        ]
        let kept = try CacheFixtures.stored(headers).response.headers
        #expect(Set(kept.map(\.name)) == ["D", "Cache-Control", "Vary", "Date"])
    }

    @Test func `RFC 9110 §6.6.1: a response without Date is stored with the time of its receipt`() throws {
        let response = HTTPResponse(url: try CacheFixtures.request().url, statusCode: 200)
        let stored = response.stored(count: 0, for: try CacheFixtures.request(), at: CacheFixtures.begin)
        #expect(stored?.headers["Date"] == "Fri, 15 Jan 2027 08:00:00 GMT")
    }

    struct Form: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var status = 200
        var fields: HTTPHeaders
        var count = 4
        var isComplete = false
        var keepsCoding = false
        /// The status code and the `Content-Range` field; `nil` if nothing is stored.
        let expected: String?
    }

    private static let ten: HTTPHeaders = ["Content-Length": "10", "ETag": "\"1\""]
    private static func ten(_ more: HTTPHeader) -> HTTPHeaders { HTTPHeaders(Array(ten) + [more]) }

    static let forms: [Form] = [
        Form(testDescription: "§3.3: an incomplete response", fields: ten, expected: "206 bytes 0-3/10"),
        Form(testDescription: "§3.3: a complete one", fields: ten, count: 10, isComplete: true, expected: "200"),
        Form(testDescription: "§3.3: without a length", fields: ["ETag": "\"1\""], expected: nil),
        Form(testDescription: "§3.3: without a validator", fields: ["Content-Length": "10"], expected: nil),
        Form(
            testDescription: "§3.3: a weak validator", fields: ["Content-Length": "10", "ETag": "W/\"1\""],
            expected: nil),
        Form(testDescription: "§3.3: nothing received", fields: ten, count: 0, expected: nil),
        Form(testDescription: "§3.3: an incomplete 404", status: 404, fields: ten, expected: nil),
        Form(
            testDescription: "§3.3: coded", fields: ten(HTTPHeader(name: "Content-Encoding", value: "gzip")),
            expected: nil),
        Form(
            testDescription: "§3.3: with its coding", fields: ten(HTTPHeader(name: "Content-Encoding", value: "gzip")),
            keepsCoding: true, expected: "206 bytes 0-3/10"),
        Form(
            testDescription: "§3.3: an incomplete part", status: 206,
            fields: ["Content-Length": "6", "ETag": "\"1\"", "Content-Range": "bytes 2-7/10"],
            expected: "206 bytes 2-5/10"),
        Form(
            testDescription: "RFC 9110 §15.3.7: a part of everything", status: 206,
            fields: ["Content-Range": "bytes 0-3/4"], isComplete: true, expected: "200"),
        Form(
            testDescription: "RFC 9110 §14.6: several parts", status: 206,
            fields: ["Content-Type": "multipart/byteranges; boundary=x"], isComplete: true, expected: nil),
    ]

    @Test(arguments: forms) func `an incomplete response is stored as a part`(_ row: Form) throws {
        var settings = CacheSettings()
        settings.keepsCoding = row.keepsCoding
        let request = try CacheFixtures.request(settings: settings)
        let response = try CacheFixtures.response(row.fields, status: row.status)
        let stored = response.stored(
            count: row.count, for: request, at: CacheFixtures.begin, isComplete: row.isComplete)
        let text = stored.map { "\($0.statusCode)" + ($0.headers["Content-Range"].map { " \($0)" } ?? "") }
        #expect(text == row.expected)
    }
}
