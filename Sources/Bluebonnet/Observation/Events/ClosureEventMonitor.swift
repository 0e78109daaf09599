public import FoundationEssentials

/// An event monitor that calls closures.
///
/// The properties of ``Closures`` are also properties of the monitor. Set the closures before you make requests. A
/// closure does not receive events that occurred before you set it. A closure cannot be generic, so no closure receives
/// serialized values of all types. To receive these values, conform to ``EventMonitor`` instead.
///
/// ```swift
/// let monitor = ClosureEventMonitor()
/// monitor.requestDidFinish = { request in print("\(request): done") }
/// let session = Session(eventMonitors: [monitor])
/// ```
@dynamicMemberLookup
public final class ClosureEventMonitor: RequestEventHandler {
    /// The executor that runs the closures, or `nil` for the global executor.
    public let executor: (any TaskExecutor)?

    private let closures = Locked(Closures())

    /// Creates a monitor without closures.
    ///
    /// - Parameter executor: The executor that runs the closures, or `nil` for the global executor. The default is
    ///   `nil`.
    public init(executor: (any TaskExecutor)? = nil) {
        self.executor = executor
    }

    /// Reads or sets a closure of ``Closures`` as a property of the monitor.
    ///
    /// - Parameter closure: The key path of the closure in ``Closures``.
    public subscript<Closure: Sendable>(
        dynamicMember closure: any WritableKeyPath<Closures, Closure> & Sendable
    ) -> Closure {
        get { closures.withLock { $0[keyPath: closure] } }
        // Releasing the old closure may run any code, so it must not happen while the lock is held.
        set { _ = closures.withLock { exchange(&$0[keyPath: closure], with: newValue) } }
    }

    /// Calls the closure for the event, if this closure is set.
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
        case .willCacheResponse(let response): await call.requestWillCacheResponse?(request, response)
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

        /// Called when the initial request has been created, before the adapters run.
        ///
        /// The closure is called at most once per attempt. Each retry is a new attempt.
        public var requestDidCreateInitialRequest: (@Sendable (any Request, HTTPRequest) async -> Void)?

        /// Called when the request of an attempt cannot be created, which ends the attempt.
        ///
        /// Examples of the reason are an invalid URL and an invalid destination of a download.
        public var requestDidFailToCreateRequestWithError: (@Sendable (any Request, RequestError) async -> Void)?

        /// Called with the initial and the adapted request when the adapters have run.
        public var requestDidAdaptInitialRequestToAdaptedRequest:
            (@Sendable (any Request, HTTPRequest, HTTPRequest) async -> Void)?

        /// Called when an adapter has failed, which ends the attempt.
        ///
        /// The closure is also called if the adapted request is invalid, or if the request was cancelled before the
        /// adapters returned.
        public var requestDidFailToAdaptRequestWithError:
            (@Sendable (any Request, HTTPRequest, RequestError) async -> Void)?

        /// Called when the request of an attempt is complete, except for the header fields that the session adds.
        ///
        /// The closure is called at most once per attempt.
        public var requestDidCreateRequest: (@Sendable (any Request, HTTPRequest) async -> Void)?

        /// Called when an exchange is about to start.
        ///
        /// An exchange is one request and its response. At this point, Bluebonnet has not checked the cache and has not
        /// connected to the server. The cache can therefore still provide the response.
        public var requestDidCreateTask: (@Sendable (any Request, ExchangeRecord) async -> Void)?

        /// Called when the head of a response has been received.
        ///
        /// The closure is called at most once per exchange.
        public var requestDidReceiveResponse: (@Sendable (any Request, HTTPResponse) async -> Void)?
        /// Called when a complete response can be stored in the cache.
        public var requestWillCacheResponse: (@Sendable (any Request, CachedResponse) async -> Void)?

        /// Called when a redirect will be followed, after the exchange that received the redirect has ended.
        public var requestWillBeRedirected: (@Sendable (any Request, HTTPRequest, HTTPResponse) async -> Void)?

