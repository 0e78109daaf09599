import FoundationEssentials
import Testing

@testable import Bluebonnet

struct StorabilityTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var request: HTTPHeaders = [:]
        var method = HTTPMethod.get
        var status = 200
        var response: HTTPHeaders = [:]
        var isStored = true

        init(
            _ name: String, _ isStored: Bool, status: Int = 200, _ response: HTTPHeaders = [:],
            method: HTTPMethod = .get, request: HTTPHeaders = [:]
        ) {
            testDescription = name
            self.isStored = isStored
            self.status = status
            self.response = response
            self.method = method
            self.request = request
        }
    }

    static let rows: [Row] = [
        Row("§3: a plain 200", true),
        Row("§3: no-store", false, ["Cache-Control": "no-store"]),
        Row("§3: no-store beside max-age", false, ["Cache-Control": "max-age=60, no-store"]),
        Row(
            "§5.2.1.5: the request's no-store", false, ["Cache-Control": "max-age=60"],
            request: ["Cache-Control": "no-store"]),
        Row("§3: private", true, ["Cache-Control": "private"]),
        Row("§5.2.2.4: no-cache is stored, and validated", true, ["Cache-Control": "no-cache"]),
        Row("§3.5: Authorization, in a private cache", true, request: ["Authorization": "Bearer x"]),
        Row("§4.1: Vary: *", false, ["Vary": "*", "Cache-Control": "max-age=60"]),
        Row("§4.1: a * among names", false, ["Vary": "Accept, *"]),
        Row("Vary that cannot be parsed", false, ["Vary": "Accept; Cookie"]),
        Row("a name in quotes", false, ["Vary": "\"Accept\""]),
        Row("empty names", true, ["Vary": ", Accept,"]),
        Row("§4.1: Vary", true, ["Vary": "Accept"]),
        Row("§3.3: a part", false, status: 206, ["Cache-Control": "max-age=60", "Content-Range": "bytes 0-1/9"]),
        Row("a part that is sent as the whole", false, ["Content-Range": "bytes 5-9/10"]),
        Row("the whole, with its range", true, ["Content-Range": "bytes 0-9/10"]),
        Row("§3.3: all of it, of which a part was asked for", true, request: ["Range": "bytes=0-1"]),
        Row(
            "§3.3: a part that was asked for", true, status: 206,
            ["Cache-Control": "max-age=60", "Content-Range": "bytes 0-1/9"], request: ["Range": "bytes=0-1"]),
        Row(
            "§3.3: a part without a lifetime", true, status: 206, ["Content-Range": "bytes 0-1/9"],
            request: ["Range": "bytes=0-1"]),
        Row(
            "§3.3: a part of unknown size", false, status: 206, ["Content-Range": "bytes 0-1/*"],
            request: ["Range": "bytes=0-1"]),
        Row(
            "§3.3: a part, no-store", false, status: 206,
            ["Content-Range": "bytes 0-1/9", "Cache-Control": "no-store"], request: ["Range": "bytes=0-1"]),
        Row("§3.3: several ranges", false, request: ["Range": "bytes=0-1,3-4"]),
        Row(
            "RFC 9110 §9.3.3: POST", true, ["Cache-Control": "max-age=60", "Content-Location": "http://a.test/x"],
            method: .post),
        Row(
            "RFC 9110 §9.3.3: POST with Expires", true, ["Expires": CacheFixtures.date(60), "Content-Location": "/x"],
            method: .post),
        Row(
            "RFC 9110 §9.3.3: POST elsewhere", false, ["Cache-Control": "max-age=60", "Content-Location": "/y"],
            method: .post),
        Row(
            "RFC 9110 §9.3.3: POST of another origin", false,
            ["Cache-Control": "max-age=60", "Content-Location": "https://a.test/x"], method: .post),
        Row("RFC 9110 §9.3.3: POST without a lifetime", false, ["Content-Location": "/x"], method: .post),
        Row(
            "RFC 9110 §9.3.3: POST, 201", false, status: 201,
            ["Cache-Control": "max-age=60", "Content-Location": "/x"], method: .post),
        Row(
            "RFC 9110 §9.3.3: POST, no-store", false,
            ["Cache-Control": "max-age=60, no-store", "Content-Location": "/x"], method: .post),
        Row(
            "RFC 9110 §9.3.4: PUT", false, ["Cache-Control": "max-age=60", "Content-Location": "/x"], method: .put),
        Row(
            "§3: QUERY", false, ["Cache-Control": "max-age=60", "Content-Location": "/x"], method: .query),
        Row("§3: POST", false, ["Cache-Control": "max-age=60"], method: .post),
        Row("§3: HEAD", false, ["Cache-Control": "max-age=60"], method: .head),
        Row("§3: PUT", false, ["Cache-Control": "max-age=60"], method: .put),
        Row("§4.3.4: an unsolicited 304", false, status: 304, ["Cache-Control": "max-age=60"]),
        Row("§3: a status code without a lifetime", false, status: 201),
        Row("§3: the same with one", true, status: 201, ["Cache-Control": "max-age=60"]),
        Row("§3: the same with Expires", true, status: 201, ["Expires": "0"]),
        Row("§3: the same, public", true, status: 201, ["Cache-Control": "public"]),
        Row("§3: the same, private", true, status: 201, ["Cache-Control": "private"]),
        Row("§3: s-maxage is not for a private cache", false, status: 201, ["Cache-Control": "s-maxage=60"]),
        Row("§3: an unknown status code with a lifetime", true, status: 299, ["Cache-Control": "max-age=60"]),
        Row(
            "§5.2.2.3: must-understand, of one that is known", true,
            ["Cache-Control": "must-understand, no-store, max-age=60"]),
        Row(
            "§5.2.2.3: must-understand, of one that is not", false, status: 299,
            ["Cache-Control": "must-understand, max-age=60"]),
        Row("RFC 9110 §15.1: 302", false, status: 302, ["Location": "/"]),
        Row(
            "RFC 9110 §15.1: 302 with a lifetime", true, status: 302, ["Location": "/", "Cache-Control": "max-age=60"]),
        Row("§3: 500", false, status: 500),
        Row("§3: 500 with a lifetime", true, status: 500, ["Cache-Control": "max-age=6"]),
        Row("no status code", false, status: 700, ["Cache-Control": "max-age=60"]),
    ]

    @Test(arguments: rows) func `responses that may be stored are stored`(_ row: Row) throws {
        let request = try CacheFixtures.request(row.request, method: row.method)
        #expect(
            Storability.allows(statusCode: row.status, headers: row.response, for: request) == row.isStored)
    }

    static let refusals: [(row: Row, reason: CacheStatus.Refusal?)] = [
        (Row("no-store of the response", false, ["Cache-Control": "no-store"]), .noStore),
        (Row("no-store of the request", false, request: ["Cache-Control": "no-store"]), .noStore),
        (Row("Vary: *", false, ["Vary": "*"]), .vary),
        (Row("a method", false, method: .put), .method),
        (Row("POST", false, ["Cache-Control": "max-age=60"], method: .post), .method),
        (Row("a status code", false, status: 304), .status),
        (Row("no status code", false, status: 700), .status),
        (Row("a status code to understand", false, status: 299, ["Cache-Control": "must-understand"]), .status),
        (Row("a part", false, status: 206), .range),
        (Row("several ranges", false, request: ["Range": "bytes=0-1,3-4"]), .range),
        (Row("no lifetime", false, status: 302, ["Location": "/"]), .lifetime),
        (Row("all of it", true, ["Cache-Control": "max-age=60"]), nil),
    ]

    @Test(arguments: refusals) func `the reason why a response is not stored`(
        _ row: Row, reason: CacheStatus.Refusal?
    ) throws {
        let request = try CacheFixtures.request(row.request, method: row.method)
        #expect(Storability.refusal(statusCode: row.status, headers: row.response, for: request) == reason)
    }

    @Test(arguments: [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
    func `RFC 9110 §15.1: these need not say that they may be stored`(_ status: Int) throws {
        #expect(Storability.allows(statusCode: status, headers: [:], for: try CacheFixtures.request()))
    }

    @Test func `a response that depends on unknown cookies is not stored`() throws {
        var settings = CacheSettings()
        settings.hasHiddenCookies = true
        let hidden = try CacheFixtures.request(settings: settings)
        let known = try CacheFixtures.request(settings: settings) { $0.handlesCookies = false }
        #expect(!Storability.allows(statusCode: 200, headers: ["Vary": "Cookie"], for: hidden))
        #expect(Storability.allows(statusCode: 200, headers: ["Vary": "Cookie"], for: known))
        #expect(Storability.allows(statusCode: 200, headers: ["Vary": "Accept"], for: hidden))
    }
}
