import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

@Suite(.timeLimit(.minutes(10))) struct ClosureEventMonitorTests {
    private let called = Locked<[String]>([])

    private func monitor() -> ClosureEventMonitor {
        let called = called
        let note: @Sendable (String) -> Void = { name in called.withLock { $0.append(name) } }
        let monitor = ClosureEventMonitor()
        monitor.requestDidCreateInitialRequest = { _, _ in note("initial") }
        monitor.requestDidFailToCreateRequestWithError = { _, _ in note("not initial") }
        monitor.requestDidAdaptInitialRequestToAdaptedRequest = { _, _, _ in note("adapted") }
        monitor.requestDidFailToAdaptRequestWithError = { _, _, _ in note("not adapted") }
        monitor.requestDidCreateRequest = { _, _ in note("created") }
        monitor.requestDidCreateTask = { _, _ in note("task") }
        monitor.requestDidReceiveResponse = { _, _ in note("head") }
        monitor.requestWillCacheResponse = { _, _ in note("caches") }
        monitor.requestWillBeRedirected = { _, _, _ in note("redirect") }
        monitor.requestDidGatherMetrics = { _, _ in note("metrics") }
        monitor.requestDidFailTaskEarlyWithError = { _, _, _ in note("early") }
        monitor.requestDidCompleteTaskWithError = { _, _, _ in note("complete") }
        monitor.requestWillRetry = { _, _, _ in note("again") }
        monitor.requestIsRetrying = { _ in note("retrying") }
        monitor.requestDidResume = { _ in note("resume") }
        monitor.requestDidSuspend = { _ in note("suspend") }
        monitor.requestDidCancel = { _ in note("cancel") }
        monitor.requestDidFinish = { _ in note("finish") }
        monitor.requestDidValidateRequestResponseDataWithResult = { _, _, _, _, _ in note("valid") }
        monitor.requestDidParseResponse = { _, _ in note("parsed") }
        monitor.requestDidCreateUploadable = { _, _ in note("body") }
        monitor.requestDidFailToCreateUploadableWithError = { _, _ in note("no body") }
        monitor.requestDidValidateRequestResponseWithResult = { _, _, _, _ in note("valid stream") }
        monitor.requestDidFinishDownloadingUsingTaskWithResult = { _, _, _ in note("file") }
        monitor.requestDidCreateDestinationURL = { _, _ in note("destination") }
        monitor.requestDidValidateRequestResponseFileURLWithResult = { _, _, _, _, _ in note("valid file") }
        monitor.requestDidParseDownloadResponse = { _, _ in note("parsed file") }
        return monitor
    }

    @Test func `Each closure is called for its event, also with several monitors`() async throws {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let monitor = CompositeEventMonitor(monitors: [monitor(), ClosureEventMonitor()])
        let sent = HTTPRequest(url: try "http://stub.test/".asURL())
        let (task, error) = (ExchangeRecord(request: sent), RequestError(.cancelled))
        let request = session.request("http://stub.test/")
        let answer = await request.serializingResponse(using: BodyAsItIs()).response
        let response = try #require(answer.response)
        let stream = session.streamRequest("http://stub.test/")
        let download = session.download("http://stub.test/")
        let file = URL(filePath: "/nowhere")
        await monitor.handle(.didCreateInitialRequest(sent), of: request)
        await monitor.handle(.didFailToCreateRequest(error), of: request)
        await monitor.handle(.didAdaptInitialRequest(sent, to: sent), of: request)
        await monitor.handle(.didFailToAdaptRequest(sent, error), of: request)
        await monitor.handle(.didCreateRequest(sent), of: request)
        await monitor.handle(.didCreateTask(task), of: request)
        await monitor.handle(.didReceiveResponse(response), of: request)
        await monitor.handle(.willCacheResponse(CachedResponse(response: response, data: Data())), of: request)
        await monitor.handle(.willBeRedirected(to: sent, for: response), of: request)
        await monitor.handle(.didGatherMetrics(TransferMetrics()), of: request)
        await monitor.handle(.didFailTask(task, error), of: request)
        await monitor.handle(.didCompleteTask(task, nil), of: request)
        await monitor.handle(.willRetry(error, after: nil), of: request)
        await monitor.handle(.isRetrying, of: request)
        await monitor.handle(.didResume, of: request)
        await monitor.handle(.didSuspend, of: request)
        await monitor.handle(.didCancel, of: request)
        await monitor.handle(.didFinish, of: request)
        await monitor.handle(
            .didValidateRequest(sent, response, data: nil, fileURL: nil, .success(())), of: request)
        await monitor.handle(.didParseResponse(answer), of: request)
        await monitor.handle(.didParseResponse(answer.map { _ in 1 }), of: request)
        await monitor.handle(.didCreateUploadable(.data(Data())), of: request)
        await monitor.handle(.didFailToCreateUploadable(error), of: request)
        await monitor.handle(
            .didValidateRequest(sent, response, data: nil, fileURL: nil, .success(())), of: stream)
        await monitor.handle(
            .didParseStream(DataStreamRequest.Stream(event: .stream(.success(1)), request: stream)), of: stream)
        await monitor.handle(.didFinishDownloading(task, .success(file)), of: download)
        await monitor.handle(.didCreateDestinationURL(file), of: download)
        await monitor.handle(
            .didValidateRequest(sent, response, data: nil, fileURL: nil, .success(())), of: download)
        let parsed = DownloadResponse<URL?, RequestError>(
            request: sent, response: response, fileURL: file, resumeData: nil, metrics: nil,
            serializationDuration: .zero, result: .success(file))
        await monitor.handle(.didParseResponse(parsed), of: download)
        await monitor.handle(.didParseResponse(parsed.map { _ in 1 }), of: download)
        #expect(
            called.withLock { $0 } == [
                "initial", "not initial", "adapted", "not adapted", "created", "task", "head", "caches", "redirect",
                "metrics",
                "early", "complete", "again", "retrying", "resume", "suspend", "cancel", "finish", "valid", "parsed",
                "body", "no body", "valid stream", "file", "destination", "valid file", "parsed file",
            ])
        await session.shutdown()
    }

    @Test func `A closure is called by its session`() async throws {
        let monitor = monitor()
        let session = Session(eventMonitors: [monitor], transport: StubTransport { _ in .text("x") })
        _ = await session.request("http://stub.test/").serializingResponse(using: BodyAsItIs()).response
        await session.shutdown()
        #expect(
            called.withLock { $0 } == [
                "resume", "initial", "created", "task", "head", "metrics", "complete", "parsed", "finish",
            ])
    }

    @Test func `A monitor of all values also receives raw bodies`() async throws {
        let log = EventLog()
        let session = Session(eventMonitors: [log], transport: StubTransport { _ in .text("x") })
        _ = await session.request("http://stub.test/").serializingResponse(using: BodyAsItIs()).response
        await session.shutdown()
        #expect(log.lines.suffix(2) == ["Optional<Data>", "finish"])
    }
}

private struct BodyAsItIs: SynchronousResponseSerializer {
    func serialize(_ input: SerializerInput) -> Data? { input.data }
}
