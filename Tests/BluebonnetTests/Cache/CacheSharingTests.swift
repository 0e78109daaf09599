import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Directories that are full, shared by processes, or left by other processes.
@Suite(.timeLimit(.minutes(10))) struct CacheSharingTests {
    private static func scene(_ directory: URL, _ text: String, memory: Int = 16 << 20) -> CacheTestSession {
        CacheTestSession(memoryCapacity: memory, directory: directory) { request in
            request.method == .get
                ? .text(text, headers: ["Cache-Control": "max-age=600"]) : .response(status: 204)
        }
    }

    @Test func `a response in memory that another process replaced or removed is not used`() async throws {
        let directory = try TestDirectory()
        let one = Self.scene(directory.url, "of one")
        let other = Self.scene(directory.url, "of other")
        _ = await one.answer()
        #expect(await one.answer().source == .cache)
        _ = await other.answer(policy: .reloadIgnoringCache)
        #expect(await one.answer().text == "of other")
        _ = await other.answer(method: .delete)
        #expect(await one.answer(policy: .returnCacheDontLoad).error?.kind == .cache(.notStored))
        _ = await one.answer()
        await other.cache.remove(for: one.url())
        #expect(await one.answer(policy: .returnCacheDontLoad).error?.kind == .cache(.notStored))
        #expect(one.cache.statistics.diskFailures == 0)
    }

    @Test func `a full disk: old files make room`() async throws {
        let directory = try TestDirectory()
        let isMounted = directory.mountSmallDisk(size: "2m")
        try #require(isMounted, "the test needs the right to mount")
        let scene = Self.scene(directory.url, String(repeating: "x", count: 50_000), memory: 0)
        await withTaskGroup { tasks in
            for start in 0..<4 {
                tasks.addTask { for index in 0..<50 { _ = await scene.answer("/\(start * 50 + index)") } }
            }
        }
        let statistics = scene.cache.statistics
        #expect(statistics.stores == 200 && statistics.diskFailures == 0 && statistics.evictions > 100)
        #expect(await scene.answer("/199").source == .cache)
        #expect(directory.files.count > 10)
    }

    @Test func `a failed store is not counted`() async throws {
        let directory = try TestDirectory()
        try directory.makeReadOnly()
        let scene = Self.scene(directory.url, "x", memory: 0)
        _ = await scene.answer()
        #expect(scene.cache.statistics.stores == 0 && scene.cache.statistics.diskFailures > 0)
        directory.makeWritable()
        _ = await scene.answer()
        #expect(scene.cache.statistics.stores == 1)
    }

    @Test func `the first use removes the incomplete files of ended processes`() async throws {
        let directory = try TestDirectory()
        let files = CacheDirectory(directory.path)
        let running = try files.create()
        let left = "incomplete/0123456789abc.bluebonnet"
        let foreign = [
            "incomplete/mine", "incomplete/0123456789abc", "incomplete/.bluebonnet", "incomplete/a.bluebonnet",
        ]
        for name in foreign + [left] { try directory.write("partial", to: name) }
        let store = DiskStore(directory: directory.path, capacity: 1 << 20)
        let request = try CacheFixtures.request()
        #expect(store.candidates(for: request.key, url: request.url).isEmpty)
        while directory.files.contains(left) { try await Task.sleep(for: .milliseconds(1)) }
        #expect(Set(directory.files) == Set(foreign + [running.name]))
        // A new directory of incomplete files is made when the first is gone.
        try FileManager.default.removeItem(at: directory.url("incomplete"))
        #expect(store.store(try CacheFixtures.stored([:]), for: request.key) == true)
    }

    @Test func `of several variants the newest is in the first file, and none is lost`() throws {
        let directory = try TestDirectory()
        let store = DiskStore(directory: directory.path, capacity: 1 << 20)
        let requests = try (0..<3).map { try CacheFixtures.request(["A": "\($0)"]) }
        for (index, request) in (requests + requests.reversed()).enumerated() {
            let entry = try CacheFixtures.stored(["Vary": "A"], body: "\(index)", for: request, at: Double(index))
            store.store(entry, for: request.key)
            #expect(directory.files.count == min(index + 1, 3))
        }
        for (request, text) in zip(requests, ["5", "4", "3"]) {
            let found = store.candidates(for: request.key, url: request.url, matching: request)
            let texts = try found.map { String(decoding: try $0.body.all(), as: UTF8.self) }
            #expect(texts == [text])
        }
    }

    @Test func `the entries describe the responses in memory and in files, and can be removed`() async throws {
        let directory = try TestDirectory()
        let earlier = Self.scene(directory.url, "earlier")
        for path in ["/a", "/b?c"] { _ = await earlier.answer(path) }
        let scene = Self.scene(directory.url, "new one")
        _ = await scene.answer("/c")
        scene.clock.advance(by: 10)
        var entries: [String: ResponseCache.Entry] = [:]
        for await entry in scene.cache.entries() { entries[entry.url.absoluteString] = entry }
        #expect(Set(entries.keys) == ["http://stub.test/a", "http://stub.test/b?c", "http://stub.test/c"])
        let entry = try #require(entries["http://stub.test/c"])
        #expect(entry.isInMemory && entry.isInFile && entry.size == 7 && entry.statusCode == 200)
        #expect(entry.age == .seconds(10) && entry.freshness == .seconds(590))
        #expect(entries["http://stub.test/a"]?.isInMemory == false && entries["http://stub.test/a"]?.isInFile == true)
        await scene.cache.remove { $0.url.path() != "/a" }
        #expect(await scene.answer("/a").text == "earlier" && directory.files.count == 1)
        #expect(await scene.answer("/c", policy: .returnCacheDontLoad).error?.kind == .cache(.notStored))
    }

    @Test func `processes that are killed while they write leave no wrong response, and no incomplete file`()
        async throws
    {
        let files = try TestDirectory()
        let directory = try TestDirectory()
        let stop = files.path("stop")
        func program(_ name: String) throws -> RunningProgram {
            try RunningProgram("CacheProgram", [directory.path, files.path(name), stop])
        }
        let others = try [program("1"), program("2")]
        for round in 0..<50 {
            let killed = try program("killed \(round)")
            while !files.names.contains("killed \(round)") { try await Task.sleep(for: .milliseconds(1)) }
            try await Task.sleep(for: .microseconds(.random(in: 0..<10_000)))
            killed.kill()
            #expect(await killed.outcome().code != 1)
        }
        try files.write("", to: "stop")
        for other in others {
            let outcome = await other.outcome()
            #expect(outcome.code == 0, "\(outcome.output)")
        }
        let store = DiskStore(directory: directory.path, capacity: 1 << 20)
        store.store(try CacheFixtures.stored([:]), for: try CacheFixtures.request().key)
        while directory.files.contains(where: { $0.hasPrefix("incomplete/") }) {
            try await Task.sleep(for: .milliseconds(1))
        }
        let keys = store.allDigests().flatMap { store.names($0) }.compactMap { store.inspect($0)?.key.text }
        #expect(keys.contains { $0.contains("stub.test") })
    }
}
