public import FoundationEssentials

/// Receives the events of a session's requests.
///
/// The initializer of ``Session`` takes monitors, which it keeps. Every method has an implementation that does nothing:
/// write those that you want, synchronous or `async`, in a class, a structure or an actor. To have all of them told by one
/// method, write a ``RequestEventHandler``.
///
/// Events are delivered one at a time, in order, on the monitor's `executor`. They are never delivered on the event
/// loop or on the caller's thread. Only ``Session/shutdown()`` waits for a monitor: a slow monitor falls behind, and
/// delays neither requests nor other monitors. No event is dropped. Undelivered events stay in memory, with their
/// requests and bodies.
///
/// These are the events of a request, `*` for any number of times:
///
/// ```
/// requestDidResume                             when it is started
///   one attempt, and one more for each requestIsRetrying:
///     didCreateInitialRequest                  or didFailToCreateRequestWithError, which ends the attempt
///     didAdaptInitialRequest                   or didFailToAdaptRequest, which ends it, too; if there are adapters
///     didCreateUploadable                      of a DataRequest with a body
///     didCreateRequest                         what is sent
///     one exchange, and one more for each willBeRedirectedTo:
///       didCreateTask
///       didReceiveResponse                     if a response comes
///       didGatherMetrics                       if there is something to measure
///       didFailTask                            if the server's certificate is refused
///       didFailToCreateUploadableWithError     if the body cannot be read
///       didCompleteTask                        once for each didCreateTask
///     didValidateRequest                       if there are validators, and a response
///     didCreateDestinationURL                  of a DownloadRequest
///     didFinishDownloadingUsing                of a DownloadRequest whose body is complete
///     willRetryDueTo                           before a delay
///     requestIsRetrying                        the next attempt begins
/// requestDidSuspend *                          each followed by requestDidResume, requestDidCancel or the end
/// requestDidCancel                             once at most
/// didParseResponse                             once for each serializer
/// requestDidFinish                             once
/// ```
///
/// - Each attempt has either one `didCreateInitialRequest` or one `didFailToCreateRequestWithError`, and is sent after
///   `didCreateRequest` only. What keeps a request from being sent after it was adapted, such as the destination of a
///   download, is a `didFailToCreateRequestWithError`, too.
/// - Of a stream and a download, the validators are asked between `didReceiveResponse` and `didCompleteTask`; of a
///   download that has validators of its file, `didValidateRequest` comes a second time. Of other requests the head is
///   reported when the body is complete, unless there is an `onHTTPResponse` handler.
/// - Every `requestIsRetrying` comes after a `willRetryDueTo`, which is followed by it unless the request is cancelled.
/// - Control events (`requestDidResume`, `requestDidSuspend`, `requestDidCancel`) come between any others, and once for
///   each change: suspending a suspended request changes nothing.
/// - `requestDidFinish` is the last event of its request, also of one that was cancelled or refused before it began,
///   but for two: a serializer that was attached to a request that had ended is reported when it is done, and a
///   stream's `didParseStream` when its reader takes an element. A request that was never started nor cancelled has
///   none.
public protocol EventMonitor: RequestEventHandler {
    // MARK: All requests

    /// A request was made from what it was asked for with, before adapters saw it; again for each attempt.
    func request(_ request: any Request, didCreateInitialRequest initialRequest: HTTPRequest) async

    /// No request could be made, or not be sent as it is; this attempt is over.
    func request(_ request: any Request, didFailToCreateRequestWithError error: RequestError) async

    /// The adapters have made of the initial request what is to be sent.
    func request(
        _ request: any Request, didAdaptInitialRequest initialRequest: HTTPRequest, to adaptedRequest: HTTPRequest
    ) async

    /// An adapter failed, or the request was cancelled meanwhile; this attempt is over.
    func request(
        _ request: any Request, didFailToAdaptRequest initialRequest: HTTPRequest, withError error: RequestError
    ) async

    /// A request is ready to be sent, adapted and without the fields that the session adds; once for each attempt.
    func request(_ request: any Request, didCreateRequest createdRequest: HTTPRequest) async

    /// An exchange with a server begins; its connection may have to be made first.
    func request(_ request: any Request, didCreateTask task: ExchangeRecord) async

    /// The head of a response is there, at most one for each exchange.
    func request(_ request: any Request, didReceiveResponse response: HTTPResponse) async

    /// A redirect is followed; the exchange that it came in is over.
    func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async

    /// An exchange was measured.
    func request(_ request: any Request, didGatherMetrics metrics: TransferMetrics) async

    /// An exchange failed before anything was sent in it, since the server's certificate was refused.
    func request(_ request: any Request, didFailTask task: ExchangeRecord, earlyWithError error: RequestError) async

