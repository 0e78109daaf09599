public import FoundationEssentials

/// A type that receives the events of a session's requests, with one method per event.
///
/// Pass monitors to the initializer of ``Session``, which retains them, or add one to a single request with
/// ``Request/eventMonitor(_:)``. Every method has a default implementation that does nothing. Implement only the
/// methods that you need, synchronous or `async`, in a class, a structure or an actor. To receive all events in a
/// single method, conform to ``RequestEventHandler`` instead.
///
/// Events are delivered one at a time, in order, on the monitor's `executor`. They are never delivered on the event
/// loop or on the caller's thread. A slow monitor falls behind, and delays neither requests nor other monitors. Only
/// ``Session/shutdown()`` waits for the session's monitors. No event is dropped. Undelivered events stay in memory,
/// with their requests and bodies.
///
/// These are the events of a request. `*` means any number of times:
///
/// ```
/// requestDidResume                             when it is started
///   one attempt, and one more for each requestIsRetrying:
///     didCreateInitialRequest                  or didFailToCreateRequestWithError, which ends the attempt
///     didAdaptInitialRequest                   or didFailToAdaptRequest, which ends the attempt; if there are adapters
///     didCreateUploadable                      for a DataRequest with a body
///     didCreateRequest                         the request to send
///     one exchange, and one more for each willBeRedirectedTo:
///       didCreateTask
///       didReceiveResponse                     if there is a response
///       didGatherMetrics                       if there are metrics
///       didFailTask                            if TLS fails or the certificate is refused
///       didFailToCreateUploadableWithError     if the body cannot be read
///       didCompleteTask                        once for each didCreateTask
///     didValidateRequest                       if there are validators, and a response
///     didCreateDestinationURL                  for a DownloadRequest with a saved file
///     didFinishDownloadingUsing                for a DownloadRequest with a complete body
///     willRetryDueTo                           before the delay of a retry
///     requestIsRetrying                        the next attempt begins
/// requestDidSuspend *                          each followed by requestDidResume, requestDidCancel or the end
/// requestDidCancel                             at most once
/// didParseResponse                             once for each serializer
/// requestDidFinish                             once
/// ```
///
/// - Each attempt begins with either `didCreateInitialRequest` or `didFailToCreateRequestWithError`, and is sent only
///   after `didCreateRequest`. `didFailToCreateRequestWithError` also reports problems after the adapters have run,
///   such as one with the destination of a download.
/// - The validators of a stream or a download run between `didReceiveResponse` and `didCompleteTask`. If a download
///   has validators for its file, `didValidateRequest` comes a second time. For other requests, the response head is
///   reported when the body is complete, unless the request has an `onHTTPResponse` handler.
/// - `willRetryDueTo` is followed by `requestIsRetrying`, unless the request is cancelled in between. Every
///   `requestIsRetrying` follows a `willRetryDueTo`.
/// - Control events (`requestDidResume`, `requestDidSuspend`, `requestDidCancel`) may come between any other events,
///   once for each change. Suspending a suspended request changes nothing.
/// - `requestDidFinish` is the last event of a request, even if the request was cancelled or refused before it began.
///   There are two exceptions. A serializer that was attached after the end is reported when it is done. A stream's
///   `didParseStream` is reported when its reader takes an element. A request that was neither started nor cancelled
///   has no `requestDidFinish`.
public protocol EventMonitor: RequestEventHandler {
    // MARK: All requests

    /// The initial request was created, before any adapters; once per attempt.
    func request(_ request: any Request, didCreateInitialRequest initialRequest: HTTPRequest) async

    /// The request could not be created or cannot be sent; the attempt is over.
    func request(_ request: any Request, didFailToCreateRequestWithError error: RequestError) async

    /// The adapters changed the initial request to the request to send.
    func request(
        _ request: any Request, didAdaptInitialRequest initialRequest: HTTPRequest, to adaptedRequest: HTTPRequest
    ) async

    /// An adapter failed, the adapted request cannot be sent, or the request was cancelled; the attempt is over.
    func request(
        _ request: any Request, didFailToAdaptRequest initialRequest: HTTPRequest, withError error: RequestError
    ) async

