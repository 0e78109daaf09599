import FoundationEssentials
import Testing

@testable import Bluebonnet

struct FreshnessTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let headers: HTTPHeaders
        var status = 200
        /// How long the exchange took.
        var delay = 0.0
        var lifetime = 0.0
        var age = 0.0
    }

    private static func date(_ seconds: Double) -> String { CacheFixtures.date(seconds) }

    static let rows: [Row] = [
        Row(testDescription: "§4.2.1: max-age", headers: ["Cache-Control": "max-age=60"], lifetime: 60),
        Row(
            testDescription: "§4.2.1: max-age before Expires",
            headers: ["Cache-Control": "max-age=60", "Expires": date(10)], lifetime: 60),
        Row(
            testDescription: "§5.2.2.10: s-maxage is not for a private cache",
            headers: ["Cache-Control": "s-maxage=600, max-age=60"], lifetime: 60),
        Row(
            testDescription: "§5.3: Expires, from Date on", headers: ["Expires": date(90), "Date": date(-10)],
            lifetime: 100, age: 10),
        Row(testDescription: "§5.3: Expires, without Date", headers: ["Expires": date(90)], lifetime: 90),
        Row(testDescription: "§5.3: Expires in the past", headers: ["Expires": date(-90), "Date": date(0)]),
        Row(testDescription: "§5.3: Expires 0", headers: ["Expires": "0", "Last-Modified": date(-1000)]),
        Row(testDescription: "§5.3: Expires -1", headers: ["Expires": "-1"]),
        Row(
            testDescription: "§5.3: an invalid Expires, whatever else there is",
            headers: ["Expires": "soon", "Last-Modified": date(-1000)]),
        Row(
            testDescription: "§5.3: max-age 0 before a later Expires",
            headers: ["Cache-Control": "max-age=0", "Expires": date(100)]),
        Row(
            testDescription: "RFC 9110 §5.6.7: a date of RFC 850",
            headers: ["Expires": "Friday, 15-Jan-27 09:00:00 GMT"], lifetime: 3600),
        Row(
            testDescription: "§4.2.2: a tenth of the time since Last-Modified",
            headers: ["Date": date(0), "Last-Modified": date(-1000)], lifetime: 100),
        Row(testDescription: "§4.2.2: without Date", headers: ["Last-Modified": date(-1000)], lifetime: 100),
        Row(
            testDescription: "§4.2.2: no more than a day", headers: ["Last-Modified": date(-86_400 * 1000)],
            lifetime: 86_400),
        Row(testDescription: "§4.2.2: Last-Modified in the future", headers: ["Last-Modified": date(1000)]),
        Row(testDescription: "§4.2.2: no date at all", headers: ["Last-Modified": "yesterday"]),
        Row(testDescription: "§4.2.2: not for every status code", headers: ["Last-Modified": date(-1000)], status: 201),
        Row(
            testDescription: "§4.2.2: if public, for every one",
            headers: ["Cache-Control": "public", "Last-Modified": date(-1000)], status: 201, lifetime: 100),
        Row(testDescription: "§4.2.2: 404", headers: ["Last-Modified": date(-1000)], status: 404, lifetime: 100),
        Row(testDescription: "§4.2.2: nothing to go by", headers: [:]),
        Row(testDescription: "§4.2.3: Age", headers: ["Age": "30", "Date": date(0)], age: 30),
        Row(testDescription: "§4.2.3: Age and the delay", headers: ["Age": "30", "Date": date(0)], delay: 5, age: 35),
        Row(
            testDescription: "§4.2.3: apparent age, if larger", headers: ["Age": "3", "Date": date(-50)], delay: 5,
            age: 50),
        Row(testDescription: "§4.2.3: a server's clock that is ahead", headers: ["Date": date(50)]),
        Row(testDescription: "§5.1: of a list the first", headers: ["Age": "30, 60"], age: 30),
        Row(
            testDescription: "§5.1: of two fields the first",
            headers: [HTTPHeader(name: "Age", value: "30"), HTTPHeader(name: "Age", value: "60")], age: 30),
        Row(testDescription: "§5.1: parameters are ignored", headers: ["Age": "30;foo=bar"], age: 30),
        Row(
            testDescription: "§4.2: dates in the wrong case",
            headers: ["Expires": date(90).uppercased(), "Date": date(0).lowercased()], lifetime: 90),
        Row(testDescription: "§4.2.2: 206", headers: ["Last-Modified": date(-1000)], status: 206, lifetime: 100),
        Row(testDescription: "§5.1: no number", headers: ["Age": "old"]),
        Row(testDescription: "§5.1: negative", headers: ["Age": "-30"]),
        Row(testDescription: "§1.2.2: too large an age", headers: ["Age": "99999999999999999999"], age: 2_147_483_648),
    ]

    @Test(arguments: rows) func `lifetime and age are computed`(_ row: Row) {
        let freshness = Freshness(
            statusCode: row.status, headers: row.headers, control: CacheControl(row.headers["Cache-Control"]),
            requestTime: CacheFixtures.begin.addingTimeInterval(-row.delay), responseTime: CacheFixtures.begin)
        #expect(freshness.lifetime == row.lifetime)
        #expect(freshness.initialAge == row.age)
    }

    @Test func `§4.2.3: age grows while the response is stored, and never shrinks`() {
        let freshness = Freshness(
            statusCode: 200, headers: ["Age": "30"], control: CacheControl("max-age=60"),
            requestTime: CacheFixtures.begin, responseTime: CacheFixtures.begin)
        #expect(freshness.age(at: CacheFixtures.begin.addingTimeInterval(12)) == 42)
        #expect(freshness.staleness(at: CacheFixtures.begin.addingTimeInterval(40)) == 10)
        #expect(freshness.age(at: CacheFixtures.begin.addingTimeInterval(-1000)) == 30)
    }
}
