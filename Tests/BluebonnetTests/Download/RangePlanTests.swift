import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The decisions of a parallel download, without a network.
struct RangePlanTests {
    private static let size: Int64 = 2_000_000
    private static let url = "https://example.com/a"

    private static func response(
        _ status: Int, _ headers: HTTPHeaders, at url: String = url
    ) throws -> HTTPResponse {
        HTTPResponse(url: try #require(URL(string: url)), statusCode: status, headers: headers)
    }

    private static func plan() throws -> RangePlan {
        let response = try response(206, ["Content-Range": "bytes 0-1999999/2000000", "ETag": "\"one\""])
        return try #require(try RangePlan.begun(by: response, to: url, hasRange: true, count: 4))
    }

    // MARK: Parts

    @Test(
        arguments: [0, 1, 3, RangePlan.minimumSize - 1, 2 * RangePlan.minimumSize, size, 1 << 40, .max],
        [Int.min, -1, 0, 1, 2, 3, 4, 7, 32, 33, .max])
    func `the parts have no gaps and nearly the same size`(total: Int64, count: Int) throws {
        let parts = RangePlan.parts(of: total, count: count)
        #expect(parts.count >= 1 && parts.count <= max(1, min(count, RangePlan.maximumCount)))
        var start: Int64 = 0
        for part in parts {
            #expect(part.position == start && part.end >= start)
            #expect(parts.count == 1 || part.end - start >= RangePlan.minimumSize)
            #expect(abs((part.end - start) - total / Int64(parts.count)) <= 1)
            start = part.end
        }
        #expect(start == total)
    }

    // MARK: The first response

    /// A first response, and the plan: its entity tag, total and number of parts.
    struct First: Sendable, CustomTestStringConvertible {
        let status: Int
        let headers: HTTPHeaders
        var hasRange = true
        let result: Result

        enum Result: Equatable {
            case plan(tag: String?, total: Int64?, count: Int)
            case requestWhole, malformed
        }

        var testDescription: String { "\(status) \(headers) \(hasRange)" }
    }

    static let first: [First] = [
        First(
            status: 206, headers: ["Content-Range": "bytes 0-1999999/2000000", "ETag": "\"one\""],
            result: .plan(tag: "\"one\"", total: 2_000_000, count: 4)),
        First(
            status: 206, headers: ["Content-Range": "bytes 0-99/2000000", "ETag": "\"one\""],
            result: .plan(tag: "\"one\"", total: 2_000_000, count: 4)),
        First(
            status: 206, headers: ["Content-Range": "bytes 0-2/3", "ETag": "\"one\""],
            result: .plan(tag: "\"one\"", total: 3, count: 1)),
        First(
            status: 206, headers: ["Content-Range": "bytes 0-1999999/2000000", "ETag": "W/\"one\""],
            result: .plan(tag: nil, total: 2_000_000, count: 1)),
        First(
            status: 206, headers: ["Content-Range": "bytes 0-1999999/2000000"],
            result: .plan(tag: nil, total: 2_000_000, count: 1)),
        First(
            status: 206,
            headers: [
                "Content-Range": "bytes 0-9/10", "Last-Modified": "Sat, 21 Nov 2026 10:00:00 GMT",
                "Date": "Sat, 21 Nov 2026 11:00:00 GMT",
            ], result: .plan(tag: nil, total: 10, count: 1)),
        First(status: 206, headers: ["Content-Range": "bytes 0-99/2000000"], result: .requestWhole),
        First(status: 206, headers: ["Content-Range": "bytes 0-99/*", "ETag": "\"one\""], result: .requestWhole),
        First(
            status: 200, headers: ["Content-Length": "2000000", "ETag": "\"one\""],
            result: .plan(tag: nil, total: 2_000_000, count: 1)),
        First(status: 200, headers: [:], result: .plan(tag: nil, total: nil, count: 1)),
        First(status: 200, headers: ["Content-Length": "0"], result: .plan(tag: nil, total: 0, count: 1)),
        First(
            status: 200, headers: ["Content-Length": "99999999999999999999"],
            result: .plan(tag: nil, total: nil, count: 1)),
        First(
            status: 200, headers: ["Content-Length": "5"], hasRange: false,
            result: .plan(tag: nil, total: 5, count: 1)),
        First(status: 416, headers: ["Content-Range": "bytes */0"], result: .requestWhole),
        First(status: 416, headers: ["Content-Range": "bytes */0"], hasRange: false, result: .malformed),
        First(status: 206, headers: ["Content-Range": "bytes 0-9/10"], hasRange: false, result: .malformed),
        First(status: 206, headers: ["ETag": "\"one\""], result: .malformed),
        First(status: 206, headers: ["Content-Range": "bytes */10", "ETag": "\"one\""], result: .malformed),
        First(status: 206, headers: ["Content-Range": "bytes 1-9/10", "ETag": "\"one\""], result: .malformed),
        First(status: 206, headers: ["Content-Range": "bytes 0-10/10", "ETag": "\"one\""], result: .malformed),
        First(status: 206, headers: ["Content-Range": "bytes 0-0/0", "ETag": "\"one\""], result: .malformed),
        First(
            status: 206, headers: ["Content-Range": "bytes 0-9/99999999999999999999", "ETag": "\"one\""],
            result: .malformed),
        First(
            status: 206,
            headers: ["Content-Range": "bytes 0-9/10", "ETag": "\"one\"", "Content-Encoding": "gzip"],
            result: .malformed),
        First(status: 204, headers: [:], result: .malformed),
    ]

    @Test(arguments: first) func `the first response decides about the parts`(row: First) throws {
        let response = try Self.response(row.status, row.headers)
        let result: First.Result
        do {
            let plan = try RangePlan.begun(by: response, to: Self.url, hasRange: row.hasRange, count: 4)
            result = plan.map { .plan(tag: $0.entityTag, total: $0.total, count: $0.parts.count) } ?? .requestWhole
            if let plan {
                #expect(plan.url == Self.url && plan.location == Self.url && plan.completed == 0)
                #expect(plan.parts.last?.end == plan.total ?? .max)
            }
        } catch {
            result = error.kind == .invalidResponse(.malformed) ? .malformed : .requestWhole
        }
        #expect(result == row.result)
    }

    @Test func `a file of the largest size can be planned`() throws {
        let response = try Self.response(
            206, ["Content-Range": "bytes 0-0/9223372036854775807", "ETag": "\"one\""])
        let plan = try #require(try RangePlan.begun(by: response, to: Self.url, hasRange: true, count: .max))
        #expect(plan.parts.count == 32 && plan.parts.last?.end == .max && plan.completed == 0)
    }

    // MARK: Later responses

    private static let malformed = RequestError.Kind.invalidResponse(.malformed)
    private static let changed = RequestError.Kind.download(.changedOnServer)

    /// A response to a request for the bytes from 500,000 on: its status, range, tag and URL; the error for the origin
    /// and for a mirror.
    static let later:
        [(
            status: Int, range: String?, tag: String?, url: String, origin: RequestError.Kind?,
            mirror: RequestError.Kind?
        )] =
            [
                (206, "bytes 500000-999999/2000000", "\"one\"", url, nil, nil),
                (206, "bytes 500000-500000/2000000", "\"one\"", url, nil, nil),
                (206, "bytes 500000-1999999/2000000", nil, url, nil, nil),
                (206, "bytes 500000-999999/*", "\"one\"", url, nil, nil),
                (206, "bytes 500000-999999/2000000", "\"one\"", url + "?signature=2", nil, nil),
                (206, "bytes 500000-999999/2000000", "\"two\"", url, changed, nil),
                (206, "bytes 500000-999999/2000000", "W/\"one\"", url, changed, nil),
                (206, "bytes 500000-999999/2000000", "\"one\"", "https://example.net/a", changed, nil),
                (206, "bytes 500000-999999/2000001", "\"one\"", url, changed, malformed),
                (200, nil, "\"two\"", url, changed, malformed), (200, nil, "\"one\"", url, changed, malformed),
                (416, "bytes */10", "\"one\"", url, changed, malformed),
                (206, "bytes 499999-999999/2000000", "\"one\"", url, malformed, malformed),
                (206, "bytes 500001-999999/2000000", "\"one\"", url, malformed, malformed),
                (206, "bytes 0-1999999/2000000", "\"one\"", url, malformed, malformed),
                (206, "bytes 500000-499999/2000000", "\"one\"", url, malformed, malformed),
                (206, "bytes 500000-2000000/2000000", "\"one\"", url, malformed, malformed),
                (206, "bytes 500000-999999/99999999999999999999", "\"one\"", url, malformed, malformed),
                (206, "bytes */2000000", "\"one\"", url, malformed, malformed),
                (206, "lines 500000-999999/2000000", "\"one\"", url, malformed, malformed),
                (206, nil, "\"one\"", url, malformed, malformed),
            ]

    @Test(arguments: later.indices) func `a later response fits, has changed or is malformed`(index: Int) throws {
        let row = Self.later[index]
        var headers: HTTPHeaders = [:]
        headers["Content-Range"] = row.range
        headers["ETag"] = row.tag
        let (plan, response) = (try Self.plan(), try Self.response(row.status, headers, at: row.url))
        for (isMirror, kind) in [(false, row.origin), (true, row.mirror)] {
            var actual: RequestError.Kind?
            do { try plan.check(response, at: 500_000, isMirror: isMirror) } catch { actual = error.kind }
            #expect(actual == kind, "\(row), mirror: \(isMirror)")
        }
    }

    // MARK: The state

    private static func decoded(_ plan: RangePlan, urls: [String] = [url], fileSize: Int64 = size) throws -> RangePlan?
    {
        RangePlan(decoding: try JSONEncoder().encode(plan), urls: urls, fileSize: fileSize)
    }

    @Test func `the state is read as it was written`() throws {
        var plan = try Self.plan()
        plan.parts[1].position += 1000
        #expect(try Self.decoded(plan) == plan)
        #expect(plan.completed == 1000)
        #expect(try Self.decoded(plan, urls: ["https://example.com/b"]) == nil)
        #expect(try Self.decoded(plan, fileSize: Self.size - 1) == nil)
    }

    @Test func `of a complete file the last byte is requested again`() throws {
        var plan = try Self.plan()
        for index in plan.parts.indices { plan.parts[index].position = plan.parts[index].end }
        let decoded = try #require(try Self.decoded(plan))
        #expect(decoded.completed == Self.size - 1 && decoded.parts[3].position == Self.size - 1)
    }

    static let broken: [@Sendable (String) -> String] = [
        { _ in "" }, { _ in "{}" }, { _ in "[1]" }, { String($0.dropLast()) },
        { $0.replacing("\"version\":2", with: "\"version\":1") },
        { $0.replacing("\"version\":2", with: "\"version\":3") },
        { $0.replacing("\\\"one\\\"", with: "one") }, { $0.replacing("\\\"one\\\"", with: "W/\\\"one\\\"") },
        { $0.replacing("\\\"one\\\"", with: "\\\"a\\r\\nX: y\\\"") },
        { $0.replacing("\"entityTag\"", with: "\"other\"") },
        { $0.replacing("\"position\":0", with: "\"position\":-1") },
        { $0.replacing("\"position\":500000", with: "\"position\":499999") },
        { $0.replacing("\"position\":500000", with: "\"position\":1000001") },
        { $0.replacing("\"position\":500000", with: "\"position\":9223372036854775807") },
        { $0.replacing("\"position\":500000", with: "\"position\":99999999999999999999") },
        { $0.replacing("\"end\":500000", with: "\"end\":0") },
        { $0.replacing("\"end\":500000", with: "\"end\":-9223372036854775808") },
        { $0.replacing("\"end\":1500000", with: "\"end\":900000") },
        { $0.replacing("\"end\":2000000", with: "\"end\":1999999") },
        { $0.replacing("\"total\":2000000", with: "\"total\":2000001") },
        { $0.replacing(/"parts":\[.*\]/, with: "\"parts\":[]") },
    ]

    @Test(arguments: broken.indices) func `a state that does not fit is not used`(index: Int) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(try Self.plan()), as: UTF8.self)
        #expect(RangePlan(decoding: Data(text.utf8), urls: [Self.url], fileSize: Self.size) != nil)
        let changed = Self.broken[index](text)
        #expect(changed != text)
        #expect(RangePlan(decoding: Data(changed.utf8), urls: [Self.url], fileSize: Self.size) == nil)
    }

    @Test func `the state is no resume data of an ordinary download`() throws {
        let data = try JSONEncoder().encode(try Self.plan())
        #expect(downloadReason { _ = try ResumeData(decoding: data) } == .resumeDataInvalid)
    }
}
