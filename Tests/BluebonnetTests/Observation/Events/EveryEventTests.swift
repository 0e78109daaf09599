import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Each event calls the method that there is for it, with all that belongs to it.
@Suite(.timeLimit(.minutes(10))) struct EveryEventTests {
    private let witness = Witness()

    private struct Row: Sendable {
        let event: RequestEvent
        let request: any Request
        let call: String
    }

    /// Each event, of a request of the kind that it belongs to, and the call that it becomes.
    private func rows() throws -> [Row] {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let data = session.request("http://stub.test/")
        let stream = session.streamRequest("http://stub.test/")
        let download = session.download("http://stub.test/")
        func sent(_ name: String) throws -> HTTPRequest { HTTPRequest(url: try "http://stub.test/\(name)".asURL()) }
        let task = ExchangeRecord(id: 7, request: try sent("task"))
        let response = HTTPResponse(url: try "http://stub.test/".asURL(), statusCode: 299, headers: [:])
        let file = URL(filePath: "/nowhere")
        var metrics = TransferMetrics()
        metrics.bytesSent = 12
        let (lost, slow) = (RequestError(.connection(.lost)), RequestError(.timedOut(.idle)))
        let answer = DataResponse<String, RequestError>(
            request: nil, response: nil, data: nil, metrics: nil, serializationDuration: .zero,
            result: .success("value"))
        let saved = DownloadResponse<String, RequestError>(
            request: nil, response: nil, fileURL: nil, resumeData: nil, metrics: nil, serializationDuration: .zero,
            result: .success("value"))
        typealias Element = DataStreamRequest.Stream<Int, RequestError>
        return try [
            Row(event: .didCreateInitialRequest(sent("a")), request: data, call: "initial /a"),
            Row(event: .didFailToCreateRequest(lost), request: data, call: "no initial the connection was lost"),
            Row(event: .didAdaptInitialRequest(sent("a"), to: sent("b")), request: data, call: "adapted /a /b"),
            Row(
                event: .didFailToAdaptRequest(sent("a"), slow), request: data,
                call: "not adapted /a nothing was sent or received for too long"),
            Row(event: .didCreateUploadable(.data(Data("ab".utf8))), request: data, call: "body 2"),
            Row(event: .didCreateRequest(sent("c")), request: data, call: "created /c"),
            Row(event: .didCreateTask(task), request: data, call: "task 7"),
            Row(event: .didReceiveResponse(response), request: data, call: "head 299"),
            Row(
                event: .willCacheResponse(CachedResponse(response: response, data: Data("ab".utf8))), request: data,
                call: "caches 299 2"),
            Row(event: .willBeRedirected(to: sent("d"), for: response), request: data, call: "redirected /d 299"),
            Row(event: .didGatherMetrics(metrics), request: data, call: "metrics 12"),
            Row(event: .didFailTask(task, lost), request: data, call: "early 7 the connection was lost"),
            Row(event: .didFailToCreateUploadable(lost), request: data, call: "no body the connection was lost"),
            Row(
                event: .didCompleteTask(task, slow), request: data,
                call: "complete 7 nothing was sent or received for too long"),
            Row(event: .didCompleteTask(task, nil), request: stream, call: "complete 7 nil"),
            Row(
                event: .didValidateRequest(sent("e"), response, data: Data("abc".utf8), fileURL: nil, .success(())),
                request: data, call: "valid data /e 299 3 true"),
            Row(
                event: .didValidateRequest(sent("f"), response, data: nil, fileURL: nil, .failure(lost)),
                request: stream, call: "valid stream /f 299 false"),
            Row(
                event: .didValidateRequest(sent("g"), response, data: nil, fileURL: file, .success(())),
                request: download, call: "valid download /g 299 /nowhere true"),
            Row(
                event: .willRetry(lost, after: .seconds(3)), request: data,
                call: "again the connection was lost 3.0 seconds"),
            Row(event: .isRetrying, request: data, call: "retrying"),
            Row(event: .didResume, request: data, call: "resume"),
            Row(event: .didSuspend, request: data, call: "suspend"),
            Row(event: .didCancel, request: data, call: "cancel"),
            Row(event: .didParseResponse(answer), request: data, call: "parsed String value"),
            Row(
                event: .didParseResponse(answer.tryMap { _ -> Int in throw lost }.mapError { _ in lost }),
                request: data, call: "parsed Int the connection was lost"),
            Row(event: .didParseResponse(answer.map { Data($0.utf8) as Data? }), request: data, call: "parsed body 5"),
            Row(event: .didParseResponse(saved), request: download, call: "parsed download String value"),
            Row(
                event: .didParseResponse(saved.map { _ in file as URL? }), request: download,
                call: "parsed file /nowhere"),
            Row(event: .didFinish, request: data, call: "finish"),
            Row(
                event: .didParseStream(Element(event: .stream(.success(4)), request: stream)), request: stream,
                call: "element Int 4"),
            Row(
                event: .didParseStream(Element(event: .stream(.failure(lost)), request: stream)), request: stream,
                call: "element Int the connection was lost"),
            Row(event: .didCreateDestinationURL(file), request: download, call: "destination /nowhere"),
            Row(event: .didFinishDownloading(task, .success(file)), request: download, call: "file 7 /nowhere"),
        ]
    }

    @Test func `Each event calls its method with its values`() async throws {
        for row in try rows() {
            await witness.handle(row.event, of: row.request)
            #expect(witness.taken() == ["\(row.call) of \(row.request.id)"])
        }
    }

    @Test func `Each event calls its method if the monitor's type is erased`() async throws {
        let (monitor, handler): (any EventMonitor, any RequestEventHandler) = (witness, witness)
        for row in try rows() {
            await monitor.handle(row.event, of: row.request)
            await handler.handle(row.event, of: row.request)
            await CompositeEventMonitor(monitors: [witness]).handle(row.event, of: row.request)
            #expect(witness.taken() == Array(repeating: "\(row.call) of \(row.request.id)", count: 3))
        }
    }

    @Test func `There is an event for each method`() async throws {
        for row in try rows() { await witness.handle(row.event, of: row.request) }
        #expect(witness.methods == Witness.methods)
    }

    @Test func `The records of a monitor do not contain the bodies of responses`() async throws {
        let bodies = Locked<[Data]>([])
        let monitor = ClosureEventMonitor()
        monitor.requestDidCompleteTaskWithError = { _, record, _ in bodies.withLock { $0.append(record.body) } }
        let session = Session(eventMonitors: [monitor], transport: StubTransport { _ in .text("body") })
        _ = try await session.request("http://stub.test/").serializingData().value
        await session.shutdown()
        #expect(bodies.withLock { $0 } == [Data()])
    }

    @Test func `A monitor without methods ignores all events`() async throws {
        struct Nobody: EventMonitor {}
        for row in try rows() { await Nobody().handle(row.event, of: row.request) }
    }

    @Test func `Raw bodies and files call the generic methods if there are no specific methods`()
        async throws
    {
        let logger = Logger()
        for row in try rows() { await logger.handle(row.event, of: row.request) }
        #expect(logger.lines == ["Resuming", "String", "Int", "Optional<Data>"])
    }

    @Test func `Events of one kind of request do not call the methods of another kind`() async throws {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let stream = session.streamRequest("http://stub.test/")
        for row in try rows()
        where row.call.hasPrefix("parsed") || row.call.contains("body") || row.call.hasPrefix("file") {
            await witness.handle(row.event, of: stream)
        }
        #expect(witness.taken().isEmpty)
    }

    @Test func `Requests of all kinds call each method`() async throws {
        let transport = StubTransport()
        transport.stub(nil, "/ok", .text("one\ntwo"))
        transport.stub(nil, "/busy", .status(503), .text("x"))
        transport.stub(nil, "/moved", .response(status: 302, headers: ["Location": "/ok"]))
        transport.stub(nil, "/untrusted", .failure(RequestError(.trust(.notEvaluated))))
        transport.stub(nil, "/unreadable", .failure(RequestError(.requestBody(.notReplayable))))
        transport.stub(nil, "/kept", .text("x", headers: ["Cache-Control": "max-age=60"]))
        var configuration = Session.Configuration.default
        configuration.cache = ResponseCache(memoryCapacity: 1 << 16)
        let session = Session(configuration: configuration, eventMonitors: [witness], transport: transport)
        let url = "http://stub.test/"

        let again = Interceptor(
            adapters: [Adapter { request, _ in request }], retriers: [Retrier { _, _, _ in .retry }])
        let retried = session.request(url + "busy", interceptor: again).validate()
        _ = try await retried.serializingString().value
        _ = await session.request("no URL").serializingData().response
        let failing = Interceptor(adapters: [Adapter { _, _ in throw CancellationError() }])
        _ = await session.request(url + "ok", interceptor: failing).serializingData().response
        _ = try await session.request(url + "moved").serializingResponse(using: AsItIs { $0.data }).value
        _ = await session.request(url + "kept").serializingData().response
        _ = await session.request(url + "untrusted").serializingData().response
        _ = await session.upload(Data("ab".utf8), to: url + "unreadable").serializingData().response
        for try await _ in session.streamRequest(url + "ok").validate().streamTask().lines {}
        let download = session.download(url + "ok").validate()
        download.suspend()
        let (saved, file) = (download.serializingData(), download.serializingResponse(using: AsItIs { $0.fileURL }))
        download.resume()
        _ = try await saved.value
        if let file = try await file.value { try FileManager.default.removeItem(at: file) }
        let cancelled = session.request(url + "ok").cancel()
        _ = await cancelled.serializingData().response
        await session.shutdown()
        #expect(witness.methods == Witness.methods)
    }
}

