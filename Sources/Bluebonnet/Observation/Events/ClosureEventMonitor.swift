public import FoundationEssentials

/// Calls a closure for each event that there is one for.
///
/// Set the closures, which are those of ``Closures``, before requests are made; each is used from when it was set. No
/// closure receives the events with a value of generic type: write an ``EventMonitor`` for those.
///
/// ```swift
/// let monitor = ClosureEventMonitor()
/// monitor.requestDidFinish = { request in print("\(request): done") }
/// let session = Session(eventMonitors: [monitor])
/// ```
@dynamicMemberLookup
public final class ClosureEventMonitor: RequestEventHandler {
    /// Where the closures are called; `nil` for the global pool.
    public let executor: (any TaskExecutor)?

    private let closures = Locked(Closures())

    /// Creates a monitor without closures.
    ///
    /// - Parameter executor: Where the closures are called; the global pool by default.
    public init(executor: (any TaskExecutor)? = nil) {
        self.executor = executor
    }

    /// One of the closures, as a property of the monitor.
    ///
    /// - Parameter closure: Which one.
    public subscript<Closure: Sendable>(
        dynamicMember closure: any WritableKeyPath<Closures, Closure> & Sendable
    ) -> Closure {
        get { closures.withLock { $0[keyPath: closure] } }
        // What is replaced may call anything when it goes, so not while the lock is held.
        set { _ = closures.withLock { exchange(&$0[keyPath: closure], with: newValue) } }
    }

    /// Calls the closure that there is for the event.
    public func handle(_ event: RequestEvent, of request: any Request) async {
        let call = closures.withLock { $0 }
        switch event {
        case .didCreateInitialRequest(let initial): await call.requestDidCreateInitialRequest?(request, initial)
        case .didFailToCreateRequest(let error): await call.requestDidFailToCreateRequestWithError?(request, error)
        case .didAdaptInitialRequest(let initial, let adapted):
            await call.requestDidAdaptInitialRequestToAdaptedRequest?(request, initial, adapted)
        case .didFailToAdaptRequest(let initial, let error):
            await call.requestDidFailToAdaptRequestWithError?(request, initial, error)
        case .didCreateUploadable(let body):
            if let request = request as? UploadRequest { await call.requestDidCreateUploadable?(request, body) }
        case .didCreateRequest(let created): await call.requestDidCreateRequest?(request, created)
        case .didCreateTask(let task): await call.requestDidCreateTask?(request, task)
        case .didReceiveResponse(let response): await call.requestDidReceiveResponse?(request, response)
        case .willBeRedirected(let next, let response): await call.requestWillBeRedirected?(request, next, response)
        case .didGatherMetrics(let metrics): await call.requestDidGatherMetrics?(request, metrics)
        case .didFailTask(let task, let error): await call.requestDidFailTaskEarlyWithError?(request, task, error)
        case .didFailToCreateUploadable(let error):
            guard let request = request as? UploadRequest else { return }
            await call.requestDidFailToCreateUploadableWithError?(request, error)
        case .didCompleteTask(let task, let error): await call.requestDidCompleteTaskWithError?(request, task, error)
        case .didValidateRequest(let sent, let response, let data, let fileURL, let result):
            switch request {
            case let request as DataRequest:
                await call.requestDidValidateRequestResponseDataWithResult?(request, sent, response, data, result)
            case let request as DataStreamRequest:
                await call.requestDidValidateRequestResponseWithResult?(request, sent, response, result)
            case let request as DownloadRequest:
                await call.requestDidValidateRequestResponseFileURLWithResult?(
                    request, sent, response, fileURL, result)
            default: break
            }
        case .willRetry(let error, let delay): await call.requestWillRetry?(request, error, delay)
        case .isRetrying: await call.requestIsRetrying?(request)
        case .didResume: await call.requestDidResume?(request)
        case .didSuspend: await call.requestDidSuspend?(request)
        case .didCancel: await call.requestDidCancel?(request)
        case .didParseResponse(let response as DataResponse<Data?, RequestError>):
            if let request = request as? DataRequest { await call.requestDidParseResponse?(request, response) }
        case .didParseResponse(let response as DownloadResponse<URL?, RequestError>):
            guard let request = request as? DownloadRequest else { return }
            await call.requestDidParseDownloadResponse?(request, response)
        case .didParseResponse, .didParseStream: break
        case .didFinish: await call.requestDidFinish?(request)
        case .didCreateDestinationURL(let url):
            guard let request = request as? DownloadRequest else { return }
            await call.requestDidCreateDestinationURL?(request, url)
        case .didFinishDownloading(let task, let result):
            guard let request = request as? DownloadRequest else { return }
            await call.requestDidFinishDownloadingUsingTaskWithResult?(request, task, result)
        }
    }

