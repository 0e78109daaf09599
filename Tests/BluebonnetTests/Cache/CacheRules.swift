import FoundationEssentials
import Testing

@testable import Bluebonnet

/// A stored response, a later request, and the expected decision.
struct CacheRule: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// The fields of the stored response, separated by `|`; `nil` if nothing is stored.
    ///
    /// `CC` is `Cache-Control`.
    let stored: String?
    let status: Int
    /// The bytes of the representation in the stored response, which is `0123456789`; `nil` for all of them.
    let part: Range<Int>?
    let age: Double
    /// The fields of the request that received the stored response.
    let first: String
    let request: String
    let method: HTTPMethod
    let policy: HTTPRequest.CachePolicy?
    let expected: String

    init(
        _ name: String, _ stored: String?, status: Int = 200, part: Range<Int>? = nil, age: Double = 10,
        first: String = "", _ request: String = "", method: HTTPMethod = .get, policy: HTTPRequest.CachePolicy? = nil,
        is expected: String
    ) {
        testDescription = name
        self.stored = stored
        self.status = part == nil ? status : 206
        self.part = part
        self.age = age
        self.first = first + (part.map { "|Range: bytes=\($0.lowerBound)-\($0.upperBound - 1)" } ?? "")
        self.request = request
        self.method = method
        self.policy = policy
        self.expected = expected
    }

    static let representation = "0123456789"

    /// Returns the fields that a text lists.
    static func fields(_ text: String) -> HTTPHeaders {
        HTTPHeaders(
            text.split(separator: "|").map { line in
                let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmed }
                return HTTPHeader(name: parts[0] == "CC" ? "Cache-Control" : String(parts[0]), value: String(parts[1]))
            })
    }

    var body: String {
        part.map { String(decoding: Array(Self.representation.utf8)[$0], as: UTF8.self) } ?? Self.representation
    }

    /// The fields of the stored response, with its date and its position in the representation.
    var storedFields: HTTPHeaders? {
        guard let stored else { return nil }
        var fields = Self.fields(stored)
        if !fields.contains("Date") { fields.append(name: "Date", value: CacheFixtures.date(0)) }
        if let part {
            fields.append(name: "Content-Range", value: "bytes \(part.lowerBound)-\(part.upperBound - 1)/10")
        }
        return fields
    }

    // MARK: Rows

    private static let tag = #"CC: max-age=60|ETag: "1""#
    private static let none = #"validate stale If-None-Match "1""#
    private static let asked = #"validate request If-None-Match "1""#
    private static func tagged(_ directives: String) -> String { #"CC: max-age=60, \#(directives)|ETag: "1""# }
    private static let day = CacheFixtures.date(-86_400)

    static let rows: [CacheRule] = freshness + directives + validation + selection + parts + reasons + extensions

    /// RFC 9111 §4.2.
    private static let freshness: [CacheRule] = [
        CacheRule("§4: nothing stored", nil, is: "network uri-miss"),
        CacheRule("§4.2: fresh", tag, is: "stored"),
        CacheRule("§4.2: a second before the end", tag, age: 59, is: "stored"),
        CacheRule("§4.2: the lifetime must be greater than the age", tag, age: 60, is: none),
        CacheRule("§4.2: stale", tag, age: 61, is: none),
        CacheRule(
            "§4.2.1: max-age before Expires", "CC: max-age=5|Expires: \(CacheFixtures.date(99))", is: "validate stale"),
        CacheRule("§4.2.1: s-maxage is for shared caches", "CC: s-maxage=60, max-age=5", is: "validate stale"),
        CacheRule("§4.2.1: Expires less Date", "Expires: \(CacheFixtures.date(20))", is: "stored"),
        CacheRule("§4.2.1: Expires has passed", "Expires: \(CacheFixtures.date(9))", is: "validate stale"),
        CacheRule("§4.2: months in the wrong case", "Expires: \(CacheFixtures.date(20).lowercased())", is: "stored"),
        CacheRule(
            "§4.2: time zones in the wrong case", "Expires: \(CacheFixtures.date(20).uppercased())", is: "stored"),
        CacheRule("§4.2.1: duplicates, the first", "CC: max-age=5, max-age=60", is: "validate stale"),
        CacheRule("§4.2.1: duplicates in two fields", "CC: max-age=60|CC: max-age=5", is: "stored"),
        CacheRule("§4.2.1: an invalid lifetime is stale", "CC: max-age=x|Expires: \(day)", is: "validate stale"),
        CacheRule("§4.2.1: white space before =", "CC: max-age =60", is: "validate stale"),
        CacheRule("§4.2.1: white space after =", "CC: max-age= 60", is: "validate stale"),
        CacheRule("§5.3: an invalid Expires is past", "Expires: 0", is: "validate stale"),
        CacheRule("§5.3: max-age before an invalid Expires", "CC: max-age=60|Expires: 0", is: "stored"),
        CacheRule("§4.2.2: a tenth since the last change", "Last-Modified: \(day)", age: 8639, is: "stored"),
        CacheRule(
            "§4.2.2: more than that", "Last-Modified: \(day)", age: 8641, is: "validate stale If-Modified-Since \(day)"),
        CacheRule("§4.2.2: 404", "Last-Modified: \(day)", status: 404, is: "stored"),
        CacheRule("§4.2.2: 410", "Last-Modified: \(day)", status: 410, is: "stored"),
        CacheRule("§4.2.2: 203", "Last-Modified: \(day)", status: 203, is: "stored"),
        CacheRule("§4.2.2: 501", "Last-Modified: \(day)", status: 501, is: "stored"),
        CacheRule("§4.2.2: public", "CC: public|Last-Modified: \(day)", status: 599, is: "stored"),
        CacheRule(
            "§4.2.2: an explicit lifetime goes before", "CC: max-age=5|Last-Modified: \(day)",
            is: "validate stale If-Modified-Since \(day)"),
        CacheRule("§4.2.2: no lifetime", #"ETag: "1""#, is: none),
        CacheRule("§4.2.3: Age", "CC: max-age=60|Age: 49", is: "stored"),
        CacheRule("§4.2.3: Age uses up the lifetime", "CC: max-age=60|Age: 50", is: "validate stale"),
        CacheRule(
            "§4.2.3: Date uses up the lifetime", "CC: max-age=60|Date: \(CacheFixtures.date(-50))", is: "validate stale"
        ),
        CacheRule("§4.2.3: a Date in the future", "CC: max-age=60|Date: \(CacheFixtures.date(500))", is: "stored"),
        CacheRule("§5.1: Age with a parameter", "CC: max-age=60|Age: 50;foo=bar", is: "validate stale"),
        CacheRule("§5.1: Age with a number as parameter", "CC: max-age=60|Age: 50;foo=1", is: "validate stale"),
        CacheRule("§5.1: of a list the first", "CC: max-age=60|Age: 0, 50", is: "stored"),
        CacheRule("§5.1: of a list the first, stale", "CC: max-age=60|Age: 50, 0", is: "validate stale"),
        CacheRule("§5.1: an invalid Age is ignored", "CC: max-age=60|Age: -50", is: "stored"),
        CacheRule("§5.1: a fraction is ignored", "CC: max-age=60|Age: 50.0", is: "stored"),
        CacheRule("§1.2.2: an Age of 2^31", "CC: max-age=3600|Age: 2147483648", is: "validate stale"),
        CacheRule("§1.2.2: a lifetime above 2^31", "CC: max-age=99999999999", age: 1e9, is: "stored"),
    ]

    /// RFC 9111 §5.2.
    private static let directives: [CacheRule] = [
        CacheRule("§5.2: the case of names", "CC: MaX-aGe=60", is: "stored"),
        CacheRule("§5.2: a quoted argument", #"CC: max-age="60""#, is: "stored"),
        CacheRule("§5.2: single quotes", "CC: max-age='60'", is: "validate stale"),
        CacheRule("§5.2.3: inside another argument", #"CC: a="max-age=60", max-age=5"#, is: "validate stale"),
        CacheRule("§5.2.3: an unknown directive", "CC: foo, max-age=60", is: "stored"),
        CacheRule("§1.2.2: leading zeros", "CC: max-age=0060", is: "stored"),
        CacheRule("§5.2.1.1: max-age", tag, "CC: max-age=9", is: asked),
        CacheRule("§5.2.1.1: max-age that is enough", tag, "CC: max-age=10", is: "stored"),
        CacheRule("§5.2.1.1: max-age=0", tag, age: 0, "CC: max-age=0", is: asked),
        CacheRule("§5.2.1.1: max-age of a stale response", tag, age: 70, "CC: max-age=100", is: none),
        CacheRule("§5.2.1.1: max-age with max-stale", tag, age: 70, "CC: max-age=100, max-stale=20", is: "stored"),
        CacheRule("§5.2.1.2: max-stale", tag, age: 70, "CC: max-stale=10", is: "stored"),
        CacheRule("§5.2.1.2: max-stale that is shorter", tag, age: 71, "CC: max-stale=10", is: none),
        CacheRule("§5.2.1.2: max-stale without an argument", tag, age: 9e6, "CC: max-stale", is: "stored"),
        CacheRule("§5.2.1.3: min-fresh", tag, "CC: min-fresh=50", is: "stored"),
        CacheRule("§5.2.1.3: min-fresh that is longer", tag, "CC: min-fresh=51", is: asked),
        CacheRule("§5.2.1.3: min-fresh with Age", "CC: max-age=60|Age: 20", "CC: min-fresh=31", is: "validate request"),
        CacheRule("§5.2.1.4: no-cache", tag, "CC: no-cache", is: asked),
        CacheRule("§5.2.1.4: no-cache of a stale response", tag, age: 70, "CC: no-cache", is: none),
        CacheRule("§5.2.1.5: no-store", tag, "CC: no-store", is: "network bypass"),
        CacheRule("§5.2.1.7: only-if-cached", tag, "CC: only-if-cached", is: "stored"),
        CacheRule("§5.2.1.7: only-if-cached, stale", tag, age: 60, "CC: only-if-cached", is: "unsatisfiable"),
        CacheRule("§5.2.1.7: with max-stale", tag, age: 60, "CC: only-if-cached, max-stale", is: "stored"),
        CacheRule("§5.2.1.7: nothing stored", nil, "CC: only-if-cached", is: "unsatisfiable"),
        CacheRule("§5.2.1.7: a part", tag, part: 0..<5, "CC: only-if-cached", is: "unsatisfiable"),
        CacheRule("§5.2.2.2: must-revalidate, fresh", tagged("must-revalidate"), is: "stored"),
        CacheRule("§5.2.2.2: must-revalidate", tagged("must-revalidate"), age: 60, "CC: max-stale", is: none),
        CacheRule("§5.2.2.4: no-cache", tagged("no-cache"), is: none),
        CacheRule("§5.2.2.4: no-cache with fields", tagged(#"no-cache="a""#), is: none),
        CacheRule("§5.2.2.4: no-cache against max-stale", tagged("no-cache"), "CC: max-stale", is: none),
        CacheRule("§5.2.2.7: private", tagged("private"), is: "stored"),
        CacheRule("§5.2.2.7: private with fields", tagged(#"private="a""#), is: "stored"),
        CacheRule(
            "§5.2.2.8: proxy-revalidate is for shared caches", tagged("proxy-revalidate"), age: 60, "CC: max-stale",
            is: "stored"),
        CacheRule("§5.2.2.3: must-understand with no-store", tagged("must-understand, no-store"), is: "stored"),
        CacheRule("§5.4: Pragma", tag, "Pragma: no-cache", is: asked),
        CacheRule("§5.4: Pragma beside Cache-Control", tag, "Pragma: no-cache|CC: max-age=60", is: "stored"),
        CacheRule("§5.4: Pragma of a response", "\(tag)|Pragma: no-cache", is: "stored"),
    ]

    /// RFC 9111 §4.3, RFC 9110 §13.
    private static let validation: [CacheRule] = [
        CacheRule("§4.3.1: by a weak tag", #"ETag: W/"1""#, is: #"validate stale If-None-Match W/"1""#),
        CacheRule(
            "§4.3.1: by the date", "CC: max-age=5|Last-Modified: \(day)", is: "validate stale If-Modified-Since \(day)"),
        CacheRule(
            "§4.3.1: by both", #"CC: max-age=5|ETag: "1"|Last-Modified: \#(day)"#,
            is: #"validate stale If-Modified-Since \#(day) If-None-Match "1""#),
        CacheRule("§4.3.1: without a validator", "CC: max-age=5", is: "validate stale"),
        CacheRule("§4.3.5: HEAD, fresh", tag, method: .head, is: "stored"),
        CacheRule("§4.3.5: HEAD, stale", tag, age: 60, method: .head, is: "network stale"),
        CacheRule("RFC 9110 §13.1.1: the request's If-Match", tag, #"If-Match: "1""#, is: "network bypass"),
        CacheRule("RFC 9110 §13.1.2: the request's If-None-Match", tag, #"If-None-Match: "1""#, is: "network bypass"),
        CacheRule(
            "RFC 9110 §13.1.3: the request's If-Modified-Since", tag, "If-Modified-Since: \(day)", is: "network bypass"),
        CacheRule(
            "RFC 9110 §13.1.4: the request's If-Unmodified-Since", tag, "If-Unmodified-Since: \(day)",
            is: "network bypass"),
        CacheRule("RFC 9110 §13.1.5: If-Range without Range", tag, #"If-Range: "2""#, is: "stored"),
        CacheRule("RFC 9110 §13.1.5: If-Range", tag, #"Range: bytes=0-1|If-Range: "1""#, is: "stored bytes 0-1/10"),
        CacheRule("RFC 9110 §13.1.5: If-Range of another", tag, #"Range: bytes=0-1|If-Range: "2""#, is: "stored"),
        CacheRule(
            "RFC 9110 §13.1.5: a weak If-Range", #"CC: max-age=60|ETag: W/"1""#, #"Range: bytes=0-1|If-Range: W/"1""#,
            is: "stored"),
        CacheRule(
            "RFC 9110 §13.1.5: a date", "CC: max-age=60|Last-Modified: \(day)", "Range: bytes=0-1|If-Range: \(day)",
            is: "stored bytes 0-1/10"),
        CacheRule(
            "RFC 9110 §13.1.5: another date", "CC: max-age=60|Last-Modified: \(day)",
            "Range: bytes=0-1|If-Range: \(CacheFixtures.date(-9))", is: "stored"),
        CacheRule(
            "RFC 9110 §13.1.5: a date that is not strong", "CC: max-age=60|Last-Modified: \(CacheFixtures.date(0))",
            "Range: bytes=0-1|If-Range: \(CacheFixtures.date(0))", is: "stored"),
        CacheRule(
            "RFC 9110 §13.1.5: of another than the part", tag, part: 0..<5, #"Range: bytes=0-1|If-Range: "2""#,
            is: "complete"),
    ]

    /// RFC 9111 §4.1.
    private static let selection: [CacheRule] = [
        CacheRule("§4.1: the same", "\(tag)|Vary: A", first: "A: 1", "A: 1", is: "stored"),
        CacheRule("§4.1: another", "\(tag)|Vary: A", first: "A: 1", "A: 2", is: "network vary-miss"),
        CacheRule("§4.1: missing", "\(tag)|Vary: A", first: "A: 1", is: "network vary-miss"),
        CacheRule("§4.1: missing before", "\(tag)|Vary: A", "A: 1", is: "network vary-miss"),
        CacheRule("§4.1: missing in both", "\(tag)|Vary: A", is: "stored"),
        CacheRule("§4.1: the case of names", "\(tag)|Vary: a", first: "A: 1", "a: 1", is: "stored"),
        CacheRule("§4.1: fields that are not listed", "\(tag)|Vary: A", first: "B: 1", "B: 2", is: "stored"),
        CacheRule("§4.1: two names", "\(tag)|Vary: A, B", first: "A: 1|B: 2", "B: 2|A: 1", is: "stored"),
        CacheRule("§4.1: one of two", "\(tag)|Vary: A, B", first: "A: 1|B: 2", "A: 1|B: 3", is: "network vary-miss"),
        CacheRule("§4.1: combined fields", "\(tag)|Vary: A", first: "A: 1, 2", "A: 1|A: 2", is: "stored"),
        CacheRule(
            "§4.1: the order of languages", "\(tag)|Vary: Accept-Language", first: "Accept-Language: en, de",
            "Accept-Language: de, en", is: "stored"),
        CacheRule(
            "§4.1: the case of languages", "\(tag)|Vary: Accept-Language", first: "Accept-Language: en, de",
            "Accept-Language: eN,De", is: "stored"),
        CacheRule(
            "§4.1: other languages", "\(tag)|Vary: Accept-Language", first: "Accept-Language: en",
            "Accept-Language: de", is: "network vary-miss"),
        CacheRule(
            "one user's is not another's", tag, first: "Authorization: a", "Authorization: b", is: "network vary-miss"),
        CacheRule("§5.2.2.9: public", tagged("public"), first: "Authorization: a", "Authorization: b", is: "stored"),
    ]

    /// RFC 9111 §3.3, §3.4, RFC 9110 §14.
    private static let parts: [CacheRule] = [
        CacheRule("RFC 9110 §14.1.2: the first two", tag, "Range: bytes=0-1", is: "stored bytes 0-1/10"),
        CacheRule("RFC 9110 §14.1.2: in the middle", tag, "Range: bytes=3-5", is: "stored bytes 3-5/10"),
        CacheRule("RFC 9110 §14.1.2: to the end", tag, "Range: bytes=1-", is: "stored bytes 1-9/10"),
        CacheRule("RFC 9110 §14.1.2: the last one", tag, "Range: bytes=-1", is: "stored bytes 9-9/10"),
        CacheRule("RFC 9110 §14.1.2: more than there are", tag, "Range: bytes=8-99", is: "stored bytes 8-9/10"),
        CacheRule("RFC 9110 §14.1.2: a suffix that is longer", tag, "Range: bytes=-99", is: "stored bytes 0-9/10"),
        CacheRule("RFC 9110 §14.1.1: not satisfiable", tag, "Range: bytes=10-", is: "network partial"),
        CacheRule("RFC 9110 §14.1.2: a suffix of nothing", tag, "Range: bytes=-0", is: "network partial"),
        CacheRule("RFC 9110 §14.2: several ranges", tag, "Range: bytes=0-1,4-5", is: "network bypass"),
        CacheRule("RFC 9110 §14.2: another unit", tag, "Range: lines=0-1", is: "network bypass"),
        CacheRule("RFC 9110 §14.2: invalid", tag, "Range: bytes=5-1", is: "network bypass"),
        CacheRule("RFC 9110 §14.2: only GET has ranges", tag, "Range: bytes=0-1", method: .head, is: "stored"),
        CacheRule("RFC 9110 §14.2: 404 is whole", "CC: max-age=60", status: 404, "Range: bytes=0-1", is: "stored"),
        CacheRule("§4.2: a range of a stale response", tag, age: 60, "Range: bytes=0-1", is: none),
        CacheRule("§3.3: the same part", tag, part: 0..<5, "Range: bytes=0-4", is: "stored bytes 0-4/10"),
        CacheRule("§3.3: within a part", tag, part: 2..<8, "Range: bytes=3-4", is: "stored bytes 3-4/10"),
        CacheRule(
            "§3.3: without a validator", "CC: max-age=60", part: 2..<8, "Range: bytes=3-4", is: "stored bytes 3-4/10"),
        CacheRule("§3.3: a suffix within a part", tag, part: 5..<10, "Range: bytes=-3", is: "stored bytes 7-9/10"),
        CacheRule("§3.3: to the end, within a part", tag, part: 5..<10, "Range: bytes=6-", is: "stored bytes 6-9/10"),
        CacheRule("§3.3: more than the part", tag, part: 2..<8, "Range: bytes=3-8", is: "complete"),
        CacheRule("§3.3: beside the part", tag, part: 2..<8, "Range: bytes=8-9", is: "complete"),
        CacheRule(
            "§3.3: beside, without a validator", "CC: max-age=60", part: 2..<8, "Range: bytes=8-9",
            is: "network partial"),
        CacheRule("§3.3: a stale part", tag, part: 2..<8, age: 60, "Range: bytes=3-4", is: none),
        CacheRule("§3.3: HEAD", tag, part: 0..<5, method: .head, is: "network partial"),
        CacheRule("§3.4: the rest", tag, part: 0..<5, is: #"complete If-Range "1" Range bytes=5-"#),
        CacheRule("§3.4: the start", tag, part: 4..<10, is: #"complete If-Range "1" Range bytes=0-3"#),
        CacheRule("§3.4: both sides", tag, part: 4..<8, is: "network partial"),
        CacheRule(
            "§3.4: the rest of a stale part", tag, part: 0..<5, age: 60, is: #"complete If-Range "1" Range bytes=5-"#),
        CacheRule("§3.4: a weak validator", #"CC: max-age=60|ETag: W/"1""#, part: 0..<5, is: "network partial"),
        CacheRule("§3.4: no validator", "CC: max-age=60", part: 0..<5, is: "network partial"),
        CacheRule(
            "§3.4: a date as validator", "CC: max-age=60|Last-Modified: \(day)", part: 0..<5,
            is: "complete If-Range \(day) Range bytes=5-"),
        CacheRule("§3.4: all bytes are no part", tag, part: 0..<10, is: "stored"),
        CacheRule(
            "§3.4: no-cache of the request", tag, part: 0..<5, "CC: no-cache",
            is: #"complete If-Range "1" Range bytes=5-"#),
        CacheRule(
            "§3.3: any age, but not any part", tag, part: 0..<5, policy: .returnCacheDontLoad, is: "unsatisfiable"),
        CacheRule(
            "§3.3: any age of a part", tag, part: 0..<5, age: 99, "Range: bytes=0-1", policy: .returnCacheDontLoad,
            is: "stored bytes 0-1/10"),
    ]

    /// RFC 9211 §2.2.
    private static let reasons: [CacheRule] = [
        CacheRule("RFC 9211 §2.2: POST", tag, method: .post, is: "network method"),
        CacheRule("RFC 9211 §2.2: PUT", tag, method: .put, is: "network method"),
        CacheRule("RFC 9211 §2.2: OPTIONS", tag, method: .options, is: "network method"),
        CacheRule("RFC 9211 §2.2: bypass", tag, policy: .reloadIgnoringCache, is: "network bypass"),
        CacheRule("policy: else load, stale", tag, age: 9e6, policy: .returnCacheElseLoad, is: "stored"),
        CacheRule("policy: else load, nothing stored", nil, policy: .returnCacheElseLoad, is: "network uri-miss"),
        CacheRule("policy: cache only, stale", tag, age: 9e6, policy: .returnCacheDontLoad, is: "stored"),
        CacheRule("policy: cache only, nothing stored", nil, policy: .returnCacheDontLoad, is: "unsatisfiable"),
        CacheRule("policy: cache only, POST", tag, method: .post, policy: .returnCacheDontLoad, is: "unsatisfiable"),
        CacheRule("policy: revalidate", tag, policy: .reloadRevalidating, is: asked),
        CacheRule("policy: revalidate, stale", tag, age: 60, policy: .reloadRevalidating, is: none),
        CacheRule("policy: revalidate a range", tag, "Range: bytes=0-1", policy: .reloadRevalidating, is: asked),
    ]

    /// RFC 5861 §3, RFC 8246 §2.
    private static let extensions: [CacheRule] = [
        CacheRule("RFC 8246 §2: immutable", tagged("immutable"), policy: .reloadRevalidating, is: "stored"),
        CacheRule("RFC 8246 §2: stale", tagged("immutable"), age: 60, policy: .reloadRevalidating, is: none),
        CacheRule("RFC 8246 §2: no-cache", tagged("immutable"), "CC: no-cache", is: asked),
        CacheRule("RFC 8246 §2: with no-cache", tagged("immutable, no-cache"), policy: .reloadRevalidating, is: none),
        CacheRule("RFC 5861 §3: fresh", tagged("stale-while-revalidate=9"), is: "stored"),
        CacheRule(
            "RFC 5861 §3: stale", tagged("stale-while-revalidate=9"), age: 60, is: #"revalidating If-None-Match "1""#),
        CacheRule(
            "RFC 5861 §3: the last second", tagged("stale-while-revalidate=9"), age: 69,
            is: #"revalidating If-None-Match "1""#),
        CacheRule("RFC 5861 §3: later", tagged("stale-while-revalidate=9"), age: 70, is: none),
        CacheRule("RFC 5861 §3: no window", tagged("stale-while-revalidate=0"), age: 61, is: none),
        CacheRule("RFC 5861 §3: invalid", tagged("stale-while-revalidate=x"), age: 61, is: none),
        CacheRule("RFC 5861 §3: without a validator", "CC: max-age=1, stale-while-revalidate=60", is: "revalidating"),
        CacheRule(
            "RFC 5861 §3: must-revalidate", tagged("stale-while-revalidate=9, must-revalidate"), age: 61, is: none),
        CacheRule("RFC 5861 §3: no-cache", tagged("stale-while-revalidate=9, no-cache"), age: 61, is: none),
        CacheRule(
            "RFC 5861 §3: the request's no-cache", tagged("stale-while-revalidate=9"), age: 61, "CC: no-cache", is: none
        ),
        CacheRule(
            "RFC 5861 §3: the request's max-age", tagged("stale-while-revalidate=9"), age: 61, "CC: max-age=99",
            is: none),
        CacheRule(
            "RFC 5861 §3: the request's min-fresh", tagged("stale-while-revalidate=9"), age: 61, "CC: min-fresh=1",
            is: none),
        CacheRule(
            "RFC 5861 §3: the request's max-stale", tagged("stale-while-revalidate=9"), age: 61, "CC: max-stale=5",
            is: "stored"),
        CacheRule(
            "RFC 5861 §3: the request's no-store", tagged("stale-while-revalidate=9"), age: 61, "CC: no-store",
            is: "network bypass"),
        CacheRule(
            "RFC 5861 §3: only-if-cached", tagged("stale-while-revalidate=9"), age: 61, "CC: only-if-cached",
            is: "unsatisfiable"),
        CacheRule("RFC 5861 §3: HEAD", tagged("stale-while-revalidate=9"), age: 61, method: .head, is: "network stale"),
        CacheRule("RFC 5861 §3: a range", tagged("stale-while-revalidate=9"), age: 61, "Range: bytes=0-1", is: none),
        CacheRule(
            "RFC 5861 §3: a policy that reloads", tagged("stale-while-revalidate=9"), age: 61,
            policy: .reloadRevalidating, is: none),
        CacheRule("RFC 5861 §4: stale-if-error waits for the error", tagged("stale-if-error=9"), age: 61, is: none),
    ]
}
