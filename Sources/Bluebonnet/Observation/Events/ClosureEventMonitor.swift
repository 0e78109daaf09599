public import FoundationEssentials

/// An event monitor that calls closures.
///
/// Set the closures, which are the properties of ``Closures``, before you make requests. A closure that is set later
/// only receives later events. No closure receives events with a value of a generic type; conform to ``EventMonitor``
/// for those.
///
/// ```swift
/// let monitor = ClosureEventMonitor()
/// monitor.requestDidFinish = { request in print("\(request): done") }
/// let session = Session(eventMonitors: [monitor])
/// ```
@dynamicMemberLookup
public final class ClosureEventMonitor: RequestEventHandler {
    /// The executor on which the closures are called; `nil` for the global pool.
    public let executor: (any TaskExecutor)?

    private let closures = Locked(Closures())

    /// Creates a monitor without closures.
    ///
    /// - Parameter executor: The executor on which the closures are called; `nil`, the default, for the global pool.
    public init(executor: (any TaskExecutor)? = nil) {
        self.executor = executor
    }

    /// Accesses one of the closures as a property of the monitor.
    ///
    /// - Parameter closure: The key path of the closure in ``Closures``.
    public subscript<Closure: Sendable>(
        dynamicMember closure: any WritableKeyPath<Closures, Closure> & Sendable
    ) -> Closure {
        get { closures.withLock { $0[keyPath: closure] } }
        // Releasing the old closure may run any code, so it must not happen while the lock is held.
        set { _ = closures.withLock { exchange(&$0[keyPath: closure], with: newValue) } }
    }

    /// Calls the closure for the event, if it is set.
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

    /// The closures of a ``ClosureEventMonitor``, available as properties of the monitor.
    public struct Closures: Sendable {
        // MARK: All requests

        /// The initial request was created, before any adapters; once per attempt.
        public var requestDidCreateInitialRequest: (@Sendable (any Request, HTTPRequest) async -> Void)?

        /// The request could not be created or cannot be sent; the attempt is over.
        public var requestDidFailToCreateRequestWithError: (@Sendable (any Request, RequestError) async -> Void)?

        /// The adapters changed the initial request to the request to send.
        public var requestDidAdaptInitialRequestToAdaptedRequest:
            (@Sendable (any Request, HTTPRequest, HTTPRequest) async -> Void)?

        /// An adapter failed, the adapted request cannot be sent, or the request was cancelled; the attempt is over.
        public var requestDidFailToAdaptRequestWithError:
            (@Sendable (any Request, HTTPRequest, RequestError) async -> Void)?

        /// The adapted request is ready to be sent, without the header fields added by the session; once per attempt.
        public var requestDidCreateRequest: (@Sendable (any Request, HTTPRequest) async -> Void)?

        /// An exchange with a server begins; it may have to establish a connection first.
        public var requestDidCreateTask: (@Sendable (any Request, ExchangeRecord) async -> Void)?

        /// The head of a response was received; at most once per exchange.
        public var requestDidReceiveResponse: (@Sendable (any Request, HTTPResponse) async -> Void)?

        /// A redirect is followed; the exchange that received it is over.
        public var requestWillBeRedirected: (@Sendable (any Request, HTTPRequest, HTTPResponse) async -> Void)?

        /// The metrics of an exchange are available.
        public var requestDidGatherMetrics: (@Sendable (any Request, TransferMetrics) async -> Void)?

        /// An exchange failed because TLS failed, for example because the server's certificate was refused.
        ///
        /// If the server's certificate was refused, nothing was sent.
        public var requestDidFailTaskEarlyWithError:
            (@Sendable (any Request, ExchangeRecord, RequestError) async -> Void)?

        /// An exchange is over; once for each `didCreateTask`.
        public var requestDidCompleteTaskWithError:
            (@Sendable (any Request, ExchangeRecord, RequestError?) async -> Void)?

        /// An attempt failed, and another follows, after a delay if there is one, unless the request is cancelled
        /// first.
        public var requestWillRetry: (@Sendable (any Request, RequestError, Duration?) async -> Void)?

        /// The next attempt begins.
        public var requestIsRetrying: (@Sendable (any Request) async -> Void)?

        /// The request was started, or resumed after a suspension.
        public var requestDidResume: (@Sendable (any Request) async -> Void)?

        /// The request was suspended.
        public var requestDidSuspend: (@Sendable (any Request) async -> Void)?

        /// The request was cancelled.
        public var requestDidCancel: (@Sendable (any Request) async -> Void)?

        /// The request has ended; ``Request/error`` is its error, if it failed.
        public var requestDidFinish: (@Sendable (any Request) async -> Void)?

        // MARK: Data requests

        /// The validators checked a response; once for each attempt with a response.
        public var requestDidValidateRequestResponseDataWithResult:
            (@Sendable (DataRequest, HTTPRequest?, HTTPResponse, Data?, ValidationResult) async -> Void)?

        /// A response without a serializer is complete: it has the body, or the request failed.
        public var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, RequestError>) async -> Void)?

        // MARK: Uploads

        /// The body of the request was created; its source may not have been read yet.
        public var requestDidCreateUploadable: (@Sendable (UploadRequest, RequestBody) async -> Void)?

        /// The body of the request cannot be read, or cannot be sent again.
        public var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, RequestError) async -> Void)?

        // MARK: Streams

        /// The validators checked the head of a response.
        public var requestDidValidateRequestResponseWithResult:
            (@Sendable (DataStreamRequest, HTTPRequest?, HTTPResponse, ValidationResult) async -> Void)?

        // MARK: Downloads

        /// A body is complete, and its file was saved at its destination or could not be saved.
        public var requestDidFinishDownloadingUsingTaskWithResult:
            (@Sendable (DownloadRequest, ExchangeRecord, Result<URL, RequestError>) async -> Void)?

        /// The file of a download was saved at this URL; directly before
        /// `requestDidFinishDownloadingUsingTaskWithResult`.
        public var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) async -> Void)?

        /// The validators checked either the head of a response, with a file URL of `nil`, or the complete file.
        public var requestDidValidateRequestResponseFileURLWithResult:
            (@Sendable (DownloadRequest, HTTPRequest?, HTTPResponse, URL?, ValidationResult) async -> Void)?

        /// A download without a serializer has finished: it has its file, or the request failed.
        public var requestDidParseDownloadResponse:
            (@Sendable (DownloadRequest, DownloadResponse<URL?, RequestError>) async -> Void)?
    }
}
