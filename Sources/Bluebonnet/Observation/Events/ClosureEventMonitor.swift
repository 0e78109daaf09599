public import FoundationEssentials

/// Calls a closure for each event that there is one for.
///
/// Set the closures before requests are made; each is used from when it was set. They are told of nothing that has a value
/// of any type: write an ``EventMonitor`` of your own for that.
///
/// ```swift
/// let monitor = ClosureEventMonitor()
/// monitor.requestDidFinish = { request in print("\(request): done") }
/// let session = Session(eventMonitors: [monitor])
/// ```
public final class ClosureEventMonitor: EventMonitor {
    /// Where the closures are called; `nil` for the global pool.
    public let executor: (any TaskExecutor)?

    private let closures = Locked(Closures())

    /// Creates a monitor without closures.
    ///
    /// - Parameter executor: Where the closures are called; the global pool by default.
    public init(executor: (any TaskExecutor)? = nil) {
        self.executor = executor
    }

    // MARK: All requests

    /// A request was made from what it was asked for with, before adapters saw it; again for each attempt.
    public var requestDidCreateInitialRequest: (@Sendable (any Request, HTTPRequest) async -> Void)? {
        get { closures.withLock { $0.requestDidCreateInitialRequest } }
        set { _ = closures.withLock { exchange(&$0.requestDidCreateInitialRequest, with: newValue) } }
    }

    /// No request could be made, or not be sent as it is; this attempt is over.
    public var requestDidFailToCreateRequestWithError: (@Sendable (any Request, RequestError) async -> Void)? {
        get { closures.withLock { $0.requestDidFailToCreateRequestWithError } }
        set { _ = closures.withLock { exchange(&$0.requestDidFailToCreateRequestWithError, with: newValue) } }
    }

    /// The adapters have made of the initial request what is to be sent.
    public var requestDidAdaptInitialRequestToAdaptedRequest:
        (@Sendable (any Request, HTTPRequest, HTTPRequest) async -> Void)?
    {
        get { closures.withLock { $0.requestDidAdaptInitialRequestToAdaptedRequest } }
        set { _ = closures.withLock { exchange(&$0.requestDidAdaptInitialRequestToAdaptedRequest, with: newValue) } }
    }

    /// An adapter failed, or the request was cancelled meanwhile; this attempt is over.
    public var requestDidFailToAdaptRequestWithError:
        (@Sendable (any Request, HTTPRequest, RequestError) async -> Void)?
    {
        get { closures.withLock { $0.requestDidFailToAdaptRequestWithError } }
        set { _ = closures.withLock { exchange(&$0.requestDidFailToAdaptRequestWithError, with: newValue) } }
    }

    /// A request is ready to be sent, adapted and without the fields that the session adds; once for each attempt.
    public var requestDidCreateRequest: (@Sendable (any Request, HTTPRequest) async -> Void)? {
        get { closures.withLock { $0.requestDidCreateRequest } }
        set { _ = closures.withLock { exchange(&$0.requestDidCreateRequest, with: newValue) } }
    }

    /// An exchange with a server begins; its connection may have to be made first.
    public var requestDidCreateTask: (@Sendable (any Request, ExchangeRecord) async -> Void)? {
        get { closures.withLock { $0.requestDidCreateTask } }
        set { _ = closures.withLock { exchange(&$0.requestDidCreateTask, with: newValue) } }
    }

    /// The head of a response is there, at most one for each exchange.
    public var requestDidReceiveResponse: (@Sendable (any Request, HTTPResponse) async -> Void)? {
        get { closures.withLock { $0.requestDidReceiveResponse } }
        set { _ = closures.withLock { exchange(&$0.requestDidReceiveResponse, with: newValue) } }
    }

    /// A redirect is followed; the exchange that it came in is over.
    public var requestWillBeRedirected: (@Sendable (any Request, HTTPRequest, HTTPResponse) async -> Void)? {
        get { closures.withLock { $0.requestWillBeRedirected } }
        set { _ = closures.withLock { exchange(&$0.requestWillBeRedirected, with: newValue) } }
    }

    /// An exchange was measured.
    public var requestDidGatherMetrics: (@Sendable (any Request, TransferMetrics) async -> Void)? {
        get { closures.withLock { $0.requestDidGatherMetrics } }
        set { _ = closures.withLock { exchange(&$0.requestDidGatherMetrics, with: newValue) } }
    }

