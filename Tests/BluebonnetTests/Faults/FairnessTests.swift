import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Other requests of a session while a server sends bytes that occupy libcurl for a long time.
@Suite(.timeLimit(.minutes(10)), .serialized) struct FairnessTests {
    /// Libcurl reads while the socket has bytes.
    ///
    /// In this test, this takes much longer than any request waits.
    @Test func `a body in chunks of one byte does not delay other requests`() async throws {
        let (begins, begin) = AsyncStream.makeStream(of: Void.self)
        let isSent = Locked(false)
        let chunks = LocalServer.Script.Step.bytes(String(repeating: "1\r\na\r\n", count: 500_000))
        let script = LocalServer.Script(
            [.waitForRequest, .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), .wait { begin.yield() }]
                + Array(repeating: chunks, count: 20) + [.wait { isSent.withLock { $0 = true } }, .stall])
        let server = try await LocalServer.scripted { _ in script }
        let other = try await LocalServer { $0.get("/", .text("right")) }
        let session = TestHarness.session()
        #expect(try await session.request(other.url("/")).serializingString().value == "right")
        let flood = session.request(server.url("/a")).serializingData()
        for await _ in begins { break }
        #expect(try await session.request(other.url("/")).serializingString().value == "right")
        #expect(!isSent.withLock { $0 })
        flood.cancel()
        #expect(await flood.response.error?.kind == .cancelled)
        await session.shutdown()
        await server.stop()
        await other.stop()
    }

    // MARK: Challenges

    @Test func `the body of a challenge is bounded`() async throws {
        let body = String(repeating: "x", count: 16 << 20)
        let server = try await LocalServer.scripted(
            .waitForRequest,
            .bytes(
                "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 1000000000\r\n\r\n"
            ),
            .drip(body, piece: 64 << 10, every: .milliseconds(2)), .stall)
        let session = TestHarness.session {
            $0.maximumResponseBytes = 1 << 20
            $0.timeouts = Timeouts(connect: .seconds(5), idle: .seconds(1))
        }
        let request = session.request(server.url("/a")).authenticate(username: "u", password: "p")
        let error = await request.serializingData().response.error
        #expect(error?.kind == .invalidResponse(.bodyTooLarge(limit: 1 << 20)), "\(String(describing: error))")
        try await TestHarness.end(session, server)
    }

    @Test func `a server that reports every nonce as stale fails`() async throws {
        let server = try await LocalServer { router in
            router.fallback { request in
                let nonce = UUID().uuidString
                let challenge = "Digest realm=\"a\", nonce=\"\(nonce)\", qop=\"auth\", algorithm=MD5, stale=true"
                return .status(401, headers: ["WWW-Authenticate": challenge])
            }
        }
        let session = TestHarness.session()
        let request = session.request(server.url("/a")).authenticate(username: "u", password: "p")
        let error = await request.serializingData().response.error
        #expect(error?.kind == .invalidResponse(.malformed), "\(String(describing: error))")
        #expect(server.requestCount <= 21)
        try await TestHarness.end(session, server)
    }
}