/// Returns a part of the serializer's input unchanged.
private struct AsItIs<Value: Sendable>: SynchronousResponseSerializer {
    let value: @Sendable (SerializerInput) -> Value?

    func serialize(_ input: SerializerInput) -> Value? { value(input) }
}

/// A monitor of two events, as one writes it for a log.
private final class Logger: EventMonitor {
    private let log = Locked<[String]>([])

    var lines: [String] { log.withLock { $0 } }

    func requestDidResume(_ request: any Request) { log.withLock { $0.append("Resuming") } }

    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>)
    {
        log.withLock { $0.append("\(Value.self)") }
    }
}

/// A monitor that writes each method that there is, and notes each call.
private final class Witness: EventMonitor {
    private let calls = Locked<(texts: [String], methods: Set<String>)>(([], []))

    /// The names of all of them.
    static let methods: Set<String> = [
        "didCreateInitialRequest", "didFailToCreateRequestWithError", "didAdaptInitialRequest", "didFailToAdaptRequest",
        "didCreateRequest", "didCreateTask", "didReceiveResponse", "willCacheResponse",
        "willBeRedirectedTo", "didGatherMetrics",
        "didFailTask", "didCompleteTask", "willRetryDueTo", "requestIsRetrying", "requestDidResume",
        "requestDidSuspend", "requestDidCancel", "requestDidFinish", "didValidateRequest data",
        "didParseResponse Data?", "didParseResponse Value", "didCreateUploadable", "didFailToCreateUploadableWithError",
        "didValidateRequest", "didParseStream", "didFinishDownloadingUsing", "didCreateDestinationURL",
        "didValidateRequest fileURL", "didParseResponse URL?", "didParseResponse Value of a download",
    ]

