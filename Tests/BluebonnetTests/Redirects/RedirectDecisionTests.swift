import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The table of redirected requests.
@Suite struct RedirectDecisionTests {
    /// The kind of a request's body, and whether it is sent with the redirect.
    enum Body: Sendable {
        case none, data, once

        var body: RequestBody? {
            switch self {
            case .none: nil
            case .data: .data(Data("body".utf8))
            case .once: .stream(AsyncStream<Data> { $0.finish() })
            }
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let method: HTTPMethod
        let body: Body
        var from = "http://a.example/x"
        var to = "/y"
        var fields: HTTPHeaders = [:]
        /// The method of the next request; `nil` if the response is the answer.
        let next: HTTPMethod?
        let hasBody: Bool
        var remaining: [String]?
        var url: String?

        var testDescription: String { "\(method.rawValue) \(body) \(from) -\(status)-> \(to)" }
    }

    // MARK: Methods (Fetch standard, HTTP-redirect fetch, steps 12 and 13; RFC 9110 §15.4)

    private static let custom = HTTPMethod(rawValue: "REPORT")

    static let methods: [Row] = [
        Row(status: 301, method: .get, body: .none, next: .get, hasBody: false),
        Row(status: 302, method: .get, body: .none, next: .get, hasBody: false),
        Row(status: 303, method: .get, body: .none, next: .get, hasBody: false),
        Row(status: 307, method: .get, body: .none, next: .get, hasBody: false),
        Row(status: 308, method: .get, body: .none, next: .get, hasBody: false),
        Row(status: 301, method: .head, body: .none, next: .head, hasBody: false),
        Row(status: 302, method: .head, body: .none, next: .head, hasBody: false),
        Row(status: 303, method: .head, body: .none, next: .head, hasBody: false),
        Row(status: 307, method: .head, body: .none, next: .head, hasBody: false),
        Row(status: 308, method: .head, body: .none, next: .head, hasBody: false),
        Row(status: 301, method: .post, body: .data, next: .get, hasBody: false),
        Row(status: 302, method: .post, body: .data, next: .get, hasBody: false),
        Row(status: 303, method: .post, body: .data, next: .get, hasBody: false),
        Row(status: 307, method: .post, body: .data, next: .post, hasBody: true),
        Row(status: 308, method: .post, body: .data, next: .post, hasBody: true),
        Row(status: 301, method: .put, body: .data, next: .put, hasBody: true),
        Row(status: 302, method: .put, body: .data, next: .put, hasBody: true),
        Row(status: 303, method: .put, body: .data, next: .get, hasBody: false),
        Row(status: 307, method: .put, body: .data, next: .put, hasBody: true),
        Row(status: 308, method: .put, body: .data, next: .put, hasBody: true),
        Row(status: 301, method: .patch, body: .data, next: .patch, hasBody: true),
        Row(status: 302, method: .patch, body: .data, next: .patch, hasBody: true),
        Row(status: 303, method: .patch, body: .data, next: .get, hasBody: false),
        Row(status: 301, method: .delete, body: .none, next: .delete, hasBody: false),
        Row(status: 303, method: .delete, body: .none, next: .get, hasBody: false),
        Row(status: 308, method: .delete, body: .none, next: .delete, hasBody: false),
        Row(status: 301, method: custom, body: .data, next: custom, hasBody: true),
        Row(status: 302, method: custom, body: .data, next: custom, hasBody: true),
        Row(status: 303, method: custom, body: .data, next: .get, hasBody: false),
        Row(status: 307, method: custom, body: .data, next: custom, hasBody: true),
        Row(status: 308, method: custom, body: .data, next: custom, hasBody: true),
        // A method is case-sensitive (RFC 9110 §9.1): this one is not POST.
        Row(
            status: 302, method: HTTPMethod(rawValue: "post"), body: .none, next: HTTPMethod(rawValue: "post"),
            hasBody: false),
        // A body that is not sent again may be a body that is not replayable.
        Row(status: 302, method: .post, body: .once, next: .get, hasBody: false),
        Row(status: 303, method: .put, body: .once, next: .get, hasBody: false),
    ]

    static let answers: [Row] = [300, 304, 305, 306, 309, 310, 399].map {
        Row(status: $0, method: .get, body: .none, next: nil, hasBody: false)
    }

    // MARK: Fields about the body

    private static let content: HTTPHeaders = [
        "Content-Type": "text/plain", "Content-Encoding": "identity", "Content-Language": "de",
        "Content-Location": "/c", "Content-Length": "4", "Content-Digest": "d", "Last-Modified": "m", "Expect": "e",
        "Accept": "text/html", "X-Other": "1", "Content-Foo": "2",
    ]
    private static let withoutContent = ["Accept", "X-Other", "Content-Foo"]

    static let bodyFields: [Row] = [
        Row(
            status: 301, method: .post, body: .data, fields: content, next: .get, hasBody: false,
            remaining: withoutContent),
        Row(
            status: 302, method: .post, body: .data, fields: content, next: .get, hasBody: false,
            remaining: withoutContent),
        Row(
            status: 303, method: .put, body: .data, fields: content, next: .get, hasBody: false,
            remaining: withoutContent),
        Row(
            status: 307, method: .post, body: .data, fields: content, next: .post, hasBody: true,
            remaining: content.map(\.name)),
        Row(
            status: 308, method: .put, body: .data, fields: content, next: .put, hasBody: true,
            remaining: content.map(\.name)),
        Row(
            status: 302, method: .put, body: .data, fields: content, next: .put, hasBody: true,
            remaining: content.map(\.name)),
        // GET stays GET, and content fields without a body are kept.
        Row(
            status: 303, method: .get, body: .none, fields: ["Content-Type": "a/b"], next: .get, hasBody: false,
            remaining: ["Content-Type"]),
    ]

