import BluebonnetTesting
import Foundation
import TestSupport
import Testing

@testable import Bluebonnet

/// What a hostile server, another process or a user's own code may do to a cache.
@Suite(.timeLimit(.minutes(10))) struct CacheAttackTests {
    /// Servers whose response changes with the number of the request.
    private static func scene(
        _ handler: @escaping @Sendable (Int, HTTPRequest) -> StubTransport.Response
    ) -> CacheTestSession {
        let count = Counter()
        return CacheTestSession { handler(count.next(), $0) }
    }

    // MARK: Responses that forbid the storage afterwards

    @Test func `a part is not joined with a part that must not be stored`() async throws {
        let scene = Self.scene { number, request in
            guard number == 2 else {
                return .text(
                    "01234", status: 206,
                    headers: ["Content-Range": "bytes 0-4/10", "ETag": "\"1\"", "Cache-Control": "max-age=60"])
            }
            return .text(
                "56789", status: 206,
                headers: [
                    "Content-Range": "bytes 5-9/10", "ETag": "\"1\"", "Cache-Control": "no-store",
                    "Last-Modified": "Tue, 01 Jan 2019 00:00:00 GMT",
                ])
        }
        #expect(await scene.answer(headers: ["Range": "bytes=0-4"]).text == "01234")
        let whole = await scene.answer()
        #expect(whole.text == "0123456789" && whole.status == 200)
        var entries = scene.cache.entries().makeAsyncIterator()
        let entry = await entries.next()
        #expect(entry == nil)
    }

    @Test(arguments: [false, true])
    func `a HEAD that forbids the storage removes the response, or changes nothing`(isRequest: Bool) async throws {
        let scene = Self.scene { number, _ in
            .text(
                number == 2 ? "" : "\(number)",
                headers: [
                    "ETag": "\"1\"", "Last-Modified": "Tue, 01 Jan 2019 00:00:00 GMT",
                    "Cache-Control": number == 1 ? "max-age=60" : isRequest ? "max-age=3600" : "no-store",
                ])
        }
        _ = await scene.answer()
        scene.clock.advance(by: 61)
        _ = await scene.answer(method: .head, headers: isRequest ? ["Cache-Control": "no-store"] : [:])
        await scene.settle()
        #expect(await scene.answer().text == "3")
    }

    @Test func `a HEAD with status code 200 does not freshen an error`() async throws {
        let scene = Self.scene { number, _ in
            .text(
                number == 2 ? "" : "\(number)", status: number == 1 ? 404 : 200,
                headers: ["Cache-Control": number == 1 ? "max-age=60" : "max-age=3600"])
        }
        #expect(await scene.answer().status == 404)
        scene.clock.advance(by: 61)
        _ = await scene.answer(method: .head)
        await scene.settle()
        let third = await scene.answer()
        #expect(third.status == 200 && third.text == "3")
    }

    // MARK: The user's code

    /// Stores a slice of other bytes.
    private struct Slicing: CachedResponseHandler {
        func request(_ request: any Request, willCacheResponse response: CachedResponse) async -> CachedResponse? {
            CachedResponse(response: response.response, data: (Data("0123".utf8) + response.data).dropFirst(4))
        }
    }

    @Test func `a range of a body that is a slice has the right bytes`() async throws {
        let scene = CacheTestSession(cachedResponseHandler: Slicing()) { _ in
            .text("hello", headers: ["Cache-Control": "max-age=60", "Content-Length": "5"])
        }
        _ = await scene.answer()
        #expect(await scene.answer(headers: ["Range": "bytes=0-1"]).text == "he")
        #expect(await scene.answer(headers: ["Range": "bytes=3-4"]).text == "lo")
    }

    private final class Reader: BodyReceiver {
        func receive(_ bytes: Data) -> ReceiveAction { .proceed }
    }

    @Test func `the receiver of a stored stream is released if the transport's exchange holds its observer`()
        async throws
    {
        let stub = StubTransport { _ in .text("hello", headers: ["Cache-Control": "max-age=60"]) }
        let hedging = HedgingTransport(stub, policy: .init(delay: .seconds(60)))
        let transport = CachingTransport(hedging, cache: ResponseCache(), configuration: Session.Configuration())
        weak var released: Reader?
        do {
            let (reader, observer) = (Reader(), HeadObserver())
            released = reader
            let exchange = transport.start(
                HTTPRequest(url: try #require(URL(string: "http://stub.test/"))),
                options: ExchangeOptions(pausesBody: true), observer: observer)
            await observer.head.wait()
            exchange.receiveBody(with: reader)
            #expect(await observer.outcome.outcome.error == nil)
        }
        while released != nil { try await Task.sleep(for: .milliseconds(1)) }
        await transport.shutDown()
    }

    /// Opens a gate with the head.
    private final class HeadObserver: ExchangeObserver {
        let head = Gate()
        let outcome = OutcomeObserver()

        func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {}
        func exchangeDidReceiveHead(_ response: HTTPResponse) { head.open() }
        func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {}
        func exchangeDidComplete(_ outcome: ExchangeOutcome) { self.outcome.exchangeDidComplete(outcome) }
    }

    // MARK: Sizes

    @Test func `a huge stated length reserves little memory`() throws {
        let cache = ResponseCache(memoryCapacity: .max)
        let key = try CacheFixtures.request().key
        #expect(ResponseWriter(cache, key, expecting: 100_000_000_000_000_000) != nil)
    }

    @Test func `a body that is larger than the own share of the capacity is not read from a file`() throws {
        let directory = try TestDirectory()
        let request = try CacheFixtures.request()
        let entry = try CacheFixtures.stored(["Cache-Control": "max-age=60"], body: String(repeating: "x", count: 9000))
        DiskStore(directory: directory.path, capacity: 1 << 20).store(entry, for: request.key)
        let small = DiskStore(directory: directory.path, capacity: 64 << 10)
        #expect(small.candidates(for: request.key, url: request.url, matching: request).isEmpty)
        let large = DiskStore(directory: directory.path, capacity: 1 << 20)
        #expect(large.candidates(for: request.key, url: request.url, matching: request).count == 1)
    }

    /// A sparse file of a size, with a right trailer for an empty body.
    private static func writeSparse(_ path: String, size: Int) throws {
        let key = try CacheFixtures.request().key
        let entry = try CacheFixtures.stored([:], body: "")
        var trailer = EntryFile.end(for: entry, key, bodySum: Checksum().value).suffix(40)
        let count = UInt64(size - 40)
        for index in 0..<8 {
            trailer[trailer.startIndex + 8 + index] = UInt8(truncatingIfNeeded: count >> UInt64(8 * index))
        }
        _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.seek(toOffset: UInt64(size - 40))
        try handle.write(contentsOf: trailer)
        try handle.close()
    }

    @Test func `files of any size are not read into memory, and do not overflow the sum of the sizes`() throws {
        // A file system in memory has the largest sparse files.
        let directory = URL(filePath: "/dev/shm/bluebonnet-\(UUID())")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: directory) }
        let request = try CacheFixtures.request()
        let store = DiskStore(directory: directory.path, capacity: .max)
        let name = try #require(store.names(request.key.digest.map { String(format: "%02x", $0) }.joined()).first)
        try Self.writeSparse("\(directory.path)/\(name)", size: 1 << 40)
        #expect(store.candidates(for: request.key, url: request.url).isEmpty)
        for digit in ["a", "b", "c"] {
            try Self.writeSparse("\(directory.path)/\(String(repeating: digit, count: 64)).0", size: 1 << 62)
        }
        // The scan counts the files.
        store.removeAll()
        for digit in ["a", "b", "c"] {
            try Self.writeSparse("\(directory.path)/\(String(repeating: digit, count: 64)).0", size: 1 << 62)
        }
        let other = try CacheFixtures.request(url: "http://a.test/other")
        store.store(try CacheFixtures.stored([:], for: other), for: other.key)
        while store.isScanning { usleep(1000) }
        #expect(store.candidates(for: other.key, url: other.url).count == 1)
    }

    // MARK: Removing while responses move

    @Test func `a response whose file moves during the iteration is found`() async throws {
        let directory = try TestDirectory()
        let cache = ResponseCache(memoryCapacity: 0, directory: directory.url)
        let requests = try ["a", "b"].map { try CacheFixtures.request(["X": "1"], url: "http://\($0).test/") }
        func store(_ text: String, for request: CacheRequest) throws {
            let entry = try CacheFixtures.stored(
                ["Cache-Control": "max-age=60", "Vary": "X"], body: text, for: request)
            #expect(cache.store(entry, for: request.key, since: cache.epoch(of: request.key)))
        }
        for request in requests { try store("old", for: request) }
        var iterator = cache.entries().makeAsyncIterator()
        let first = try #require(await iterator.next())
        // The other key's response moves to the second name, because a response for other values is stored.
        let host = first.key == requests[0].key ? "b" : "a"
        try store("newer", for: try CacheFixtures.request(["X": "2"], url: "http://\(host).test/"))
        var sizes: [Int] = []
        while let entry = await iterator.next() { sizes.append(entry.size) }
        #expect(sizes.sorted() == [3, 5])
    }
}
