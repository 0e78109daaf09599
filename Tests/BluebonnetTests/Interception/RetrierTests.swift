import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

private struct Reason: Error, Equatable {}

/// Counts its calls, and returns one decision after the other.
private final class Counting: RequestInterceptor {
    private let answers: [RetryResult]
    private let errors = Locked<[any Error]>([])

    init(_ answers: RetryResult...) { self.answers = answers }

    var asked: [any Error] { errors.withLock { $0 } }

    func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        errors.withLock { errors in
            errors.append(error)
            return errors.count <= answers.count ? answers[errors.count - 1] : .doNotRetry
        }
    }
}

private let lost = StubTransport.Response.failure(RequestError(.connection(.lost)))

@Suite(.timeLimit(.minutes(10))) struct RetrierTests {
    @Test func `A failure is passed to a retrier once for any number of serializers`() async throws {
        let transport = StubTransport { _ in lost }
        let retrier = Counting()
        let request = Session(interceptor: retrier, transport: transport).request("http://stub.test/")
        let tasks = (request.serializingString(), request.serializingData(), request.serializingString())
        _ = await (tasks.0.response, tasks.1.response, tasks.2.response)
        #expect(retrier.asked.count == 1)
        // A serializer that is attached later gets the same response, and no retrier is called.
        #expect(await request.serializingString().response.error?.kind == .connection(.lost))
        #expect(retrier.asked.count == 1)
    }

    @Test func `A failed request is retried until it succeeds`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", lost, lost, .text("there"))
        let retrier = Counting(.retry, .retry)
        let request = Session(transport: transport).request("http://stub.test/", interceptor: retrier)
        let response = await request.serializingString().response
        #expect(response.value == "there")
        #expect(request.retryCount == 2)
        #expect(request.requests.count == 3)
        #expect(request.error == nil)
        #expect(request.state == .finished)
        #expect(retrier.asked.count == 2)
    }

    @Test func `A closure of two parameters receives the error as a RequestError`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", .status(409), .text("there"))
        let retrier = Retrier { request, error in
            error.statusCode == 409 && request.retryCount == 0 ? .retry : .doNotRetry
        }
        let request = Session(transport: transport).request("http://stub.test/", interceptor: retrier).validate()
        #expect(try await request.serializingString().value == "there")
        // An error of another type is its underlying error.
        let session = Session(transport: transport)
        let kinds = Locked<[RequestError.Kind]>([])
        let recorder = Retrier { _, error in
            kinds.withLock { $0.append(error.kind) }
            return .doNotRetry
        }
        _ = await recorder.retry(request, for: session, dueTo: Reason())
        #expect(kinds.withLock { $0 } == [.serialization(.customSerializationFailed)])
    }

    @Test func `The first decision other than doNotRetry is used, and the session's retriers are first`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", lost, .text("x"))
        let (first, second, third) = (Counting(.doNotRetry), Counting(.retry), Counting(.doNotRetryWithError(Reason())))
        let session = Session(interceptor: Interceptor(retriers: [first], interceptors: [second]), transport: transport)
        let request = session.request("http://stub.test/", interceptor: third)
        #expect(try await request.serializingString().value == "x")
        #expect([first, second, third].map(\.asked.count) == [1, 1, 0])
    }

    @Test func `The error of a retrier is reported with the original kind`() async throws {
        let transport = StubTransport { _ in lost }
        let request = Session(transport: transport).request("http://stub.test/")
            .retry(using: Counting(.doNotRetryWithError(Reason())))
        let error = try #require(await request.serializingString().response.error)
        #expect(error.kind == .retry(original: .connection(.lost)))
        #expect(error.underlying as? Reason == Reason())
        #expect(error.detail == "in Counting")
        #expect(error.url == "http://stub.test/")
    }

    @Test func `A validation failure keeps its body when a retrier replaces the error`() async throws {
        let transport = StubTransport { _ in .text("later", status: 503) }
        let request = Session(transport: transport).request("http://stub.test/").validate()
            .retry { _, _, _ in .doNotRetryWithError(Reason()) }
        let error = try #require(await request.serializingString().response.error)
        #expect(error.kind == .retry(original: .validation(.unacceptableStatusCode(503))))
        #expect(error.body == Data("later".utf8))
        #expect(error.response?.statusCode == 503)
    }

    @Test func `The retrier receives the response, the error and the count`() async throws {
        let transport = StubTransport { _ in .text("", status: 503, headers: ["Retry-After": "7"]) }
        let seen = Locked<[String]>([])
        let request = Session(transport: transport).request("http://stub.test/").validate()
            .retry { request, _, error in
                seen.withLock {
                    $0.append(
                        "\(request.response?.headers["Retry-After"] ?? "-") \(request.retryCount) "
                            + "\((error as? RequestError)?.statusCode ?? 0) \(request.error?.statusCode ?? 0)")
                }
                return request.retryCount < 2 ? .retry : .doNotRetry
            }
        _ = await request.serializingString().response
        #expect(seen.withLock { $0 } == ["7 0 503 503", "7 1 503 503", "7 2 503 503"])
    }

    @Test func `A serializer's failure repeats the whole attempt for all serializers`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", .text("{"), .text("7"))
        let retrier = Counting(.retry)
        let request = Session(interceptor: retrier, transport: transport).request("http://stub.test/")
        let text = request.serializingString()
        let number = request.serializingDecodable(Int.self)
        #expect(await number.response.value == 7)
        #expect(await text.response.value == "7")
        #expect(retrier.asked.count == 1)
        #expect(transport.requestCount == 2)
    }

    @Test func `Each failure of a serializer is passed to the retrier once`() async throws {
        let transport = StubTransport { _ in .text("{") }
        let retrier = Counting()
        let request = Session(interceptor: retrier, transport: transport).request("http://stub.test/")
        // The request does not finish before it has all serializers.
        request.suspend()
        let tasks = (request.serializingDecodable(Int.self), request.serializingString(), request.serializingJSON())
        request.resume()
        #expect(await tasks.0.response.error?.kind == .serialization(.decodingFailed))
        #expect(await tasks.1.response.value == "{")
        #expect(await tasks.2.response.error?.kind == .serialization(.jsonSerializationFailed))
        #expect(retrier.asked.count == 2)
    }

    @Test func `The session's clock measures delays`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", lost, lost, .text("x"))
        let slept = Locked<[Duration]>([])
        var configuration = Session.Configuration()
        configuration.sleep = { duration in slept.withLock { $0.append(duration) } }
        let session = Session(
            configuration: configuration,
            interceptor: Counting(.retryWithDelay(.seconds(3600)), .retryWithDelay(.seconds(7200))),
            transport: transport)
        #expect(try await session.request("http://stub.test/").serializingString().value == "x")
        #expect(slept.withLock { $0 } == [.seconds(3600), .seconds(7200)])
    }

    @Test func `A cancelled request is not retried, and no retrier is called`() async throws {
        let transport = StubTransport { _ in .never }
        let retrier = Counting(.retry)
        let request = Session(interceptor: retrier, transport: transport).request("http://stub.test/")
        let task = request.serializingString()
        _ = try await transport.request(1)
        request.cancel()
        #expect(await task.response.error?.kind == .cancelled)
        #expect(retrier.asked.isEmpty)
    }

    @Test func `The failure of an adapter is passed to the retriers`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let request = Session(transport: transport).request("http://stub.test/")
            .adapt { request, state in
                if state.retryCount == 0 { throw Reason() }
                return request
            }
            .retry { _, _, error in (error as? RequestError)?.kind == .adaptation ? .retry : .doNotRetry }
        #expect(try await request.serializingString().value == "x")
        #expect(transport.requestCount == 1)
    }

    @Test func `A body that is not replayable is not sent a second time`() async throws {
        let server = try await LocalServer { router in
            router.post("/", .status(503))
        }
        let pieces = AsyncStream<Data> { continuation in
            continuation.yield(Data("once".utf8))
            continuation.finish()
        }
        let request = Session().upload(pieces, to: server.url("/")).validate().retry { _, _, _ in .retry }
        let error = try #require(await request.serializingString().response.error)
        #expect(error.kind == .requestBody(.notReplayable))
        #expect((error.underlying as? RequestError)?.statusCode == 503)
        await server.stop()
    }

    @Test func `A stream is retried before its body, but not within its body`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/", .text("later", status: 503), .text("now"))
        let session = Session(transport: transport)
        let stream = session.streamRequest("http://stub.test/").validate().retry { _, _, _ in .retry }
        var body = Data()
        for try await piece in stream.streamTask().bytes { body.append(piece) }
        #expect(body == Data("now".utf8))
        #expect(stream.retryCount == 1)
    }

    @Test func `A stream whose body ends early is not retried`() async throws {
        let server = try await LocalServer { router in
            router.get("/", .script(.text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), .close))
        }
        let retrier = Counting(.retry, .retry)
        let stream = Session(interceptor: retrier).streamRequest(server.url("/"))
        var body = Data()
        let error = await #expect(throws: RequestError.self) {
            for try await piece in stream.streamTask().bytes { body.append(piece) }
        }
        #expect(error?.kind == .invalidResponse(.truncated))
        #expect(body == Data("half".utf8))
        #expect(retrier.asked.isEmpty)
        await server.stop()
    }

    @Test(arguments: [false, true])
    func `A download is retried, and continues at its end with automatic resumption`(isResuming: Bool) async throws {
        let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        let attempts = Locked(0)
        let server = try await LocalServer { router in
            router.get("/file") { request in
                let number = attempts.withLock { attempts in
                    attempts += 1
                    return attempts
                }
                switch (number, request.headers["Range"]) {
                case (1, _):
                    return .script(
                        .text("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 100000\r\n\r\n"),
                        .bytes(Data(body.prefix(60_000))), .close)
                // A refusal that the download does not treat as an interruption.
                case (2, _): return .status(503)
                case (_, let range?):
                    let start = Int(range.dropFirst("bytes=".count).dropLast()) ?? 0
                    return .data(
                        Data(body.dropFirst(start)), status: 206,
                        headers: ["ETag": "\"1\"", "Content-Range": "bytes \(start)-99999/100000"])
                case (_, nil): return .data(body)
                }
            }
        }
        let retrier = Counting(.retry, .retry)
        let destination = DownloadDestination.temporary(options: isResuming ? .automaticallyResume : [])
        let request = Session(interceptor: retrier).download(server.url("/file"), to: destination).validate()
        let file = try await request.serializingURL().value
        #expect(try Data(contentsOf: file) == body)
        #expect(retrier.asked.count == (isResuming ? 1 : 2))
        #expect(request.requests.last?.headers["Range"] == (isResuming ? "bytes=60000-" : nil))
        try FileManager.default.removeItem(at: file)
        await server.stop()
    }

    @Test func `A download whose serializer fails is repeated if a retrier decides to retry`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/n", .text("{"), .text("7"))
        let place = FileManager.default.temporaryDirectory.appending(path: "retried-\(RequestID.next().number).json")
        let request = Session(interceptor: Counting(.retry), transport: transport)
            .download("http://stub.test/n", to: .file(place))
        #expect(try await request.serializingDecodable(Int.self).value == 7)
        #expect(try Data(contentsOf: place) == Data("7".utf8))
        try FileManager.default.removeItem(at: place)
    }
}
