import Bluebonnet
import BluebonnetTesting
import Foundation
import TestSupport
import Testing

/// The effects of the end of an HTTP/2 stream on others on the connection.
///
/// Without ``DeferredUploadEnds``, bodies lose bytes when another's upload ends.
@Suite(.timeLimit(.minutes(10)), .serialized) struct OtherStreamsTests {
    /// The body of `/numbered`.
    private static let lines = Data(
        (1_000_000_000..<1_000_030_000).map { "\(String($0).dropFirst())\n" }.joined().utf8)

    /// Libcurl before 8.1.0 loses bytes of a body without buffer space when an upload of unknown length ends on the
    /// same connection.
    ///
    /// So that it has no room, the body comes all at once, and libcurl sees to the upload first: the loop is kept busy by
    /// two certificates, the upload ends behind the first, and the body comes behind the second.
    @Test(arguments: [32 << 10, 64 << 10])
    func `a body is complete when an upload ends on the same connection`(_ room: Int) async throws {
        let loop = EventLoop(name: "other streams")
        let session = try TestHarness.trustingSession {
            $0.eventLoop = loop
            $0.receiveBufferBytes = room
        }
        let signals = try TestHarness.trustingSession()
        let (blocks, block) = AsyncStream.makeStream(of: Void.self)
        let busy = try Self.blockingSession(on: loop) { block.yield() }
        var begins = blocks.makeAsyncIterator()
        let origin = TestServers.misbehavingHTTP2
        #expect(try await session.request(origin.url("/ok")).serializingData().response.response?.httpVersion == .http2)
        for round in 1...10 {
            let key = UUID().uuidString
            let (pieces, piece) = AsyncStream.makeStream(of: Data.self)
            let body = session.request(try origin.url("/numbered?key=\(key)")).serializingData()
            let upload = session.upload(.stream { pieces }, to: try origin.url("/aside?key=\(key)"))
            let aside = upload.serializingData()
            piece.yield(Data("a".utf8))
            for await progress in upload.uploadProgressUpdates() where progress.completed > 0 { break }
            let others = try (1...2).map { _ in busy.request(try origin.url("/closed")).serializingData() }
            await begins.next()
            piece.finish()
            await begins.next()
            _ = try await signals.request(origin.url("/go?key=\(key)")).serializingData().value
            for other in others { _ = await other.response }
            let reply = await aside.response
            #expect(reply.value?.count == 10, "round \(round): \(reply)")
            let answer = await body.response
            #expect(answer.value == Self.lines, "round \(round): \(answer)")
        }
        for session in [session, signals, busy] { await session.shutdown() }
    }

    /// Libcurl may look at either stream first; some bytes arrive while the end is passed to it.
    @Test func `bodies are complete when uploads end on the same connection`() async throws {
        let session = try TestHarness.trustingSession()
        let origin = TestServers.nghttpd
        let expected = Data.pattern(count: 1 << 20)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...6 {
                group.addTask {
                    for _ in 1...20 {
                        let answer = await session.request(try origin.url("/bytes/1048576")).serializingData().response
                        #expect(answer.value == expected, "\(answer)")
                    }
                }
            }
            for _ in 1...2 {
                group.addTask {
                    for _ in 1...150 {
                        let pieces = AsyncStream { (piece: AsyncStream<Data>.Continuation) in
                            piece.yield(Data("abc".utf8))
                            piece.finish()
                        }
                        let upload = session.upload(.stream { pieces }, to: try origin.url("/echo"))
                        #expect(try await upload.serializingString().value == "abc")
                    }
                }
            }
            try await group.waitForAll()
        }
        await session.shutdown()
    }

    /// A session whose loop is blocked for a while when it checks a certificate.
    private static func blockingSession(on loop: EventLoop, _ body: @escaping @Sendable () -> Void) throws -> Session {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.eventLoop = loop
        configuration.httpVersion = .http1_1
        configuration.tls.caFile = try TestCertificates().authority
        let evaluator = ClosureTrustEvaluator { _, _ in
            body()
            // That the loop is busy for a while is what this is for: nothing tells when the upload's end has come to libcurl's
            // door, or the answer's bytes to the socket.
            usleep(50_000)
        }
        return Session(
            configuration: configuration, serverTrustManager: ServerTrustManager(evaluators: ["127.0.0.1": evaluator]))
    }
}
