import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct ResponseWriterTests {
    private let request: CacheRequest
    private let response: HTTPResponse

    init() throws {
        request = try CacheFixtures.request()
        response = try CacheFixtures.response(["Cache-Control": "max-age=60"])
    }

    private func cache(_ directory: URL?, memory: Int = 16 << 20, disk: Int = 256 << 20) -> ResponseCache {
        ResponseCache(memoryCapacity: memory, diskCapacity: disk, directory: directory) { CacheFixtures.begin }
    }

    private func finish(
        _ writer: ResponseWriter?, _ cache: ResponseCache, _ policy: CachedResponse.StoragePolicy = .memoryAndDisk
    ) {
        finish(writer, cache, policy, since: cache.epoch(of: request.key))
    }

    private func finish(
        _ writer: ResponseWriter?, _ cache: ResponseCache, _ policy: CachedResponse.StoragePolicy, since epoch: UInt64
    ) {
        guard let (body, file) = writer?.end() else { return }
        let entry = StoredResponse(
            response, body: body, to: request, requestTime: CacheFixtures.begin, responseTime: CacheFixtures.begin,
            storagePolicy: policy)
        if let entry { cache.store(entry, in: file, for: request.key, since: epoch) }
    }

    /// Returns a writer that has begun.
    private func writer(_ cache: ResponseCache, expecting count: Int64? = nil) -> ResponseWriter? {
        let writer = ResponseWriter(cache, request.key, expecting: count)
        #expect(writer?.begin() == true)
        return writer
    }

    /// Bytes that differ at each position.
    private static func bytes(_ count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 >> 2) })
    }

    @Test(arguments: [0, 1, 5000, 700_000], [0, 16 << 20])
    func `a body in pieces is stored`(count: Int, memory: Int) throws {
        let directory = try TestDirectory()
        let first = cache(directory.url, memory: memory)
        let writer = self.writer(first)
        let bytes = Self.bytes(count)
        for start in stride(from: 0, to: count, by: 999) {
            #expect(writer?.append(bytes.dropFirst(start).prefix(999)) == true)
        }
        finish(writer, first)
        #expect(first.statistics.stores == 1 && first.inMemory(request).count == (memory > 0 ? 1 : 0))
        for inPieces in [false, true] {
            let other = cache(directory.url)
            let found = try #require(other.onDisk(request, inPieces: inPieces).first)
            let body = try found.body.all()
            #expect(body == bytes)
            let part = try found.body.read(from: count / 2, upTo: 100)
            #expect(part == bytes.dropFirst(count / 2).prefix(100))
            let isInFile = if case .file = found.body { true } else { false }
            #expect(isInFile == (inPieces && count > 262_144))
            #expect(other.inMemory(request).isEmpty == isInFile)
        }
    }

    @Test func `a body in a file that becomes shorter is an error, not fewer bytes`() throws {
        let directory = try TestDirectory()
        let first = cache(directory.url, memory: 0)
        let writer = self.writer(first, expecting: 600_000)
        #expect(writer?.append(Self.bytes(600_000)) == true)
        finish(writer, first)
        let found = try #require(first.onDisk(request, inPieces: true).first)
        try OpenFile.writing(directory.path(directory.files[0])).truncate(to: 500_000)
        let rest = try found.body.read(from: 499_000, upTo: 1000)
        #expect(rest.count == 1000)
        #expect(throws: SystemError.self) { try found.body.read(from: 499_001, upTo: 1000) }
        #expect(throws: SystemError.self) { try found.body.all() }
        #expect(first.onDisk(request, inPieces: true).isEmpty)
    }

    @Test func `a body that is too large is not stored and leaves no file`() throws {
        let directory = try TestDirectory()
        let small = cache(directory.url, memory: 8000, disk: 80_000)
        #expect(ResponseWriter(small, request.key, expecting: 10_001) == nil)
        let writer = self.writer(small)
        #expect(directory.files.count == 1)
        #expect(writer?.append(Self.bytes(9000)) == true)
        #expect(writer?.append(Self.bytes(1001)) == false)
        #expect(directory.files.isEmpty)
        finish(writer, small)
        #expect(small.statistics.stores == 0 && directory.files.isEmpty)
        let memory = cache(nil, memory: 8000)
        #expect(self.writer(memory)?.append(Self.bytes(1001)) == false)
        let fitting = self.writer(memory, expecting: 100)
        #expect(fitting?.append(Self.bytes(100)) == true)
        finish(fitting, memory)
        #expect(memory.inMemory(request).count == 1)
    }

    @Test(arguments: [false, true])
    func `an abandoned writer leaves nothing`(isExplicit: Bool) throws {
        let directory = try TestDirectory()
        let cache = cache(directory.url)
        var writer = self.writer(cache)
        #expect(writer?.append(Self.bytes(10)) == true && directory.files.count == 1)
        if isExplicit { writer?.abandon() } else { writer = nil }
        #expect(directory.files.isEmpty)
        finish(writer, cache)
        #expect(cache.inMemory(request).isEmpty && cache.onDisk(request).isEmpty)
    }

    @Test func `a response for memory only, or of a key that was forgotten, is in no file`() throws {
        let directory = try TestDirectory()
        let cache = cache(directory.url)
        var writer = self.writer(cache)
        #expect(writer?.append(Self.bytes(10)) == true)
        finish(writer, cache, .memoryOnly)
        #expect(cache.inMemory(request).count == 1 && directory.files.isEmpty)
        writer = self.writer(cache)
        #expect(writer?.append(Self.bytes(10)) == true)
        let epoch = cache.epoch(of: request.key)
        cache.forget([request.key])
        finish(writer, cache, .memoryAndDisk, since: epoch)
        #expect(cache.inMemory(request).isEmpty && directory.files.isEmpty)
    }
}
