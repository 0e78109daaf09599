import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Bodies that fail while they are sent: no server may treat them as complete.
@Suite(.timeLimit(.minutes(10))) struct BrokenUploadTests {
    private static let large: Int64 = 48 << 20

    // MARK: Sequences

    @Test(arguments: [nil, Int64(30)], [0, 1, 3])
    func `an error that a sequence throws fails the request`(length: Int64?, count: Int) async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let pieces = Pieces(count, of: 10, then: .fail)
        let error = try await TestHarness.expect(
            session.upload(pieces, length: length, to: server.url("/a")).serializingString(), in: session,
            failsWith: .requestBody(.sequenceFailed), saying: "the source broke")
        // A sequence that has all its bytes has yet to end.
        #expect(error.underlying as? TestFailure == TestFailure("the source broke"))
        try await Self.expectNothingWhole(at: server, atMost: count * 10)
        try await Self.expectNewConnection(in: session, to: server)
    }

    @Test(arguments: [nil, Int64(0), Int64(30)])
    func `an error of another request that a sequence throws is the underlying error`(
        length: Int64?
    ) async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let begun = Locked(0)
        let other = Self.errorOfRequest(to: server.url("/elsewhere"))
        let body = RequestBody.stream(length: length) {
            begun.withLock { $0 += 1 }
            return AsyncThrowingStream<Data, any Error> { stream in stream.finish(throwing: other) }
        }
        let request = HTTPRequest(url: server.url("/a"), method: .put, body: body)
        let task = session.request(request, interceptor: RetryPolicy(exponentialBackoffScale: 0.001))
            .serializingString()
        let error = try await TestHarness.expect(
            task, in: session, failsWith: .requestBody(.sequenceFailed), saying: "connection was lost", "elsewhere")
        #expect(error.response == nil)
        #expect((error.underlying as? RequestError)?.response?.statusCode == 503)
        // A lost connection would have been tried again.
        #expect(begun.withLock { $0 } == 1)
        // A body with the stated length 0 is read before anything is sent.
        if length != 0 { try await Self.expectNothingWhole(at: server, atMost: 0) }
        await session.shutdown()
    }

    /// A failure that would be tried again if it were the request's own.
    private static func errorOfRequest(to url: URL) -> RequestError {
        RequestError(.connection(.lost))
            .about(HTTPResponse(url: url, statusCode: 503), body: nil)
            .during(HTTPRequest(url: url, method: .put), attempts: 1)
    }

    @Test(arguments: [(3, 31), (3, 1000), (0, 1), (3, 29), (3, 1), (1000, 9999), (1, 9)])
    func `a sequence with another length than stated fails the request`(count: Int, length: Int64) async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let pieces = Pieces(count, of: 10)
        let task = session.upload(pieces, length: length, to: server.url("/a")).serializingString()
        let error = try #require(await task.response.error)
        guard case .requestBody(.lengthMismatch(expected: length, let actual)) = error.kind else {
            Issue.record("\(error)")
            return
        }
        #expect((actual < length) == (pieces.length < length))
        #expect(error.description.contains("bytes instead of \(length)"))
        try await Self.expectNothingWhole(at: server, atMost: Int(length) - 1)
        try await Self.expectNewConnection(in: session, to: server)
    }

    @Test func `late excess bytes of a sequence are an error`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let gate = Gate()
        let pieces = Pieces(2, of: 10) { number in if number == 1 { await gate.wait() } }
        let task = session.upload(pieces, length: 10, to: server.url("/a")).serializingString()
        async let answer = task.response
        // All permitted bytes were sent, and the server does not treat them as the complete body.
        try await server.waitForConnections(atLeast: 1)
        gate.open()
        #expect(await answer.error?.kind == .requestBody(.lengthMismatch(expected: 10, actual: 20)))
        try await Self.expectNothingWhole(at: server, atMost: 9)
        await session.shutdown()
    }

    @Test(arguments: [true, false])
    func `a sequence announced as empty that has bytes fails before anything is sent`(
        _ isMadeAnew: Bool
    ) async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let pieces = Pieces(2, of: 10)
        let body: RequestBody = isMadeAnew ? .stream(length: 0) { pieces } : .stream(pieces, length: 0)
        let request = HTTPRequest(url: server.url("/a"), method: .put, body: body)
        try await TestHarness.expect(
            session.request(request).serializingString(), in: session,
            failsWith: .requestBody(.lengthMismatch(expected: 0, actual: 10)), saying: "10 bytes instead of 0")
        #expect(server.requests.isEmpty)
        try await TestHarness.end(session, server)
    }

    @Test func `a sequence with the stated length 0 that throws fails the request`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.upload(Pieces(0, of: 10, then: .fail), length: 0, to: server.url("/a")).serializingString(),
            in: session, failsWith: .requestBody(.sequenceFailed), saying: "the source broke")
        #expect(server.requests.isEmpty)
        try await TestHarness.end(session, server)
    }

    @Test func `a sequence with the stated length 0 that never ends is released with its request`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let pieces = Pieces(0, of: 10, then: .silence)
        let task = session.upload(pieces, length: 0, to: server.url("/a")).serializingString()
        async let answer = task.response
        await pieces.record.isAtEnd.wait()
        task.cancel()
        #expect(await answer.error?.kind == .cancelled)
        await pieces.record.isOver.wait()
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [0, 3])
    func `an empty sequence with the stated length 0 is sent with this length`(emptyPieces: Int) async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let task = session.upload(Pieces(emptyPieces, of: 0), length: 0, to: server.url("/a")).serializingString()
        #expect(try await task.value == "0")
        #expect(server.requests.map { $0.headers["Content-Length"] } == ["0"])
        // The request of a download is prepared by other code.
        let download = HTTPRequest(
            url: server.url("/a"), method: .post, body: .stream(Pieces(1, of: 10), length: 0))
        #expect(
            await session.download(download).serializingData().response.error?.kind
                == .requestBody(.lengthMismatch(expected: 0, actual: 10)))
        try await TestHarness.end(session, server)
    }

    @Test func `a part of a form that throws fails the request`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let task = session.upload(
            multipartFormData: { form in
                form.append(Pieces(3, of: 10, then: .fail), withName: "part")
            }, to: server.url("/a")
        ).serializingString()
        try await TestHarness.expect(
            task, in: session, failsWith: .multipartEncoding(.bodyPartSequenceFailed(name: "part")),
            saying: "the source broke")
        try await Self.expectNothingWhole(at: server, atMost: 1000)
        try await Self.expectNewConnection(in: session, to: server)
    }

    // MARK: Files

    @Test(arguments: [large - 1, large / 2 + 12_345, large + 1, large * 2])
    func `a file that changes its size fails the request`(newSize: Int64) async throws {
        let mayRead = Gate()
        let server = try await Self.server(readingAfter: mayRead)
        let directory = try TestDirectory()
        try directory.write("", to: "file")
        try directory.resize("file", to: Self.large)
        let session = TestHarness.session()
        let task = session.upload(directory.url("file"), to: server.url("/a"), method: .put).serializingString()
        async let answer = task.response
        // The server does not read on, so that the end of the file is far.
        try await server.waitForBytesReceived(atLeast: 1000)
        try directory.resize("file", to: newSize)
        mayRead.open()
        let error = try #require(await answer.error)
        #expect(error.kind == .requestBody(.lengthMismatch(expected: Self.large, actual: newSize)), "\(error)")
        #expect(error.description.contains("the file \(directory.path("file")) changed while it was sent"))
        try await Self.expectNothingWhole(at: server, atMost: Int(Self.large) - 1)
        try await Self.expectNewConnection(in: session, to: server)
    }

    // MARK: Support

    /// Starts a server that reads bodies to their end, then answers.
    private static func server(readingAfter gate: Gate = Gate(isOpen: true)) async throws -> LocalServer {
        try await LocalServer { router in
            router.streaming("/a") { _, body in
                await gate.wait()
                return .text("\(try await body.discard())")
            }
            router.get("/", .text("still here"))
        }
    }

    /// Expects that the server has got a part of a body and the end of the connection.
    private static func expectNothingWhole(
        at server: LocalServer, atMost limit: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        // The body may have failed before the server has accepted its connection.
        try await server.waitForConnections(atLeast: 1)
        try await server.waitForOpenConnections(atMost: 0)
        for request in server.requests {
            #expect(!request.bodyIsComplete, sourceLocation: sourceLocation)
            #expect(request.bodyLength <= limit, sourceLocation: sourceLocation)
        }
    }

    private static func expectNewConnection(in session: Session, to server: LocalServer) async throws {
        let before = server.connectionCount
        #expect(try await session.request(server.url("/")).serializingString().value == "still here")
        #expect(server.connectionCount == before + 1)
        try await TestHarness.end(session, server)
    }
}
