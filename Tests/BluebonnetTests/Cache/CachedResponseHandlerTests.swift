import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10)))
struct CachedResponseHandlerTests {
    private static let minute: HTTPHeaders = ["Cache-Control": "max-age=60"]

    @Test(arguments: [true, false]) func `a handler decides whether a response is stored`(isStored: Bool) async throws {
        let scene = CacheTestSession(cachedResponseHandler: isStored ? .cache : .doNotCache) { _ in
            .text("hello", headers: Self.minute)
        }
        _ = await scene.answer()
        #expect(await scene.answer().source == (isStored ? .cache : .network))
    }

    @Test func `the request's last handler takes precedence over the session's handler`() async throws {
        let scene = CacheTestSession(cachedResponseHandler: .doNotCache) { _ in
            .text("hello", headers: Self.minute)
        }
        let url = try #require(URL(string: "http://stub.test/"))
        _ = await scene.session.request(url).cacheResponse(using: .doNotCache).cacheResponse(using: .cache)
            .serializingData().response
        #expect(await scene.answer().source == .cache)
    }

    @Test func `a handler changes the stored response, not the response to the request`() async throws {
        let scene = CacheTestSession(
            cachedResponseHandler: .modify { request, cached in
                #expect(request.state == .resumed)
                var cached = cached
                cached.data += Data(" again".utf8)
                cached.response = HTTPResponse(
                    url: cached.response.url, statusCode: 200,
                    headers: ["Cache-Control": "max-age=600", "X": "a\r\nb: c"])
                return cached
            }
        ) { _ in .text("hello", headers: Self.minute) }
        #expect(await scene.answer().text == "hello")
        scene.clock.advance(by: 500)
        let answer = await scene.answer()
        #expect(answer.text == "hello again" && answer.source == .cache)
    }

    @Test func `a handler is called only for responses that may be stored`() async throws {
        let asked = Locked<[Int]>([])
        let scene = CacheTestSession(
            cachedResponseHandler: .modify { _, cached in
                asked.withLock { $0.append(cached.response.statusCode) }
                return cached
            }
        ) { request in
            switch request.url.path() {
            case "/no-store": .text("", headers: ["Cache-Control": "no-store"])
            case "/500": .status(500)
            default: .text("", status: 404, headers: Self.minute)
            }
        }
        for path in ["/no-store", "/500", "/404"] { _ = await scene.answer(path) }
        _ = await scene.answer("/404", method: .post)
        #expect(asked.withLock { $0 } == [404])
    }

    @Test func `a response that must not be stored after a handler's change is not stored`() async throws {
        let scene = CacheTestSession(
            cachedResponseHandler: .modify { _, cached in
                var cached = cached
                cached.response = HTTPResponse(url: cached.response.url, statusCode: 200, headers: ["Vary": "*"])
                return cached
            }
        ) { _ in .text("hello", headers: Self.minute) }
        _ = await scene.answer()
        #expect(await scene.answer().source == .network)
    }

    @Test(arguments: [CachedResponse.StoragePolicy.memoryAndDisk, .memoryOnly, .notAllowed])
    func `a handler selects where a response is stored`(policy: CachedResponse.StoragePolicy) async throws {
        let directory = try TestDirectory()
        let scene = CacheTestSession(
            directory: directory.url("cache"),
            cachedResponseHandler: .modify { _, cached in
                CachedResponse(response: cached.response, data: cached.data, storagePolicy: policy)
            }
        ) { _ in .text("hello", headers: Self.minute) }
        _ = await scene.answer()
        #expect((scene.cache.statistics.diskBytes > 0) == (policy == .memoryAndDisk))
        #expect(await scene.answer().source == (policy == .notAllowed ? .network : .cache))
    }

    @Test func `cancelling does not wait for a handler, and nothing is stored`() async throws {
        let (entered, entry) = AsyncStream<Void>.makeStream()
        let scene = CacheTestSession(
            cachedResponseHandler: .modify { _, cached in
                entry.yield()
                await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                    Stuck.keep(continuation)
                }
                return cached
            }
        ) { _ in .text("hello", headers: Self.minute) }
        let url = try #require(URL(string: "http://stub.test/"))
        let request = scene.session.request(url)
        async let answer = request.serializingData().response
        for await _ in entered { break }
        request.cancel()
        #expect(await answer.error?.isCancellation == true)
        Stuck.release()
        #expect(await scene.cache.cachedResponse(for: HTTPRequest(url: url)) == nil)
    }

    /// Tasks that wait without a reason until they are released.
    private enum Stuck {
        private static let waiting = Locked<[CheckedContinuation<Void, Never>]>([])

        static func keep(_ continuation: CheckedContinuation<Void, Never>) {
            waiting.withLock { $0.append(continuation) }
        }

        static func release() {
            for continuation in waiting.withLock({ waiting in
                defer { waiting = [] }
                return waiting
            }) { continuation.resume() }
        }
    }

    @Test func `a session with a handler and without a cache has a cache in memory`() async throws {
        let transport = StubTransport { _ in .text("hello", headers: Self.minute) }
        let session = Session(cachedResponseHandler: ResponseCacher(behavior: .cache), transport: transport)
        let url = try #require(URL(string: "http://stub.test/"))
        #expect(session.configuration.cache?.directory == nil)
        #expect(await session.request(url).serializingData().response.source == .network)
        #expect(await session.request(url).serializingData().response.source == .cache)
    }

    @Test func `a session without a handler and a cache stores nothing`() async throws {
        let transport = StubTransport { _ in .text("hello", headers: Self.minute) }
        let session = Session(transport: transport)
        #expect(session.configuration.cache == nil)
        let url = try #require(URL(string: "http://stub.test/"))
        for _ in 0..<2 {
            let answer = await session.request(url).cacheResponse(using: .cache).serializingData().response
            #expect(answer.source == .network)
        }
        #expect(transport.requestCount == 2)
    }
}
