import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

struct DiskStoreTests {
    private static func body(_ count: Int = 1000) -> String { String(repeating: "x", count: count) }

    @Test func `another store reads the same stored response`() throws {
        let directory = try TestDirectory()
        let path = directory.path("a/b")
        let head = try #require(
            ReceivedHead(bytes: Array("HTTP/1.0 404 Not here\r\nX-A: 1\r\nX-A: é\r\nDate: x\r\nVary: A\r\n\r\n".utf8)))
        let request = try CacheFixtures.request(["A": "1"])
        let entry = try #require(
            StoredResponse(
                HTTPResponse(url: request.url, head: head), body: .memory(Data([0, 1, 255])), to: request,
                requestTime: CacheFixtures.begin.addingTimeInterval(-0.5), responseTime: CacheFixtures.begin))
        DiskStore(directory: path, capacity: 1 << 20).store(entry, for: request.key)
        let found = DiskStore(directory: path, capacity: 1 << 20).candidates(for: request.key, url: request.url)
        let same = try #require(found.first)
        #expect(found.count == 1)
        let body = try same.body.all()
        #expect(body == Data([0, 1, 255]))
        #expect(same.selector == entry.selector && same.varyFields == entry.varyFields)
        #expect(same.requestTime == entry.requestTime && same.responseTime == entry.responseTime)
        #expect(same.response.headers == head.headers && same.response.statusCode == 404)
        #expect(same.response.reasonPhrase == "Not here" && same.response.httpVersion == .http1_0)
        #expect(FileSystem.status(path, followingLinks: false)?.mode == 0o700)
        for name in try FileSystem.names(in: path) where name != "incomplete" {
            #expect(FileSystem.status("\(path)/\(name)", followingLinks: false)?.mode == 0o600)
        }
    }

    @Test(arguments: [0, 1, 16, 17, 48, 49, 60, -1, -2, -500])
    func `a truncated file is not a response, and is removed`(length: Int) throws {
        let directory = try TestDirectory()
        let request = try CacheFixtures.request()
        let store = DiskStore(directory: directory.path, capacity: 1 << 20)
        store.store(try CacheFixtures.stored([:], body: Self.body()), for: request.key)
        let name = try #require(directory.files.first)
        let bytes = try Data(contentsOf: directory.url(name))
        try bytes.prefix(length < 0 ? bytes.count + length : length).write(to: directory.url(name))
        #expect(store.candidates(for: request.key, url: request.url).isEmpty)
        #expect(directory.files.isEmpty)
    }

    @Test func `a file with any byte changed is not a response`() throws {
        let directory = try TestDirectory()
        let request = try CacheFixtures.request()
        let store = DiskStore(directory: directory.path, capacity: 1 << 20)
        store.store(try CacheFixtures.stored(["X": "y"], body: "hello"), for: request.key)
        let name = try #require(directory.files.first)
        let bytes = try Data(contentsOf: directory.url(name))
        for index in bytes.indices {
            var broken = bytes
            broken[index] ^= 0x10
            try broken.write(to: directory.url(name))
            #expect(store.candidates(for: request.key, url: request.url).isEmpty, "byte \(index)")
        }
        try (bytes + [0]).write(to: directory.url(name))
        #expect(store.candidates(for: request.key, url: request.url).isEmpty)
        try bytes.write(to: directory.url(name))
        #expect(store.candidates(for: request.key, url: request.url).count == 1)
    }

    @Test(arguments: [0, 8], [1e300, -1e300, .infinity, .nan, 1e12] as [Double])
    func `a file with a time that no calendar has is not a response, and no trap`(offset: Int, seconds: Double) throws {
        let directory = try TestDirectory()
        let request = try CacheFixtures.request()
        let store = DiskStore(directory: directory.path, capacity: 1 << 20)
        store.store(try CacheFixtures.stored(["Date": "Sunday, 06-Nov-94 08:49:37 GMT"]), for: request.key)
        let name = try CacheFiles.only(in: directory)
        try CacheFiles.overwrite(name, in: directory, at: offset, with: seconds.bitPattern)
        #expect(store.candidates(for: request.key, url: request.url).isEmpty)
        #expect(directory.files.isEmpty)
    }

    @Test func `foreign files stay, and invalid response files are removed`() throws {
        let directory = try TestDirectory()
        let request = try CacheFixtures.request()
        let store = DiskStore(directory: directory.path, capacity: 1 << 20)
        store.store(try CacheFixtures.stored([:]), for: request.key)
        let name = try #require(directory.files.first)
        try directory.write("mine", to: "notes.txt")
        try directory.write("garbage", to: name)
        #expect(store.candidates(for: request.key, url: request.url).isEmpty)
        store.store(try CacheFixtures.stored([:]), for: request.key)
        store.removeAll()
        #expect(directory.files == ["notes.txt"])
    }

    @Test func `the size of files is bounded and the least recently used responses are removed first`() async throws {
        let directory = try TestDirectory()
        let store = DiskStore(directory: directory.path, capacity: 60_000)
        let keys = try (0..<30).map { try CacheFixtures.request(url: "http://a.test/\($0)") }
        for request in keys {
            store.store(try CacheFixtures.stored([:], body: Self.body()), for: request.key)
            #expect(!store.candidates(for: keys[0].key, url: keys[0].url).isEmpty)
            while store.isScanning { await Task.yield() }
        }
        let sizes = directory.files.compactMap { FileSystem.status(directory.path($0), followingLinks: false)?.size }
        // Each file takes one block of 4 KiB.
        #expect(sizes.allSatisfy { (1...4096).contains($0) } && sizes.count == 14)
        #expect(store.bytes == sizes.count * 4096)
        #expect(store.candidates(for: keys[2].key, url: keys[2].url).isEmpty)
        #expect(!store.candidates(for: keys[29].key, url: keys[29].url).isEmpty)
        #expect(store.evictions == 30 - sizes.count)
        // A store with less capacity removes files after its first response.
        let smaller = DiskStore(directory: directory.path, capacity: 50_000)
        _ = smaller.candidates(for: keys[1].key, url: keys[1].url)
        #expect(directory.files.count == sizes.count)
        smaller.store(try CacheFixtures.stored([:]), for: keys[1].key)
        while smaller.isScanning { await Task.yield() }
        #expect(smaller.bytes <= 50_000 && smaller.bytes > 30_000 && smaller.evictions > 0)
        #expect(!smaller.candidates(for: keys[29].key, url: keys[29].url).isEmpty)
    }

    @Test func `a response that is too large is not stored, and the response it replaces is removed`() throws {
        let directory = try TestDirectory()
        let request = try CacheFixtures.request()
        let store = DiskStore(directory: directory.path, capacity: 16_000)
        store.store(try CacheFixtures.stored([:], body: Self.body()), for: request.key)
        store.store(try CacheFixtures.stored([:], body: Self.body(3000)), for: request.key)
        #expect(directory.files.isEmpty)
    }

    @Test func `at most four variants of a response are stored`() throws {
        let directory = try TestDirectory()
        let store = DiskStore(directory: directory.path, capacity: 1 << 20)
        let requests = try (0..<6).map { try CacheFixtures.request(["A": "\($0)"]) }
        for (index, request) in requests.enumerated() {
            for _ in 0..<2 {
                store.store(
                    try CacheFixtures.stored(["Vary": "A"], body: "\(index)", for: request, at: Double(index)),
                    for: request.key)
            }
        }
        #expect(directory.files.count == 4)
        let found = store.candidates(for: requests[0].key, url: requests[0].url)
        let texts = try found.map { String(decoding: try $0.body.all(), as: UTF8.self) }
        #expect(Set(texts) == ["2", "3", "4", "5"])
        store.remove(found[0].selector, for: requests[0].key)
        #expect(directory.files.count == 3)
        store.removeAll(for: requests[0].key)
        #expect(directory.files.isEmpty)
    }

    @Test func `a directory that cannot be created or written is a miss and is counted`() throws {
        let directory = try TestDirectory()
        try directory.write("in the way", to: "file")
        let request = try CacheFixtures.request()
        let store = DiskStore(directory: directory.path("file/below"), capacity: 1 << 20)
        store.store(try CacheFixtures.stored([:]), for: request.key)
        #expect(store.candidates(for: request.key, url: request.url).isEmpty)
        #expect(store.failures > 0)
        #expect(directory.files == ["file"])
    }

    @Test func `a directory that was removed is created again`() throws {
        let directory = try TestDirectory()
        let request = try CacheFixtures.request()
        let store = DiskStore(directory: directory.path("cache"), capacity: 1 << 20)
        store.store(try CacheFixtures.stored([:]), for: request.key)
        try FileManager.default.removeItem(at: directory.url("cache"))
        #expect(store.candidates(for: request.key, url: request.url).isEmpty)
        store.store(try CacheFixtures.stored([:]), for: request.key)
        #expect(store.candidates(for: request.key, url: request.url).count == 1)
        #expect(store.failures == 0)
    }

    @Test func `a directory that appears while it is read is empty, and no failure`() async throws {
        let directory = try TestDirectory()
        let path = directory.path("a")
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    try? FileSystem.makeDirectories(path, mode: 0o700)
                    try? FileManager.default.removeItem(atPath: path)
                }
            }
            for _ in 0..<20_000 {
                #expect(throws: Never.self) { try FileSystem.names(in: path).isEmpty }
            }
            group.cancelAll()
        }
    }

    @Test func `a link under a response's name is not followed`() throws {
        let directory = try TestDirectory()
        let request = try CacheFixtures.request()
        let store = DiskStore(directory: directory.path("cache"), capacity: 1 << 20)
        store.store(try CacheFixtures.stored([:]), for: request.key)
        let name = try #require(try FileSystem.names(in: directory.path("cache")).first { $0 != "incomplete" })
        try FileSystem.rename(directory.path("cache/\(name)"), to: directory.path("elsewhere"))
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("cache/\(name)"), withDestinationPath: directory.path("elsewhere"))
        #expect(store.candidates(for: request.key, url: request.url).isEmpty)
    }

    // MARK: In a session

    @Test(.timeLimit(.minutes(10)))
    func `another cache on the same directory uses the responses of the first cache`() async throws {
        let directory = try TestDirectory()
        let first = CacheTestSession(directory: directory.url) { _ in
            .text("hello", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        }
        _ = await first.answer()
        let second = CacheTestSession(directory: directory.url) { _ in .text("", status: 304) }
        let answer = await second.answer()
        #expect(answer.source == .cache && answer.text == "hello" && second.transport.requestCount == 0)
        second.clock.advance(by: 61)
        #expect(await second.answer().source == .validated)
        #expect(second.cache.statistics.diskFailures == 0)
    }

    @Test(.timeLimit(.minutes(10))) func `§4.4: files are forgotten, too`() async throws {
        let directory = try TestDirectory()
        let scene = CacheTestSession(directory: directory.url) { _ in
            .text("hello", headers: ["Cache-Control": "max-age=60"])
        }
        _ = await scene.answer()
        #expect(directory.files.count == 1)
        _ = await scene.answer(method: .delete)
        #expect(directory.files.isEmpty)
        _ = await scene.answer()
        await scene.cache.removeAll()
        #expect(directory.files.isEmpty)
        #expect(scene.cache.statistics.diskBytes == 0)
    }

    @Test(.timeLimit(.minutes(10))) func `files are used if memory is full`() async throws {
        let directory = try TestDirectory()
        let scene = CacheTestSession(memoryCapacity: 0, directory: directory.url) { _ in
            .text("hello", headers: ["Cache-Control": "max-age=60"])
        }
        _ = await scene.answer()
        #expect(await scene.answer().source == .cache)
        #expect(scene.cache.statistics.memoryBytes == 0)
    }
}
