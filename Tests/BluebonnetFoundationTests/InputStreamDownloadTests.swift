import BluebonnetFoundation
import BluebonnetTesting
import Foundation
import TestSupport
import Testing

/// Responses as streams of Foundation's.
@Suite(.timeLimit(.minutes(10))) struct InputStreamDownloadTests {
    /// Passes a stream to the only thread that uses it.
    private static func read(
        _ request: DataStreamRequest, bufferSize: Int = 65_536, by count: Int = 10_000
    ) async -> StreamReadResult {
        await FoundationFixture.onThread {
            request.asInputStream(bufferSize: bufferSize).map { StreamReadResult.all(of: $0, by: count) }
                ?? StreamReadResult()
        }
    }

    @Test(arguments: [0, 1, 65_536, 3 << 20], [1, 1 << 16, 1 << 24])
    func `a body is read to its end`(count: Int, bufferSize: Int) async throws {
        let data = FoundationFixture.bytes(count)
        let server = try await LocalServer { $0.get("/", .data(data)) }
        let session = FoundationFixture.session()
        let reading = await Self.read(session.streamRequest(server.url("/")), bufferSize: bufferSize)
        #expect(reading.data == data)
        #expect(reading.lastCount == 0 && reading.status == .atEnd && reading.error == nil)
        await session.shutdown()
    }

    @Test(arguments: [1, 3, 100_000])
    func `httpbin's bytes are read in pieces of any size`(count: Int) async throws {
        let session = FoundationFixture.session()
        let url = try TestServers.httpbin.url("/range/5000?chunk_size=700")
        let reading = await Self.read(session.streamRequest(url).validate(), by: count)
        #expect(reading.data == Data((0..<5000).map { UInt8(ascii: "a") + UInt8($0 % 26) }))
        await session.shutdown()
    }

    @Test func `an incomplete body is an error after the received bytes`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
        let session = FoundationFixture.session()
        let reading = await Self.read(session.streamRequest(server.url("/")))
        #expect(reading.data == Data("half".utf8))
        #expect(reading.lastCount == -1 && reading.status == .error)
        #expect((reading.error as? RequestError)?.kind == .invalidResponse(.truncated))
        await session.shutdown()
    }

    @Test func `a refused response is an error without any bytes`() async throws {
        let server = try await LocalServer { $0.get("/", .text("not found", status: 404)) }
        let session = FoundationFixture.session()
        let reading = await Self.read(session.streamRequest(server.url("/")).validate())
        #expect(reading.data.isEmpty && reading.lastCount == -1)
        #expect((reading.error as? RequestError)?.statusCode == 404)
        await session.shutdown()
    }

    @Test func `closing early cancels the request`() async throws {
        let server = try await LocalServer { $0.get("/", .endless(FoundationFixture.bytes(10_000))) }
        let session = FoundationFixture.session()
        let request = session.streamRequest(server.url("/"))
        let count = await FoundationFixture.onThread {
            var data = Data()
            guard let stream = request.asInputStream() else { return 0 }
            stream.open()
            _ = StreamReadResult.some(of: stream, 100, into: &data)
            stream.close()
            return StreamReadResult.some(of: stream, 100, into: &data) == -1 ? data.count : 0
        }
        #expect((1...100).contains(count))
        try await server.waitForOpenConnections(atMost: 0)
        #expect(request.isCancelled)
        await session.shutdown()
    }

    @Test func `releasing a stream before it is opened does not start the request`() async throws {
        let server = try await LocalServer { $0.get("/", .endless(FoundationFixture.bytes(10_000))) }
        let session = FoundationFixture.session()
        let request = session.streamRequest(server.url("/"))
        let isThere = await FoundationFixture.onThread { request.asInputStream() != nil }
        #expect(isThere)
        #expect(request.isInitialized)
        await session.shutdown()
        #expect(server.requestCount == 0)
    }

    @Test func `releasing the stream cancels the request`() async throws {
        let server = try await LocalServer { $0.get("/", .endless(FoundationFixture.bytes(10_000))) }
        let session = FoundationFixture.session()
        let request = session.streamRequest(server.url("/"))
        await FoundationFixture.onThread {
            var data = Data()
            let stream = request.asInputStream()
            stream?.open()
            _ = stream.map { StreamReadResult.some(of: $0, 1, into: &data) }
        }
        try await server.waitForOpenConnections(atMost: 0)
        #expect(request.isCancelled)
        await session.shutdown()
    }

    @Test func `cancelling the request resumes a waiting reader`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .wait { await Gate().wait() }
        )
        let session = FoundationFixture.session()
        let request = session.streamRequest(server.url("/"))
        async let reading = Self.read(request)
        let head = request.streamTask()
        _ = try await head.response
        request.cancel()
        withExtendedLifetime(head) {}
        #expect(await reading.lastCount == -1)
        #expect((await reading.error as? RequestError)?.kind == .cancelled)
        await session.shutdown()
    }

    @Test func `an opened stream gets the beginning, and a closed stream holds nothing back`() async throws {
        let body = Data(repeating: 7, count: 4 << 20)
        let server = try await LocalServer { $0.get("/", .data(body)) }
        let session = FoundationFixture.session()
        let task = session.streamRequest(server.url("/")).streamTask()
        var readers = task.readers(2)
        let closed = readers.removeLast().asInputStream()
        closed.close()
        let reader = readers[0]
        let isWhole = await FoundationFixture.onThread {
            let opened = reader.asInputStream()
            opened.open()
            var data = Data()
            while StreamReadResult.some(of: opened, 1 << 16, into: &data) > 0 {}
            return data == body
        }
        #expect(isWhole)
        withExtendedLifetime(closed) {}
        await session.shutdown()
    }

    @Test func `a slow reader holds the server back`() async throws {
        var options = LocalServer.Options()
        options.sendBufferBytes = 64 << 10
        let total = 48 << 20
        let sent = Box(0)
        let server = try await LocalServer(options: options) { router in
            router.get("/") { _ in
                .stream { writer in
                    for _ in 0..<(total >> 16) {
                        try await writer.write(Data(count: 1 << 16))
                        sent.set(writer.bytesSent)
                    }
                }
            }
        }
        let session = FoundationFixture.session {
            $0.bodyHighWatermark = 256 << 10
            $0.bodyLowWatermark = 64 << 10
        }
        let request = session.streamRequest(server.url("/"))
        let (count, lead) = await FoundationFixture.onThread {
            var count = 0
            var lead = 0
            guard let stream = request.asInputStream(bufferSize: 64 << 10) else { return (0, 0) }
            stream.open()
            while true {
                var data = Data()
                let read = StreamReadResult.some(of: stream, 1 << 16, into: &data)
                guard read > 0 else { break }
                count += read
                lead = max(lead, sent.value - count)
            }
            return (count, lead)
        }
        #expect(count == total)
        // The capacity of the sockets and the buffers, and not the 48 MiB.
        #expect(lead < 24 << 20)
        await session.shutdown()
    }

    @Test func `the number of unread bytes in a body's stream is bounded`() async throws {
        let pulled = Box(0)
        let pieces = AsyncStream {
            pulled.set(pulled.value + 1)
            return Data(count: 1024)
        }
        let request = URLRequest(
            HTTPRequest(url: try FoundationFixture.url(), method: .post, body: .stream(pieces)))
        let lead = await FoundationFixture.onThread {
            guard let stream = request.httpBodyStream else { return Int.max }
            stream.open()
            defer { stream.close() }
            return (1...5000).reduce(0) { lead, number in
                var data = Data()
                return max(
                    lead, StreamReadResult.some(of: stream, 1, into: &data) == 1 ? pulled.value * 1024 - number : .max)
            }
        }
        #expect(lead <= 64 * 1024 + 2048)
    }

    @Test func `the other methods of the stream work before it is opened and without events`() async throws {
        let server = try await LocalServer { $0.get("/", .text("body")) }
        let session = FoundationFixture.session()
        let request = session.streamRequest(server.url("/"))
        let isAsExpected = await FoundationFixture.onThread {
            guard let stream = request.asInputStream() else { return false }
            var data = Data()
            stream.delegate = nil
            stream.schedule(in: .current, forMode: .default)
            stream.remove(from: .current, forMode: .default)
            let before = stream.streamStatus == .notOpen && StreamReadResult.some(of: stream, 1, into: &data) == -1
            stream.open()
            stream.open()
            let properties =
                stream.property(forKey: .dataWrittenToMemoryStreamKey) == nil
                && !stream.setProperty(nil, forKey: .dataWrittenToMemoryStreamKey)
            let whole = stream.hasBytesAvailable && StreamReadResult.rest(of: stream, by: 3).data == Data("body".utf8)
            return before && properties && whole && !stream.hasBytesAvailable && stream.streamStatus == .atEnd
        }
        #expect(isAsExpected)
        await session.shutdown()
    }
}
