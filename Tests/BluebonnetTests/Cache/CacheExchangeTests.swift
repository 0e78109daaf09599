import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// A session with a cache and a transport whose responses the test specifies.
@Suite(.timeLimit(.minutes(10)))
struct CacheExchangeTests {
    @Test func `a fresh response is the response to the next request, with its age`() async throws {
        let scene = CacheTestSession { _ in
            .text("hello", headers: ["Cache-Control": "max-age=60", "X-A": "1"])
        }
        let first = await scene.answer()
        scene.clock.advance(by: 30)
        let second = await scene.answer()
        #expect(first.source == .network)
        #expect(second.source == .cache)
        #expect(second.text == "hello")
        #expect(second.headers["Age"] == "30")
        #expect(!second.hasMetrics)
        #expect(Set(Set(second.headers).subtracting(first.headers).map(\.name)) == ["Age", "Date"])
        #expect(Set(first.headers).isSubset(of: second.headers))
        #expect(scene.transport.requestCount == 1)
        let statistics = scene.cache.statistics
        #expect(statistics.hits == 1 && statistics.misses == 1 && statistics.stores == 1)
    }

    @Test func `a stale response is validated and updated by the 304`() async throws {
        let scene = CacheTestSession { request in
            guard request.headers["If-None-Match"] == "\"1\"" else {
                return .text(
                    "hello",
                    headers: [
                        "Cache-Control": "max-age=60", "ETag": "\"1\"", "X-A": "1", "Content-Type": "text/plain",
                    ])
            }
            return .text(
                "", status: 304,
                headers: [
                    "Cache-Control": "max-age=600", "X-A": "2", "Content-Type": "text/html", "Content-Length": "0",
                ])
        }
        _ = await scene.answer()
        scene.clock.advance(by: 61)
        let second = await scene.answer()
        #expect(second.source == .validated)
        #expect(second.status == 200 && second.text == "hello")
        #expect(second.headers["X-A"] == "2")
        #expect(second.headers["Content-Type"] == "text/plain")
        #expect(second.headers["Age"] == nil)
        scene.clock.advance(by: 599)
        #expect(await scene.answer().source == .cache)
        #expect(scene.transport.requestCount == 2)
        #expect(scene.cache.statistics.validations == 1)
    }
}

extension CacheExchangeTests {
    private static let minute: HTTPHeaders = ["Cache-Control": "max-age=60"]

    @Test func `RFC 5861: a stale response stands in for a server that is gone`() async throws {
        let isGone = Locked(false)
        let scene = CacheTestSession { _ in
            if isGone.withLock({ $0 }) { throw RequestError(.connection(.refused)) }
            return .text("hello", headers: ["Cache-Control": "max-age=60, stale-if-error=60"])
        }
        _ = await scene.answer()
        isGone.withLock { $0 = true }
        scene.clock.advance(by: 100)
        let answer = await scene.answer()
        #expect(answer.source == .cache && answer.text == "hello" && answer.headers["Age"] == "100")
        scene.clock.advance(by: 30)
        #expect(await scene.answer().error?.kind == .connection(.refused))
        #expect(scene.cache.statistics.staleResponses == 1)
    }

    @Test func `§4.3.4: a 304 about another response has the request sent again`() async throws {
        let scene = CacheTestSession { request in
            request.headers.contains("If-None-Match")
                ? .text("", status: 304, headers: ["ETag": "\"2\""])
                : .text("hello", headers: ["ETag": "\"1\""])
        }
        _ = await scene.answer()
        let answer = await scene.answer()
        #expect(answer.status == 200 && answer.source == .network && answer.text == "hello")
        #expect(scene.transport.requestCount == 3)
    }