    /// The closures of a ``ClosureEventMonitor``, each a property of it.
    public struct Closures: Sendable {
        // MARK: All requests

        /// A request was made from what it was asked for with, before adapters saw it; again for each attempt.
        public var requestDidCreateInitialRequest: (@Sendable (any Request, HTTPRequest) async -> Void)?

        /// No request could be made, or not be sent as it is; this attempt is over.
        public var requestDidFailToCreateRequestWithError: (@Sendable (any Request, RequestError) async -> Void)?

        /// The adapters have made of the initial request what is to be sent.
        public var requestDidAdaptInitialRequestToAdaptedRequest:
            (@Sendable (any Request, HTTPRequest, HTTPRequest) async -> Void)?

        /// An adapter failed, or the request was cancelled meanwhile; this attempt is over.
        public var requestDidFailToAdaptRequestWithError:
            (@Sendable (any Request, HTTPRequest, RequestError) async -> Void)?

        /// A request is ready to be sent, adapted and without the fields that the session adds; once for each attempt.
        public var requestDidCreateRequest: (@Sendable (any Request, HTTPRequest) async -> Void)?

        /// An exchange with a server begins; its connection may have to be made first.
        public var requestDidCreateTask: (@Sendable (any Request, ExchangeRecord) async -> Void)?

        /// The head of a response is there, at most one for each exchange.
        public var requestDidReceiveResponse: (@Sendable (any Request, HTTPResponse) async -> Void)?

        /// A redirect is followed; the exchange that it came in is over.
        public var requestWillBeRedirected: (@Sendable (any Request, HTTPRequest, HTTPResponse) async -> Void)?

        /// An exchange was measured.
        public var requestDidGatherMetrics: (@Sendable (any Request, TransferMetrics) async -> Void)?

        /// An exchange failed before anything was sent in it, since the server's certificate was refused.
        public var requestDidFailTaskEarlyWithError:
            (@Sendable (any Request, ExchangeRecord, RequestError) async -> Void)?

        /// An exchange is over; once for each `didCreateTask`.
        public var requestDidCompleteTaskWithError:
            (@Sendable (any Request, ExchangeRecord, RequestError?) async -> Void)?

        /// An attempt failed, and another will be made after a delay, unless the request is cancelled meanwhile.
        public var requestWillRetry: (@Sendable (any Request, RequestError, Duration?) async -> Void)?

        /// The next attempt begins.
        public var requestIsRetrying: (@Sendable (any Request) async -> Void)?

        /// The request was started, or resumed after a suspension.
        public var requestDidResume: (@Sendable (any Request) async -> Void)?

        /// The request was held back.
        public var requestDidSuspend: (@Sendable (any Request) async -> Void)?

        /// The request was cancelled.
        public var requestDidCancel: (@Sendable (any Request) async -> Void)?

        /// The request has ended; ``Request/error`` says why, if it failed.
        public var requestDidFinish: (@Sendable (any Request) async -> Void)?

        // MARK: Data requests

        /// The validators checked a response, once for each attempt with a response.
        public var requestDidValidateRequestResponseDataWithResult:
            (@Sendable (DataRequest, HTTPRequest?, HTTPResponse, Data?, ValidationResult) async -> Void)?

        /// The body was asked for as it is, and is there, or the request failed.
        public var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, RequestError>) async -> Void)?

        // MARK: Uploads

        /// The body that is to be sent was made; what it is made of may not have been read yet.
        public var requestDidCreateUploadable: (@Sendable (UploadRequest, RequestBody) async -> Void)?

        /// The body that was to be sent cannot be read, or not be sent again.
        public var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, RequestError) async -> Void)?

        // MARK: Streams

        /// The validators checked the head of a response.
        public var requestDidValidateRequestResponseWithResult:
            (@Sendable (DataStreamRequest, HTTPRequest?, HTTPResponse, ValidationResult) async -> Void)?

        // MARK: Downloads

        /// A body is complete, and its file is in its place, or could not be put there.
        public var requestDidFinishDownloadingUsingTaskWithResult:
            (@Sendable (DownloadRequest, ExchangeRecord, Result<URL, RequestError>) async -> Void)?

        /// It is known where the file goes.
        public var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) async -> Void)?

        /// The validators checked the head of a response, without a file, or the complete file.
        public var requestDidValidateRequestResponseFileURLWithResult:
            (@Sendable (DownloadRequest, HTTPRequest?, HTTPResponse, URL?, ValidationResult) async -> Void)?

        /// A download without a serializer finished: with its file, or with an error.
        public var requestDidParseDownloadResponse:
            (@Sendable (DownloadRequest, DownloadResponse<URL?, RequestError>) async -> Void)?
    }
}
