import Bluebonnet
import FoundationEssentials

/// Records each event in a word or two, for each request.
final class EventLog: EventMonitor {
    struct Entry: Sendable {
        let request: RequestID
        let text: String
    }

    let executor: (any TaskExecutor)?
    private let entries = Locked<[Entry]>([])
    private let continuation: AsyncStream<Entry>.Continuation
    /// The recorded entries, unchanged.
    let stream: AsyncStream<Entry>

    init(executor: (any TaskExecutor)? = nil) {
        self.executor = executor
        (stream, continuation) = AsyncStream.makeStream(of: Entry.self)
    }

    var all: [Entry] { entries.withLock { $0 } }

    /// The recorded events without the elements of streams, which depend on the pace of the reader.
    var lines: [String] { all.map(\.text).filter { !$0.hasPrefix("element") } }

    /// Waits until so many requests have ended.
    func finished(_ count: Int) async {
        var left = count
        for await entry in stream where entry.text == "finish" {
            left -= 1
            if left == 0 { return }
        }
    }

    private func note(_ request: any Request, _ text: String) {
        let entry = Entry(request: request.id, text: text)
        entries.withLock { $0.append(entry) }
        continuation.yield(entry)
    }

    // MARK: All requests

    func request(_ request: any Request, didCreateInitialRequest initialRequest: HTTPRequest) {
        note(request, "initial")
    }

    func request(_ request: any Request, didFailToCreateRequestWithError error: RequestError) {
        note(request, "initial: \(word(for: error))")
    }

    func request(
        _ request: any Request, didAdaptInitialRequest initialRequest: HTTPRequest, to adaptedRequest: HTTPRequest
    ) {
        note(request, "adapted")
    }

    func request(
        _ request: any Request, didFailToAdaptRequest initialRequest: HTTPRequest, withError error: RequestError
    ) {
        note(request, "adapted: \(word(for: error))")
    }

    func request(_ request: any Request, didCreateRequest createdRequest: HTTPRequest) { note(request, "created") }

    func request(_ request: any Request, didCreateTask task: ExchangeRecord) {
        note(request, "task \(task.id) of attempt \(task.attempt)")
    }

    func request(_ request: any Request, didReceiveResponse response: HTTPResponse) {
        note(request, "head \(response.statusCode)")
    }

    func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) {
        note(request, "redirected to \(newRequest.url.path) by \(response.statusCode)")
    }

    func request(_ request: any Request, didGatherMetrics metrics: TransferMetrics) { note(request, "metrics") }

    func request(_ request: any Request, didFailTask task: ExchangeRecord, earlyWithError error: RequestError) {
        note(request, "early \(task.id): \(word(for: error))")
    }

    func request(_ request: any Request, didCompleteTask task: ExchangeRecord, with error: RequestError?) {
        note(request, "complete \(task.id)" + (error.map { ": \(word(for: $0))" } ?? ""))
    }

    func request(_ request: any Request, willRetryDueTo error: RequestError, after delay: Duration?) {
        note(request, "again\(delay.map { " after \($0)" } ?? ""): \(word(for: error))")
    }

    func requestIsRetrying(_ request: any Request) { note(request, "retrying") }

    func requestDidResume(_ request: any Request) { note(request, "resume") }

    func requestDidSuspend(_ request: any Request) { note(request, "suspend") }

    func requestDidCancel(_ request: any Request) { note(request, "cancel") }

    func requestDidFinish(_ request: any Request) { note(request, "finish") }

    // MARK: Kinds of request

    func request(
        _ request: DataRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse, data: Data?,
        withResult result: ValidationResult
    ) { note(request, "valid" + word(for: result)) }

    func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>
    ) { note(request, "\(Value.self)" + word(for: response.result)) }

    func request(_ request: UploadRequest, didCreateUploadable uploadable: RequestBody) { note(request, "body") }

    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: RequestError) {
        note(request, "body: \(word(for: error))")
    }

    func request(
        _ request: DataStreamRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        withResult result: ValidationResult
    ) { note(request, "valid" + word(for: result)) }

    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, RequestError>) {
        note(request, "element \((try? result.get()).map { "\($0)" } ?? "none")")
    }

    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: ExchangeRecord,
        with result: Result<URL, RequestError>
    ) { note(request, "file of \(task.id)" + word(for: result)) }

    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) { note(request, "destination") }

    func request(
        _ request: DownloadRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        fileURL: URL?, withResult result: ValidationResult
    ) { note(request, (fileURL == nil ? "valid" : "valid file") + word(for: result)) }

    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, RequestError>
    ) { note(request, "\(Value.self)" + word(for: response.result)) }

    // MARK: Words

    private func word<Success, Failure>(for result: Result<Success, Failure>) -> String {
        guard case .failure(let error) = result else { return "" }
        return ": " + ((error as? RequestError).map { word(for: $0) } ?? "\(error)")
    }

    private func word(for error: RequestError) -> String {
        switch error.kind {
        case .cancelled: "cancelled"
        case .sessionShutDown: "shut down"
        case .invalidURL: "no URL"
        case .invalidRequest: "invalid"
        case .adaptation: "adapter"
        case .validation: "status"
        case .serialization: "serializer"
        case .requestBody: "unreadable"
        case .timedOut: "timeout"
        case .trust: "trust"
        case .connection: "connection"
        case .download: "download"
        default: "\(error.kind)"
        }
    }
}
