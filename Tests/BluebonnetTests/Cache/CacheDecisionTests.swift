import FoundationEssentials
import Testing

@testable import Bluebonnet

/// A stored response, a request, and the decision about it (RFC 9111 §4, §5.2).
struct CacheDecisionTests {
    enum Expected: Equatable, Sendable {
        case network, stored, unsatisfiable, other
        case validate([String: String])
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The stored response's fields; `nil` if there is none.
        let stored: HTTPHeaders?
        /// How old it is.
        let age: Double
        let request: HTTPHeaders
        let policy: HTTPRequest.CachePolicy?
        let method: HTTPMethod
        let expected: Expected

        init(
            _ name: String, _ stored: HTTPHeaders?, age: Double = 10, request: HTTPHeaders = [:],
            policy: HTTPRequest.CachePolicy? = nil, method: HTTPMethod = .get, _ expected: Expected
        ) {
            testDescription = name
            self.stored = stored
            self.age = age
            self.request = request
            self.policy = policy
            self.method = method
            self.expected = expected
        }
    }

    private static let minute: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
    private static func minute(_ more: String) -> HTTPHeaders {
        ["Cache-Control": "max-age=60, \(more)", "ETag": "\"1\""]
    }
    private static func asking(_ directives: String) -> HTTPHeaders { ["Cache-Control": directives] }
    private static let tag = ["If-None-Match": "\"1\""]