    /// The adapted request is ready to be sent, without the header fields added by the session; once per attempt.
    func request(_ request: any Request, didCreateRequest createdRequest: HTTPRequest) async

    /// An exchange with a server begins; it may have to establish a connection first.
    func request(_ request: any Request, didCreateTask task: ExchangeRecord) async

    /// The head of a response was received; at most once per exchange.
    func request(_ request: any Request, didReceiveResponse response: HTTPResponse) async

    /// A redirect is followed; the exchange that received it is over.
    func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async

    /// The metrics of an exchange are available.
    func request(_ request: any Request, didGatherMetrics metrics: TransferMetrics) async

    /// An exchange failed because TLS failed, for example because the server's certificate was refused.
    ///
    /// If the server's certificate was refused, nothing was sent.
    func request(_ request: any Request, didFailTask task: ExchangeRecord, earlyWithError error: RequestError) async

    /// An exchange is over; once for each `didCreateTask`.
    ///
    /// The error tells why there is no complete response. A status code such as 404 is not an error at this point. An
    /// exchange with a discarded body, such as a long redirect, ends with `.cancelled`.
    func request(
        _ request: any Request, didCompleteTask task: ExchangeRecord, with error: RequestError?
    ) async

    /// An attempt failed, and another follows, after a delay if there is one, unless the request is cancelled first.
    func request(_ request: any Request, willRetryDueTo error: RequestError, after delay: Duration?) async

    /// The next attempt begins.
    func requestIsRetrying(_ request: any Request) async

    /// The request was started, or resumed after a suspension.
    func requestDidResume(_ request: any Request) async

    /// The request was suspended.
    func requestDidSuspend(_ request: any Request) async

    /// The request was cancelled.
    func requestDidCancel(_ request: any Request) async

    /// The request has ended; ``Request/error`` is its error, if it failed.
    func requestDidFinish(_ request: any Request) async

    // MARK: Data requests

    /// The validators checked a response; once for each attempt with a response.
    func request(
        _ request: DataRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse, data: Data?,
        withResult result: ValidationResult
    ) async

    /// A response without a serializer is complete: it has the body, or the request failed.
    ///
    /// The default implementation calls the method for responses with any value.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, RequestError>) async

    /// A serializer returned a value, or the request failed; once per serializer, with the same response that callers
    /// receive.
    func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>
    ) async

    // MARK: Uploads

    /// The body of the request was created; its source may not have been read yet.
    func request(_ request: UploadRequest, didCreateUploadable uploadable: RequestBody) async

    /// The body of the request cannot be read, or cannot be sent again.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: RequestError) async

    // MARK: Streams

    /// The validators checked the head of a response.
    func request(
        _ request: DataStreamRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        withResult result: ValidationResult
    ) async

    /// A reader of the stream received an element, or an error instead; not called for
    /// ``DataStreamTask/bytes-swift.property``.
    ///
    /// Elements stay in memory until they have been delivered to the monitor. A monitor that is slower than the stream
    /// therefore uses more and more memory.
    func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, RequestError>
    ) async

    // MARK: Downloads

    /// A body is complete, and its file was saved at its destination or could not be saved.
    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: ExchangeRecord,
        with result: Result<URL, RequestError>
    ) async

    /// The file of a download was saved at this URL; directly before `didFinishDownloadingUsing`.
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) async

    /// The validators checked either the head of a response, with a `fileURL` of `nil`, or the complete file.
    func request(
        _ request: DownloadRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        fileURL: URL?, withResult result: ValidationResult
    ) async

    /// A response without a serializer is complete: it has the URL of the file, if any, or the request failed.
    ///
    /// The default implementation calls the method for responses with any value.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, RequestError>) async

    /// A serializer returned a value, or the request failed; once per serializer, with the same response that callers
    /// receive.
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, RequestError>
    ) async
}

extension EventMonitor {
    /// Calls the method for the event.
    ///
    /// Events for one kind of request are ignored for the other kinds.
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

    /// Calls the method for any value, even if there is an overload for a specific value type.
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

// MARK: - Default implementations

// These methods are synchronous, so that a call in `async` code still prefers a type's own synchronous method.
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

    /// Calls the method for responses with any value.
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

    /// Calls the method for responses with any value.
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
