import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The rules for chains of redirects.
@Suite struct RedirectChainTests {
    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private func response(_ location: String, status: Int = 302, setting cookie: String? = nil) throws -> HTTPResponse {
        var headers: HTTPHeaders = ["Location": location]
        if let cookie { headers.append(name: "Set-Cookie", value: cookie) }
        return HTTPResponse(url: try url("http://any.example/"), statusCode: status, headers: headers)
    }

    private func chain(
        _ request: HTTPRequest, _ configure: (inout Session.Configuration.RedirectLimits) -> Void = { _ in }
    ) -> RedirectChain {
        var limits = Session.Configuration.RedirectLimits()
        configure(&limits)
        return RedirectChain(request: request, limits: limits)
    }

    /// Follows as proposed.
    @discardableResult
    private func follow(
        _ location: String, status: Int = 302, setting cookie: String? = nil, in chain: inout RedirectChain
    )
        throws -> HTTPRequest
    {
        guard case .follow(let request) = chain.received(try response(location, status: status, setting: cookie)) else {
            throw TestFailure("not followed")
        }
        return try chain.followed(with: request)
    }

    private func reason(_ work: () throws -> Void) -> RequestError.RedirectReason? {
        do {
            try work()
            return nil
        } catch {
            guard let error = error as? RequestError, case .redirect(let reason) = error.kind else { return nil }
            return reason
        }
    }

    @Test(arguments: [0, 1, 20])
    func `the allowed number of redirects is followed`(_ maximum: Int) throws {
        var chain = chain(HTTPRequest(url: try url("http://a.example/0"))) { $0.maximum = maximum }
        for number in 0..<maximum { try follow("/\(number + 1)", in: &chain) }
        #expect(reason { try follow("/last", in: &chain) } == .tooMany(limit: maximum))
    }

    @Test func `the limit is 20 by default`() {
        #expect(Session.Configuration.RedirectLimits().maximum == 20)
    }

    @Test func `a loop is reported before the limit is reached`() throws {
        var chain = chain(HTTPRequest(url: try url("http://a.example/1")))
        for location in ["/2", "/1", "/2"] { try follow(location, in: &chain) }
        #expect(reason { try follow("/1", in: &chain) } == .loop(url: "http://a.example/1"))
    }

    @Test func `a redirect to the same URL is followed once`() throws {
        var chain = chain(HTTPRequest(url: try url("http://a.example/1?key=hidden")))
        try follow("?key=hidden#x", in: &chain)
        #expect(reason { try follow("?key=hidden#y", in: &chain) } == .loop(url: "http://a.example/1?key=<redacted>#y"))
    }

    @Test func `a loop with cookies is followed up to the limit and reported as a loop`() throws {
        var chain = chain(HTTPRequest(url: try url("http://a.example/1")))
        for number in 1...20 { try follow("/1", setting: "n=\(number)", in: &chain) }
        #expect(reason { try follow("/1", setting: "n=21", in: &chain) } == .loop(url: "http://a.example/1"))
    }

    @Test func `cookies that are not handled do not affect loops`() throws {
        var request = HTTPRequest(url: try url("http://a.example/1"))
        request.handlesCookies = false
        var chain = chain(request)
        try follow("/1", setting: "n=1", in: &chain)
        #expect(reason { try follow("/1", setting: "n=2", in: &chain) } == .loop(url: "http://a.example/1"))
    }

    @Test func `another method or a removed body is not a loop`() throws {
        var chain = chain(
            HTTPRequest(url: try url("http://a.example/1"), method: .post, body: .data(Data("a".utf8))))
        #expect(try follow("/1", status: 307, in: &chain).method == .post)
        #expect(try follow("/1", status: 303, in: &chain).method == .get)
        #expect(try follow("/1", in: &chain).method == .get)
        #expect(reason { try follow("/1", in: &chain) } == .loop(url: "http://a.example/1"))
    }

