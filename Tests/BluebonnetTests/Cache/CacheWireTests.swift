import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Caches before libcurl, and real servers behind it.
@Suite(.timeLimit(.minutes(10)))
struct CacheWireTests {
    private static func session(_ cache: ResponseCache = ResponseCache()) -> Session {
        var configuration = Session.Configuration()
        configuration.cache = cache
        return Session(configuration: configuration)
    }

    private static func get(
        _ session: Session, _ url: URL, policy: HTTPRequest.CachePolicy? = nil, headers: HTTPHeaders = [:]
    ) async -> DataResponse<Data, RequestError> {
        var request = HTTPRequest(url: url, headers: headers)
        request.cachePolicy = policy
        return await session.request(request).serializingData().response
    }

    @Test func `nginx: a file is validated by its tag and its time`() async throws {
        let session = Self.session()
        let url = try TestServers.nginx.url("/small.json")
        let first = await Self.get(session, url)
        let second = await Self.get(session, url, policy: .reloadRevalidating)
        #expect(first.source == .network && second.source == .validated)
        #expect(second.response?.statusCode == 200 && second.data == first.data)
        #expect(second.response?.headers["Content-Type"] == first.response?.headers["Content-Type"])
        #expect(second.metrics?.bytesReceived ?? .max < first.metrics?.bytesReceived ?? 0)
        let third = await Self.get(session, url, policy: .returnCacheElseLoad)
        #expect(third.source == .cache && third.metrics == nil && third.data == first.data)
        #expect(third.response?.reasonPhrase == "OK")
        await session.shutdown()
    }

    @Test(arguments: [false, true]) func `a body that keeps its coding has a length in the cache, too`(
        onDisk: Bool
    ) async throws {
        let body = Data(repeating: 7, count: 100)
        let server = try await LocalServer { router in
            let headers: HTTPHeaders = ["Content-Encoding": "gzip", "Cache-Control": "max-age=100"]
            router.get("/", .data(body, headers: headers))
        }
        let directory = try TestDirectory()
        var configuration = Session.Configuration()
        configuration.decodesContent = false
        configuration.cache = ResponseCache(
            memoryCapacity: onDisk ? 0 : 1 << 20, directory: onDisk ? directory.url : nil)
        let session = Session(configuration: configuration)
        for source in [ResponseSource.network, .cache] {
            let response = await Self.get(session, server.url("/"))
            #expect(response.source == source && response.data == body)
            #expect(response.response?.expectedContentLength == 100)
        }
        await session.shutdown()
        await server.stop()
    }

    @Test func `nginx: a compressed response is stored decoded, and validated by a tag that is weak there`()
        async throws
    {
        let session = Self.session()
        let url = try TestServers.nginx.url("/gzip/bytes/65536")
        let first = await Self.get(session, url)
        #expect(first.response?.headers["Content-Encoding"] == "gzip")
        let second = await Self.get(session, url, policy: .reloadRevalidating)
        #expect(second.source == .validated && second.data == first.data && second.data?.count == 65_536)
        #expect(second.response?.headers["Content-Encoding"] == "gzip")
        await session.shutdown()
    }

    @Test func `httpbin: a lifetime`() async throws {
        let session = Self.session()
        let url = try TestServers.httpbin.url("/cache/60")
        let first = await Self.get(session, url)
        let second = await Self.get(session, url)
        #expect(first.source == .network && second.source == .cache)
        #expect(second.data == first.data)
        #expect(second.response?.headers["Age"] != nil)
        await session.shutdown()
    }

    @Test func `httpbin: a tag and a time without a lifetime`() async throws {
        let session = Self.session()
        let url = try TestServers.httpbin.url("/cache")
        let first = await Self.get(session, url)
        let second = await Self.get(session, url, policy: .reloadRevalidating)
        #expect(second.source == .validated && second.data == first.data)
        #expect(second.response?.mimeType == "application/json")
        await session.shutdown()
    }

    @Test func `httpbin: a 304 to the user's own condition is the user's`() async throws {
        let session = Self.session()
        let url = try TestServers.httpbin.url("/etag/abc")
        _ = await Self.get(session, url)
        let answer = await Self.get(session, url, headers: ["If-None-Match": "abc"])
        #expect(answer.response?.statusCode == 304)
        await session.shutdown()
    }

    @Test(arguments: [TestServers.nginxTLS, .httpbinHTTP2]) func `HTTP/2: a hit is like the response`(
        server: TestServers
    ) async throws {
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        configuration.tls.caFile = try TestCertificates().authority
        let session = Session(configuration: configuration)
        let url = try server.url(server == .nginxTLS ? "/small.json" : "/cache/60")
        let first = await Self.get(session, url)
        let second = await Self.get(session, url, policy: .returnCacheElseLoad)
        #expect(first.response?.httpVersion == .http2)
        #expect(second.source == .cache && second.response?.httpVersion == .http2 && second.data == first.data)
        await session.shutdown()
    }

    @Test func `a stored response can replace the response of an unreachable server`() async throws {
        let server = try await LocalServer { router in
            router.get("/", .text("hello", headers: ["Cache-Control": "max-age=0, stale-if-error=600"]))
        }
        let session = Self.session()
        _ = await Self.get(session, server.url("/"))
        await server.stop()
        let answer = await Self.get(session, server.url("/"))
        #expect(answer.source == .cache && answer.data == Data("hello".utf8))
        await session.shutdown()
    }

