import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Bodies on kept connections that turn out to be dead (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
@Suite(.timeLimit(.minutes(10))) struct ResendTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Starts a server whose first connection is lost when a second request begins to arrive.
    private static func server(dyingAfter count: Int) async throws -> LocalServer {
        try await LocalServer(script: { connection in
            connection == 1 ? [.waitForRequest, .bytes(ok), .waitForBytes(count), .reset] : [.serve]
        }) { router in
            router.fallback(.text("done"))
        }
    }

    @Test(arguments: BodyForm.allCases, [HTTPMethod.put, .post])
    func `only a request that may be repeated is sent again on a new connection`(
        form: BodyForm, method: HTTPMethod
    ) async throws {
        let server = try await Self.server(dyingAfter: 10_000)
        let directory = try TestDirectory()
        let session = TestHarness.session { $0.continueTimeout = nil }
        #expect(try await session.request(server.url("/")).serializingString().value == "ok")
        let body = try form.body(300_000, in: directory)
        let answer = await session.upload(body, to: server.url("/a"), method: method).serializingString().response
        if method == .put, body.isReplayable {
            #expect(answer.value == "done", "\(answer)")
            #expect(try await server.request(2).body == form.sent(300_000))
            #expect(server.connectionCount == 2)
        } else {
            #expect(answer.error?.kind == .connection(.lost), "\(answer)")
            #expect(server.requestCount == 1)
        }
        #expect(answer.metrics != nil)
        await session.shutdown()
    }

    @Test(arguments: BodyForm.allCases)
    func `a connection that was closed meanwhile is not used`(form: BodyForm) async throws {
        let server = try await LocalServer { $0.fallback(.text("done")) }
        let directory = try TestDirectory()
        let session = TestHarness.session()
        #expect(try await session.request(server.url("/")).serializingString().value == "done")
        await server.closeConnections()
        let body = try form.body(300_000, in: directory)
        let answer = await session.upload(body, to: server.url("/a")).serializingString().response
        #expect(answer.value == "done", "\(answer)")
        #expect(try await server.request(2).body == form.sent(300_000))
        #expect(server.requestCount == 2)
        try await TestHarness.end(session, server)
    }

    /// Libcurl detects the end of the connection by reading if the sequence is silent, and by sending otherwise.
    @Test(arguments: [true, false])
    func `a sequence that can be created again is sent from its beginning`(isSilent: Bool) async throws {
        let server = try await Self.server(dyingAfter: 10_000)
        let session = TestHarness.session { $0.continueTimeout = nil }
        #expect(try await session.request(server.url("/")).serializingString().value == "ok")
        let first = isSilent ? Pieces(20, of: 1000, then: .silence) : Pieces(300, of: 1000)
        let second = Pieces(300, of: 1000)
        let isFirst = Gate(isOpen: true)
        let body = RequestBody.stream(length: 300_000) {
            defer { isFirst.close() }
            return isFirst.isOpen ? first : second
        }
        let answer = await session.upload(body, to: server.url("/a"), method: .put).serializingString().response
        #expect(answer.value == "done", "\(answer)")
        #expect(try await server.request(2).body == Pieces.bytes(300_000))
        await first.record.isOver.wait()
        await second.record.isOver.wait()
        #expect(first.record.begun == 1)
        #expect(second.record.begun == 1)
        #expect(answer.error == nil)
        try await TestHarness.end(session, server)
    }
}