        /// Called when the metrics of an exchange are available.
        public var requestDidGatherMetrics: (@Sendable (any Request, TransferMetrics) async -> Void)?

        /// Called when an exchange has failed because of a TLS error, for example a refused server certificate.
        ///
        /// If the certificate was refused, no part of the request was sent.
        public var requestDidFailTaskEarlyWithError:
            (@Sendable (any Request, ExchangeRecord, RequestError) async -> Void)?

        /// Called when an exchange has ended, once for each call of `requestDidCreateTask`.
        public var requestDidCompleteTaskWithError:
            (@Sendable (any Request, ExchangeRecord, RequestError?) async -> Void)?

        /// Called when an attempt has failed and the request will be retried.
        ///
        /// The delay is `nil` if the retry starts immediately. If the request is cancelled during the delay, it is not
        /// retried.
        public var requestWillRetry: (@Sendable (any Request, RequestError, Duration?) async -> Void)?

        /// Called when the next attempt starts.
        public var requestIsRetrying: (@Sendable (any Request) async -> Void)?

        /// Called when the request has been started, or resumed after a suspension.
        public var requestDidResume: (@Sendable (any Request) async -> Void)?

        /// Called when the request has been suspended.
        public var requestDidSuspend: (@Sendable (any Request) async -> Void)?

        /// Called when the request has been cancelled.
        public var requestDidCancel: (@Sendable (any Request) async -> Void)?

        /// Called when the request has finished.
        ///
        /// If the request failed, ``Request/error`` is its error.
        public var requestDidFinish: (@Sendable (any Request) async -> Void)?

        // MARK: Data requests

        /// Called when the validators have checked a response.
        public var requestDidValidateRequestResponseDataWithResult:
            (@Sendable (DataRequest, HTTPRequest?, HTTPResponse, Data?, ValidationResult) async -> Void)?

        /// Called when a serializer with a value of type `Data?` has returned a value or failed.
        ///
        /// The closure is also called for such a serializer when the request has failed.
        public var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, RequestError>) async -> Void)?

        // MARK: Uploads

        /// Called when the body of the request has been created.
        ///
        /// At this point, Bluebonnet may not have read the source of the body, such as a file.
        public var requestDidCreateUploadable: (@Sendable (UploadRequest, RequestBody) async -> Void)?

        /// Called when the body of the request cannot be read, or cannot be sent again.
        public var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, RequestError) async -> Void)?

        // MARK: Streams

        /// Called when the validators have checked the head of a response.
        public var requestDidValidateRequestResponseWithResult:
            (@Sendable (DataStreamRequest, HTTPRequest?, HTTPResponse, ValidationResult) async -> Void)?

        // MARK: Downloads

        /// Called when the body of a download is complete, after its file was saved or an error occurred.
        ///
        /// The result is the URL of the saved file, or the error of a validator or of the file system.
        public var requestDidFinishDownloadingUsingTaskWithResult:
            (@Sendable (DownloadRequest, ExchangeRecord, Result<URL, RequestError>) async -> Void)?

        /// Called when the file of a download has been saved.
        ///
        /// Directly afterwards, the monitor calls `requestDidFinishDownloadingUsingTaskWithResult`.
        public var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) async -> Void)?

        /// Called when the validators have checked the head of a response or the complete file.
        ///
        /// The file URL is `nil` if the validators have checked the head.
        public var requestDidValidateRequestResponseFileURLWithResult:
            (@Sendable (DownloadRequest, HTTPRequest?, HTTPResponse, URL?, ValidationResult) async -> Void)?

        /// Called when a serializer with a value of type `URL?` has returned a value or failed.
        ///
        /// The closure is also called for such a serializer when the request has failed.
        public var requestDidParseDownloadResponse:
            (@Sendable (DownloadRequest, DownloadResponse<URL?, RequestError>) async -> Void)?
    }
}