    /// The caller sent no condition.
    @Test(arguments: ChallengedKind.allCases)
    func `§4.3.4: no caller receives a 304 about another response`(_ kind: ChallengedKind) async throws {
        let scene = CacheTestSession { request in
            request.headers.contains("If-None-Match")
                ? .text("", status: 304, headers: ["ETag": "\"2\""])
                : .text("hello", headers: ["ETag": "\"1\""])
        }
        for _ in 1...3 {
            let answer = await kind.answer(HTTPRequest(url: scene.url()), in: scene.session)
            #expect(answer.status == 200 && answer.text == "hello" && answer.heads == [200], "\(answer)")
        }
        #expect(scene.transport.requestCount == 5)
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch, .delete])
    func `§4.4: a response that may have changed is fetched again`(method: HTTPMethod) async throws {
        let scene = CacheTestSession { _ in .text("hello", headers: Self.minute) }
        _ = await scene.answer("/a")
        #expect(await scene.answer("/a#b").source == .cache)
        _ = await scene.answer("/a", method: method)
        #expect(await scene.answer("/a").source == .network)
        #expect(await scene.answer("/a").source == .cache)
    }

    @Test func `§4.4: an upload that is streamed, and a download, change things, too`() async throws {
        let scene = CacheTestSession { _ in .text("hello", headers: Self.minute) }
        let url = try #require(URL(string: "http://stub.test/a"))
        _ = await scene.answer("/a")
        for try await _ in scene.session.streamRequest(url, method: .post).streamTask().bytes {}
        #expect(await scene.answer("/a").source == .network)
    }

    @Test func `a stream uses the cache and fills it`() async throws {
        let scene = CacheTestSession { _ in .text("hello", headers: Self.minute) }
        let url = try #require(URL(string: "http://stub.test/"))
        var request = HTTPRequest(url: url)
        request.cachePolicy = .returnCacheDontLoad
        let early = scene.session.streamRequest(request).streamTask()
        await #expect { for try await _ in early.bytes {} } throws: {
            ($0 as? RequestError)?.kind == .cache(.notStored)
        }
        for try await _ in scene.session.streamRequest(url).streamTask().bytes {}
        for one in [request, HTTPRequest(url: url)] {
            let text = try await scene.session.streamRequest(one).streamTask().bytes.reduce(into: Data()) { $0 += $1 }
            #expect(text == Data("hello".utf8))
        }
        #expect(await scene.answer().source == .cache)
        #expect(scene.transport.requestCount == 1)
    }

    @Test func `HEAD uses the response of a GET, and updates or removes it`() async throws {
        let tag = Locked("\"1\"")
        let scene = CacheTestSession { _ in
            .text("hello", headers: ["Cache-Control": "max-age=60", "ETag": tag.withLock { $0 }])
        }
        _ = await scene.answer()
        let head = await scene.answer(method: .head)
        #expect(head.source == .cache && head.text == "" && head.headers["ETag"] == "\"1\"")
        scene.clock.advance(by: 61)
        #expect(await scene.answer(method: .head).source == .network)
        #expect(await scene.answer().source == .cache)
        scene.clock.advance(by: 61)
        tag.withLock { $0 = "\"2\"" }
        _ = await scene.answer(method: .head)
        _ = await scene.answer()
        #expect(scene.transport.requests.last?.headers["If-None-Match"] == nil)
    }

    @Test func `each hop of a redirect is stored under its own URL`() async throws {
        let scene = CacheTestSession { request in
            request.url.path() == "/from"
                ? .text(
                    "moved", status: 301,
                    headers: ["Cache-Control": "max-age=60", "Location": "/to", "Content-Length": "5"])
                : .text("hello", headers: Self.minute)
        }
        for round in 0..<2 {
            let answer = await scene.answer("/from")
            #expect(answer.text == "hello" && answer.source == (round == 0 ? .network : .cache))
        }
        #expect(scene.transport.requestCount == 2)
        #expect(await scene.answer("/to").source == .cache)
        let url = try #require(URL(string: "http://stub.test/from"))
        let stayed = await scene.session.request(url).redirect(using: .doNotFollow).serializingData().response
        #expect(stayed.source == .cache && stayed.response?.statusCode == 301)
        #expect(stayed.data == Data("moved".utf8))
    }

    @Test func `§4.1: responses that fields choose are kept beside each other`() async throws {
        let scene = CacheTestSession { request in
            .text(
                request.headers["Accept-Language"] ?? "none",
                headers: ["Cache-Control": "max-age=60", "Vary": "Accept-Language"])
        }
        for language in ["de", "en"] { _ = await scene.answer(headers: ["Accept-Language": language]) }
        for language in ["de", "en"] {
            let answer = await scene.answer(headers: ["Accept-Language": language])
            #expect(answer.source == .cache && answer.text == language)
        }
    }

    @Test func `a user does not receive another user's response`() async throws {
        let scene = CacheTestSession { request in
            .text(request.headers["Authorization"] ?? "none", headers: ["Cache-Control": "private, max-age=60"])
        }
        for token in ["Bearer a", "Bearer b"] {
            #expect(await scene.answer(headers: ["Authorization": token]).text == token)
        }
        #expect(await scene.answer(headers: ["Authorization": "Bearer a"]).text == "Bearer a")
        #expect(scene.transport.requestCount == 2)
    }

    /// A `Host` field of the request's own names another resource, and other fields than `Authorization` name users.
    @Test(arguments: ["X-Api-Key", "X-Auth-Token", "Ocp-Apim-Subscription-Key", "Host"], [false, true])
    func `a response to one value of a field is not used for another`(name: String, isPublic: Bool) async throws {
        let scene = CacheTestSession { request in
            .text(
                request.headers[name] ?? "none",
                headers: ["Cache-Control": isPublic ? "public, max-age=60" : "max-age=60"])
        }
        for value in ["a", "b", "a"] {
            let text = await scene.answer(headers: [name: value]).text
            #expect(text == (isPublic && name != "Host" ? "a" : value))
        }
        #expect(scene.transport.requestCount == (isPublic && name != "Host" ? 1 : 2))
    }

    @Test func `a conditional request of the user is sent, and its 304 is the response`() async throws {
        let scene = CacheTestSession { request in
            request.headers.contains("If-None-Match")
                ? .text("", status: 304)
                : .text("hello", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        }
        _ = await scene.answer()
        let answer = await scene.answer(headers: ["If-None-Match": "\"1\""])
        #expect(answer.status == 304 && answer.source == .network)
        #expect(await scene.answer().source == .cache)
    }

    @Test func `a request that must use the cache fails without a stored response`() async throws {
        let transport = StubTransport { _ in .text("hello") }
        let session = Session(transport: transport)
        var request = HTTPRequest(url: try #require(URL(string: "http://stub.test/")))
        request.cachePolicy = .returnCacheDontLoad
        #expect(await session.request(request).serializingData().response.error?.kind == .cache(.notStored))
        #expect(transport.requestCount == 0)
        let scene = CacheTestSession { _ in .text("hello") }
        #expect(await scene.answer(policy: .returnCacheDontLoad).error?.kind == .cache(.notStored))
        #expect(await scene.answer(headers: ["Cache-Control": "only-if-cached"]).error?.kind == .cache(.notStored))
        #expect(scene.transport.requestCount == 0)
    }

    @Test func `the request's policy takes precedence over the session's policy`() async throws {
        var configuration = Session.Configuration()
        configuration.cachePolicy = .reloadIgnoringCache
        let scene = CacheTestSession(configuration: configuration) { _ in
            .text("hello", headers: Self.minute)
        }
        _ = await scene.answer()
        #expect(await scene.answer().source == .network)
        #expect(await scene.answer(policy: .useProtocolCachePolicy).source == .cache)
        scene.clock.advance(by: 100)
        #expect(await scene.answer(policy: .returnCacheElseLoad).source == .cache)
        #expect(await scene.answer(policy: .returnCacheDontLoad).source == .cache)
    }

    @Test func `a response that is replaced by one that must not be stored is removed`() async throws {
        let directives = Locked("max-age=60")
        let scene = CacheTestSession { _ in
            .text("hello", headers: ["Cache-Control": directives.withLock { $0 }])
        }
        _ = await scene.answer()
        directives.withLock { $0 = "no-store" }
        _ = await scene.answer(policy: .reloadIgnoringCache)
        #expect(await scene.answer().source == .network)
        #expect(scene.cache.statistics.memoryBytes == 0)
    }

    // MARK: The user's view

    @Test func `the cache can be read and emptied`() async throws {
        let scene = CacheTestSession { _ in .text("hello", headers: Self.minute) }
        let request = HTTPRequest(url: try #require(URL(string: "http://stub.test/a")))
        for path in ["/a", "/b"] { _ = await scene.answer(path) }
        #expect(await scene.cache.cachedResponse(for: request)?.data == Data("hello".utf8))
        await scene.cache.remove(for: request.url)
        #expect(await scene.cache.cachedResponse(for: request) == nil)
        #expect(await scene.answer("/b").source == .cache)
        await scene.cache.removeAll()
        #expect(await scene.answer("/b").source == .network)
    }

    @Test func `a session with a cache uses its own cookies`() async throws {
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration)
        let cookie = Cookie(name: "a", value: "1", domain: "a.test")
        try await session.cookies.set(cookie)
        #expect(try await session.cookies.all().map(\.name) == ["a"])
        await session.shutdown()
    }

    @Test func `credentials that look alike select different responses`() throws {
        func selector(_ change: (inout HTTPRequest) throws -> Void) throws -> Data {
            var request = HTTPRequest(url: try #require(URL(string: "http://a.test/")))
            try change(&request)
            let vary = try #require(VaryFields([:], CacheControl()))
            return CacheRequest(request, settings: CacheSettings()).selector(for: vary)
        }
        let all = try [
            selector { $0.headers = ["Authorization": "X user=\"A, B\""] },
            selector { $0.headers = ["Authorization": "X user=\"A,B\""] },
            selector { $0.headers = ["Authorization": "X A , B"] },
            selector { $0.headers = ["Authorization": "X A,B"] },
            selector { $0.headers = ["Cookie": "s=\"A, B\""] }, selector { $0.headers = ["Cookie": "s=\"A,B\""] },
            selector { $0.credential = Credential(username: "a:b", password: "c") },
            selector { $0.credential = Credential(username: "a", password: "b:c") },
            selector { $0.credential = Credential(username: "u", password: "%41") },
            selector { $0.url = try #require(URL(string: "http://u:%41@a.test/")) },
        ]
        #expect(Set(all).count == all.count)
    }

    @Test(arguments: [("Vary", "*"), ("Cache-Control", "no-store, max-age=60")])
    func `a 304 that prevents storing is still not the response to the request`(
        name: String, value: String
    ) async throws {
        let scene = CacheTestSession { request in
            request.headers.contains("If-None-Match")
                ? .text("", status: 304, headers: HTTPHeaders([HTTPHeader(name: name, value: value)]))
                : .text("hello", headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""])
        }
        _ = await scene.answer()
        let second = await scene.answer()
        #expect(second.status == 200 && second.text == "hello" && second.source == .validated)
        #expect(await scene.answer().source == .network)
    }
}
