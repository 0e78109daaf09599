public import FoundationEssentials

// Synchronous, so that a call of a method that a type implements synchronously means that one in `async` code, too.
extension EventMonitor {
    /// The global pool.
    public var executor: (any TaskExecutor)? { nil }

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
        await tell(of: response, to: self, request)
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
        await tell(of: response, to: self, request)
    }

    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, RequestError>
    ) {}
}

/// Calls the method for all values, where the one for a certain value would be nearer.
private func tell<Value: Sendable>(
    of response: DataResponse<Value, RequestError>, to monitor: some EventMonitor, _ request: DataRequest
) async {
    await monitor.request(request, didParseResponse: response)
}

/// As for a data request.
private func tell<Value: Sendable>(
    of response: DownloadResponse<Value, RequestError>, to monitor: some EventMonitor, _ request: DownloadRequest
) async {
    await monitor.request(request, didParseResponse: response)
}