    static let rows: [Row] = [
        Row("§4: nothing stored", nil, .network),
        Row("§4.2: fresh", minute, .stored),
        Row("§4.2: at its end", minute, age: 60, .validate(tag)),
        Row("§4.2: stale", minute, age: 61, .validate(tag)),
        Row(
            "§4.3.1: by the time", ["Last-Modified": CacheFixtures.date(-10), "Cache-Control": "max-age=5"],
            .validate(["If-Modified-Since": CacheFixtures.date(-10)])),
        Row(
            "§4.3.1: by both", ["Last-Modified": "x", "ETag": "W/\"1\""],
            .validate(["If-Modified-Since": "x", "If-None-Match": "W/\"1\""])),
        Row("§4.3.1: by nothing", ["Cache-Control": "max-age=5"], .validate([:])),
        Row(
            "§4.3.1: a tag without its quotes is the server's", ["Cache-Control": "max-age=5", "ETag": "abc"],
            .validate(["If-None-Match": "abc"])),
        Row("§5.2.2.4: no-cache", minute("no-cache"), .validate(tag)),
        Row("§5.2.2.2: must-revalidate while fresh", minute("must-revalidate"), .stored),
        // Directives of requests.
        Row("§5.2.1.1: max-age", minute, request: asking("max-age=5"), .validate(tag)),
        Row("§5.2.1.1: max-age that is longer", minute, request: asking("max-age=20"), .stored),
        Row("§5.2.1.1: max-age=0", minute, age: 0, request: asking("max-age=0"), .validate(tag)),
        Row("§5.2.1.1: max-age does not prolong", minute, age: 70, request: asking("max-age=100"), .validate(tag)),
        Row("§5.2.1.2: max-stale", minute, age: 70, request: asking("max-stale=10"), .stored),
        Row("§5.2.1.2: max-stale that is shorter", minute, age: 71, request: asking("max-stale=10"), .validate(tag)),
        Row("§5.2.1.2: max-stale without a limit", minute, age: 99_999, request: asking("max-stale"), .stored),
        Row(
            "§5.2.2.2: must-revalidate against max-stale", minute("must-revalidate"), age: 61,
            request: asking("max-stale"), .validate(tag)),
        Row("§5.2.2.4: no-cache against max-stale", minute("no-cache"), request: asking("max-stale"), .validate(tag)),
        Row("§5.2.1.3: min-fresh", minute, request: asking("min-fresh=50"), .stored),
        Row("§5.2.1.3: min-fresh that is longer", minute, request: asking("min-fresh=51"), .validate(tag)),
        Row("§5.2.1.4: no-cache", minute, request: asking("no-cache"), .validate(tag)),
        Row("§5.4: Pragma", minute, request: ["Pragma": "no-cache"], .validate(tag)),
        Row(
            "§5.4: Pragma beside Cache-Control", minute,
            request: ["Pragma": "no-cache", "Cache-Control": "max-age=60"],
            .stored),
        Row("§5.2.1.5: no-store", minute, request: asking("no-store"), .network),
        Row("§5.2.1.7: only-if-cached", minute, request: asking("only-if-cached"), .stored),
        Row("§5.2.1.7: only-if-cached, stale", minute, age: 61, request: asking("only-if-cached"), .unsatisfiable),
        Row(
            "§5.2.1.7: only-if-cached, with max-stale", minute, age: 61, request: asking("only-if-cached, max-stale"),
            .stored),
        Row("§5.2.1.7: only-if-cached, nothing stored", nil, request: asking("only-if-cached"), .unsatisfiable),
        Row("the user's own condition", minute, request: ["If-None-Match": "\"2\""], .network),
        Row("the user's own time", minute, request: ["If-Modified-Since": CacheFixtures.date(0)], .network),
        Row("the user's own If-Match", minute, request: ["If-Match": "\"2\""], .network),
        Row("RFC 9110 §14.2: a part", minute, request: ["Range": "bytes=0-1"], .stored),
        // Methods.
        Row("RFC 9110 §9.3.2: HEAD, fresh", minute, method: .head, .stored),
        Row("§4.3.5: HEAD, stale", minute, age: 61, method: .head, .network),
        Row("§4: POST", minute, method: .post, .network),
        Row("§4: OPTIONS", minute, method: .options, .network),
        // Policies.
        Row("reload", minute, policy: .reloadIgnoringCache, .network),
        Row("cache else load, stale", minute, age: 9999, policy: .returnCacheElseLoad, .stored),
        Row("cache else load, no-cache", minute("no-cache"), policy: .returnCacheElseLoad, .stored),
        Row("cache else load, nothing stored", nil, policy: .returnCacheElseLoad, .network),
        Row("cache only, stale", minute, age: 9999, policy: .returnCacheDontLoad, .stored),
        Row("cache only, nothing stored", nil, policy: .returnCacheDontLoad, .unsatisfiable),
        Row("cache only, POST", minute, policy: .returnCacheDontLoad, method: .post, .unsatisfiable),
        Row("revalidate, fresh", minute, policy: .reloadRevalidating, .validate(tag)),
        Row("RFC 8246 §2: revalidate, immutable", minute("immutable"), policy: .reloadRevalidating, .stored),
        Row(
            "RFC 8246 §2: revalidate, immutable and stale", minute("immutable"), age: 61, policy: .reloadRevalidating,
            .validate(tag)),
        Row(
            "RFC 8246 §2: immutable against no-cache", minute("immutable"), request: asking("no-cache"), .validate(tag)),
        Row("protocol", minute, policy: .useProtocolCachePolicy, .stored),
    ]

    @Test(arguments: rows) func `the decision depends on the request and the stored response`(_ row: Row) throws {
        let request = try CacheFixtures.request(row.request, method: row.method, policy: row.policy)
        let candidates = try row.stored.map { [try CacheFixtures.stored($0)] } ?? []
        let decision = CacheDecision(
            request, candidates: candidates, now: CacheFixtures.begin.addingTimeInterval(row.age))
        #expect(Self.summary(decision) == row.expected)
    }

    private static func summary(_ decision: CacheDecision) -> Expected {
        switch decision {
        case .network: .network
        case .stored: .stored
        case .storedWhileRevalidating, .complete: .other
        case .validate(_, let conditions, _): .validate(conditions.dictionary)
        case .unsatisfiable: .unsatisfiable
        }
    }

    // MARK: Which response

    struct Match: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let response: HTTPHeaders
        let first: HTTPHeaders
        let second: HTTPHeaders
        let matches: Bool

