public import FoundationEssentials

/// A type that receives the events of requests, with one method for each event.
///
/// Pass monitors to the initializer of ``Session`` to observe all of its requests. The session retains its monitors. To
/// observe a single request, add a monitor with ``Request/eventMonitor(_:)``. To receive all events in a single method,
/// conform to ``RequestEventHandler`` instead.
///
/// Every method has a default implementation, so you implement only the methods that you need. Your type can be a
/// class, a structure or an actor, and your methods can be synchronous or `async`.
///
/// A monitor receives its events in order and one at a time, on its `executor`. Bluebonnet never delivers events on the
/// event loop or on the thread of the caller. A slow monitor does not delay requests or other monitors. No event is
/// dropped. Undelivered events stay in memory, with their requests and bodies. ``Session/shutdown()`` waits until the
/// session's monitors have received all events.
///
/// A request has these events. Each retry of the request is a new attempt. An exchange is one request and its response,
/// and each redirect is a new exchange. An asterisk marks events that can occur any number of times:
///
/// ```
/// requestDidResume                             when the request is started
///   one attempt, and one more for each requestIsRetrying:
///     didCreateInitialRequest                  or didFailToCreateRequestWithError, which ends the attempt
///     didAdaptInitialRequest                   if there are adapters; or didFailToAdaptRequest, which ends the attempt
///     didCreateUploadable                      for a DataRequest with a body
///     didCreateRequest                         the request to send
///     one exchange, and one more for each willBeRedirectedTo:
///       didCreateTask
///       willCacheResponse                      if a complete response can be stored in the cache
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
/// didParseStream *                             for each value of a stream
/// requestDidFinish                             once
/// ```
///
/// - Each attempt begins with `didCreateInitialRequest` or `didFailToCreateRequestWithError`. The request is sent after
///   `didCreateRequest`. `didFailToCreateRequestWithError` can also occur after the adapters have run, for example if
///   the destination of a download is invalid.
/// - For a stream or a download, `didValidateRequest` occurs between `didReceiveResponse` and `didCompleteTask`. If a
///   download has validators for its file, a second `didValidateRequest` reports their result.
/// - For a ``DataRequest`` without an `onHTTPResponse` handler, `didReceiveResponse` occurs when the body is complete.
/// - `requestIsRetrying` follows `willRetryDueTo`. If the request is cancelled before the retry, `requestIsRetrying`
///   does not occur.
/// - `requestDidResume`, `requestDidSuspend` and `requestDidCancel` can occur between any other events. They occur
///   only when the state changes. For example, a call of `suspend` causes no event if the request is already suspended.
/// - `requestDidFinish` is the last event of a request, with two exceptions. `didParseResponse` can follow for a
///   serializer that was attached after the request had finished. `didParseStream`, which reports each value of a
///   stream, can follow if a task reads the stream slowly.
/// - A request that was not started has a `requestDidFinish` only in two cases: the request is cancelled, or a task
///   awaits the request of a session that is shut down.
public protocol EventMonitor: RequestEventHandler {
    // MARK: All requests

    /// Called when the initial request has been created, before the adapters run.
    ///
    /// The method is called at most once per attempt. Each retry is a new attempt.
    func request(_ request: any Request, didCreateInitialRequest initialRequest: HTTPRequest) async

    /// Called when the request of an attempt cannot be created, which ends the attempt.
    ///
    /// Examples of the reason are an invalid URL and an invalid destination of a download.
    func request(_ request: any Request, didFailToCreateRequestWithError error: RequestError) async

    /// Called when the adapters have run.
    func request(
        _ request: any Request, didAdaptInitialRequest initialRequest: HTTPRequest, to adaptedRequest: HTTPRequest
    ) async

    /// Called when an adapter has failed, which ends the attempt.
    ///
    /// The method is also called if the adapted request is invalid, or if the request was cancelled before the adapters
    /// returned.
    func request(
        _ request: any Request, didFailToAdaptRequest initialRequest: HTTPRequest, withError error: RequestError
    ) async

    /// Called when the final request of an attempt has been created.
    ///
    /// The created request does not contain the header fields that the session adds. The method is called at most once
    /// per attempt.
    func request(_ request: any Request, didCreateRequest createdRequest: HTTPRequest) async

    /// Called when an exchange is about to start.
    ///
    /// An exchange is one request and its response. At this point, Bluebonnet has not checked the cache and has not
    /// connected to the server. The cache can therefore still provide the response.
    func request(_ request: any Request, didCreateTask task: ExchangeRecord) async

    /// Called when the head of a response has been received.
    ///
    /// The method is called at most once per exchange.
    func request(_ request: any Request, didReceiveResponse response: HTTPResponse) async

    /// Called when a complete response can be stored in the cache.
    ///
    /// The ``CachedResponseHandler`` decides whether the response is stored. It does not wait for this method.
    func request(_ request: any Request, willCacheResponse response: CachedResponse) async

