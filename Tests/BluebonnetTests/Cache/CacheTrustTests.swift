import BluebonnetTesting
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Whose responses, and whose files, a cache believes.
@Suite(.timeLimit(.minutes(10))) struct CacheTrustTests {
    // MARK: What a URL means

    struct Setting: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout Session.Configuration) -> Void

        init(_ name: String, _ change: @escaping @Sendable (inout Session.Configuration) -> Void) {
            (testDescription, self.change) = (name, change)
        }

        static let all = [
            Setting("decodesContent") { $0.decodesContent = false },
            Setting("unixSocketPath") { $0.unixSocketPath = "/run/a.socket" },
            Setting("dns.overrides") { $0.dns.overrides = ["stub.test:80": ["127.0.0.1"]] },
            Setting("dns.connectTo") { $0.dns.connectTo = ["stub.test:80": "other.test:81"] },
            Setting("dns.servers") { $0.dns.servers = ["127.0.0.1"] },
        ]
    }

    private static func handler(_ text: String) -> StubTransport.Handler {
        { request in
            request.method == .get
                ? .text(text, headers: ["Cache-Control": "max-age=60"]) : .response(status: 204)
        }
    }

    @Test(arguments: Setting.all)
    func `sessions with different views of a URL do not share responses`(_ setting: Setting)
        async throws
    {
        let first = CacheTestSession(Self.handler("first"))
        var configuration = Session.Configuration()
        setting.change(&configuration)
        let second = CacheTestSession(sharing: first.cache, configuration: configuration, Self.handler("second"))
        _ = await first.answer()
        let other = await second.answer()
        #expect(other.source == .network && other.text == "second")
        for (scene, text) in [(first, "first"), (second, "second")] {
            let again = await scene.answer()
            #expect(again.source == .cache && again.text == text)
        }
        // To forget, it is one URL.
        _ = await first.answer(method: .delete)
        #expect(await second.answer().source == .network)
        await first.cache.remove(for: first.url())
        #expect(await first.answer().source == .network)
    }

    @Test func `sessions with the same view share stored responses, also in files`() async throws {
        let directory = try TestDirectory()
        var configuration = Session.Configuration()
        configuration.dns.overrides = ["a.test:80": ["127.0.0.1"], "b.test:80": ["127.0.0.2", "::1"]]
        let scenes = (0..<2).map { index in
            CacheTestSession(directory: directory.url, configuration: configuration, Self.handler("\(index)"))
        }
        #expect(await scenes[0].answer().source == .network)
        let answer = await scenes[1].answer()
        #expect(answer.source == .cache && answer.text == "0")
    }

    @Test func `on the wire: coded bytes are not given to a session that has them decoded, nor the other way round`()
        async throws
    {
        let url = try TestServers.nginx.url("/gzip/bytes/65536")
        let cache = ResponseCache()
        for decodes in [true, false, true, false] {
            let session = TestHarness.session {
                $0.cache = cache
                $0.cachePolicy = .returnCacheElseLoad
                $0.decodesContent = decodes
                $0.headers.update(name: "Accept-Encoding", value: "gzip")
            }
            let data = try await session.request(url).serializingData().value
            #expect((data.count == 65_536) == decodes, "\(data.count) bytes")
            #expect((Array(data.prefix(2)) == [0x1f, 0x8b]) == !decodes)
            await session.shutdown()
        }
        #expect(cache.statistics.hits == 2)
    }

    // MARK: Whose file it is

    @Test func `a file with the response of another URL is not used`() throws {
        let directory = try TestDirectory()
        let store = DiskStore(directory: directory.path, capacity: 1 << 20)
        let requests = try ["a", "b"].map { try CacheFixtures.request(url: "http://a.test/\($0)") }
        store.store(try CacheFixtures.stored([:], body: "of b"), for: requests[1].key)
        let file = try CacheFiles.only(in: directory)
        store.store(try CacheFixtures.stored([:], body: "of a"), for: requests[0].key)
        let other = try #require(directory.files.first { $0 != file })
        try FileSystem.rename(directory.path(file), to: directory.path(other))
        #expect(store.candidates(for: requests[0].key, url: requests[0].url).isEmpty)
        #expect(directory.files.isEmpty, "it is removed")
    }

    @Test(arguments: ["mode", "owner", "links"])
    func `a file that another user may have written is not used`(_ flaw: String) throws {
        guard geteuid() == 0 else { return }
        let directory = try TestDirectory()
        let request = try CacheFixtures.request()
        try directory.makeDirectory("cache")
        let store = DiskStore(directory: directory.path("cache"), capacity: 1 << 20)
        store.store(try CacheFixtures.stored([:]), for: request.key)
        #expect(store.candidates(for: request.key, url: request.url).count == 1)
        let names = try FileSystem.names(in: directory.path("cache"))
        let path = directory.path("cache/" + (try #require(names.first { $0 != "incomplete" })))
        switch flaw {
        case "mode": _ = unsafe chmod(path, 0o620)
        case "owner": _ = unsafe chown(path, 65_534, 65_534)
        default: _ = unsafe link(path, directory.path("elsewhere"))
        }
        #expect(store.candidates(for: request.key, url: request.url).isEmpty)
        #expect(try FileSystem.names(in: directory.path("cache")) == ["incomplete"], "it is removed")
    }

    @Test(arguments: [(0o777, 0), (0o1777, 0), (0o720, 0), (0o702, 0), (0o700, 65_534)] as [(mode_t, uid_t)])
    func `a directory that others can write to is not used`(mode: mode_t, owner: uid_t) async throws {
        guard geteuid() == 0 else { return }
        let directory = try TestDirectory()
        let path = directory.path as String
        let store = DiskStore(directory: path, capacity: 1 << 20)
        let request = try CacheFixtures.request()
        store.store(try CacheFixtures.stored([:]), for: request.key)
        let names = directory.files
        _ = unsafe chmod(path, mode)
        _ = unsafe chown(path, owner, owner)
        for store in [store, DiskStore(directory: path, capacity: 1 << 20)] {
            #expect(store.candidates(for: request.key, url: request.url).isEmpty)
            #expect(store.failures > 0)
        }
        let another = try CacheFixtures.request(url: "http://a.test/another")
        store.store(try CacheFixtures.stored([:]), for: another.key)
        #expect(directory.files == names)
        #expect(FileSystem.status(path, followingLinks: true)?.mode == mode & 0o777, "and left as it is")
        // Requests continue without the directory.
        let scene = CacheTestSession(directory: directory.url, Self.handler("x"))
        for source in [ResponseSource.network, .cache] { #expect(await scene.answer().source == source) }
        #expect(scene.cache.statistics.diskFailures > 0 && directory.files == names)
    }

    @Test(arguments: [0o700, 0o755, 0o750] as [mode_t])
    func `a directory that others can only read is used`(mode: mode_t) throws {
        let directory = try TestDirectory()
        _ = unsafe chmod(directory.path, mode)
        let request = try CacheFixtures.request()
        let store = DiskStore(directory: directory.path, capacity: 1 << 20)
        store.store(try CacheFixtures.stored([:]), for: request.key)
        #expect(store.candidates(for: request.key, url: request.url).count == 1 && store.failures == 0)
    }
}