    /// An exchange failed before anything was sent in it, since the server's certificate was refused.
    public var requestDidFailTaskEarlyWithError: (@Sendable (any Request, ExchangeRecord, RequestError) async -> Void)?
    {
        get { closures.withLock { $0.requestDidFailTaskEarlyWithError } }
        set { _ = closures.withLock { exchange(&$0.requestDidFailTaskEarlyWithError, with: newValue) } }
    }

    /// An exchange is over; once for each `didCreateTask`.
    public var requestDidCompleteTaskWithError: (@Sendable (any Request, ExchangeRecord, RequestError?) async -> Void)?
    {
        get { closures.withLock { $0.requestDidCompleteTaskWithError } }
        set { _ = closures.withLock { exchange(&$0.requestDidCompleteTaskWithError, with: newValue) } }
    }

    /// An attempt failed, and another will be made after a delay, unless the request is cancelled meanwhile.
    public var requestWillRetry: (@Sendable (any Request, RequestError, Duration?) async -> Void)? {
        get { closures.withLock { $0.requestWillRetry } }
        set { _ = closures.withLock { exchange(&$0.requestWillRetry, with: newValue) } }
    }

    /// The next attempt begins.
    public var requestIsRetrying: (@Sendable (any Request) async -> Void)? {
        get { closures.withLock { $0.requestIsRetrying } }
        set { _ = closures.withLock { exchange(&$0.requestIsRetrying, with: newValue) } }
    }

    /// The request was started, or goes on after it was held back.
    public var requestDidResume: (@Sendable (any Request) async -> Void)? {
        get { closures.withLock { $0.requestDidResume } }
        set { _ = closures.withLock { exchange(&$0.requestDidResume, with: newValue) } }
    }

    /// The request was held back.
    public var requestDidSuspend: (@Sendable (any Request) async -> Void)? {
        get { closures.withLock { $0.requestDidSuspend } }
        set { _ = closures.withLock { exchange(&$0.requestDidSuspend, with: newValue) } }
    }

    /// The request was cancelled.
    public var requestDidCancel: (@Sendable (any Request) async -> Void)? {
        get { closures.withLock { $0.requestDidCancel } }
        set { _ = closures.withLock { exchange(&$0.requestDidCancel, with: newValue) } }
    }

    /// The request has ended; ``Request/error`` says why, if it failed.
    public var requestDidFinish: (@Sendable (any Request) async -> Void)? {
        get { closures.withLock { $0.requestDidFinish } }
        set { _ = closures.withLock { exchange(&$0.requestDidFinish, with: newValue) } }
    }

    // MARK: Data requests

    /// The validators judged a response, once for each attempt that got one.
    public var requestDidValidateRequestResponseDataWithResult:
        (@Sendable (DataRequest, HTTPRequest?, HTTPResponse, Data?, ValidationResult) async -> Void)?
    {
        get { closures.withLock { $0.requestDidValidateRequestResponseDataWithResult } }
        set { _ = closures.withLock { exchange(&$0.requestDidValidateRequestResponseDataWithResult, with: newValue) } }
    }

