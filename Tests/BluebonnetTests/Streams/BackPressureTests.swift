import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// A waiting reader slows down the server.
@Suite(.timeLimit(.minutes(10))) struct BackPressureTests {
    private static let MiB = 1 << 20

    /// Without ``ReadsDuringPause``, 8.5.0 reads 64 MiB, and then the transfer fails.
    @Test func `a server waits for a slow reader and continues when the reader reads`() async throws {
        var options = LocalServer.Options()
        options.sendBufferBytes = 64 * 1024
        let server = try await LocalServer(options: options) { $0.get("/a") { _ in StreamFixture.patterned() } }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        var iterator = task.bytes.makeAsyncIterator()
        var offset = try await StreamFixture.readPattern(&iterator, from: 0, count: 1)
        let sent = try await StreamFixture.settled(session) { server.traffic.bytesSent }
        #expect(sent < 16 * Self.MiB)
        // The received bytes are bounded by the high watermark and the bytes of one turn of the loop.
        #expect(task.request.downloadProgress.completed <= Int64(offset + (1024 + 3 * 256) * 1024))
        offset = try await StreamFixture.readPattern(&iterator, from: offset, count: 2 * sent + 8 * Self.MiB)
        #expect(server.traffic.bytesSent > sent)
        task.cancel()
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [(1024, 0), (1024, 4096), (1, 1), (64 * 1024, 1024), (4 << 20, 1 << 20), (1 << 30, 0)])
    func `every byte is delivered with any watermarks`(high: Int, low: Int) async throws {
        let size = 3 * Self.MiB + 17
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned(length: size) } }
        let session = TestHarness.session {
            $0.bodyHighWatermark = high
            $0.bodyLowWatermark = low
        }
        let task = session.streamRequest(server.url("/a")).streamTask()
        let (body, error) = await StreamFixture.body(task.bytes)
        #expect(error == nil)
        #expect(body.count == size)
        #expect(StreamFixture.isRight(body, at: 0))
        try await TestHarness.end(session, server)
    }

    @Test func `the watermark limits the received bytes`() async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned() } }
        for high in [1024, 4 * Self.MiB] {
            let session = TestHarness.session {
                $0.bodyHighWatermark = high
                $0.bodyLowWatermark = high / 4
            }
            let task = session.streamRequest(server.url("/a")).streamTask()
            var iterator = task.bytes.makeAsyncIterator()
            var offset = try await StreamFixture.readPattern(&iterator, from: 0, count: 1)
            for await progress in task.request.downloadProgressUpdates()
            where progress.completed >= Int64(offset + high) {
                break
            }
            let received = try await StreamFixture.settled(session) { Int(task.request.downloadProgress.completed) }
            // In one turn, at most a piece and a buffer of libcurl are read from the network.
            let piece = min(max(high / 2, 64 * 1024), 512 * 1024)
            let waiting = received - offset
            #expect((high...high + piece + 64 * 1024).contains(waiting), "\(waiting) of \(high)")
            task.cancel()
            offset = try await StreamFixture.readPattern(&iterator, from: offset, count: waiting)
            #expect(offset == received)
            await #expect(throws: RequestError.self) { _ = try await iterator.next() }
            #expect(task.request.error?.kind == .cancelled)
            await session.shutdown()
        }
        await server.stop()
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS])
    func `a compressed body waits for its reader and is decoded correctly`(_ server: TestServers) async throws {
        let session = try TestHarness.trustingSession()
        let task = session.streamRequest(try server.url("/gzip/bytes/16777216")).validate().streamTask()
        #expect(try await task.response.headers["Content-Encoding"] == "gzip")
        var iterator = task.bytes.makeAsyncIterator()
        var offset = try await StreamFixture.readPattern(&iterator, from: 0, count: 1)
        let received = try await StreamFixture.settled(session) { Int(task.request.downloadProgress.completed) }
        #expect(received <= offset + (1024 + 3 * 256) * 1024)
        offset = try await StreamFixture.readPattern(&iterator, from: offset, count: 16 * Self.MiB - offset)
        #expect(offset == 16 * Self.MiB)
        #expect(try await iterator.next() == nil)
        await session.shutdown()
    }
}
