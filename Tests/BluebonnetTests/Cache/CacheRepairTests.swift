import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// What a cache stores, counts and reports when a response is late, refused, too large, or validated in the background.
@Suite(.timeLimit(.minutes(10))) struct CacheRepairTests {
    /// Accepts every response.
    private struct Handler: CachedResponseHandler {
        func request(_ request: any Request, willCacheResponse response: CachedResponse) async -> CachedResponse? {
            response
        }
    }

    private static func key(_ scene: CacheTestSession) -> CacheKey { CacheKey(scene.url()) }

    @Test(arguments: [false, true])
    func `a validation in the background is stored, and counts no request`(hasHandler: Bool) async throws {
        let count = Locked(0)
        let scene = CacheTestSession(cachedResponseHandler: hasHandler ? Handler() : nil) { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .text("\(number)", headers: ["Cache-Control": "max-age=10, stale-while-revalidate=60"])
        }
        #expect(await scene.answer().text == "1")
        scene.clock.advance(by: 11)
        #expect(await scene.answer().text == "1")
        await scene.settle()
        #expect(await scene.answer().text == "2")
        let statistics = scene.cache.statistics
        #expect(statistics.hits == 2 && statistics.misses == 1 && statistics.validations == 0 && statistics.stores == 2)
    }

    @Test(arguments: [false, true])
    func `a late response does not replace the response to a later request`(hasDisk: Bool) throws {
        let directory = try TestDirectory()
        let cache = ResponseCache(memoryCapacity: hasDisk ? 0 : 1 << 20, directory: hasDisk ? directory.url : nil) {
            CacheFixtures.begin
        }
        let request = try CacheFixtures.request()
        func entry(_ text: String, from: Double, to: Double, part: String? = nil) throws -> StoredResponse {
            var fields: HTTPHeaders = ["Cache-Control": "max-age=60"]
            if let part { fields.append(name: "Content-Range", value: part) }
            return try #require(
                StoredResponse(
                    try CacheFixtures.response(fields, status: part == nil ? 200 : 206),
                    body: .memory(Data(text.utf8)), to: request, requestTime: CacheFixtures.begin + from,
                    responseTime: CacheFixtures.begin + to))
        }
        let epoch = cache.epoch(of: request.key)
        func bodies() throws -> [Data] {
            try (hasDisk ? cache.onDisk(request) : cache.inMemory(request)).map { try $0.body.all() }
        }
        #expect(cache.store(try entry("new", from: 1, to: 2), for: request.key, since: epoch))
        #expect(!cache.store(try entry("late", from: 0, to: 3), for: request.key, since: epoch))
        #expect(try bodies() == [Data("new".utf8)])
        // A clock that was set back must not keep a response indefinitely.
        #expect(cache.store(try entry("reset", from: -9, to: -8), for: request.key, since: epoch))
        #expect(try bodies() == [Data("reset".utf8)])
        // A part of a later request is worth less than the whole.
        #expect(cache.store(try entry("a", from: 4, to: 5, part: "bytes 0-0/5"), for: request.key, since: epoch))
        #expect(cache.store(try entry("whole", from: 3, to: 6), for: request.key, since: epoch))
        #expect(try bodies() == [Data("whole".utf8)])
    }

    @Test func `a failure of the server or a HEAD does not end collapsing, and a later storable response restores it`()
        async throws
    {
        let status = Locked(503)
        let control = Locked("max-age=0")
        let scene = CacheTestSession { request in
            .text(
                "", status: request.headers.contains("If-None-Match") ? 304 : status.withLock { $0 },
                headers: ["Cache-Control": control.withLock { $0 }, "ETag": "\"1\""])
        }
        let transport = try #require(scene.session.context.transport as? CachingTransport)
        control.withLock { $0 = "no-store" }
        _ = await scene.answer()
        #expect(!transport.isUnstored(Self.key(scene)))
        status.withLock { $0 = 200 }
        _ = await scene.answer(method: .head)
        #expect(!transport.isUnstored(Self.key(scene)))
        _ = await scene.answer()
        #expect(transport.isUnstored(Self.key(scene)))
        control.withLock { $0 = "max-age=0" }
        _ = await scene.answer()
        #expect(!transport.isUnstored(Self.key(scene)))
    }

    @Test(arguments: [false, true])
    func `the status states only what is true: stored, with a lifetime`(isUsable: Bool) async throws {
        let directory = try TestDirectory()
        if !isUsable { try directory.write("no directory", to: "cache") }
        let scene = CacheTestSession(memoryCapacity: 0, directory: directory.url("cache")) { _ in
            .text("hello", headers: ["Cache-Control": "max-age=60"])
        }
        let data = await scene.session.request(scene.url()).serializingData().response
        let file = directory.url("file")
        let download = await scene.session.download(scene.url("/file"), to: .file(file)).serializingURL().response
        let expected = "Bluebonnet; fwd=uri-miss; fwd-status=200" + (isUsable ? "; ttl=60; stored" : "")
        #expect(data.cacheStatus?.description == expected)
        #expect(download.cacheStatus?.description == expected)
    }

    @Test func `what has just become stale has a lifetime of 0 seconds`() throws {
        let entry = try CacheFixtures.stored(["Cache-Control": "max-age=60"])
        #expect(entry.ttl(at: CacheFixtures.begin + 60.3) == 0 && entry.ttl(at: CacheFixtures.begin + 61.3) == -1)
    }

    @Test func `a part is not completed beyond the limit of the request`() async throws {
        let server = try await LocalServer.scripted { connection in
            let fields = "ETag: \"1\"\r\nCache-Control: max-age=60\r\n"
            let answer =
                connection == 1
                ? "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 10\r\n\r\n01234"
                : "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 10\r\n\r\n0123456789"
            return LocalServer.Script([.waitForRequest, .bytes(Data(answer.utf8)), .close])
        }
        let cache = ResponseCache()
        func session(_ limit: Int64?) -> Session {
            var configuration = Session.Configuration()
            configuration.cache = cache
            configuration.maximumResponseBytes = limit
            return Session(configuration: configuration)
        }
        let (free, limited) = (session(nil), session(7))
        #expect(await free.request(server.url("/")).serializingData().response.error != nil)
        let error = await limited.request(server.url("/")).serializingData().response.error
        #expect(error?.kind == .invalidResponse(.bodyTooLarge(limit: 7)))
        #expect(server.requests.last?.headers["Range"] == nil)
        await free.shutdown()
        await limited.shutdown()
        await server.stop()
    }

    @Test func `a 206 that selects by everything does not answer a request without a range`() async throws {
        let server = try await LocalServer.scripted { connection in
            let fields = "ETag: \"1\"\r\nCache-Control: max-age=60\r\n"
            let answer =
                switch connection {
                case 1: "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 10\r\n\r\n01234"
                case 2:
                    "HTTP/1.1 206 Partial\r\n\(fields)Vary: *\r\nContent-Range: bytes 5-9/10\r\n"
                        + "Content-Length: 5\r\nConnection: close\r\n\r\n56789"
                default: "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 3\r\n\r\nnew"
                }
            return LocalServer.Script([.waitForRequest, .bytes(Data(answer.utf8)), .close])
        }
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration)
        #expect(await session.request(server.url("/")).serializingData().response.error != nil)
        let response = await session.request(server.url("/")).serializingData().response
        #expect(response.response?.statusCode == 200 && response.data == Data("new".utf8))
        await session.shutdown()
        await server.stop()
    }

    @Test func `several ranges in one body are no part`() throws {
        let request = try CacheFixtures.request(["Range": "bytes=0-1"])
        for (type, isStored) in [("multipart/byteranges; boundary=x", false), ("text/plain", true)] {
            let fields: HTTPHeaders = [
                "Cache-Control": "max-age=9", "Content-Range": "bytes 0-1/9", "Content-Type": type,
            ]
            #expect(Storability.allows(statusCode: 206, headers: fields, for: request) == isStored)
        }
    }

    @Test func `listing the responses does not mark them as used, or remove anything`() async throws {
        let directory = try TestDirectory()
        let cache = ResponseCache(memoryCapacity: 0, directory: directory.url) { CacheFixtures.begin }
        let request = try CacheFixtures.request()
        cache.store(
            try CacheFixtures.stored(["Cache-Control": "max-age=9"]), for: request.key,
            since: cache.epoch(of: request.key))
        let other = String(repeating: "0", count: 64) + ".0"
        try directory.write("of a later version", to: other)
        let name = try #require(directory.files.first { $0 != other })
        var count = 0
        // The first reading of a new file always sets its time (the mount option `relatime`).
        for await _ in cache.entries() {}
        let before = try #require(FileSystem.status(directory.path(name), followingLinks: true))
        for await _ in cache.entries() { count += 1 }
        let after = FileSystem.status(directory.path(name), followingLinks: true)
        #expect(count == 1 && after?.accessed == before.accessed && directory.files.contains(other))
    }

    @Test func `a response to a POST is not stored if its URL was forgotten meanwhile`() async throws {
        let gate = Gate()
        let scene = CacheTestSession { request in
            guard request.method == .post else { return .text("get", headers: ["Cache-Control": "max-age=60"]) }
            await gate.wait()
            return .text("post", headers: ["Cache-Control": "max-age=60", "Content-Location": "/"])
        }
        async let post = scene.answer(method: .post)
        _ = try await scene.transport.request(1)
        await scene.cache.remove(for: scene.url())
        gate.open()
        #expect(await post.text == "post")
        #expect(await scene.answer().text == "get")
    }

    @Test func `a POST that ends after its head makes the stored response outdated`() async throws {
        let server = try await LocalServer { router in
            router.get("/", .text("hello", headers: ["Cache-Control": "max-age=60"]))
            router.post("/") { _ in
                LocalServer.Response(status: 303, headers: ["Location": "/"], body: Data(count: 1_000_000))
            }
        }
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration)
        for method in [HTTPMethod.get, .get, .post] {
            let request = HTTPRequest(url: server.url("/"), method: method)
            #expect(await session.request(request).serializingString().response.value == "hello")
        }
        // The third is the one after the redirect.
        #expect(server.requests.map(\.method) == [.get, .post, .get])
        await session.shutdown()
        await server.stop()
    }

    @Test(arguments: [false, true])
    func `a stale response that was forgotten during its validation does not replace a failure`(
        isStream: Bool
    ) async throws {
        let gate = Gate()
        let scene = CacheTestSession { request in
            guard request.headers.contains("If-None-Match") else {
                let fields: HTTPHeaders = ["Cache-Control": "max-age=1, stale-if-error=600", "ETag": "\"1\""]
                return .text("old", headers: fields)
            }
            await gate.wait()
            return .status(503)
        }
        _ = await scene.answer()
        scene.clock.advance(by: 10)
        let task = scene.session.streamRequest(scene.url()).streamTask()
        async let answer = isStream ? nil : scene.answer()
        async let response = isStream ? task.response : nil
        _ = try await scene.transport.request(2)
        await scene.cache.removeAll()
        gate.open()
        let status = isStream ? try await response?.statusCode : await answer?.status
        #expect(status == 503)
        if !isStream { task.request.cancel() }
    }

    @Test(arguments: [false, true])
    func `a new response that cannot be stored makes the old one outdated`(isDownload: Bool) async throws {
        let count = Locked(0)
        let scene = CacheTestSession(memoryCapacity: 80_000) { _ in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            let body = String(repeating: "x", count: isFirst ? 1000 : 20_000)
            return .text(body, headers: ["Cache-Control": "max-age=60"])
        }
        let directory = try TestDirectory()
        #expect(await scene.answer().text?.count == 1000)
        var request = HTTPRequest(url: scene.url())
        request.cachePolicy = .reloadIgnoringCache
        if isDownload {
            _ = try await scene.session.download(request, to: .file(directory.url("a"))).serializingURL().value
        } else {
            _ = try await scene.session.streamRequest(request).streamTask().bytes.reduce(0) { $0 + $1.count }
        }
        #expect(await scene.answer().text?.count == 20_000)
    }

    @Test func `incomplete files occupy at most half of the capacity`() throws {
        let directory = try TestDirectory()
        let store = DiskStore(directory: directory.path, capacity: 80_000)
        var partials: [PartialEntry] = []
        for index in 0..<6 {
            var partial = try #require(store.begin())
            let isWritten = store.append(Data(count: 9000), to: &partial)
            #expect(isWritten == (index < 4))
            partials.append(partial)
        }
        for partial in partials { store.abandon(partial) }
        var partial = try #require(store.begin())
        let isWritten = store.append(Data(count: 9000), to: &partial)
        #expect(isWritten)
    }
}
