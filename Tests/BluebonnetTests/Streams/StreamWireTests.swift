import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Streamed bodies, against nginx, httpbin and `LocalServer`.
@Suite(.timeLimit(.minutes(10))) struct StreamWireTests {
    private static let pattern = {
        var bytes = Data((0..<251).map { UInt8($0) })
        while bytes.count < 2 << 20 { bytes += bytes }
        return bytes
    }()

    /// Returns the contents of the servers' files from an offset in the pattern.
    private static func pattern(from start: Int, _ count: Int) -> Data { pattern[start..<start + count] }

    @Test(arguments: [TestServers.nginx, .nginxTLS, .nghttpd], [0, 1, 1024, 65_536, 1_048_576, 16_777_216])
    func `a body arrives in pieces without changes`(server: TestServers, size: Int) async throws {
        let session = try TestHarness.trustingSession()
        let task = session.streamRequest(try server.url("/bytes/\(size)")).validate().streamTask()
        var count = 0
        for try await piece in task.bytes {
            #expect(!piece.isEmpty)
            let isRight = Self.pattern(from: count % 251, piece.count) == piece
            #expect(isRight, "at \(count)")
            count += piece.count
        }
        #expect(count == size)
        #expect(task.request.error == nil)
        #expect(task.request.isFinished)
        #expect(task.request.downloadProgress.completed == Int64(size))
        await session.shutdown()
    }

    @Test func `the head is available before the body`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/a") { _ in
                .stream(headers: ["X-Name": "value"]) { writer in
                    await gate.wait()
                    try await writer.write(Data("body".utf8))
                }
            }
        }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/a")).streamTask()
        let response = try await task.response
        #expect(response.statusCode == 200)
        #expect(response.headers["X-Name"] == "value")
        #expect(task.request.response?.statusCode == 200)
        gate.open()
        var body = Data()
        for try await piece in task.bytes { body += piece }
        #expect(body == Data("body".utf8))
        try await TestHarness.end(session, server)
    }
}