        init(_ name: String, _ response: HTTPHeaders, _ first: HTTPHeaders, _ second: HTTPHeaders, _ matches: Bool) {
            testDescription = name
            self.response = response
            self.first = first
            self.second = second
            self.matches = matches
        }
    }

    private static func vary(_ name: String) -> HTTPHeaders { ["Vary": "Accept-\(name)"] }
    private static func language(_ value: String) -> HTTPHeaders { ["Accept-Language": value] }

    static let matches: [Match] = [
        Match("§4.1: no Vary", [:], ["Accept": "a"], ["Accept": "b"], true),
        Match("§4.1: the same", ["Vary": "Accept"], ["Accept": "a"], ["accept": "a"], true),
        Match("§4.1: another", ["Vary": "accept"], ["Accept": "a"], ["Accept": "b"], false),
        Match("§4.1: none and some", ["Vary": "Accept"], [:], ["Accept": "b"], false),
        Match("§4.1: none and an empty one", ["Vary": "Accept"], [:], ["Accept": ""], false),
        Match("§4.1: none and none", ["Vary": "Accept"], [:], [:], true),
        Match("§4.1: white space", ["Vary": "Accept"], ["Accept": "a,  b"], ["Accept": " a , b"], true),
        // Fields of content negotiation.
        Match("§4.1: order", vary("Language"), language("en, de"), language("de,en"), true),
        Match("§4.1: case", vary("Language"), language("en-GB"), language("EN-gb"), true),
        Match("§4.1: a weight of 1", vary("Language"), language("en"), language("en;q=1"), true),
        Match("§4.1: a weight of 1.000", vary("Language"), language("en;q=1.0"), language("en; Q = 1.000"), true),
        Match("§4.1: trailing zeros", vary("Language"), language("en;q=0.5"), language("en;q=0.500"), true),
        Match("§4.1: a weight of 0", vary("Language"), language("en;q=0"), language("en;q=0.0"), true),
        Match("§4.1: 0 is not 1", vary("Language"), language("en;q=0"), language("en"), false),
        Match("§4.1: other weights", vary("Language"), language("en;q=0.5"), language("en;q=0.6"), false),
        Match("§4.1: weights of others", vary("Language"), language("a;q=0.5, b"), language("a, b;q=0.5"), false),
        Match("§4.1: empty elements", vary("Language"), language("a, , b,"), language("a, b"), true),
        Match("§4.1: one more", vary("Language"), language("a, b"), language("a, b, c"), false),
        Match(
            "§4.1: codings", vary("Encoding"), ["Accept-Encoding": "gzip, br;q=0.9"],
            ["Accept-Encoding": "BR;q=0.90,GZIP"], true),
        Match("§4.1: no coding", vary("Encoding"), ["Accept-Encoding": ""], [:], false),
        Match(
            "§4.1: types", ["Vary": "Accept"], ["Accept": "text/html, */*;q=0.10"], ["Accept": "*/*;q=0.1,TEXT/html"],
            true),
        Match(
            "§4.1: names of parameters", ["Vary": "Accept"], ["Accept": "text/a;Level=1"],
            ["Accept": "text/a; level=1"],
            true),
        Match(
            "§4.1: values of parameters", ["Vary": "Accept"], ["Accept": "text/a;p=A"], ["Accept": "text/a;p=a"], false),
        Match(
            "§4.1: quoted values", ["Vary": "Accept"], ["Accept": "text/a;p=\"a;q=1\""], ["Accept": "text/a;p=\"a\""],
            false),
        Match("§4.1: the order of unknown fields", ["Vary": "A"], ["A": "1, 2"], ["A": "2, 1"], false),
        Match("§4.1: the case of unknown fields", ["Vary": "A"], ["A": "a"], ["A": "A"], false),
        Match("§4.1: the order of User-Agent", ["Vary": "User-Agent"], ["User-Agent": "a"], ["User-Agent": "A"], false),
        Match(
            "§4.1: joined fields", ["Vary": "A"],
            [HTTPHeader(name: "A", value: "1"), HTTPHeader(name: "A", value: "2")],
            ["A": "1, 2"], true),
        Match("§4.1: two names", ["Vary": "A, B"], ["A": "1", "B": "2"], ["A": "1", "B": "3"], false),
        Match("§4.1: values do not run into the next", ["Vary": "A, B"], ["A": "1"], ["B": "1"], false),
        Match(
            "§4.1: two fields", [HTTPHeader(name: "Vary", value: "A"), HTTPHeader(name: "Vary", value: "B")],
            ["B": "2"], ["B": "3"], false),
        Match("one user's is not another's", [:], ["Authorization": "a"], ["Authorization": "b"], false),
        Match("one user's is not for anonymous requests", [:], ["Authorization": "a"], [:], false),
        Match("one cookie's is not another's", [:], ["Cookie": "a=1"], ["Cookie": "a=2"], false),
        Match("unless it is public", ["Cache-Control": "public"], ["Authorization": "a"], ["Authorization": "b"], true),
    ]

    @Test(arguments: matches) func `a request uses the variant of a similar request`(_ row: Match) throws {
        let entry = try CacheFixtures.stored(row.response, for: try CacheFixtures.request(row.first))
        #expect(entry.matches(try CacheFixtures.request(row.second)) == row.matches)
    }

    @Test func `users in URLs and credentials are distinguished`() throws {
        let one = try CacheFixtures.request(url: "http://ada:x@a.test/x")
        let other = try CacheFixtures.request(url: "http://bob:x@a.test/x")
        let third = try CacheFixtures.request { $0.credential = Credential(username: "ada", password: "y") }
        #expect(one.key == other.key && one.key == third.key)
        let entry = try CacheFixtures.stored([:], for: one)
        #expect(entry.matches(one) && !entry.matches(other) && !entry.matches(third))
    }

    @Test func `§4.1: fields that the session adds choose, too, and the request's go before them`() throws {
        var settings = CacheSettings()
        settings.headers = ["Accept": "a"]
        let entry = try CacheFixtures.stored(["Vary": "Accept"], for: try CacheFixtures.request(["Accept": "a"]))
        #expect(entry.matches(try CacheFixtures.request(settings: settings)))
        #expect(!entry.matches(try CacheFixtures.request(["Accept": "b"], settings: settings)))
    }

    @Test func `§4: of several responses the newest is used`() throws {
        let request = try CacheFixtures.request()
        let old = try CacheFixtures.stored(["Cache-Control": "max-age=60"], body: "old", for: request)
        let new = try CacheFixtures.stored(["Cache-Control": "max-age=60, public"], body: "new", for: request, at: 5)
        for candidates in [[old, new], [new, old]] {
            let found = try #require(CacheDecision.newest(candidates, for: request))
            #expect(String(decoding: try found.body.all(), as: UTF8.self) == "new")
        }
    }

    // MARK: Keys

    @Test(arguments: [
        ("http://a.test", "http://A.test:80/", true), ("http://a.test/x#a", "HTTP://a.test/x#b", true),
        ("https://a.test:443/x", "https://a.test/x", true), ("http://a.test/x", "https://a.test/x", false),
        ("http://a.test/x", "http://a.test/X", false), ("http://a.test/x?a", "http://a.test/x", false),
        ("http://a.test?q", "http://a.test/?q", true), ("http://u:p@a.test/x", "http://a.test/x", true),
        ("http://a.test:8080/x", "http://a.test/x", false), ("http://[::1]/x", "http://[::1]:80/x", true),
    ])
    func `equivalent URLs have one key`(_ left: String, _ right: String, _ isSame: Bool) throws {
        let keys = try [left, right].map { CacheKey(try #require(URL(string: $0))) }
        #expect((keys[0] == keys[1]) == isSame)
        #expect((keys[0].digest == keys[1].digest) == isSame)
    }
}