    /// An exchange is over; once for each `didCreateTask`.
    ///
    /// The error is why there is no complete response; a status such as 404 is not an error here. An exchange whose
    /// body is discarded, such as a long redirect, ends with `.cancelled`.
    func request(
        _ request: any Request, didCompleteTask task: ExchangeRecord, with error: RequestError?
    ) async

    /// An attempt failed, and another will be made after a delay, unless the request is cancelled meanwhile.
    func request(_ request: any Request, willRetryDueTo error: RequestError, after delay: Duration?) async

    /// The next attempt begins.
    func requestIsRetrying(_ request: any Request) async

    /// The request was started, or resumed after a suspension.
    func requestDidResume(_ request: any Request) async

    /// The request was held back.
    func requestDidSuspend(_ request: any Request) async

    /// The request was cancelled.
    func requestDidCancel(_ request: any Request) async

    /// The request has ended; ``Request/error`` says why, if it failed.
    func requestDidFinish(_ request: any Request) async

    // MARK: Data requests

    /// The validators checked a response, once for each attempt with a response.
    func request(
        _ request: DataRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse, data: Data?,
        withResult result: ValidationResult
    ) async

    /// The body was asked for as it is, and is there, or the request failed.
    ///
    /// Implemented as one of the responses with any value.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, RequestError>) async

    /// A serializer has made a value, or the request failed; once for each serializer, with what those get who await it.
    func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>
    ) async

    // MARK: Uploads

    /// The body that is to be sent was made; what it is made of may not have been read yet.
    func request(_ request: UploadRequest, didCreateUploadable uploadable: RequestBody) async

    /// The body that was to be sent cannot be read, or not be sent again.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: RequestError) async

    // MARK: Streams

    /// The validators checked the head of a response.
    func request(
        _ request: DataStreamRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        withResult result: ValidationResult
    ) async

    /// A reader of the stream took an element, or an error in its place; not called for
    /// ``DataStreamTask/bytes-swift.property``.
    ///
    /// An element is kept until it was delivered to the monitor: a monitor that is slower than the stream takes memory.
    func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, RequestError>
    ) async

    // MARK: Downloads

    /// A body is complete, and its file is in its place, or could not be put there.
    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: ExchangeRecord,
        with result: Result<URL, RequestError>
    ) async

    /// It is known where the file goes.
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) async

    /// The validators checked the head of a response, without a file, or the complete file.
    func request(
        _ request: DownloadRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        fileURL: URL?, withResult result: ValidationResult
    ) async

    /// The file was asked for as it is, which may be none, and is there, or the request failed.
    ///
    /// Implemented as one of the responses with any value.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, RequestError>) async

    /// A serializer has made a value, or the request failed; once for each serializer, with what those get who await it.
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, RequestError>
    ) async
}

extension EventMonitor {
    /// Calls the method that there is for the event.
    ///
    /// Events that belong to one kind of request are ignored for the other kinds.
    public func handle(_ event: RequestEvent, of request: any Request) async {
        switch event {
        case .didCreateInitialRequest(let initial): await self.request(request, didCreateInitialRequest: initial)
        case .didFailToCreateRequest(let error):
            await self.request(request, didFailToCreateRequestWithError: error)
        case .didAdaptInitialRequest(let initial, let adapted):
            await self.request(request, didAdaptInitialRequest: initial, to: adapted)
        case .didFailToAdaptRequest(let initial, let error):
            await self.request(request, didFailToAdaptRequest: initial, withError: error)
        case .didCreateUploadable(let body):
            if let request = request as? UploadRequest { await self.request(request, didCreateUploadable: body) }
        case .didCreateRequest(let created): await self.request(request, didCreateRequest: created)
        case .didCreateTask(let task): await self.request(request, didCreateTask: task)
        case .didReceiveResponse(let response): await self.request(request, didReceiveResponse: response)
        case .willBeRedirected(let next, let response):
            await self.request(request, willBeRedirectedTo: next, for: response)
        case .didGatherMetrics(let metrics): await self.request(request, didGatherMetrics: metrics)
        case .didFailTask(let task, let error): await self.request(request, didFailTask: task, earlyWithError: error)
        case .didFailToCreateUploadable(let error):
            guard let request = request as? UploadRequest else { return }
            await self.request(request, didFailToCreateUploadableWithError: error)
        case .didCompleteTask(let task, let error): await self.request(request, didCompleteTask: task, with: error)
        case .didValidateRequest(let sent, let response, let data, let fileURL, let result):
            switch request {
            case let request as DataRequest:
                await self.request(
                    request, didValidateRequest: sent, response: response, data: data, withResult: result)
            case let request as DataStreamRequest:
                await self.request(request, didValidateRequest: sent, response: response, withResult: result)
            case let request as DownloadRequest:
                await self.request(
                    request, didValidateRequest: sent, response: response, fileURL: fileURL, withResult: result)
            default: break
            }
        case .willRetry(let error, let delay): await self.request(request, willRetryDueTo: error, after: delay)
        case .isRetrying: await requestIsRetrying(request)
        case .didResume: await requestDidResume(request)
        case .didSuspend: await requestDidSuspend(request)
        case .didCancel: await requestDidCancel(request)
        case .didParseResponse(let response as DataResponse<Data?, RequestError>):
            if let request = request as? DataRequest { await self.request(request, didParseResponse: response) }
        case .didParseResponse(let response as DownloadResponse<URL?, RequestError>):
            if let request = request as? DownloadRequest { await self.request(request, didParseResponse: response) }
        case .didParseResponse(let outcome), .didParseStream(let outcome): await parsed(outcome, request)
        case .didFinish: await requestDidFinish(request)
        case .didCreateDestinationURL(let url):
            if let request = request as? DownloadRequest { await self.request(request, didCreateDestinationURL: url) }
        case .didFinishDownloading(let task, let result):
            guard let request = request as? DownloadRequest else { return }
            await self.request(request, didFinishDownloadingUsing: task, with: result)
        }
    }