    /// The names of the called methods.
    var methods: Set<String> { calls.withLock { $0.methods } }

    /// The names since the previous call.
    func taken() -> [String] { calls.withLock { exchange(&$0.texts, with: []) } }

    private func note(_ method: String, _ request: any Request, _ text: String) {
        calls.withLock {
            $0.methods.insert(method)
            $0.texts.append("\(text) of \(request.id)")
        }
    }

    private func text<Value>(_ result: Result<Value, RequestError>) -> String {
        switch result {
        case .success(let value): "\(value)"
        case .failure(let error): "\(error.kind)"
        }
    }

    // MARK: All requests

    func request(_ request: any Request, didCreateInitialRequest initialRequest: HTTPRequest) {
        note("didCreateInitialRequest", request, "initial \(initialRequest.url.path)")
    }

    func request(_ request: any Request, didFailToCreateRequestWithError error: RequestError) {
        note("didFailToCreateRequestWithError", request, "no initial \(error.kind)")
    }

    func request(
        _ request: any Request, didAdaptInitialRequest initialRequest: HTTPRequest, to adaptedRequest: HTTPRequest
    ) async {
        await Task.yield()
        note("didAdaptInitialRequest", request, "adapted \(initialRequest.url.path) \(adaptedRequest.url.path)")
    }

    func request(
        _ request: any Request, didFailToAdaptRequest initialRequest: HTTPRequest, withError error: RequestError
    ) { note("didFailToAdaptRequest", request, "not adapted \(initialRequest.url.path) \(error.kind)") }

