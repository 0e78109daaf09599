import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The progress of bodies with a content coding, whose length is known only before decoding.
@Suite(.timeLimit(.minutes(10))) struct CodedProgressTests {
    @Test func `half of a coded body is half of the progress`() async throws {
        let plain = Array(Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }))
        let coded = Data(ContentDecoderTests.deflated(plain))
        let mayEnd = Gate()
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n"
        let server = try await LocalServer.scripted(
            .waitForRequest, .text(head), .bytes(coded.prefix(coded.count / 2)), .wait { await mayEnd.wait() },
            .bytes(coded.dropFirst(coded.count / 2)))
        let session = TestHarness.session()
        let request = session.request(server.url)
        let data = Task { try await request.serializingData().value }
        for await progress in request.downloadProgressUpdates(bufferingPolicy: .unbounded) {
            let fraction = try #require(progress.fractionCompleted)
            if progress.total == nil {
                #expect(fraction <= 0.5 && progress.completed < plain.count)
                // What was decoded says how much is left.
                if progress.bytesPerSecond ?? 0 > 0 { #expect(progress.estimatedTimeRemaining != nil) }
                guard fraction >= 0.2 else { continue }
                mayEnd.open()
                break
            }
        }
        #expect(try await data.value == Data(plain))
        #expect(request.downloadProgress.fractionCompleted == 1)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["", "Transfer-Encoding: chunked\r\n"])
    func `without a length, there is no fraction`(_ field: String) async throws {
        let fields = "Content-Encoding: gzip\r\n" + field
        let coded = ContentDecoderTests.deflated(Array("hello".utf8))
        let isChunked = fields.contains("chunked")
        let size = String(coded.count, radix: 16)
        let server = try await LocalServer.scripted(
            .waitForRequest, .text("HTTP/1.1 200 OK\r\n\(fields)\r\n"), .text(isChunked ? size + "\r\n" : ""),
            .bytes(coded), .text(isChunked ? "\r\n0\r\n\r\n" : ""), .close)
        let session = TestHarness.session()
        let task = session.streamRequest(server.url).streamTask()
        var received = Data()
        for try await bytes in task.bytes { received += bytes }
        #expect(received == Data("hello".utf8))
        #expect(task.request.downloadProgress.fractionCompleted == nil)
        try await TestHarness.end(session, server)
    }
}