    /// Calls the method for any value, where the one for a certain value would be nearer.
    private func parsed<Outcome: SerializationOutcome>(_ outcome: Outcome, _ request: any Request) async {
        switch (outcome, request) {
        case (let response as DataResponse<Outcome.Value, RequestError>, let request as DataRequest):
            await self.request(request, didParseResponse: response)
        case (let response as DownloadResponse<Outcome.Value, RequestError>, let request as DownloadRequest):
            await self.request(request, didParseResponse: response)
        case (let element as DataStreamRequest.Stream<Outcome.Value, RequestError>, let request as DataStreamRequest):
            if let result = element.result { await self.request(request, didParseStream: result) }
        default: break
        }
    }
}

// MARK: - Methods that do nothing

// Synchronous, so that a call of a method that a type implements synchronously means that method in `async` code, too.
extension EventMonitor {
    /// Does nothing.
    public func request(_ request: any Request, didCreateInitialRequest initialRequest: HTTPRequest) {}

    /// Does nothing.
    public func request(_ request: any Request, didFailToCreateRequestWithError error: RequestError) {}

    /// Does nothing.
    public func request(
        _ request: any Request, didAdaptInitialRequest initialRequest: HTTPRequest, to adaptedRequest: HTTPRequest
    ) {}

    /// Does nothing.
    public func request(
        _ request: any Request, didFailToAdaptRequest initialRequest: HTTPRequest, withError error: RequestError
    ) {}

    /// Does nothing.
    public func request(_ request: any Request, didCreateRequest createdRequest: HTTPRequest) {}

    /// Does nothing.
    public func request(_ request: any Request, didCreateTask task: ExchangeRecord) {}

    /// Does nothing.
    public func request(_ request: any Request, didReceiveResponse response: HTTPResponse) {}

    /// Does nothing.
    public func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) {}

    /// Does nothing.
    public func request(_ request: any Request, didGatherMetrics metrics: TransferMetrics) {}

    /// Does nothing.
    public func request(_ request: any Request, didFailTask task: ExchangeRecord, earlyWithError error: RequestError) {}

    /// Does nothing.
    public func request(
        _ request: any Request, didCompleteTask task: ExchangeRecord, with error: RequestError?
    ) {}

    /// Does nothing.
    public func request(_ request: any Request, willRetryDueTo error: RequestError, after delay: Duration?) {}

    /// Does nothing.
    public func requestIsRetrying(_ request: any Request) {}

    /// Does nothing.
    public func requestDidResume(_ request: any Request) {}

    /// Does nothing.
    public func requestDidSuspend(_ request: any Request) {}

    /// Does nothing.
    public func requestDidCancel(_ request: any Request) {}

    /// Does nothing.
    public func requestDidFinish(_ request: any Request) {}

    /// Does nothing.
    public func request(
        _ request: DataRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse, data: Data?,
        withResult result: ValidationResult
    ) {}

    /// Tells of it as of one with any value.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, RequestError>) async {
        await parsed(response, request)
    }

    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>
    ) {}

    /// Does nothing.
    public func request(_ request: UploadRequest, didCreateUploadable uploadable: RequestBody) {}

    /// Does nothing.
    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: RequestError) {}

    /// Does nothing.
    public func request(
        _ request: DataStreamRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        withResult result: ValidationResult
    ) {}

    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, RequestError>
    ) {}

    /// Does nothing.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: ExchangeRecord,
        with result: Result<URL, RequestError>
    ) {}

    /// Does nothing.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {}

    /// Does nothing.
    public func request(
        _ request: DownloadRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        fileURL: URL?, withResult result: ValidationResult
    ) {}

    /// Tells of it as of one with any value.
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, RequestError>)
        async
    {
        await parsed(response, request)
    }

    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, RequestError>
    ) {}
}
