import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Streams, downloads and requests with a closure for the head, which receive the body piece by piece.
@Suite(.timeLimit(.minutes(10)))
struct CacheStreamTests {
    private static let minute: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
    private static let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })

    private enum Kind: CaseIterable, Sendable { case data, head, stream, download }

    /// Receives a response in one of the ways; returns the body and the source.
    private static func receive(_ kind: Kind, _ session: Session, _ url: URL) async throws -> (Data, ResponseSource?) {
        let before = session.configuration.cache?.statistics ?? .init()
        var received = Data()
        switch kind {
        case .data: received = try await session.request(url).serializingData().value
        case .head: received = try await session.request(url).onHTTPResponse { _ in .allow }.serializingData().value
        case .stream:
            for try await bytes in session.streamRequest(url).streamTask().bytes { received.append(bytes) }
        case .download:
            let directory = try TestDirectory()
            let file = directory.url.appending(path: "file")
            received = try Data(contentsOf: await session.download(url, to: .file(file)).serializingURL().value)
        }
        let after = session.configuration.cache?.statistics ?? .init()
        if after.validations > before.validations { return (received, .validated) }
        let isStored = after.hits + after.staleResponses > before.hits + before.staleResponses
        return (received, isStored ? .cache : .network)
    }

    private static func server(_ headers: HTTPHeaders = minute) async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/") { request in
                request.headers["If-None-Match"] == nil ? .data(body, headers: headers) : .status(304)
            }
        }
    }

    @Test(arguments: Kind.allCases, [false, true])
    private func `a body that a request has read is the body of all others`(
        first: Kind, hasDisk: Bool
    ) async throws {
        let server = try await Self.server()
        let directory = try TestDirectory()
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache(
            memoryCapacity: hasDisk ? 0 : 16 << 20, directory: hasDisk ? directory.url : nil)
        let session = Session(configuration: configuration)
        let (body, source) = try await Self.receive(first, session, server.url("/"))
        #expect(body == Self.body && source == .network)
        for second in Kind.allCases {
            let (again, cached) = try await Self.receive(second, session, server.url("/"))
            #expect(again == Self.body && cached == .cache)
        }
        await session.shutdown()
        await server.stop()
    }

    @Test(arguments: Kind.allCases)
    private func `a stale body is validated`(kind: Kind) async throws {
        let server = try await Self.server(["Cache-Control": "max-age=0", "ETag": "\"1\""])
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration)
        for source in [ResponseSource.network, .validated] {
            let (body, found) = try await Self.receive(kind, session, server.url("/"))
            #expect(body == Self.body && found == source)
        }
        await session.shutdown()
        await server.stop()
    }

    @Test(arguments: Kind.allCases)
    private func `a stale body replaces a failure`(kind: Kind) async throws {
        let hasFailed = Locked(false)
        let server = try await LocalServer { router in
            router.get("/") { _ in
                hasFailed.withLock({ Swift.exchange(&$0, with: true) })
                    ? .status(503)
                    : .data(Self.body, headers: ["Cache-Control": "max-age=0, stale-if-error=60", "ETag": "\"1\""])
            }
        }
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration)
        for source in [ResponseSource.network, .cache] {
            let (body, found) = try await Self.receive(kind, session, server.url("/"))
            #expect(body == Self.body && found == source)
        }
        await session.shutdown()
        await server.stop()
    }

    @Test func `an abandoned stream leaves nothing`() async throws {
        let server = try await Self.server()
        let directory = try TestDirectory()
        var configuration = Session.Configuration()
        let cache = ResponseCache(memoryCapacity: 0, directory: directory.url)
        configuration.cache = cache
        // The whole body must not have arrived when the stream is abandoned.
        (configuration.bodyHighWatermark, configuration.bodyLowWatermark) = (64 << 10, 16 << 10)
        let session = Session(configuration: configuration)
        let task = session.streamRequest(server.url("/")).streamTask()
        for try await _ in task.bytes { break }
        task.cancel()
        while await session.withAllRequests({ $0.count }) > 0 { await Task.yield() }
        let (body, source) = try await Self.receive(.stream, session, server.url("/"))
        #expect(body == Self.body && source == .network)
        #expect(cache.statistics.stores == 1)
        await session.shutdown()
        await server.stop()
    }

    @Test func `a reader that pauses gets the whole body from the cache`() async throws {
        let server = try await Self.server()
        let directory = try TestDirectory()
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache(memoryCapacity: 0, directory: directory.url)
        let session = Session(configuration: configuration)
        for source in [ResponseSource.network, .cache] {
            let request = session.streamRequest(server.url("/"))
            let task = request.streamTask()
            var received = Data()
            for try await bytes in task.bytes {
                request.suspend()
                received.append(bytes)
                for _ in 0..<5 { await Task.yield() }
                request.resume()
            }
            #expect(received == Self.body)
            #expect(configuration.cache?.statistics.hits == (source == .cache ? 1 : 0))
        }
        await session.shutdown()
        await server.stop()
    }

    @Test func `a handler decides about a stream, too`() async throws {
        let server = try await Self.server()
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration, cachedResponseHandler: .doNotCache)
        for _ in 0..<2 {
            let (body, source) = try await Self.receive(.stream, session, server.url("/"))
            #expect(body == Self.body && source == .network)
        }
        await session.shutdown()
        await server.stop()
    }

    @Test(arguments: [Kind.data, .head, .stream, .download])
    private func `what arrived before the connection was lost is a part that the next request completes`(
        kind: Kind
    ) async throws {
        let fields = "ETag: \"1\"\r\nCache-Control: max-age=60\r\n"
        let count = Self.body.count
        let server = try await LocalServer.scripted { connection in
            let isFirst = connection == 1
            let head =
                isFirst
                ? "HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(count)\r\n\r\n"
                : "HTTP/1.1 206 Partial Content\r\n\(fields)Content-Length: \(count - 200_000)\r\n"
                    + "Content-Range: bytes 200000-\(count - 1)/\(count)\r\n\r\n"
            let bytes = isFirst ? Self.body.prefix(200_000) : Self.body.dropFirst(200_000)
            return LocalServer.Script([.waitForRequest, .bytes(Data(head.utf8) + bytes), .close])
        }
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration)
        await #expect(throws: RequestError.self) { _ = try await Self.receive(kind, session, server.url("/")) }
        while await session.withAllRequests({ $0.count }) > 0 { await Task.yield() }
        let (body, _) = try await Self.receive(.data, session, server.url("/"))
        #expect(body == Self.body)
        for kind in Kind.allCases {
            let (body, source) = try await Self.receive(kind, session, server.url("/"))
            #expect(body == Self.body && source == .cache)
        }
        #expect(server.requests.map { $0.headers["Range"] } == [nil, "bytes=200000-"])
        #expect(server.requests.last?.headers["If-Range"] == "\"1\"")
        await session.shutdown()
        await server.stop()
    }

    @Test func `a stream of a range is a part of the stored body`() async throws {
        let server = try await Self.server()
        let directory = try TestDirectory()
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache(memoryCapacity: 0, directory: directory.url)
        let session = Session(configuration: configuration)
        _ = try await Self.receive(.stream, session, server.url("/"))
        for (range, bytes) in [("bytes=100000-299998", 100_000..<299_999), ("bytes=-1", 299_999..<300_000)] {
            let task = session.streamRequest(HTTPRequest(url: server.url("/"), headers: ["Range": range])).streamTask()
            let received = try await task.bytes.reduce(into: Data()) { $0 += $1 }
            #expect(received == Self.body[bytes])
            #expect(try await task.response.statusCode == 206)
        }
        #expect(server.requestCount == 1)
        await session.shutdown()
        await server.stop()
    }

    @Test func `a stream does not receive a joined body, and a streamed POST that is too large stores nothing`()
        async throws
    {
        let big = Data(count: 3_000_000)
        let server = try await LocalServer { router in
            let fields: HTTPHeaders = ["Cache-Control": "max-age=0", "ETag": "\"1\""]
            router.get("/part") { request in
                guard request.headers.contains("Range") else { return .data(Data("0123456789".utf8), headers: fields) }
                var fields = fields
                fields.append(name: "Content-Range", value: "bytes 3-5/10")
                return .data(Data("345".utf8), status: 206, headers: fields)
            }
            let location: HTTPHeaders = ["Cache-Control": "max-age=60", "Content-Location": "/post"]
            router.post("/post") { _ in .data(big, headers: location) }
            router.get("/post", .data(Data("from the server".utf8)))
        }
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration)
        _ = try await Self.receive(.data, session, server.url("/part"))
        let ranged = HTTPRequest(url: server.url("/part"), headers: ["Range": "bytes=3-5"])
        let received = try await session.streamRequest(ranged).streamTask().bytes.reduce(into: Data()) { $0 += $1 }
        #expect(received == Data("345".utf8))
        for try await _ in session.streamRequest(server.url("/post"), method: .post).streamTask().bytes {}
        #expect(try await Self.receive(.data, session, server.url("/post")).0 == Data("from the server".utf8))
        await session.shutdown()
        await server.stop()
    }

    @Test(arguments: [416, 412, 400])
    func `a refusal of the cache's own range is not the response to the request`(status: Int) async throws {
        let server = try await LocalServer.scripted { connection in
            let fields = "ETag: \"1\"\r\nCache-Control: max-age=60\r\n"
            let answer =
                switch connection {
                case 1: "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 10\r\n\r\n01234"
                case 2: "HTTP/1.1 \(status) No\r\n\(fields)Content-Length: 2\r\nConnection: close\r\n\r\nno"
                default: "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 3\r\n\r\nnew"
                }
            return LocalServer.Script([.waitForRequest, .bytes(Data(answer.utf8)), .close])
        }
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration)
        await #expect(throws: RequestError.self) { _ = try await Self.receive(.data, session, server.url("/")) }
        let response = await session.request(server.url("/")).serializingData().response
        #expect(response.response?.statusCode == 200 && response.data == Data("new".utf8))
        #expect(server.requests.map { $0.headers["Range"] } == [nil, "bytes=5-", nil])
        await session.shutdown()
        await server.stop()
    }
}