    /// The body was asked for as it is, and is there, or the request failed.
    public var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, RequestError>) async -> Void)? {
        get { closures.withLock { $0.requestDidParseResponse } }
        set { _ = closures.withLock { exchange(&$0.requestDidParseResponse, with: newValue) } }
    }

    // MARK: Uploads

    /// The body that is to be sent was made; what it is made of may not have been read yet.
    public var requestDidCreateUploadable: (@Sendable (UploadRequest, RequestBody) async -> Void)? {
        get { closures.withLock { $0.requestDidCreateUploadable } }
        set { _ = closures.withLock { exchange(&$0.requestDidCreateUploadable, with: newValue) } }
    }

    /// The body that was to be sent cannot be read, or not be sent again.
    public var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, RequestError) async -> Void)? {
        get { closures.withLock { $0.requestDidFailToCreateUploadableWithError } }
        set { _ = closures.withLock { exchange(&$0.requestDidFailToCreateUploadableWithError, with: newValue) } }
    }

    // MARK: Streams

    /// The validators judged the head of a response.
    public var requestDidValidateRequestResponseWithResult:
        (@Sendable (DataStreamRequest, HTTPRequest?, HTTPResponse, ValidationResult) async -> Void)?
    {
        get { closures.withLock { $0.requestDidValidateRequestResponseWithResult } }
        set { _ = closures.withLock { exchange(&$0.requestDidValidateRequestResponseWithResult, with: newValue) } }
    }

    // MARK: Downloads

    /// A body is complete, and its file is in its place, or could not be put there.
    public var requestDidFinishDownloadingUsingTaskWithResult:
        (@Sendable (DownloadRequest, ExchangeRecord, Result<URL, RequestError>) async -> Void)?
    {
        get { closures.withLock { $0.requestDidFinishDownloadingUsingTaskWithResult } }
        set { _ = closures.withLock { exchange(&$0.requestDidFinishDownloadingUsingTaskWithResult, with: newValue) } }
    }

    /// It is known where the file goes.
    public var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) async -> Void)? {
        get { closures.withLock { $0.requestDidCreateDestinationURL } }
        set { _ = closures.withLock { exchange(&$0.requestDidCreateDestinationURL, with: newValue) } }
    }

    /// The validators judged the head of a response, without a file, or the complete file.
    public var requestDidValidateRequestResponseFileURLWithResult:
        (@Sendable (DownloadRequest, HTTPRequest?, HTTPResponse, URL?, ValidationResult) async -> Void)?
    {
        get { closures.withLock { $0.requestDidValidateRequestResponseFileURLWithResult } }
        set {
            _ = closures.withLock {
                exchange(&$0.requestDidValidateRequestResponseFileURLWithResult, with: newValue)
            }
        }
    }

    /// The file was asked for as it is, which may be none, and is there, or the request failed.
    public var requestDidParseDownloadResponse:
        (@Sendable (DownloadRequest, DownloadResponse<URL?, RequestError>) async -> Void)?
    {
        get { closures.withLock { $0.requestDidParseDownloadResponse } }
        set { _ = closures.withLock { exchange(&$0.requestDidParseDownloadResponse, with: newValue) } }
    }

    private struct Closures {
        var requestDidCreateInitialRequest: (@Sendable (any Request, HTTPRequest) async -> Void)?
        var requestDidFailToCreateRequestWithError: (@Sendable (any Request, RequestError) async -> Void)?
        var requestDidAdaptInitialRequestToAdaptedRequest:
            (@Sendable (any Request, HTTPRequest, HTTPRequest) async -> Void)?
        var requestDidFailToAdaptRequestWithError: (@Sendable (any Request, HTTPRequest, RequestError) async -> Void)?
        var requestDidCreateRequest: (@Sendable (any Request, HTTPRequest) async -> Void)?
        var requestDidCreateTask: (@Sendable (any Request, ExchangeRecord) async -> Void)?
        var requestDidReceiveResponse: (@Sendable (any Request, HTTPResponse) async -> Void)?
        var requestWillBeRedirected: (@Sendable (any Request, HTTPRequest, HTTPResponse) async -> Void)?
        var requestDidGatherMetrics: (@Sendable (any Request, TransferMetrics) async -> Void)?
        var requestDidFailTaskEarlyWithError: (@Sendable (any Request, ExchangeRecord, RequestError) async -> Void)?
        var requestDidCompleteTaskWithError: (@Sendable (any Request, ExchangeRecord, RequestError?) async -> Void)?
        var requestWillRetry: (@Sendable (any Request, RequestError, Duration?) async -> Void)?
        var requestIsRetrying: (@Sendable (any Request) async -> Void)?
        var requestDidResume: (@Sendable (any Request) async -> Void)?
        var requestDidSuspend: (@Sendable (any Request) async -> Void)?
        var requestDidCancel: (@Sendable (any Request) async -> Void)?
        var requestDidFinish: (@Sendable (any Request) async -> Void)?
        var requestDidValidateRequestResponseDataWithResult:
            (@Sendable (DataRequest, HTTPRequest?, HTTPResponse, Data?, ValidationResult) async -> Void)?
        var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, RequestError>) async -> Void)?
        var requestDidCreateUploadable: (@Sendable (UploadRequest, RequestBody) async -> Void)?
        var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, RequestError) async -> Void)?
        var requestDidValidateRequestResponseWithResult:
            (@Sendable (DataStreamRequest, HTTPRequest?, HTTPResponse, ValidationResult) async -> Void)?
        var requestDidFinishDownloadingUsingTaskWithResult:
            (@Sendable (DownloadRequest, ExchangeRecord, Result<URL, RequestError>) async -> Void)?
        var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) async -> Void)?
        var requestDidValidateRequestResponseFileURLWithResult:
            (@Sendable (DownloadRequest, HTTPRequest?, HTTPResponse, URL?, ValidationResult) async -> Void)?
        var requestDidParseDownloadResponse:
            (@Sendable (DownloadRequest, DownloadResponse<URL?, RequestError>) async -> Void)?
    }
}
