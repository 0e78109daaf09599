import BluebonnetFoundation
import BluebonnetTesting
import Foundation
import TestSupport
import Testing

/// Streams of Foundation's as bodies of requests.
@Suite(.timeLimit(.minutes(10))) struct InputStreamUploadTests {
    private static func server() async throws -> LocalServer {
        var options = LocalServer.Options()
        options.recordedBodyBytes = 8 << 20
        return try await LocalServer(options: options) { router in
            router.on("/") { request in .text("\(request.body.count) \(request.bodyIsChunked)") }
            router.on("/moved", .redirect(to: "/", status: 307))
        }
    }

    @Test(arguments: [0, 1, 65_536, 65_537, 3 << 20], [true, false])
    func `the bytes of a stream are sent unchanged`(count: Int, statesLength: Bool) async throws {
        let server = try await Self.server()
        let session = FoundationFixture.session()
        let data = FoundationFixture.bytes(count)
        let headers: HTTPHeaders = statesLength ? ["Content-Length": "\(count)"] : [:]
        let text = try await session.upload(InputStream(data: data), to: server.url("/"), headers: headers)
            .serializingString().value
        #expect(text == "\(count) \(!statesLength)")
        #expect(try await server.nextRequest().body == data)
        await session.shutdown()
    }

    @Test func `httpbin receives a mebibyte from the stream of a URLRequest`() async throws {
        let session = FoundationFixture.session()
        var request = try URLRequest(url: TestServers.httpbin.url("/post"), method: .post)
        let text = String(repeating: "0123456789abcdef", count: 1 << 16)
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        request.setValue("\(text.utf8.count)", forHTTPHeaderField: "Content-Length")
        request.httpBodyStream = InputStream(data: Data(text.utf8))
        let echo = try await session.request(request).validate().serializingDecodable(Echo.self).value
        #expect(echo.data == text)
        #expect(echo.headers["Content-Length"] == "\(1 << 20)")
        await session.shutdown()
    }

    @Test func `the stream of a file is sent with a custom request`() async throws {
        let server = try await Self.server()
        let session = FoundationFixture.session()
        let data = FoundationFixture.bytes(200_000)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try data.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let stream = try #require(InputStream(url: file))
        let request = try URLRequest(url: server.url("/"), method: .put)
        _ = try await session.upload(stream, with: request).serializingData().value
        let received = try await server.nextRequest()
        #expect(received.method == .put && received.body == data)
        await session.shutdown()
    }

    @Test func `a part of a form may be a stream`() async throws {
        let session = FoundationFixture.session()
        let url = try TestServers.httpbin.url("/post")
        let request = session.upload(
            multipartFormData: { form in
                form.append(
                    InputStream(data: Data("streamed".utf8)), withLength: 8, name: "file", fileName: "a.txt",
                    mimeType: "text/plain")
                form.append("text", withName: "field")
            }, to: url)
        struct Form: Decodable {
            let files: [String: String]
            let form: [String: String]
        }
        let form = try await request.validate().serializingDecodable(Form.self).value
        #expect(form.files == ["file": "streamed"] && form.form == ["field": "text"])
        await session.shutdown()
    }

    @Test func `a stream that is already open is sent`() async throws {
        let server = try await Self.server()
        let session = FoundationFixture.session()
        let stream = InputStream(data: Data("open".utf8))
        stream.open()
        let text = try await session.upload(stream, to: server.url("/")).serializingString().value
        #expect(text == "4 true")
        await session.shutdown()
    }

    // MARK: Once only

    @Test func `a stream that was already read is refused instead of sent empty`() async throws {
        let server = try await Self.server()
        let session = FoundationFixture.session()
        var request = try URLRequest(url: server.url("/"), method: .post)
        request.httpBodyStream = InputStream(data: Data("once".utf8))
        #expect(try await session.request(request).serializingString().value == "4 true")
        let error = try #require(await session.request(request).serializingString().response.error)
        #expect(error.kind == .requestBody(.notReplayable))
        #expect(error.urlError?.code == .requestBodyStreamExhausted)
        #expect(server.requests.filter { $0.bodyIsComplete }.count == 1)
        await session.shutdown()
    }

    @Test func `a redirect that would send the stream again is refused`() async throws {
        let server = try await Self.server()
        let session = FoundationFixture.session()
        let error = try #require(
            await session.upload(InputStream(data: Data("once".utf8)), to: server.url("/moved")).serializingString()
                .response.error)
        #expect(error.kind == .redirect(.bodyNotReplayable))
        await session.shutdown()
    }

    @Test func `a body from a stream is not replayable`() {
        #expect(!RequestBody.inputStream(InputStream(data: Data())).isReplayable)
    }

    // MARK: Faults

    @Test(arguments: ["/nonexistent/file", "/tmp"])
    func `a stream that cannot be read fails the request with its error`(path: String) async throws {
        let server = try await Self.server()
        let session = FoundationFixture.session()
        let stream = try #require(InputStream(fileAtPath: path))
        let error = try #require(
            await session.upload(stream, to: server.url("/")).serializingString().response.error)
        #expect(error.kind == .requestBody(.sequenceFailed))
        #expect((error.underlying as? NSError)?.domain == NSPOSIXErrorDomain)
        #expect(!server.requests.contains { $0.bodyIsComplete })
        await session.shutdown()
    }

    @Test func `a stream that fails in the middle fails the request with its error`() async throws {
        let server = try await Self.server()
        let session = FoundationFixture.session()
        let stream = ScriptedInputStream([
            .bytes(FoundationFixture.bytes(100_000)), .failure(CocoaError(.fileReadCorruptFile)),
        ])
        let error = try #require(
            await session.upload(stream, to: server.url("/")).serializingString().response.error)
        #expect(error.kind == .requestBody(.sequenceFailed))
        #expect((error.underlying as? CocoaError)?.code == .fileReadCorruptFile)
        #expect(!server.requests.contains { $0.bodyIsComplete })
        await session.shutdown()
    }

    @Test(arguments: [3, 100])
    func `a stream with another length than stated fails the request`(length: Int64) async throws {
        let server = try await Self.server()
        let session = FoundationFixture.session()
        let body = RequestBody.inputStream(InputStream(data: FoundationFixture.bytes(10)), length: length)
        let error = try #require(
            await session.upload(body, to: server.url("/")).serializingString().response.error)
        guard case .requestBody(.lengthMismatch(expected: length, _)) = error.kind else {
            Issue.record("\(error)")
            return
        }
        await session.shutdown()
    }

    @Test func `more silent streams than threads in the pool do not delay other tasks`() async throws {
        let server = try await Self.server()
        let session = FoundationFixture.session()
        let gate = Latch()
        let requests = (0..<16).map { _ in
            session.upload(ScriptedInputStream([.wait(gate), .bytes(Data("late".utf8))]), to: server.url("/"))
        }
        let tasks = requests.map { $0.serializingString() }
        // The pool runs this task while the threads of the streams are blocked.
        let quick = session.upload(Data("quick".utf8), to: server.url("/")).serializingString()
        #expect(try await quick.value == "5 false")
        gate.open()
        for task in tasks { #expect(try await task.value == "4 true") }
        await session.shutdown()
    }

    @Test func `cancelling ends the request at once while the stream is silent`() async throws {
        let server = try await Self.server()
        let session = FoundationFixture.session()
        let gate = Latch()
        let begun = Latch()
        let steps: [ScriptedInputStream.Step] = [.bytes(Data("first".utf8)), .wait(gate), .bytes(Data("late".utf8))]
        let stream = ScriptedInputStream(steps) { _ in begun.open() }
        let closed = stream.closed
        let task = session.upload(stream, to: server.url("/")).serializingString()
        async let response = task.response
        await FoundationFixture.onThread { begun.wait() }
        task.cancel()
        #expect(await response.error?.kind == .cancelled)
        // Its thread ends when the stream lets it.
        gate.open()
        await FoundationFixture.onThread { closed.wait() }
        await session.shutdown()
    }

    @Test func `a task that waits for a silent stream can be cancelled`() async {
        let gate = Latch()
        let begun = Latch()
        let stream = ScriptedInputStream([.bytes(Data("first".utf8)), .wait(gate)]) { _ in begun.open() }
        let pieces = RequestBody.inputStream(stream).pieces
        let task = Task { for try await _ in pieces {} }
        await FoundationFixture.onThread { begun.wait() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
    }

    @Test func `a stream is read no faster than it is sent`() async throws {
        var options = LocalServer.Options()
        options.receiveBufferBytes = 64 << 10
        let reader = Box<LocalServer.BodyReader?>(nil)
        let lead = Box(0)
        let server = try await LocalServer(options: options) { router in
            router.streaming("/") { _, body in
                reader.set(body)
                return .text("\(try await body.discard())")
            }
        }
        let session = FoundationFixture.session { $0.continueTimeout = nil }
        let pieces = Array(repeating: ScriptedInputStream.Step.bytes(Data(count: 65_536)), count: 768)
        let stream = ScriptedInputStream(pieces) { taken in
            let ahead = taken - (reader.value?.bytesReceived ?? 0)
            if ahead > lead.value { lead.set(ahead) }
        }
        let text = try await session.upload(stream, to: server.url("/")).serializingString().value
        #expect(text == "\(768 * 65_536)")
        // The capacity of the sockets and the body's channel, and not the 48 MiB.
        #expect(lead.value < 24 << 20)
        await session.shutdown()
    }
}
