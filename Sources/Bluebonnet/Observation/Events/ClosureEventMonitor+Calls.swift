public import FoundationEssentials

extension ClosureEventMonitor {
    /// Calls the closure.
    public func request(_ request: any Request, didCreateInitialRequest initialRequest: HTTPRequest) async {
        await requestDidCreateInitialRequest?(request, initialRequest)
    }

    /// Calls the closure.
    public func request(_ request: any Request, didFailToCreateRequestWithError error: RequestError) async {
        await requestDidFailToCreateRequestWithError?(request, error)
    }

    /// Calls the closure.
    public func request(
        _ request: any Request, didAdaptInitialRequest initialRequest: HTTPRequest, to adaptedRequest: HTTPRequest
    ) async {
        await requestDidAdaptInitialRequestToAdaptedRequest?(request, initialRequest, adaptedRequest)
    }

    /// Calls the closure.
    public func request(
        _ request: any Request, didFailToAdaptRequest initialRequest: HTTPRequest, withError error: RequestError
    ) async {
        await requestDidFailToAdaptRequestWithError?(request, initialRequest, error)
    }

    /// Calls the closure.
    public func request(_ request: any Request, didCreateRequest createdRequest: HTTPRequest) async {
        await requestDidCreateRequest?(request, createdRequest)
    }

    /// Calls the closure.
    public func request(_ request: any Request, didCreateTask task: ExchangeRecord) async {
        await requestDidCreateTask?(request, task)
    }

    /// Calls the closure.
    public func request(_ request: any Request, didReceiveResponse response: HTTPResponse) async {
        await requestDidReceiveResponse?(request, response)
    }

    /// Calls the closure.
    public func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async {
        await requestWillBeRedirected?(request, newRequest, response)
    }

    /// Calls the closure.
    public func request(_ request: any Request, didGatherMetrics metrics: TransferMetrics) async {
        await requestDidGatherMetrics?(request, metrics)
    }

    /// Calls the closure.
    public func request(_ request: any Request, didFailTask task: ExchangeRecord, earlyWithError error: RequestError)
        async
    {
        await requestDidFailTaskEarlyWithError?(request, task, error)
    }

    /// Calls the closure.
    public func request(
        _ request: any Request, didCompleteTask task: ExchangeRecord, with error: RequestError?
    ) async {
        await requestDidCompleteTaskWithError?(request, task, error)
    }

    /// Calls the closure.
    public func request(_ request: any Request, willRetryDueTo error: RequestError, after delay: Duration?) async {
        await requestWillRetry?(request, error, delay)
    }

    /// Calls the closure.
    public func requestIsRetrying(_ request: any Request) async {
        await requestIsRetrying?(request)
    }

    /// Calls the closure.
    public func requestDidResume(_ request: any Request) async {
        await requestDidResume?(request)
    }

    /// Calls the closure.
    public func requestDidSuspend(_ request: any Request) async {
        await requestDidSuspend?(request)
    }

    /// Calls the closure.
    public func requestDidCancel(_ request: any Request) async {
        await requestDidCancel?(request)
    }

    /// Calls the closure.
    public func requestDidFinish(_ request: any Request) async {
        await requestDidFinish?(request)
    }

    /// Calls the closure.
    public func request(
        _ request: DataRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse, data: Data?,
        withResult result: ValidationResult
    ) async {
        await requestDidValidateRequestResponseDataWithResult?(request, validatedRequest, response, data, result)
    }

    /// Calls the closure.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, RequestError>) async {
        await requestDidParseResponse?(request, response)
    }

    /// Calls the closure.
    public func request(_ request: UploadRequest, didCreateUploadable uploadable: RequestBody) async {
        await requestDidCreateUploadable?(request, uploadable)
    }

    /// Calls the closure.
    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: RequestError) async {
        await requestDidFailToCreateUploadableWithError?(request, error)
    }

    /// Calls the closure.
    public func request(
        _ request: DataStreamRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        withResult result: ValidationResult
    ) async {
        await requestDidValidateRequestResponseWithResult?(request, validatedRequest, response, result)
    }

    /// Calls the closure.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: ExchangeRecord,
        with result: Result<URL, RequestError>
    ) async {
        await requestDidFinishDownloadingUsingTaskWithResult?(request, task, result)
    }

    /// Calls the closure.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) async {
        await requestDidCreateDestinationURL?(request, url)
    }

    /// Calls the closure.
    public func request(
        _ request: DownloadRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        fileURL: URL?, withResult result: ValidationResult
    ) async {
        await requestDidValidateRequestResponseFileURLWithResult?(request, validatedRequest, response, fileURL, result)
    }

    /// Calls the closure.
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, RequestError>)
        async
    {
        await requestDidParseDownloadResponse?(request, response)
    }
}
