import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct ResumeDecisionTests {
    typealias ResponseMeaning = ResumeDecision.ResponseMeaning

    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    // MARK: Requested ranges

    @Test(
        arguments: [
            (0, nil), (0, 0), (0, 10), (11, 10), (-1, nil),
        ] as [(Int64, Int64?)])
    func `an empty file and a file that is too long cannot be resumed`(_ size: Int64, total: Int64?) {
        #expect(ResumeDecision(size: size, validator: .entityTag("\"a\""), total: total) == nil)
    }

    @Test(
        arguments: [
            (1, nil, .entityTag("\"a\""), "bytes=1-", "\"a\""), (4, 10, .entityTag("\"a\""), "bytes=4-", "\"a\""),
            (9, 10, .lastModified(date), "bytes=9-", date),
            // The file is complete. A request for its last byte shows whether the file has changed.
            (10, 10, .entityTag("\"a\""), "bytes=9-", "\"a\""), (1, 1, .entityTag("\"a\""), "bytes=0-", "\"a\""),
        ] as [(Int64, Int64?, ResumeValidator, String, String)])
    func `the rest is requested on the condition that the file is unchanged`(
        _ size: Int64, total: Int64?, validator: ResumeValidator, range: String, condition: String
    ) throws {
        let decision = try #require(ResumeDecision(size: size, validator: validator, total: total))
        #expect(decision.fields == ["Range": range, "If-Range": condition, "Accept-Encoding": "identity"])
    }

    // MARK: What the answer means

    struct Row: Sendable {
        var size: Int64 = 100
        var total: Int64? = 1000
        var validator = ResumeValidator.entityTag("\"a\"")
        let status: Int
        var headers: HTTPHeaders = [:]
        let answer: ResponseMeaning

        static func part(
            _ contentRange: String?, size: Int64 = 100, total: Int64? = 1000, adding headers: HTTPHeaders = [:],
            _ answer: ResponseMeaning
        ) -> Row {
            var headers = headers
            if let contentRange { headers.append(name: "Content-Range", value: contentRange) }
            return Row(size: size, total: total, status: 206, headers: headers, answer: answer)
        }
    }

    static let parts: [Row] = [
        .part("bytes 100-999/1000", .append(at: 100, end: 1000, total: 1000)),
        .part("bytes 100-999/1000", adding: ["ETag": "\"a\""], .append(at: 100, end: 1000, total: 1000)),
        .part("bytes 100-999/*", .append(at: 100, end: 1000, total: 1000)),
        .part("bytes 100-999/*", total: nil, .append(at: 100, end: 1000, total: nil)),
        .part("bytes 100-999/1000", total: nil, .append(at: 100, end: 1000, total: 1000)),
        // less than requested
        .part("bytes 100-499/1000", .append(at: 100, end: 500, total: 1000)),
        .part("bytes 100-100/1000", .append(at: 100, end: 101, total: 1000)),
        // from before the requested range
        .part("bytes 90-999/1000", .append(at: 90, end: 1000, total: 1000)),
        .part("bytes 0-999/1000", .append(at: 0, end: 1000, total: 1000)),
        // from before, and nothing new
        .part("bytes 0-99/1000", .startOver), .part("bytes 0-0/1000", .startOver),
        // the last byte of a complete file
        .part("bytes 999-999/1000", size: 1000, .append(at: 999, end: 1000, total: 1000)),
        .part("bytes 0-999/1000", size: 1000, .append(at: 0, end: 1000, total: 1000)),
        .part("bytes 0-0/1", size: 1, total: 1, .append(at: 0, end: 1, total: 1)),
        .part("bytes 1000-1000/1001", size: 1000, .startOver),
        // beyond: there would be a hole
        .part("bytes 101-999/1000", .startOver),
        // another whole
        .part("bytes 100-1999/2000", .startOver), .part("bytes 100-500/501", .startOver),
        .part("bytes 100-1000/*", .startOver), .part("bytes 100-999/1000", adding: ["ETag": "\"b\""], .startOver),
        .part("bytes 100-999/1000", adding: ["ETag": "W/\"a\""], .startOver),
        // no part that can be used
        .part(nil, .startOver), .part("bytes */1000", .startOver), .part("items 100-999/1000", .startOver),
        .part("bytes 100-999", .startOver), .part("", .startOver),
        .part(nil, adding: ["Content-Type": "multipart/byteranges; boundary=x"], .startOver),
        .part("bytes 100-199/1000", adding: ["Content-Range": "bytes 200-299/1000"], .startOver),
        .part("bytes 100-999/1000", adding: ["Content-Encoding": "gzip"], .startOver),
        .part(
            "bytes 100-999/1000", adding: ["Content-Encoding": "identity"], .append(at: 100, end: 1000, total: 1000)),
    ]

    static let others: [Row] = [
        Row(status: 200, answer: .whole), Row(status: 200, headers: ["ETag": "\"a\""], answer: .whole),
        Row(status: 200, headers: ["ETag": "\"b\"", "Content-Encoding": "gzip"], answer: .whole),
        // a part that is sent as the whole
        Row(status: 200, headers: ["Content-Range": "bytes 100-999/1000"], answer: .startOver),
        Row(total: nil, status: 200, headers: ["Content-Range": "bytes 100-999/*"], answer: .startOver),
        Row(status: 200, headers: ["Content-Range": "bytes 0-899/1000"], answer: .startOver),
        Row(status: 200, headers: ["ETag": "\"a\"", "Content-Length": "900"], answer: .startOver),
        Row(status: 200, headers: ["Content-Range": "bytes 0-999/1000"], answer: .whole),
        Row(status: 200, headers: ["ETag": "\"a\"", "Content-Length": "1000"], answer: .whole),
        Row(status: 200, headers: ["ETag": "\"b\"", "Content-Length": "900"], answer: .whole),
        Row(total: nil, status: 200, headers: ["ETag": "\"a\"", "Content-Length": "900"], answer: .whole),
        // 416
        Row(total: nil, status: 416, headers: ["Content-Range": "bytes */100"], answer: .complete),
        Row(size: 1000, status: 416, headers: ["Content-Range": "bytes */1000"], answer: .complete),
        Row(total: nil, status: 416, headers: ["Content-Range": "bytes */99"], answer: .startOver),
        Row(total: nil, status: 416, headers: ["Content-Range": "bytes */101"], answer: .startOver),
        Row(status: 416, headers: ["Content-Range": "bytes */100"], answer: .startOver),
        Row(status: 416, headers: ["Content-Range": "bytes */1000"], answer: .startOver),
        Row(total: nil, status: 416, answer: .startOver),
        Row(total: nil, status: 416, headers: ["Content-Range": "bytes 0-99/100"], answer: .startOver),
        Row(
            total: nil, status: 416, headers: ["Content-Range": "bytes */100", "ETag": "\"b\""], answer: .startOver),
        // by date
        Row(
            validator: .lastModified(date), status: 206,
            headers: ["Content-Range": "bytes 100-999/1000", "Last-Modified": date],
            answer: .append(at: 100, end: 1000, total: 1000)),
        Row(
            validator: .lastModified(date), status: 206,
            headers: ["Content-Range": "bytes 100-999/1000", "Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT"],
            answer: .startOver),
    ]

    static let refused: [Row] = [100, 201, 204, 301, 304, 401, 403, 404, 412, 429, 500, 503].map {
        Row(status: $0, answer: .refused(statusCode: $0))
    }

    @Test(arguments: parts + others + refused)
    func `a response is the rest, the whole file, or not usable`(_ row: Row) throws {
        let url = try #require(URL(string: "https://example.com/"))
        let decision = try #require(ResumeDecision(size: row.size, validator: row.validator, total: row.total))
        #expect(decision.answer(HTTPResponse(url: url, statusCode: row.status, headers: row.headers)) == row.answer)
    }
}
