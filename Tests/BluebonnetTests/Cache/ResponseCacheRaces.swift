import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10 * raceMultiplier))) struct ResponseCacheRaces {
    /// A session before which everything is cached, and its cache.
    private static func scene(
        memoryCapacity: Int = 1 << 20, directory: URL? = nil, handler: (any CachedResponseHandler)? = nil
    ) -> CacheTestSession {
        CacheTestSession(memoryCapacity: memoryCapacity, directory: directory, cachedResponseHandler: handler) {
            request in
            request.headers.contains("If-None-Match")
                ? .text("", status: 304)
                : .text(request.url.path(), headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        }
    }

    private static func url(_ number: Int) throws -> URL {
        try #require(URL(string: "http://stub.test/\(number)"))
    }

    /// Every request is answered once: with the right body, or with its cancellation.
    private static func check(_ response: DataResponse<Data, RequestError>, _ url: URL) {
        if let error = response.error {
            #expect(error.isCancellation || error.kind == .sessionShutDown, "\(error)")
        } else {
            #expect(response.value == Data(url.path().utf8))
            #expect(response.response?.statusCode == 200)
        }
    }

    @Test(arguments: [HTTPRequest.CachePolicy.useProtocolCachePolicy, .reloadRevalidating, .reloadIgnoringCache])
    func `Cancelling during a hit, a validation, or a store ends it once`(policy: HTTPRequest.CachePolicy) async throws
    {
        let scene = Self.scene()
        try await race { iteration in
            let url = try Self.url(iteration % 10)
            var request = HTTPRequest(url: url)
            request.cachePolicy = policy
            let made = scene.session.request(request)
            async let answer = made.serializingData().response
            await dawdle(iteration)
            made.cancel()
            Self.check(await answer, url)
        }
        #expect(await scene.session.withAllRequests { $0.count } == 0)
        await scene.session.shutdown()
    }

    @Test func `Suspending and resuming during a hit loses nothing`() async throws {
        let scene = Self.scene()
        try await race { iteration in
            let url = try Self.url(iteration % 10)
            let made = scene.session.request(url)
            async let answer = made.serializingData().response
            async let holding: Void = {
                for _ in 0..<3 {
                    made.suspend()
                    await dawdle(iteration)
                    made.resume()
                }
            }()
            await holding
            Self.check(await answer, url)
        }
        await scene.session.shutdown()
    }

    @Test func `Cancelling during a handler ends the request once and stores nothing later`() async throws {
        let scene = Self.scene(
            handler: .modify { _, cached in
                await dawdle(Int(cached.data.count) * 7)
                return cached
            })
        try await race { iteration in
            let url = try Self.url(iteration)
            let made = scene.session.request(url)
            async let answer = made.serializingData().response
            await dawdle(iteration / 3)
            made.cancel()
            Self.check(await answer, url)
        }
        await scene.session.shutdown()
    }

    @Test(arguments: [false, true])
    func `Removing during storing leaves no part of the response`(hasDisk: Bool) async throws {
        let directory = try TestDirectory()
        let scene = Self.scene(directory: hasDisk ? directory.url : nil)
        let path = directory.path
        try await race(groups: hasDisk ? 20 : 100) { iteration in
            let url = try Self.url(iteration % 5 + 1000 * (iteration % 100))
            async let answer = scene.session.request(url).serializingData().response
            await dawdle(iteration)
            if iteration % 2 == 0 { await scene.cache.removeAll() } else { await scene.cache.remove(for: url) }
            Self.check(await answer, url)
        }
        await scene.cache.removeAll()
        #expect(scene.cache.statistics.memoryBytes == 0)
        #expect(try FileSystem.names(in: path).allSatisfy { $0 == "incomplete" })
        #expect(try FileSystem.names(in: path + "/incomplete").isEmpty)
        await scene.session.shutdown()
    }

    @Test func `A response requested before its removal is not stored after it`() async throws {
        let cache = ResponseCache()
        try await race(groups: 50) { iteration in
            let request = try CacheFixtures.request(url: "http://stub.test/\(iteration)")
            let entry = try CacheFixtures.stored(["Cache-Control": "max-age=60"], for: request)
            let epoch = cache.epoch(of: request.key)
            async let forgetting: Void = {
                await dawdle(iteration)
                cache.forget([request.key])
            }()
            await dawdle(iteration / 23)
            cache.store(entry, for: request.key, since: epoch)
            await forgetting
            #expect(cache.inMemory(request).isEmpty)
        }
    }

    @Test func `Shutting down ends all requests`() async throws {
        try await race(groups: 20, of: 25) { iteration in
            let scene = Self.scene()
            let url = try Self.url(1)
            _ = await scene.session.request(url).serializingData().response
            async let answers = withTaskGroup(of: DataResponse<Data, RequestError>.self) { tasks in
                for _ in 0..<5 { tasks.addTask { await scene.session.request(url).serializingData().response } }
                return await tasks.reduce(into: []) { $0.append($1) }
            }
            await dawdle(iteration)
            await scene.session.shutdown()
            for answer in await answers { Self.check(answer, url) }
        }
    }

    @Test(arguments: [false, true])
    func `The bounds of a small cache that two sessions share are respected`(hasDisk: Bool) async throws {
        let directory = try TestDirectory()
        let first = Self.scene(memoryCapacity: 20_000, directory: hasDisk ? directory.url : nil)
        let second = Session(configuration: first.session.configuration, transport: first.transport)
        try await race(groups: hasDisk ? 20 : 100) { iteration in
            let url = try Self.url(iteration * 7 % 60)
            let session = iteration % 2 == 0 ? first.session : second
            let answer = await session.request(url).serializingData().response
            Self.check(answer, url)
            #expect(first.cache.statistics.memoryBytes <= 20_000)
        }
        let statistics = first.cache.statistics
        #expect(statistics.hits > 0 && statistics.misses > 0 && statistics.diskFailures == 0)
        #expect(statistics.hits + statistics.misses == (hasDisk ? 2000 : 10_000) * raceMultiplier)
        await first.session.shutdown()
    }

    @Test func `Equal requests with leaders that are cancelled or suspended all end, with the right bodies`()
        async throws
    {
        let scene = Self.scene()
        try await race(groups: 30) { iteration in
            let url = try Self.url(iteration / 20)
            let made = scene.session.request(url)
            async let answer = made.serializingData().response
            await dawdle(iteration)
            switch iteration % 4 {
            case 0: made.cancel()
            case 1:
                made.suspend()
                await dawdle(iteration / 5)
                made.resume()
            default: break
            }
            Self.check(await answer, url)
        }
        #expect(await scene.session.withAllRequests { $0.count } == 0)
        #expect(scene.transport.requestCount < 3000 * raceMultiplier)
        await scene.session.shutdown()
    }

    @Test func `1,000 equal requests with leaders that are cancelled at random get the response of one exchange`()
        async throws
    {
        for round in 0..<5 * raceMultiplier {
            let gate = Gate()
            let scene = CacheTestSession { request in
                await gate.wait()
                return .text(request.url.path(), headers: ["Cache-Control": "max-age=60"])
            }
            let url = try Self.url(round)
            let requests = (0..<1000).map { _ in scene.session.request(url) }
            let tasks = requests.map { $0.serializingData() }
            let cancelled = round % 5 == 0 ? [] : Set([0, 1] + (0..<10).map { _ in Int.random(in: 0..<1000) })
            async let cancelling: Void = {
                for index in cancelled.sorted() {
                    await dawdle(index)
                    requests[index].cancel()
                }
            }()
            _ = try await scene.transport.request(1)
            await dawdle(round)
            gate.open()
            await cancelling
            for (index, task) in tasks.enumerated() {
                let response = await task.response
                #expect(response.error == nil || cancelled.contains(index) && response.error?.kind == .cancelled)
                #expect(response.error != nil || response.value == Data(url.path().utf8))
            }
            // Only a leader that is cancelled needs another exchange.
            #expect(scene.transport.requestCount <= 1 + cancelled.count)
            #expect(await scene.session.withAllRequests { $0.count } == 0)
            await scene.session.shutdown()
        }
    }

    @Test func `Streams that fill the cache and read from it end once, with the right bodies`() async throws {
        let body = String(repeating: "0123456789", count: 20_000)
        let scene = CacheTestSession(memoryCapacity: 4 << 20) { request in
            .text(request.url.path() + body, headers: ["Cache-Control": "max-age=60"])
        }
        try await race(groups: 10) { iteration in
            let url = try Self.url(iteration / 7)
            let request = scene.session.streamRequest(url)
            let task = request.streamTask()
            async let control: Void = {
                await dawdle(iteration)
                if iteration % 3 == 0 { request.cancel() }
                request.suspend()
                await dawdle(iteration / 3)
                request.resume()
            }()
            do {
                let received = try await task.bytes.reduce(into: Data()) { $0 += $1 }
                #expect(received == Data((url.path() + body).utf8))
            } catch {
                #expect((error as? RequestError)?.isCancellation == true, "\(error)")
            }
            await control
        }
        #expect(scene.cache.statistics.hits > 0)
        await scene.session.shutdown()
    }
}