    /// Called when a redirect will be followed, after the exchange that received the redirect has ended.
    func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async

    /// Called when the metrics of an exchange are available.
    func request(_ request: any Request, didGatherMetrics metrics: TransferMetrics) async

    /// Called when an exchange has failed because of a TLS error, for example a refused server certificate.
    ///
    /// If the certificate was refused, no part of the request was sent.
    func request(_ request: any Request, didFailTask task: ExchangeRecord, earlyWithError error: RequestError) async

    /// Called when an exchange has ended, once for each `didCreateTask`.
    ///
    /// The error is `nil` if the response is complete. A status code such as 404 is not an error at this point. If
    /// Bluebonnet discards the body, for example the long body of a redirect, the error is `.cancelled`.
    func request(
        _ request: any Request, didCompleteTask task: ExchangeRecord, with error: RequestError?
    ) async

    /// Called when an attempt has failed and the request will be retried.
    ///
    /// The delay is `nil` if the retry starts immediately. If the request is cancelled during the delay, it is not
    /// retried.
    func request(_ request: any Request, willRetryDueTo error: RequestError, after delay: Duration?) async

    /// Called when the next attempt starts.
    func requestIsRetrying(_ request: any Request) async

    /// Called when the request has been started, or resumed after a suspension.
    func requestDidResume(_ request: any Request) async

    /// Called when the request has been suspended.
    func requestDidSuspend(_ request: any Request) async

    /// Called when the request has been cancelled.
    func requestDidCancel(_ request: any Request) async

    /// Called when the request has finished.
    ///
    /// If the request failed, ``Request/error`` is its error.
    func requestDidFinish(_ request: any Request) async

    // MARK: Data requests

    /// Called when the validators have checked a response.
    func request(
        _ request: DataRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse, data: Data?,
        withResult result: ValidationResult
    ) async

    /// Called when a serializer with a value of type `Data?` has returned a value or failed.
    ///
    /// The method is also called for such a serializer when the request has failed.
    ///
    /// The default implementation calls the generic `didParseResponse` method.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, RequestError>) async

    /// Called when a serializer has returned a value or failed, or when the request has failed.
    ///
    /// The method is called once for each serializer. Tasks that await the result of the serializer receive the same
    /// response.
    func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>
    ) async

    // MARK: Uploads

    /// Called when the body of the request has been created.
    ///
    /// At this point, it is possible that Bluebonnet has not yet read the source of the body, such as a file.
    func request(_ request: UploadRequest, didCreateUploadable uploadable: RequestBody) async

    /// Called when the body of the request cannot be read, or cannot be sent again.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: RequestError) async

    // MARK: Streams

    /// Called when the validators have checked the head of a response.
    func request(
        _ request: DataStreamRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        withResult result: ValidationResult
    ) async

    /// Called when a task that reads the stream has received an element or an error.
    ///
    /// The method is not called for ``DataStreamTask/bytes-swift.property``.
    ///
    /// Elements stay in memory until the monitor has received them. If the monitor is slower than the stream, the
    /// memory use grows.
    func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, RequestError>
    ) async

    // MARK: Downloads

    /// Called when the body of a download is complete, after its file was saved or an error occurred.
    ///
    /// The result is the URL of the saved file, or the error of a validator or of the file system.
    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: ExchangeRecord,
        with result: Result<URL, RequestError>
    ) async

    /// Called when the file of a download has been saved, directly before `didFinishDownloadingUsing`.
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) async

    /// Called when the validators have checked the head of a response or the complete file.
    ///
    /// The file URL is `nil` if the validators have checked the head.
    func request(
        _ request: DownloadRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        fileURL: URL?, withResult result: ValidationResult
    ) async

    /// Called when a serializer with a value of type `URL?` has returned a value or failed.
    ///
    /// The method is also called for such a serializer when the request has failed.
    ///
    /// The default implementation calls the generic `didParseResponse` method.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, RequestError>) async

    /// Called when a serializer has returned a value or failed, or when the request has failed.
    ///
    /// The method is called once for each serializer. Tasks that await the result of the serializer receive the same
    /// response.
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, RequestError>
    ) async
}

extension EventMonitor {
    /// Calls the method for the event.
    ///
    /// If there is no method for the event and this kind of request, the monitor ignores the event.
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
        case .willCacheResponse(let response): await self.request(request, willCacheResponse: response)
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

    /// Calls the generic method, even if there is an overload for a specific value type.
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

// These methods are synchronous. Otherwise, a call in `async` code would prefer them to a type's own synchronous
// method.
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
    public func request(_ request: any Request, willCacheResponse response: CachedResponse) {}

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

    /// Calls the generic `didParseResponse` method.
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

    /// Calls the generic `didParseResponse` method.
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
