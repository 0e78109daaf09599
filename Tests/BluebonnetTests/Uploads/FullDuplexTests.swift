import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Requests whose bodies depend on the received part of the response.
@Suite(.timeLimit(.minutes(10))) struct FullDuplexTests {
    private static let count = 20
    private static let size = 1000

    @Test func `an HTTP 1 server responds to each piece before the next piece is created`() async throws {
        let server = try await LocalServer { router in
            router.streaming("/echo", method: .post) { _, body in
                .stream { writer in
                    for try await piece in body { try await writer.write(piece) }
                }
            }
        }
        let session = TestHarness.session()
        try await converse(with: server.url("/echo"), in: session, length: nil)
        try await converse(with: server.url("/echo"), in: session, length: Int64(Self.count * Self.size))
        #expect(server.connectionCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [nil, Int64(count * size)])
    func `an HTTP 2 server responds to each piece before the next piece is created`(length: Int64?) async throws {
        let session = try TestHarness.trustingSession()
        try await converse(with: try TestServers.misbehavingHTTP2.url("/echo"), in: session, length: length)
        await session.shutdown()
    }

    /// Sends each piece after the previous piece was echoed.
    private func converse(with url: URL, in session: Session, length: Int64?) async throws {
        let gates = (0..<Self.count).map { Gate(isOpen: $0 == 0) }
        let pieces = Pieces(Self.count, of: Self.size) { await gates[$0].wait() }
        let request = HTTPRequest(url: url, method: .post, body: .stream(pieces, length: length))
        let task = session.streamRequest(request).streamTask()
        var received = Data()
        for try await piece in task.bytes {
            received += piece
            // Nothing comes back that has not been made.
            #expect(received.count <= pieces.record.pieces * Self.size)
            for gate in gates[...min(received.count / Self.size, Self.count - 1)] { gate.open() }
        }
        #expect(received == Pieces.bytes(Self.count * Self.size))
        #expect(task.request.uploadProgress.completed == Int64(received.count))
        await pieces.record.isOver.wait()
    }
}
