import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

@testable import BluebonnetCompatibility

/// The methods of Alamofire's monitors that `URLSession` calls there: they are also called here.
@Suite(.timeLimit(.minutes(10))) struct MonitorMethodsTests {
    private final class Monitor: EventMonitor {
        let queue = DispatchQueue(label: "monitor")
        let log = CallLog<String>()

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { log.note("invalid") }
        func urlSession(_ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge) {
            let space = challenge.protectionSpace
            let status = (challenge.failureResponse as? HTTPURLResponse)?.statusCode ?? 0
            log.note("\(space.authenticationMethod) \(space.realm ?? "") \(space.host) \(status)")
        }
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
            totalBytesExpectedToSend: Int64
        ) { log.note("sent \(bytesSent) \(totalBytesSent) \(totalBytesExpectedToSend)") }
        func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask) { log.note("needs stream") }
        func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) { log.note("stream") }
        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse) {
            log.note("head")
        }
        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            log.note("data \(String(decoding: data, as: UTF8.self))")
        }
        func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
            let data = (request as? DataRequest)?.data.map { " " + String(decoding: $0, as: UTF8.self) } ?? ""
            let cause = error.map { $0.isExplicitlyCancelledError ? " explicitlyCancelled" : " failed" } ?? ""
            log.note("complete" + data + cause)
        }
        func request(
            _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
            withResult result: Request.ValidationResult
        ) {
            let error = if case .failure(let error) = result { error as? AFError } else { nil as AFError? }
            log.note("valid \(error?.responseCode ?? 0)")
        }
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest
        ) { log.note("redirect") }
        func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) { log.note("no request") }
        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
        ) { log.note("caches \(String(decoding: proposedResponse.data, as: UTF8.self))") }
        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
            expectedTotalBytes: Int64
        ) { log.note("resumes \(fileOffset) \(expectedTotalBytes)") }
        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
            totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
        ) { log.note("wrote \(bytesWritten) \(totalBytesWritten) \(totalBytesExpectedToWrite)") }
        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) { log.note("file \(location.isFileURL)") }
        func request(_ request: Request, didCreateTask task: URLSessionTask) {
            log.note(task is URLSessionDownloadTask ? "download" : "task")
        }
    }

    /// Runs requests with a monitor that works when all of them have ended, and returns its calls.
    private func calls(
        configuration: Session.Configuration = .default, _ run: (Session) async throws -> Void
    ) async throws -> [String] {
        let monitor = Monitor()
        let session = Session(configuration: configuration, eventMonitors: [monitor])
        monitor.queue.suspend()
        defer { monitor.queue.resume() }
        try await run(session)
        monitor.queue.resume()
        await session.base.shutdown()
        monitor.queue.suspend()
        return monitor.log.entries
    }

    @Test func `a monitor receives the body of a response without validators`() async throws {
        let server = try await LocalServer { $0.get("/", .text("all")) }
        let calls = try await calls { _ = await $0.request(server.url("/")).serializingData().response }
        #expect(calls == ["task", "head", "data all", "complete all"])
        await server.stop()
    }

    @Test func `a monitor receives the progress of an upload and its stream before the response`() async throws {
        let server = try await LocalServer { $0.post("/", .text("")) }
        let calls = try await calls {
            _ = await $0.upload(Data("abc".utf8), to: server.url("/")).serializingData().response
            _ = await $0.upload(InputStream(data: Data("defg".utf8)), to: server.url("/")).serializingData().response
        }
        #expect(
            calls == [
                "task", "sent 3 3 3", "head", "complete", "task", "needs stream", "stream", "sent 4 4 -1", "head",
                "complete",
            ])
        await server.stop()
    }

    @Test func `the completion of a task follows the validation, and has its error`() async throws {
        let server = try await LocalServer { $0.get("/", .text("no", status: 404)) }
        let calls = try await calls { _ = await $0.request(server.url("/")).validate().serializingData().response }
        #expect(calls == ["task", "head", "data no", "valid 404", "complete no failed"])
        await server.stop()
    }

    @Test func `a redirected upload has one completion, and no progress for the request without a body`() async throws {
        let server = try await LocalServer { router in
            router.post("/old", .redirect(to: "/new"))
            router.get("/new", .text("new"))
        }
        let calls = try await calls {
            let body = InputStream(data: Data("abc".utf8))
            _ = await $0.upload(body, to: server.url("/old")).serializingData().response
        }
        #expect(
            calls == [
                "task", "needs stream", "stream", "sent 3 3 -1", "redirect", "head", "data new", "complete new",
            ])
        await server.stop()
    }

    @Test func `a request that is cancelled before it is sent has no failure of its creation`() async throws {
        let calls = try await calls { _ = await $0.request("http://127.0.0.1:1/").cancel().serializingData().response }
        #expect(!calls.contains("no request"))
    }

    @Test func `a monitor receives progress while the body is sent`() async throws {
        let server = try await LocalServer { router in
            router.streaming("/", method: .post) { _, body in
                _ = try await body.read()
                try await Task.sleep(for: .seconds(30))
                return .text("")
            }
        }
        let monitor = Monitor()
        let session = Session(eventMonitors: [monitor])
        // The server reads one piece, and then waits.
        let request = session.upload(Data(count: 64 << 20), to: server.url("/")).response { _ in }
        #expect(await monitor.log.wait(for: 2)[1].hasPrefix("sent"))
        request.cancel()
        await session.base.shutdown()
        await server.stop()
    }

    @Test func `a monitor receives the pieces of a download, and the position where it resumes`() async throws {
        let body = Data("0123456789".utf8)
        let server = try await LocalServer { router in
            router.get("/") { request in
                guard request.headers["Range"] == "bytes=4-" else {
                    let head = "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nAccept-Ranges: bytes\r\nContent-Length: 10\r\n\r\n"
                    return .script(.text(head + "0123"), .pause(.seconds(30)))
                }
                return LocalServer.Response(
                    status: 206, headers: ["ETag": "\"one\"", "Content-Range": "bytes 4-9/10"],
                    body: body.dropFirst(4))
            }
            router.get("/all", .data(body))
        }
        let calls = try await calls { session in
            _ = await session.download(server.url("/all")).serializingData().response
            let request = session.download(server.url("/")).response { _ in }
            while request.downloadProgress.completedUnitCount < 4 { try await Task.sleep(for: .milliseconds(5)) }
            let data = await withCheckedContinuation { continuation in
                request.cancel { continuation.resume(returning: $0) }
            }
            _ = await session.download(resumingWith: try #require(data)).serializingData().response
        }
        #expect(
            calls == [
                "download", "wrote 10 10 10", "file true", "complete", "download", "wrote 4 4 10",
                "complete explicitlyCancelled", "download", "resumes 4 10", "wrote 6 10 10", "file true", "complete",
            ])
        await server.stop()
    }

    @Test func `a monitor receives challenges, with and without a credential`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { request in
                guard request.headers["Authorization"] == nil else { return .text("in") }
                return LocalServer.Response(status: 401, headers: ["WWW-Authenticate": "Basic realm=\"here\""])
            }
        }
        let calls = try await calls { session in
            _ = await session.request(server.url("/")).serializingData().response
            _ = await session.request(server.url("/")).authenticate(username: "a", password: "b").serializingData()
                .response
        }
        let challenge = "\(NSURLAuthenticationMethodHTTPBasic) here 127.0.0.1"
        #expect(
            calls == [
                "task", "head", challenge + " 401", "complete", "task", "head", challenge + " 0", "data in",
                "complete in",
            ])
        await server.stop()
    }

    @Test func `a monitor receives responses that can be stored`() async throws {
        let server = try await LocalServer { router in
            router.get("/kept", .text("kept", headers: ["Cache-Control": "max-age=60"]))
            router.get("/passed", .text("passed", headers: ["Cache-Control": "no-store"]))
        }
        var configuration = Session.Configuration.default
        configuration.cache = ResponseCache(memoryCapacity: 1 << 20)
        let calls = try await calls(configuration: configuration) { session in
            for path in ["/kept", "/passed"] {
                _ = await session.request(server.url(path)).serializingData().response
            }
        }
        #expect(calls.filter { $0.hasPrefix("caches") } == ["caches kept"])
        await server.stop()
    }

    @Test func `a monitor receives the end of a session after all earlier events`() async throws {
        let server = try await LocalServer { $0.get("/", .text("x")) }
        let monitor = Monitor()
        do {
            let session = Session(eventMonitors: [monitor])
            monitor.queue.suspend()
            _ = await session.request(server.url("/")).serializingData().response
        }
        monitor.queue.resume()
        #expect(await monitor.log.wait(for: 5) == ["task", "head", "data x", "complete x", "invalid"])
        await server.stop()
    }

    @Test func `a monitor that is added during an attempt receives its completion`() async throws {
        let (response, send) = AsyncStream<Void>.makeStream()
        let server = try await LocalServer { router in
            router.get("/") { _ in
                for await _ in response { break }
                return .text("late")
            }
        }
        let monitor = Monitor()
        let session = Session(eventMonitors: [ClosureEventMonitor(queue: monitor.queue)])
        let request = session.request(server.url("/")).response { _ in }
        _ = try await server.nextRequest()
        request.eventMonitor(monitor)
        send.yield()
        await session.base.shutdown()
        _ = await monitor.log.wait(for: 2)
        #expect(monitor.log.entries.last == "complete late")
        await server.stop()
    }

    @Test func `a suspension does not separate a completion from its validation`() throws {
        let monitor = Monitor()
        let bridge = MonitorBridge(monitor: monitor)
        let session = Bluebonnet.Session(startRequestsImmediately: false, transport: StubTransport { _ in .text("x") })
        let base = session.request("http://stub.test/")
        let sent = try HTTPRequest(url: "http://stub.test/")
        let response = HTTPResponse(url: sent.url, statusCode: 404)
        let record = ExchangeRecord(request: sent, response: response)
        let refusal = RequestError(.validation(.unacceptableStatusCode(404)))
        let events: [RequestEvent] = [
            .didCreateTask(record), .didCompleteTask(record, nil), .didSuspend, .didResume,
            .didValidateRequest(sent, response, data: nil, fileURL: nil, .failure(refusal)), .didFinish,
        ]
        for event in events { bridge.handle(event, of: base) }
        #expect(monitor.log.entries.last == "complete failed")
        #expect(monitor.log.entries.count { $0.hasPrefix("complete") } == 1)
    }

    @Test func `a range of the user is written from its beginning`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { _ in
                LocalServer.Response(
                    status: 206, headers: ["Content-Range": "bytes 4-9/10"], body: Data("456789".utf8))
            }
        }
        let calls = try await calls { session in
            _ = await session.download(server.url("/"), headers: ["Range": "bytes=4-9"]).serializingData().response
        }
        #expect(calls == ["download", "wrote 6 6 6", "file true", "complete"])
        await server.stop()
    }
}