    func request(_ request: any Request, didCreateRequest createdRequest: HTTPRequest) {
        note("didCreateRequest", request, "created \(createdRequest.url.path)")
    }

    func request(_ request: any Request, didCreateTask task: ExchangeRecord) {
        note("didCreateTask", request, "task \(task.id)")
    }

    func request(_ request: any Request, didReceiveResponse response: HTTPResponse) {
        note("didReceiveResponse", request, "head \(response.statusCode)")
    }
    func request(_ request: any Request, willCacheResponse response: CachedResponse) {
        note("willCacheResponse", request, "caches \(response.response.statusCode) \(response.data.count)")
    }

    func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) { note("willBeRedirectedTo", request, "redirected \(newRequest.url.path) \(response.statusCode)") }

    func request(_ request: any Request, didGatherMetrics metrics: TransferMetrics) {
        note("didGatherMetrics", request, "metrics \(metrics.bytesSent)")
    }

    func request(_ request: any Request, didFailTask task: ExchangeRecord, earlyWithError error: RequestError) {
        note("didFailTask", request, "early \(task.id) \(error.kind)")
    }

    func request(_ request: any Request, didCompleteTask task: ExchangeRecord, with error: RequestError?) {
        note("didCompleteTask", request, "complete \(task.id) " + (error.map { "\($0.kind)" } ?? "nil"))
    }

    func request(_ request: any Request, willRetryDueTo error: RequestError, after delay: Duration?) {
        note("willRetryDueTo", request, "again \(error.kind) " + (delay.map { "\($0)" } ?? "nil"))
    }

    func requestIsRetrying(_ request: any Request) { note("requestIsRetrying", request, "retrying") }

    func requestDidResume(_ request: any Request) { note("requestDidResume", request, "resume") }

    func requestDidSuspend(_ request: any Request) { note("requestDidSuspend", request, "suspend") }

    func requestDidCancel(_ request: any Request) { note("requestDidCancel", request, "cancel") }

    func requestDidFinish(_ request: any Request) async { note("requestDidFinish", request, "finish") }

    // MARK: Kinds of request

    func request(
        _ request: DataRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse, data: Data?,
        withResult result: ValidationResult
    ) {
        let (path, isValid) = (validatedRequest?.url.path ?? "", (try? result.get()) != nil)
        note(
            "didValidateRequest data", request,
            "valid data \(path) \(response.statusCode) \(data?.count ?? 0) \(isValid)")
    }

    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, RequestError>) {
        note("didParseResponse Data?", request, "parsed body \(response.value??.count ?? -1)")
    }

    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>)
    {
        note("didParseResponse Value", request, "parsed \(Value.self) \(text(response.result))")
    }

    func request(_ request: UploadRequest, didCreateUploadable uploadable: RequestBody) {
        note("didCreateUploadable", request, "body \(uploadable.data?.count ?? -1)")
    }

    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: RequestError) {
        note("didFailToCreateUploadableWithError", request, "no body \(error.kind)")
    }

    func request(
        _ request: DataStreamRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        withResult result: ValidationResult
    ) {
        let (path, isValid) = (validatedRequest?.url.path ?? "", (try? result.get()) != nil)
        note("didValidateRequest", request, "valid stream \(path) \(response.statusCode) \(isValid)")
    }

    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, RequestError>) {
        note("didParseStream", request, "element \(Value.self) \(text(result))")
    }

    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: ExchangeRecord,
        with result: Result<URL, RequestError>
    ) { note("didFinishDownloadingUsing", request, "file \(task.id) \((try? result.get().path) ?? "")") }

    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        note("didCreateDestinationURL", request, "destination \(url.path)")
    }

    func request(
        _ request: DownloadRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        fileURL: URL?, withResult result: ValidationResult
    ) {
        let (path, isValid) = (validatedRequest?.url.path ?? "", (try? result.get()) != nil)
        note(
            "didValidateRequest fileURL", request,
            "valid download \(path) \(response.statusCode) \(fileURL?.path ?? "") \(isValid)")
    }

    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, RequestError>) {
        note("didParseResponse URL?", request, "parsed file \(response.value??.path ?? "")")
    }

    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, RequestError>
    ) {
        note("didParseResponse Value of a download", request, "parsed download \(Value.self) \(text(response.result))")
    }
}
