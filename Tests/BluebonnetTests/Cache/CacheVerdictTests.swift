import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The handling of the server's response.
struct CacheVerdictTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var stored: HTTPHeaders?
        var age = 70.0
        var method = HTTPMethod.get
        var request: HTTPHeaders = [:]
        var policy: HTTPRequest.CachePolicy?
        var status: Int?
        var response: HTTPHeaders = [:]
        var error: RequestError.Kind?
        /// The bytes of ten in the stored response; `nil` if it is whole.
        var part: ClosedRange<Int>?
        /// The number of bytes that were received.
        var count = 10
        var isBackground = false
        let expected: String
    }

    private static func minute(_ more: String = "x") -> HTTPHeaders {
        ["Cache-Control": "max-age=60, \(more)", "ETag": "\"1\""]
    }

    static let rows: [Row] = [
        Row(testDescription: "§3: a response", status: 200, expected: "store"),
        Row(testDescription: "§3: one in place of another", stored: minute(), status: 200, expected: "store"),
        Row(
            testDescription: "one that may not be stored", status: 200, response: ["Cache-Control": "no-store"],
            expected: "drop"),
        Row(
            testDescription: "to a request that stores nothing", request: ["Cache-Control": "no-store"], status: 200,
            expected: "pass"),
        Row(testDescription: "a part", request: ["Range": "bytes=0-1"], status: 206, expected: "pass"),
        Row(testDescription: "403", status: 403, expected: "pass"),
        Row(
            testDescription: "§4.3.4: a 304", stored: minute(), status: 304, response: ["ETag": "\"1\""],
            expected: "freshen"),
        Row(testDescription: "§4.3.4: a 304 without a tag", stored: minute(), status: 304, expected: "freshen"),
        Row(
            testDescription: "§4.3.4: a 304 with a weak tag", stored: minute(), status: 304,
            response: ["ETag": "W/\"1\""], expected: "freshen"),
        Row(
            testDescription: "§4.3.4: a 304 about something else", stored: minute(), status: 304,
            response: ["ETag": "\"2\""], expected: "refetch"),
        Row(
            testDescription: "a 304 to the user's own condition", request: ["If-None-Match": "\"1\""], status: 304,
            expected: "pass"),
        Row(testDescription: "§4.3.3: 500", stored: minute(), status: 500, expected: "pass"),
        Row(
            testDescription: "RFC 5861 §4: 500", stored: minute("stale-if-error=20"), status: 500,
            expected: "serveStale"),
        Row(
            testDescription: "RFC 5861 §4: 503", stored: minute("stale-if-error=20"), status: 503,
            expected: "serveStale"),
        Row(testDescription: "RFC 5861 §4: 404", stored: minute("stale-if-error=20"), status: 404, expected: "store"),
        Row(
            testDescription: "RFC 5861 §4: no connection", stored: minute("stale-if-error=20"),
            error: .connection(.refused), expected: "serveStale"),
        Row(
            testDescription: "RFC 5861 §4: no answer in time", stored: minute("stale-if-error=20"),
            error: .timedOut(.idle), expected: "serveStale"),
        Row(
            testDescription: "RFC 5861 §4: cancelled", stored: minute("stale-if-error=20"), error: .cancelled,
            expected: "pass"),
        Row(
            testDescription: "RFC 5861 §4: too old", stored: minute("stale-if-error=9"), error: .connection(.refused),
            expected: "pass"),
        Row(
            testDescription: "RFC 5861 §4: the request's", stored: minute(),
            request: ["Cache-Control": "stale-if-error=20"], error: .connection(.refused), expected: "serveStale"),
        Row(
            testDescription: "§4.2.4: must-revalidate", stored: minute("must-revalidate, stale-if-error=20"),
            error: .connection(.refused), expected: "pass"),
        Row(
            testDescription: "§4.2.4: no-cache", stored: minute("no-cache, stale-if-error=20"),
            error: .connection(.refused), expected: "pass"),
        Row(
            testDescription: "a reload is one", stored: minute("stale-if-error=20"), policy: .reloadRevalidating,
            error: .connection(.refused), expected: "pass"),
        Row(testDescription: "§4.3.5: HEAD", method: .head, status: 200, expected: "compareHead"),
        Row(testDescription: "§4.3.5: HEAD, 404", method: .head, status: 404, expected: "pass"),
        Row(testDescription: "§4.4: POST", method: .post, status: 200, expected: "forget http://a.test:80/x"),
        Row(
            testDescription: "§4.4: DELETE, redirected", method: .delete, status: 303,
            expected: "forget http://a.test:80/x"),
        Row(
            testDescription: "§4.4: an unknown method", method: HTTPMethod(rawValue: "FROB"), status: 204,
            expected: "forget http://a.test:80/x"),
        Row(testDescription: "§4.4: POST that failed", method: .post, status: 400, expected: "pass"),
        Row(
            testDescription: "§4.4: POST without an answer", method: .post, error: .connection(.lost), expected: "pass"),
        Row(testDescription: "§4.4: OPTIONS", method: .options, status: 200, expected: "pass"),
        Row(
            testDescription: "§4.4: Location", method: .post, status: 201, response: ["Location": "y?z#f"],
            expected: "forget http://a.test:80/x http://a.test:80/y?z"),
        Row(
            testDescription: "§4.4: Content-Location", method: .put, status: 200,
            response: ["Content-Location": "http://a.test/z"], expected: "forget http://a.test:80/x http://a.test:80/z"),
        Row(
            testDescription: "§4.4: another origin's", method: .post, status: 201,
            response: ["Location": "http://b.test/y", "Content-Location": "https://a.test/x"],
            expected: "forget http://a.test:80/x"),
    ]

    private static func range(_ range: String) -> HTTPHeaders { ["Range": "bytes=\(range)"] }
    private static func part(_ range: String, _ tag: String = "\"1\"", _ length: String = "5") -> HTTPHeaders {
        ["Content-Range": "bytes \(range)/10", "ETag": tag, "Content-Length": length]
    }
    private static let ten: HTTPHeaders = ["Content-Length": "10", "ETag": "\"1\""]

    static let partRows: [Row] = [
        Row(
            testDescription: "§3.3: a part", request: range("0-4"), status: 206, response: part("0-4"), count: 5,
            expected: "store"),
        Row(
            testDescription: "§3.3: a part without a position", request: range("0-4"), status: 206, count: 5,
            expected: "pass"),
        Row(
            testDescription: "§3.3: several parts", request: range("0-1,3-4"), status: 206, response: part("0-4"),
            count: 5, expected: "pass"),
        Row(
            testDescription: "§3.3: a part that was not looked up", request: range("0-4"), policy: .reloadIgnoringCache,
            status: 206, response: part("0-4"), count: 5, expected: "pass"),
        Row(
            testDescription: "§3.3: a range that the server ignores", request: range("0-4"), status: 200,
            expected: "store"),
        Row(testDescription: "RFC 9110 §15.5.17: 416", request: range("99-"), status: 416, expected: "pass"),
        Row(
            testDescription: "§3.4: the rest", stored: minute(), status: 206, response: part("5-9"), part: 0...4,
            count: 5, expected: "join"),
        Row(
            testDescription: "§3.4: the start", stored: minute(), status: 206, response: part("0-4"), part: 5...9,
            count: 5, expected: "join"),
        Row(
            testDescription: "§3.4: not all of the rest", stored: minute(), status: 206,
            response: part("5-8", "\"1\"", "4"), part: 0...4, count: 4, expected: "refetch"),
        Row(
            testDescription: "§3.4: the rest of another", stored: minute(), status: 206, response: part("5-9", "\"2\""),
            part: 0...4, count: 5, expected: "refetch"),
        Row(
            testDescription: "§3.4: the rest without a tag", stored: minute(), status: 206,
            response: ["Content-Range": "bytes 5-9/10"], part: 0...4, count: 5, expected: "refetch"),
        Row(
            testDescription: "a part that is sent as the whole", stored: minute(), status: 200,
            response: ["Content-Range": "bytes 5-9/10", "ETag": "\"1\""], part: 0...4, count: 5, expected: "refetch"),
        Row(
            testDescription: "the same tag with another length", stored: minute(), status: 200,
            response: ["Content-Length": "5", "ETag": "\"1\""], part: 0...4, count: 5, expected: "refetch"),
        Row(
            testDescription: "another tag with another length", stored: minute(), status: 200,
            response: ["Content-Length": "5", "ETag": "\"2\""], part: 0...4, count: 5, expected: "store"),
        Row(
            testDescription: "§3.4: 200, because it has changed", stored: minute(), status: 200, response: ten,
            part: 0...4, expected: "store"),
        Row(
            testDescription: "§3.4: 200 that may not be stored", stored: minute(), status: 200,
            response: ["Cache-Control": "no-store"], part: 0...4, expected: "drop"),
        Row(
            testDescription: "§3.4: a range beside the part", stored: minute(), request: range("5-6"), status: 206,
            response: part("5-6", "\"1\"", "2"), part: 0...4, count: 2, expected: "join"),
        Row(
            testDescription: "§3.4: a range apart from the part", stored: minute(), request: range("7-8"), status: 206,
            response: part("7-8", "\"1\"", "2"), part: 0...4, count: 2, expected: "store"),
        Row(
            testDescription: "§3.4: a range of another", stored: minute(), request: range("5-6"), status: 206,
            response: part("5-6", "\"2\"", "2"), part: 0...4, count: 2, expected: "store"),
        Row(
            testDescription: "§4.3.4: a range of a whole response, 304", stored: minute(), request: range("5-6"),
            status: 304, expected: "freshen"),
        Row(
            testDescription: "§3.4: a range of a whole response, 206", stored: minute(), request: range("5-6"),
            status: 206, response: part("5-6", "\"1\"", "2"), count: 2, expected: "join"),
        // Lost connections (§3.3).
        Row(
            testDescription: "§3.3: lost", status: 200, response: ten, error: .connection(.lost), count: 4,
            expected: "store"),
        Row(
            testDescription: "§3.3: truncated", status: 200, response: ten, error: .invalidResponse(.truncated),
            count: 4, expected: "store"),
        Row(
            testDescription: "§3.3: too slow", status: 200, response: ten, error: .timedOut(.idle), count: 4,
            expected: "store"),
        Row(
            testDescription: "§3.3: malformed", status: 200, response: ten, error: .invalidResponse(.malformed),
            count: 4, expected: "pass"),
        Row(
            testDescription: "§3.3: lost without content", status: 200, response: ten, error: .connection(.lost),
            count: 0, expected: "pass"),
        Row(
            testDescription: "§3.3: lost without a length", status: 200, response: ["ETag": "\"1\""],
            error: .connection(.lost), count: 4, expected: "pass"),
        Row(
            testDescription: "§3.3: lost, no-store", status: 200,
            response: ["Content-Length": "10", "ETag": "\"1\"", "Cache-Control": "no-store"],
            error: .connection(.lost), count: 4, expected: "pass"),
        Row(
            testDescription: "§4.4: lost in a POST", method: .post, status: 200, response: ten,
            error: .connection(.lost), count: 4, expected: "forget http://a.test:80/x"),
        Row(
            testDescription: "§4.4: cancelled after the head of a POST", method: .post, status: 303, response: ten,
            error: .cancelled, count: 0, expected: "forget http://a.test:80/x"),
        Row(
            testDescription: "§4.4: lost in a failed POST", method: .post, status: 500, response: ten,
            error: .connection(.lost), count: 4, expected: "pass"),
        Row(
            testDescription: "§3.3: lost in place of a whole response", stored: minute(), status: 200,
            response: ["Content-Length": "10", "ETag": "\"2\""], error: .connection(.lost), count: 4, expected: "pass"),
        Row(
            testDescription: "§3.4: the rest is lost", stored: minute(), status: 206, response: part("5-9"),
            error: .connection(.lost), part: 0...4, count: 2, expected: "join"),
        Row(
            testDescription: "§3.4: the rest of another is lost", stored: minute(), status: 206,
            response: part("5-9", "\"2\""), error: .connection(.lost), part: 0...4, count: 2, expected: "pass"),
        Row(
            testDescription: "RFC 5861 §4: a part does not answer for the whole", stored: minute("stale-if-error=99"),
            status: 503, part: 0...4, expected: "pass"),
        Row(
            testDescription: "RFC 5861 §4: a part answers for its bytes", stored: minute("stale-if-error=99"),
            request: range("1-2"), status: 503, part: 0...4, expected: "serveStale"),
        // POST (RFC 9110 §9.3.3).
        Row(
            testDescription: "RFC 9110 §9.3.3: POST for GET", method: .post, status: 200,
            response: ["Content-Location": "/x", "Cache-Control": "max-age=5"],
            expected: "replace http://a.test:80/x http://a.test:80/x"),
        Row(
            testDescription: "RFC 9110 §9.3.3: another Content-Location", method: .post, status: 200,
            response: ["Content-Location": "/y", "Cache-Control": "max-age=5"],
            expected: "forget http://a.test:80/x http://a.test:80/y"),
        Row(
            testDescription: "RFC 9110 §9.3.3: without a lifetime", method: .post, status: 200,
            response: ["Content-Location": "/x"], expected: "forget http://a.test:80/x http://a.test:80/x"),
        // In the background (RFC 5861 §3).
        Row(
            testDescription: "RFC 5861 §3: 500", stored: minute(), status: 500, isBackground: true, expected: "pass"),
        Row(
            testDescription: "RFC 5861 §3: 501", stored: minute(), status: 501, isBackground: true, expected: "pass"),
        Row(
            testDescription: "RFC 5861 §3: 503 that may be stored", stored: minute("stale-if-error=99"), status: 503,
            response: ["Cache-Control": "max-age=5"], isBackground: true, expected: "pass"),
        Row(
            testDescription: "RFC 5861 §3: no connection", stored: minute(), error: .connection(.refused),
            isBackground: true, expected: "pass"),
        Row(
            testDescription: "RFC 5861 §3: no connection, stale-if-error", stored: minute("stale-if-error=99"),
            error: .connection(.refused), isBackground: true, expected: "pass"),
        Row(testDescription: "§4.3.3: 404", stored: minute(), status: 404, isBackground: true, expected: "store"),
        Row(testDescription: "§4.3.3: 403", stored: minute(), status: 403, isBackground: true, expected: "drop"),
        Row(testDescription: "§4.3.3: 302", stored: minute(), status: 302, isBackground: true, expected: "drop"),
        Row(testDescription: "§4.3.3: 200", stored: minute(), status: 200, isBackground: true, expected: "store"),
        Row(
            testDescription: "§4.3.3: 200, no-store", stored: minute(), status: 200,
            response: ["Cache-Control": "no-store"], isBackground: true, expected: "drop"),
        Row(testDescription: "§4.3.4: 304", stored: minute(), status: 304, isBackground: true, expected: "freshen"),
        Row(
            testDescription: "§4.3.4: 304 about another", stored: minute(), status: 304, response: ["ETag": "\"2\""],
            isBackground: true, expected: "refetch"),
    ]

    @Test(arguments: rows + partRows) func `a response to a validation is evaluated`(_ row: Row) throws {
        let request = try CacheFixtures.request(row.request, method: row.method, policy: row.policy)
        let entry = try row.stored.map { fields in
            guard let part = row.part else { return try CacheFixtures.stored(fields, body: CacheRule.representation) }
            let range: HTTPHeaders = ["Content-Range": "bytes \(part.lowerBound)-\(part.upperBound)/10"]
            return try CacheFixtures.stored(
                HTTPHeaders(Array(fields) + Array(range)), status: 206, body: String(repeating: "x", count: part.count))
        }
        let outcome = ExchangeOutcome(
            response: try row.status.map { try CacheFixtures.response(row.response, status: $0) },
            error: row.error.map { RequestError($0) })
        let verdict = CacheVerdict.on(
            outcome, of: request, validating: entry, isConditional: entry != nil, isBackground: row.isBackground,
            count: row.count, now: CacheFixtures.begin.addingTimeInterval(row.age))
        #expect(Self.name(verdict) == row.expected)
    }

    private static func name(_ verdict: CacheVerdict) -> String {
        switch verdict {
        case .pass: "pass"
        case .store: "store"
        case .drop: "drop"
        case .freshen: "freshen"
        case .refetch: "refetch"
        case .join: "join"
        case .replace(let keys): "replace " + keys.map(\.text).joined(separator: " ")
        case .serveStale: "serveStale"
        case .compareHead: "compareHead"
        case .forget(let keys): "forget " + keys.map(\.text).joined(separator: " ")
        }
    }

    // MARK: Freshening

    @Test(arguments: [
        ("X-A", true), ("Cache-Control", true), ("Expires", true), ("Set-Cookie", true), ("Last-Modified", true),
        ("Content-Length", false), ("Content-Encoding", false), ("Content-Range", false), ("Content-Type", false),
        ("ETag", false), ("Date", true),
    ])
    func `§3.2: fields of the stored response are replaced, but for these`(_ name: String, isReplaced: Bool) throws {
        let entry = try CacheFixtures.stored([
            HTTPHeader(name: name, value: "old"), HTTPHeader(name: "X-B", value: "b"),
        ])
        let update = try CacheFixtures.response([HTTPHeader(name: name.lowercased(), value: "new")], status: 304)
        let fresh = try #require(
            Freshening.freshened(entry, by: update, requestTime: CacheFixtures.begin, responseTime: CacheFixtures.begin)
        )
        #expect(fresh.response.headers.values(for: name) == [isReplaced ? "new" : "old"])
        #expect(fresh.response.headers["X-B"] == "b")
        #expect(fresh.response.statusCode == 200)
        #expect(try fresh.body.all() == entry.body.all())
    }

    @Test func `§4.2.3: how old a response was counts no longer when it is freshened`() throws {
        let entry = try CacheFixtures.stored(["Age": "50", "Cache-Control": "max-age=60"])
        let later = CacheFixtures.begin.addingTimeInterval(100)
        let update = HTTPResponse(url: entry.response.url, statusCode: 304)
        let fresh = try #require(Freshening.freshened(entry, by: update, requestTime: later, responseTime: later))
        #expect(fresh.freshness.age(at: later) == 0)
        #expect(fresh.freshness.lifetime == 60)
    }

    @Test(arguments: [
        (["ETag": "\"1\""], true), (["ETag": "W/\"1\""], true), (["ETag": "\"2\""], false),
        (["Content-Length": "6"], true), (["Content-Length": "7"], false), (["Last-Modified": "x"], false), ([:], true),
    ])
    func `§4.3.5: the answer to a HEAD is about what is stored, or not`(_ head: [String: String], isSame: Bool) throws {
        let entry = try CacheFixtures.stored(["ETag": "\"1\"", "Content-Length": "6", "Last-Modified": "m"])
        #expect(Freshening.isSame(entry, try CacheFixtures.response(HTTPHeaders(head))) == isSame)
    }
}
