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

    @Test(arguments: rows) func `a response to a validation is evaluated`(_ row: Row) throws {
        let request = try CacheFixtures.request(row.request, method: row.method, policy: row.policy)
        let entry = try row.stored.map { try CacheFixtures.stored($0) }
        let outcome = ExchangeOutcome(
            response: try row.status.map { try CacheFixtures.response(row.response, status: $0) },
            error: row.error.map { RequestError($0) })
        let verdict = CacheVerdict(
            outcome, of: request, validating: entry, isConditional: entry != nil,
            now: CacheFixtures.begin.addingTimeInterval(row.age))
        #expect(Self.name(verdict) == row.expected)
    }

    private static func name(_ verdict: CacheVerdict) -> String {
        switch verdict {
        case .pass: "pass"
        case .store: "store"
        case .drop: "drop"
        case .freshen: "freshen"
        case .refetch: "refetch"
        case .serveStale: "serveStale"
        case .compareHead: "compareHead"
        case .forget(let keys): "forget " + keys.map(\.text).joined(separator: " ")
        }
    }

    // MARK: Freshening

    @Test(arguments: [
        ("X-A", true), ("Cache-Control", true), ("Expires", true), ("Set-Cookie", true), ("Last-Modified", true),
        ("Content-Length", false), ("Content-Encoding", false), ("Content-Range", false), ("Content-Type", false),
        ("Transfer-Encoding", false), ("Connection", false), ("ETag", false), ("Proxy-Authenticate", false),
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