    @Test func `a redirect from https to http is followed only if it is allowed`() throws {
        let request = HTTPRequest(url: try url("https://a.example/"))
        var strict = chain(request)
        #expect(
            reason { try follow("http://a.example/b?c=d", in: &strict) }
                == .insecure(url: "http://a.example/b?c=<redacted>"))
        var lax = chain(request) { $0.allowsInsecure = true }
        #expect(try follow("http://a.example/b", in: &lax).url.absoluteString == "http://a.example/b")
        // From http to http, and to https, is no matter.
        var plain = chain(HTTPRequest(url: try url("http://a.example/")))
        try follow("http://b.example/", in: &plain)
        try follow("https://b.example/", in: &plain)
        #expect(reason { try follow("http://b.example/", in: &plain) } == .insecure(url: "http://b.example/"))
    }

    @Test(arguments: [(307, HTTPMethod.post), (308, .post), (301, .put), (302, .put), (307, .put), (308, .patch)])
    func `a body that is not replayable is not sent partly`(_ status: Int, method: HTTPMethod) throws {
        let body = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        var chain = chain(HTTPRequest(url: try url("http://a.example/"), method: method, body: body))
        #expect(reason { try follow("/b", status: status, in: &chain) } == .bodyNotReplayable)
    }

    @Test func `a redirect to a URL that cannot be requested is refused`() throws {
        var chain = chain(HTTPRequest(url: try url("http://a.example/")))
        guard case .refuse(.invalidLocation("mailto:b")) = chain.received(try response("mailto:b")) else {
            Issue.record("not refused")
            return
        }
    }

    // MARK: Secrets

    private func secretive(_ text: String) throws -> HTTPRequest {
        var request = HTTPRequest(
            url: try url(text), headers: ["Authorization": "a", "Cookie": "b", "X-Token": "c", "Accept": "d"])
        request.credential = Credential(username: "u", password: "p")
        return request
    }

    @Test(arguments: [
        ("http://a.example/", "http://b.example/"), ("http://a.example/", "http://a.example:81/"),
        ("http://a.example/", "https://a.example/"), ("http://u:p@a.example/", "http://b.example/"),
    ])
    func `a chain that returns to the first origin does not get its secrets back`(_ home: String, away: String) throws {
        var chain = chain(try secretive(home)) { $0.allowsInsecure = true }
        let same = try follow("/2", in: &chain)
        #expect(same.headers.count == 4 && same.credential != nil && !same.omitsSessionSecrets)
        for location in [away, away + "2", "http://a.example/3", "/4"] {
            let next = try follow(location, in: &chain)
            #expect(next.headers == ["Accept": "d"])
            #expect(next.credential == nil && next.omitsSessionSecrets)
            #expect(!next.url.absoluteString.contains("@"))
        }
    }

    @Test func `a handler may add any fields`() throws {
        var chain = chain(try secretive("http://a.example/"))
        guard case .follow(var request) = chain.received(try response("http://b.example/")) else {
            throw TestFailure("")
        }
        request.headers.update(.authorization("for b"))
        request.credential = Credential(username: "b", password: "b")
        let next = try chain.followed(with: request)
        #expect(next.headers["Authorization"] == "for b" && next.credential?.username == "b")
        #expect(next.omitsSessionSecrets)
        // It stays with b.
        #expect(try follow("/c", in: &chain).headers["Authorization"] == "for b")
        #expect(try follow("http://c.example/", in: &chain).headers["Authorization"] == nil)
    }

    @Test func `a handler that redirects to another origin does not send the first origin's secrets`() throws {
        var chain = chain(try secretive("http://a.example/"))
        guard case .follow(var request) = chain.received(try response("/2")) else { throw TestFailure("") }
        #expect(request.headers["Authorization"] == "a")
        request.url = try url("http://b.example/")
        request.headers.update(name: "X-Token", value: "for b")
        let next = try chain.followed(with: request)
        #expect(next.headers == ["X-Token": "for b", "Accept": "d"])
        #expect(next.credential == nil && next.omitsSessionSecrets)
    }

    @Test func `a handler's own request for another origin has no secrets of the session`() throws {
        var chain = chain(try secretive("http://a.example/"))
        _ = chain.received(try response("http://b.example/"))
        #expect(try chain.followed(with: HTTPRequest(url: url("http://b.example/2"))).omitsSessionSecrets)
    }

    @Test func `an invalid request of a handler is an error`() throws {
        var chain = chain(HTTPRequest(url: try url("http://a.example/")))
        _ = chain.received(try response("/2"))
        #expect(reason { _ = try chain.followed(with: HTTPRequest(url: url("ftp://b.example/"))) } == .invalidRequest)
        #expect(
            reason { _ = try chain.followed(with: HTTPRequest(url: url("http://b.example/"), headers: ["a": "\n"])) }
                == .invalidRequest)
    }
}
