import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// A waiting reader uses bounded memory.
///
/// Each test has its own process, as in ``GrowthTests``.
///
/// Without ``PausedBytesLeak``, libcurl 7.88 leaks the received bytes of a reader that leaves while other streams use
/// the connection.
@Suite(.timeLimit(.minutes(10)), .serialized) struct StreamGrowthTests {
    @Test(.measuresMemory)
    func `a stalled reader uses little memory although the server sends without end`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned() } }
            let session = TestHarness.session()
            _ = try await StreamFixture.settled(session) { 0 }
            let before = try ProcessResources.now().residentKiB
            let task = session.streamRequest(server.url("/a")).streamTask()
            var iterator = task.bytes.makeAsyncIterator()
            var offset = try await StreamFixture.readPattern(&iterator, from: 0, count: 1)
            let sent = try await StreamFixture.settled(session) { server.traffic.bytesSent }
            let stalled = try ProcessResources.now().residentKiB
            offset = try await StreamFixture.readPattern(&iterator, from: offset, count: 200 << 20)
            let after = try ProcessResources.now().residentKiB
            print(
                "stalled: \(sent) bytes sent, \(stalled - before) KiB more; after \(offset) bytes \(after - before) KiB"
            )
            #expect(stalled - before < 16 << 10)
            #expect(after - before < 16 << 10)
        }
        report(result)
    }

    @Test(.measuresMemory)
    func `a stalled HTTP/2 stream does not prevent other streams from completing`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let session = try TestHarness.trustingSession()
            let url = try TestServers.nginxTLS.url("/bytes/1048576")
            _ = try await session.request(url).serializingData().value
            let before = try ProcessResources.now().residentKiB
            let task = session.streamRequest(try TestServers.nginxTLS.url("/bytes/1073741824")).validate().streamTask()
            var iterator = task.bytes.makeAsyncIterator()
            var count = try #require(try await iterator.next()).count
            var largest = 0
            for _ in 1...50 {
                let answer = await session.request(url).serializingData().response
                #expect(answer.value?.count == 1 << 20, "\(answer)")
                #expect(answer.metrics?.isReusedConnection == true)
                #expect(answer.response?.httpVersion == .http2)
                largest = max(largest, try ProcessResources.now().residentKiB)
            }
            let received = task.request.downloadProgress.completed
            print("stalled: \(received) bytes received, \(largest - before) KiB more")
            #expect(received <= Int64(count + (1024 + 3 * 256) * 1024))
            // Libcurl's window is 32 MiB for each stream, and libcurl stores the bytes of the window.
            #expect(largest - before < (32 + 16) << 10)
            while count < 100 << 20 {
                let piece = try #require(try await iterator.next())
                #expect(piece.allSatisfy { $0 == 0 })
                count += piece.count
            }
            let after = try ProcessResources.now().residentKiB
            print("stalled: after \(count) bytes \(after - before) KiB")
            #expect(after - before < (64 + 16) << 10)
            task.cancel()
            await session.shutdown()
        }
        report(result)
    }

    @Test(.measuresMemory)
    func `cancelled stalled HTTP/2 streams leak nothing`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let session = try TestHarness.trustingSession()
            let url = try TestServers.nginxTLS.url("/bytes/1073741824")
            let other = session.streamRequest(url).streamTask()
            var otherIterator = other.bytes.makeAsyncIterator()
            _ = try await otherIterator.next()
            var sizes: [Int] = []
            for _ in 0..<16 {
                let task = session.streamRequest(url).streamTask()
                var iterator = task.bytes.makeAsyncIterator()
                _ = try await iterator.next()
                // The bytes of the window arrive while other requests on the connection complete.
                for _ in 0..<40 {
                    let small = try TestServers.nginxTLS.url("/bytes/65536")
                    _ = await session.request(small).serializingData().response
                }
                task.cancel()
                _ = try? await task.response
                sizes.append(try ProcessResources.now().residentKiB)
            }
            print("cancelled: \(sizes) KiB")
            // A lost stream holds its received bytes, up to 32 MiB. A single size varies by the bytes of two streams.
            let (first, last) = (try #require(sizes.prefix(4).max()), try #require(sizes.suffix(4).min()))
            #expect(last - first < 32 << 10)
            other.cancel()
            await session.shutdown()
        }
        report(result)
    }

    @Test(.measuresMemory) func `a compression bomb is decoded in bounded memory`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let session = try TestHarness.trustingSession()
            _ = try await session.request(try TestServers.nginx.url("/small.json")).serializingData().value
            let before = try ProcessResources.now().residentKiB
            let task = session.streamRequest(try TestServers.nginx.url("/gzip/bytes/1073741824")).streamTask()
            var iterator = task.bytes.makeAsyncIterator()
            var count = 0
            var largest = 0
            while count < 128 << 20 {
                let piece = try #require(try await iterator.next())
                count += piece.count
                largest = max(largest, try ProcessResources.now().residentKiB)
            }
            print("stalled: bomb of \(count) bytes, \(largest - before) KiB more")
            // A buffer of 64 KiB may hold some 64 MiB, which are decoded as there is room for them.
            #expect(largest - before < 16 << 10)
            task.cancel()
            await session.shutdown()
        }
        report(result)
    }

    /// Shows the figures that the process printed.
    private func report(_ result: ExitTest.Result?) {
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        for line in output.split(separator: "\n") where line.contains("ed:") { print(line) }
    }
}