    @Test func `an incomplete body is not stored`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest,
            .bytes("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhello"), .close)
        let session = Self.session()
        #expect(await Self.get(session, server.url("/")).error != nil)
        #expect(
            await Self.get(session, server.url("/"), policy: .returnCacheDontLoad).error?.kind == .cache(.notStored))
        await session.shutdown()
        await server.stop()
    }

    @Test(arguments: ["short", "chunked"]) func `a redirect with a short body is stored and every redirect is followed`(
        body: String
    ) async throws {
        let server = try await LocalServer { router in
            let headers: HTTPHeaders = ["Location": "/to", "Cache-Control": "max-age=60"]
            router.get("/from") { _ in
                body == "short"
                    ? .text("moved", status: 302, headers: headers)
                    : .stream(status: 302, headers: headers) { try await $0.write(Data(count: 100)) }
            }
            router.get("/to", .text("here", headers: ["Cache-Control": "max-age=60"]))
        }
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        // A busy machine may need longer for a body of four bytes than an application wants to wait.
        configuration.bodyGracePeriod = { try await Task.sleep(for: .seconds(60)) }
        let session = Session(configuration: configuration)
        for round in 0..<2 {
            let answer = await Self.get(session, server.url("/from"))
            #expect(answer.data == Data("here".utf8))
            #expect(answer.response?.history.count == 1)
            #expect(answer.source == (round == 0 ? .network : .cache))
        }
        #expect(server.requestCount == 2)
        await session.shutdown()
        await server.stop()
    }

    /// The end of such a response often arrives before the redirect is followed.
    @Test(arguments: [302, 308]) func `a redirect without a body is stored`(statusCode: Int) async throws {
        let server = try await LocalServer { router in
            router.fallback {
                $0.path == "/to"
                    ? .text("here", headers: ["Cache-Control": "max-age=60"])
                    : .status(statusCode, headers: ["Location": "/to", "Cache-Control": "max-age=60"])
            }
        }
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        // As above: a busy machine may need longer for the end of an empty body.
        configuration.bodyGracePeriod = { try await Task.sleep(for: .seconds(60)) }
        let session = Session(configuration: configuration)
        for number in Array(0..<40) + Array(0..<40) {
            #expect(await Self.get(session, server.url("/from/\(number)")).data == Data("here".utf8))
        }
        #expect(server.requestCount == 41)
        await session.shutdown()
        await server.stop()
    }

    @Test func `a cookie that a stored response sets is not set again`() async throws {
        let server = try await LocalServer { router in
            router.get("/", .text("hello", headers: ["Cache-Control": "max-age=60", "Set-Cookie": "a=1"]))
        }
        let session = Self.session()
        _ = await Self.get(session, server.url("/"))
        try await session.cookies.deleteAll()
        let answer = await Self.get(session, server.url("/"))
        #expect(answer.source == .cache && answer.response?.headers["Set-Cookie"] == "a=1")
        #expect(try await session.cookies.all().isEmpty)
        await session.shutdown()
        await server.stop()
    }

    /// GitHub's API sends such a field.
    @Test func `a response that depends on the session's cookies is used for the same cookies`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { request in
                let fields: HTTPHeaders = ["Cache-Control": "max-age=60", "Vary": "Accept, Authorization, Cookie"]
                return .text(request.headers["Cookie"] ?? "none", headers: fields)
            }
            router.get("/login", .text("", headers: ["Set-Cookie": "a=2"]))
            router.get("/visits") { request in
                let visits = (request.headers["Cookie"]?.split(separator: "=").last).flatMap { Int($0) } ?? 0
                let fields: HTTPHeaders = [
                    "Cache-Control": "max-age=60", "Vary": "Cookie", "Set-Cookie": "visits=\(visits + 1); path=/visits",
                ]
                return .text("\(visits)", headers: fields)
            }
        }
        let session = Self.session()
        func expect(_ path: String, _ value: String, _ source: ResponseSource) async {
            let answer = await Self.get(session, server.url(path))
            #expect(answer.value == Data(value.utf8) && answer.source == source, "\(path): \(answer)")
        }
        await expect("/", "none", .network)
        await expect("/", "none", .cache)
        try await session.cookies.set([Cookie(name: "a", value: "1", domain: "127.0.0.1")])
        await expect("/", "a=1", .network)
        await expect("/", "a=1", .cache)
        _ = await session.request(server.url("/login")).serializingNothing().response
        await expect("/", "a=2", .network)
        await expect("/", "a=2", .cache)
        try await session.cookies.deleteAll()
        await expect("/", "none", .cache)
        // The request had other cookies than those after the response.
        await expect("/visits", "0", .network)
        await expect("/visits", "1", .network)
        await session.shutdown()
        await server.stop()
    }

    @Test func `cancelling a validation ends it`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { request in
                if request.headers.contains("If-None-Match") { return .script(.stall) }
                return .text("hello", headers: ["ETag": "\"1\""])
            }
        }
        let session = Self.session()
        _ = await Self.get(session, server.url("/"))
        let request = session.request(server.url("/"))
        async let answer = request.serializingData().response
        _ = try await server.request(2)
        request.cancel()
        #expect(await answer.error?.isCancellation == true)
        await session.shutdown()
        await server.stop()
    }
}
