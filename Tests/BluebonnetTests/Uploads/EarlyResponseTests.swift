import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Responses that arrive while the body is being sent (RFC 9110 §7.5, RFC 9112 §9.5).
///
/// Without ``UnreadResponses``, the response of a server that resets the connection at once is sometimes lost.
/// Without ``RefusedUploads``, an HTTP/2 server often closes the connection after it has refused a body.
@Suite(.timeLimit(.minutes(10))) struct EarlyResponseTests {
    /// The action of a server after its response.
    enum ConnectionEnd: CaseIterable {
        case readsOn, resets, halfCloses, stalls

        var steps: [LocalServer.Script.Step] {
            switch self {
            case .readsOn: [.waitForClose]
            case .resets: [.reset]
            case .halfCloses: [.halfClose, .waitForClose]
            case .stalls: [.stall]
            }
        }
    }

    private static let answer = """
        HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\ntoo big
        """

    /// Starts a server that reads some of a body and answers then.
    private static func server(reading limit: Int = 2 << 20, then connectionEnd: ConnectionEnd) async throws
        -> LocalServer
    {
        try await LocalServer { router in
            router.streaming("/a") { _, body in
                while body.bytesRead < limit, try await body.read() != nil {}
                return .script(LocalServer.Script([.bytes(answer)] + connectionEnd.steps))
            }
            router.get("/", .text("still here"))
        }
    }

    @Test(arguments: ConnectionEnd.allCases, BodyForm.allCases)
    func `an early response is received whatever the server does afterwards`(
        connectionEnd: ConnectionEnd, form: BodyForm
    ) async throws {
        let server = try await Self.server(then: connectionEnd)
        let directory = try TestDirectory()
        let session = TestHarness.session()
        let body = try form.body(20_000_000, in: directory)
        let answer = await session.upload(body, to: server.url("/a")).serializingString().response
        #expect(answer.response?.statusCode == 413)
        #expect(answer.value == "too big", "\(answer)")
        // A connection with an incomplete message cannot be reused.
        #expect(try await session.request(server.url("/")).serializingString().value == "still here")
        #expect(server.connectionCount == 2)
        await session.shutdown()
    }

    @Test(arguments: [true, false])
    func `a reset after a response does not lose the response`(isMeasured: Bool) async throws {
        let server = try await Self.server(reading: 1 << 20, then: .resets)
        let session = TestHarness.session()
        for group in 0..<20 {
            await withTaskGroup { tasks in
                for member in 0..<10 {
                    tasks.addTask {
                        let pieces = Pieces(1600, of: 64 << 10)
                        let request = session.upload(
                            pieces, length: isMeasured ? pieces.length : nil, to: server.url("/a"))
                        let answer = await request.serializingString().response
                        #expect(answer.value == "too big", "\(group) \(member): \(answer)")
                        await pieces.record.isOver.wait()
                    }
                }
            }
        }
        try await TestHarness.end(session, server)
    }

    /// Libcurl writes, fails, and does not look whether it was answered meanwhile.
    @Test func `a response that arrives between a check of the socket and a write is not lost`() async throws {
        let server = try AbruptServer(answering: Self.answer, after: 256 << 10)
        defer { server.stop() }
        let session = TestHarness.session { $0.continueTimeout = nil }
        for number in 1...300 {
            let answer = await session.upload(Data(count: 8 << 20), to: server.url).serializingString().response
            #expect(answer.value == "too big", "\(number): \(answer)")
        }
        await session.shutdown()
    }

    /// The body is being sent on a connection that was used before, so a lost response would look like a lost request.
    @Test(arguments: [HTTPMethod.put, .post], [true, false])
    func `a response after a 100 is not lost`(method: HTTPMethod, isReplayable: Bool) async throws {
        let firstAnswers = ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 100 Continue\r\n\r\n"]
        let server = try AbruptServer(answering: Self.answer, after: 256 << 10, firstAnswers: firstAnswers)
        defer { server.stop() }
        let session = TestHarness.session { $0.continueTimeout = .seconds(50) }
        for number in 1...50 {
            #expect(try await session.request(server.url).serializingString().value == "ok")
            let body = isReplayable ? RequestBody.data(Data(count: 8 << 20)) : .stream(Pieces(128, of: 64 << 10))
            let answer = await session.upload(body, to: server.url, method: method).serializingString().response
            #expect(answer.value == "too big", "\(number): \(answer)")
        }
        #expect(server.connectionCount == 50)
        await session.shutdown()
    }

    @Test func `nginx refuses a body that is too large`() async throws {
        let session = try TestHarness.trustingSession()
        for server in [TestServers.nginx, .nginxTLS] {
            for length in [Int64(100 << 20), nil] {
                let pieces = Pieces(1600, of: 64 << 10)
                let url = try server.url("/limited/\(UInt64.random(in: 0 ... .max))")
                let put = session.upload(pieces, length: length, to: url, method: .put)
                let answer = await put.serializingString().response
                #expect(answer.response?.statusCode == 413, "\(answer)")
                #expect(answer.value?.contains("413") == true, "\(answer)")
                #expect(pieces.record.pieces < 1600)
            }
        }
        await session.shutdown()
    }

    @Test(arguments: ["", "&reset=no"], [Int64(100 << 20), nil])
    func `an HTTP 2 server refuses a body that is too large and the connection stays usable`(
        reset: String, length: Int64?
    ) async throws {
        for _ in 1...5 {
            let session = try TestHarness.trustingSession()
            let pieces = Pieces(1600, of: 64 << 10)
            let before = try await Self.connection(of: session)
            let url = try TestServers.misbehavingHTTP2.url("/too-large?after=1000000\(reset)")
            let answer = await session.upload(pieces, length: length, to: url).serializingString().response
            #expect(answer.response?.statusCode == 413, "\(answer)")
            #expect(answer.value == "too large\n", "\(answer)")
            #expect(pieces.record.pieces < 1600)
            await pieces.record.isOver.wait()
            // The server closes the connection when a body is shorter than it was said to be (RFC 9113 §8.1.1).
            for _ in 0..<3 { #expect(try await Self.connection(of: session) == before) }
            await session.shutdown()
        }
    }

    /// The number of the connection that the session has with the server.
    private static func connection(of session: Session) async throws -> Int {
        struct Answer: Decodable, Sendable { let connection: Int }
        let url = try TestServers.misbehavingHTTP2.url("/ok")
        return try await session.request(url).serializingDecodable(Answer.self).value.connection
    }
}
