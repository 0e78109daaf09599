import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Compressed bodies on the wire.
@Suite(.timeLimit(.minutes(10))) struct RequestCompressorTests {
    typealias Format = DeflateRequestCompressor.Format

    private func server() async throws -> LocalServer {
        try await LocalServer { router in
            router.post("/a", .text("ok"))
            router.get("/a", .text("ok"))
            router.put("/a", .text("ok"))
        }
    }

    enum Body: CaseIterable {
        case data, file, sequence, form
    }

    @Test(arguments: [Format.deflate, .gzip], Body.allCases)
    func `a body of any kind arrives compressed`(_ format: Format, kind: Body) async throws {
        let server = try await server()
        let session = TestHarness.session()
        let file = FileManager.default.temporaryDirectory.appending(path: "zip-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: file) }
        try Sample.text.data.write(to: file)
        var form = MultipartFormData()
        form.append(Sample.text.data, withName: "a")
        let (body, expected): (RequestBody, Data?) =
            switch kind {
            case .data: (.data(Sample.text.data), Sample.text.data)
            case .file: (.file(file), Sample.text.data)
            case .sequence: (.stream(Pieces(10, of: 50_000)), Data((0..<500_000).map { UInt8($0 % 251) }))
            case .form: (.multipart(form), nil)
            }
        let request = session.upload(body, to: server.url("/a"), headers: [.contentType("text/x")])
            .adapt(using: DeflateRequestCompressor(format: format))
        #expect(try await request.serializingString().value == "ok")
        let received = try #require(server.requests.first)
        #expect(received.headers.values(for: "Content-Encoding") == [format.rawValue])
        #expect(received.headers["Content-Type"] == "text/x")
        // A body in memory has a length; the others do not know theirs.
        #expect(received.bodyIsChunked == (kind != .data))
        #expect((received.headers["Content-Length"] == "\(received.bodyLength)") == (kind == .data))
        let inflated = try Inflation.inflate(received.body, format)
        #expect(received.bodyLength < inflated.count / 10)
        if let expected {
            #expect(inflated == expected)
        } else {
            #expect(inflated.count > Sample.text.data.count)
        }
        try await TestHarness.end(session, server)
    }

    @Test func `a form keeps its content type`() async throws {
        let server = try await server()
        let session = TestHarness.session()
        var form = MultipartFormData()
        form.append(Data("1".utf8), withName: "a")
        let request = session.upload(.multipart(form), to: server.url("/a")).adapt(using: .gzipCompressor)
        _ = try await request.serializingString().value
        #expect(server.requests.first?.headers["Content-Type"]?.hasPrefix("multipart/form-data; boundary=") == true)
        try await TestHarness.end(session, server)
    }

    @Test func `a request without a body is not compressed`() async throws {
        let server = try await server()
        let session = TestHarness.session()
        for request in [
            session.request(server.url("/a")), session.upload(Data(), to: server.url("/a")),
            session.request(server.url("/a"), method: .post),
        ] {
            _ = try await request.adapt(using: .deflateCompressor).serializingString().value
        }
        #expect(server.requests.allSatisfy { !$0.headers.contains("Content-Encoding") && $0.bodyLength == 0 })
        #expect(server.requestCount == 3)
        try await TestHarness.end(session, server)
    }

    // MARK: Options

    @Test func `a request with a Content-Encoding fails by default`() async throws {
        let server = try await server()
        let session = TestHarness.session()
        let headers: HTTPHeaders = ["content-encoding": "br"]
        let note = Data("note".utf8)
        let failing = session.upload(note, to: server.url("/a"), headers: headers).adapt(using: .deflateCompressor)
        let error = try #require(await failing.serializingString().response.error)
        #expect(error.kind == .adaptation)
        #expect(error.underlying is DeflateRequestCompressor.DuplicateHeaderError)
        #expect(error.description.contains("DeflateRequestCompressor"))
        #expect(server.requestCount == 0)

        let skipped = session.upload(note, to: server.url("/a"), headers: headers)
            .adapt(using: .deflateCompressor(duplicateHeaderBehavior: .skip))
        _ = try await skipped.serializingString().value
        #expect(server.requests.last?.headers.values(for: "Content-Encoding") == ["br"])
        #expect(server.requests.last?.body == note)

        let replaced = session.upload(note, to: server.url("/a"), headers: headers)
            .adapt(using: .gzipCompressor(duplicateHeaderBehavior: .replace))
        _ = try await replaced.serializingString().value
        let received = try #require(server.requests.last)
        #expect(received.headers.values(for: "Content-Encoding") == ["gzip"])
        #expect(try Inflation.inflate(received.body, .gzip) == note)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [(10, false), (1000, true)])
    func `the caller decides which bodies are compressed`(_ count: Int, isCompressed: Bool) async throws {
        let server = try await server()
        let session = TestHarness.session()
        let compressor = DeflateRequestCompressor { $0.count > 100 }
        let request = session.upload(Data(count: count), to: server.url("/a")).adapt(using: compressor)
        _ = try await request.serializingString().value
        #expect(server.requests.first?.headers.contains("Content-Encoding") == isCompressed)
        try await TestHarness.end(session, server)
    }

    @Test func `streamed bodies can be excluded`() async throws {
        let server = try await server()
        let session = TestHarness.session()
        let compressor = DeflateRequestCompressor(compressesStreamedBodies: false)
        let request = session.upload(Pieces(2, of: 100), to: server.url("/a")).adapt(using: compressor)
        _ = try await request.serializingString().value
        #expect(server.requests.first?.bodyLength == 200)
        #expect(server.requests.first?.headers.contains("Content-Encoding") == false)
        try await TestHarness.end(session, server)
    }

    // MARK: Again

    @Test(arguments: [Body.data, .sequence])
    func `a retry compresses the original body again`(_ kind: Body) async throws {
        let counter = Counter()
        let server = try await LocalServer { router in
            router.put("/a") { _ in counter.next() == 1 ? .status(503) : .text("ok") }
        }
        let sleeps = RecordedSleeps()
        var configuration = Session.Configuration()
        configuration.proxy = .none
        sleeps.use(in: &configuration)
        let interceptor = Interceptor(adapters: [.gzipCompressor], retriers: [.retryPolicy])
        let session = Session(configuration: configuration, interceptor: interceptor)
        let body: RequestBody = kind == .data ? .data(Sample.text.data) : .stream { Pieces(3, of: 10_000) }
        let task = session.upload(body, to: server.url("/a"), method: .put).validate().serializingString()
        #expect(try await task.value == "ok")
        #expect(server.requestCount == 2)
        for received in server.requests {
            #expect(received.headers.values(for: "Content-Encoding") == ["gzip"])
            let expected = kind == .data ? Sample.text.data : Data((0..<30_000).map { UInt8($0 % 251) })
            #expect(try Inflation.inflate(received.body, .gzip) == expected)
        }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [TestServers.httpbin, .httpbinHTTP2])
    func `a real server receives a body in the announced coding`(_ server: TestServers) async throws {
        struct Echo: Decodable, Sendable {
            var data: String
            var headers: [String: String]
        }
        let session = try TestHarness.trustingSession()
        let echo = try await session.upload(Sample.short.data, to: server.url("/post"))
            .adapt(using: .deflateCompressor).validate().serializingDecodable(Echo.self).value
        #expect(echo.headers["Content-Encoding"] == "deflate")
        let base64 = try #require(echo.data.split(separator: ",").last.map(String.init))
        let bytes = try #require(Data(base64Encoded: base64))
        #expect(try Inflation.inflate(bytes, .deflate) == Sample.short.data)
        await session.shutdown()
    }
}