    // MARK: Changes of origin

    private static let secrets: HTTPHeaders = [
        "Authorization": "a", "cookie": "b", "Proxy-Authorization": "c", "X-Api-Key": "d", "Host": "e", "Accept": "f",
        "Referer": "http://a.example/", "X-Other": "g",
    ]
    private static let harmless = ["Accept", "Referer", "X-Other"]
    private static let all = secrets.map(\.name)

    private static func origin(_ from: String, _ to: String, _ remaining: [String], url: String? = nil) -> Row {
        Row(
            status: 302, method: .get, body: .none, from: from, to: to, fields: secrets, next: .get, hasBody: false,
            remaining: remaining, url: url)
    }

    static let origins: [Row] = [
        origin("http://a.example/x", "/y", all, url: "http://a.example/y"),
        origin("http://a.example/x", "http://a.example/y", all),
        origin("http://a.example/x", "http://A.EXAMPLE/y", all),
        origin("http://a.example/x", "HTTP://a.example/y", all),
        origin("http://a.example/x", "http://a.example:80/y", all),
        origin("http://a.example:80/x", "http://a.example/y", all),
        origin("https://a.example/x", "https://a.example:443/y", all),
        origin("http://a.example/x", "http://a.example:/y", all),
        origin("http://a.example/x", "//a.example/y", all),
        origin("http://[::1]/x", "http://[::1]:80/y", all),
        origin("http://a.example/x", "http://b.example/y", harmless),
        origin("http://a.example/x", "//b.example/y", harmless),
        origin("http://a.example/x", "http://sub.a.example/y", harmless),
        origin("http://sub.a.example/x", "http://a.example/y", harmless),
        origin("http://a.example/x", "http://a.example./y", harmless),
        origin("http://a.example/x", "http://a.example:8080/y", harmless),
        origin("http://a.example:8080/x", "http://a.example:8081/y", harmless),
        origin("http://a.example/x", "https://a.example/y", harmless),
        origin("http://a.example/x", "https://a.example:80/y", harmless),
        origin("https://a.example:443/x", "http://a.example:443/y", ["Accept", "X-Other"]),
        origin("https://a.example/x", "http://b.example/y", ["Accept", "X-Other"]),
        origin("https://a.example/x", "https://b.example/y", harmless),
        origin("http://127.0.0.1/x", "http://localhost/y", harmless),
        // User info stays with its origin, and one in the location is that of the new request.
        origin("http://u:p@a.example/x", "/y", all, url: "http://u:p@a.example/y"),
        origin("http://u:p@a.example/x", "http://a.example/y", all, url: "http://u:p@a.example/y"),
        origin("http://u:p@a.example/x", "http://v:q@a.example/y", all, url: "http://v:q@a.example/y"),
        origin("http://u:p@a.example/x", "http://b.example/y", harmless, url: "http://b.example/y"),
        origin("http://u:p@a.example/x", "http://a.example:81/y", harmless, url: "http://a.example:81/y"),
        origin("http://u:p@a.example/x", "//b.example/y", harmless, url: "http://b.example/y"),
        origin("http://a.example/x", "http://v:q@b.example/y", harmless, url: "http://v:q@b.example/y"),
        // What looks like another host is user info.
        origin("http://a.example/x", "http://a.example@b.example/y", harmless, url: "http://a.example@b.example/y"),
        origin("http://a.example/x", "http:\\\\b.example\\y", harmless, url: "http://b.example/y"),
        origin("http://a.example/x", "\\\\b.example/y", harmless, url: "http://b.example/y"),
    ]

    static let rows = methods + answers + bodyFields + origins

    @Test func `the table has at least 60 rows`() {
        #expect(Self.rows.count >= 60)
    }

    @Test(arguments: rows)
    func `the decision and the redirected request are as in the table`(_ row: Row) throws {
        var request = HTTPRequest(
            url: try #require(URL(string: row.from)), method: row.method, headers: row.fields, body: row.body.body)
        request.credential = Credential(username: "u", password: "p")
        request.handlesCookies = false
        request.timeouts = Timeouts(connect: .seconds(1))
        let outcome = RedirectDecision(request: request).outcome(statusCode: row.status, locations: [row.to])
        guard let method = row.next else {
            guard case .deliver = outcome else {
                Issue.record("\(outcome)")
                return
            }
            return
        }
        guard case .follow(let next) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(next.method == method)
        #expect((next.body != nil) == row.hasBody)
        #expect(next.headers.map(\.name) == row.remaining ?? [])
        if let url = row.url { #expect(next.url.absoluteString == url) }
        // The settings that are not fields are kept, except the credential.
        #expect(!next.handlesCookies && next.timeouts == request.timeouts)
        let staysHome = Origin(of: request.url) == Origin(of: next.url)
        #expect((next.credential == nil) == !staysHome)
        #expect(next.omitsSessionSecrets == !staysHome)
        if let remaining = row.remaining, row.fields == Self.secrets {
            #expect(staysHome == remaining.contains("Authorization"))
        }
    }

    @Test func `without a location, a redirect is the response`() throws {
        let request = HTTPRequest(url: try #require(URL(string: "http://a.example/")))
        for locations in [[], [""], ["  "], ["", " "]] {
            guard case .deliver = RedirectDecision(request: request).outcome(statusCode: 302, locations: locations)
            else {
                Issue.record("\(locations)")
                continue
            }
        }
    }
}
