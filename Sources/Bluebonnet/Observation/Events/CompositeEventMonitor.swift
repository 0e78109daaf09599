public import FoundationEssentials

/// Hands every event on to several monitors.
///
/// A session that gets one tells each of its monitors as if it had got them one by one: on its own executor, and none
/// waits for another. Who calls its methods otherwise has the monitors called one after the other.
public struct CompositeEventMonitor: EventMonitor {
    /// The monitors.
    public let monitors: [any EventMonitor]

    /// Creates a monitor of several.
    ///
    /// - Parameter monitors: The monitors.
    public init(monitors: [any EventMonitor]) {
        self.monitors = monitors
    }

    /// Tells each.
    public func request(_ request: any Request, didCreateInitialRequest initialRequest: HTTPRequest) async {
        for monitor in monitors {
            await monitor.request(request, didCreateInitialRequest: initialRequest)
        }
    }

    /// Tells each.
    public func request(_ request: any Request, didFailToCreateRequestWithError error: RequestError) async {
        for monitor in monitors {
            await monitor.request(request, didFailToCreateRequestWithError: error)
        }
    }

    /// Tells each.
    public func request(
        _ request: any Request, didAdaptInitialRequest initialRequest: HTTPRequest, to adaptedRequest: HTTPRequest
    ) async {
        for monitor in monitors {
            await monitor.request(request, didAdaptInitialRequest: initialRequest, to: adaptedRequest)
        }
    }

    /// Tells each.
    public func request(
        _ request: any Request, didFailToAdaptRequest initialRequest: HTTPRequest, withError error: RequestError
    ) async {
        for monitor in monitors {
            await monitor.request(request, didFailToAdaptRequest: initialRequest, withError: error)
        }
    }

    /// Tells each.
    public func request(_ request: any Request, didCreateRequest createdRequest: HTTPRequest) async {
        for monitor in monitors {
            await monitor.request(request, didCreateRequest: createdRequest)
        }
    }

    /// Tells each.
    public func request(_ request: any Request, didCreateTask task: ExchangeRecord) async {
        for monitor in monitors {
            await monitor.request(request, didCreateTask: task)
        }
    }

    /// Tells each.
    public func request(_ request: any Request, didReceiveResponse response: HTTPResponse) async {
        for monitor in monitors {
            await monitor.request(request, didReceiveResponse: response)
        }
    }

    /// Tells each.
    public func request(
        _ request: any Request, willBeRedirectedTo newRequest: HTTPRequest, for response: HTTPResponse
    ) async {
        for monitor in monitors {
            await monitor.request(request, willBeRedirectedTo: newRequest, for: response)
        }
    }

    /// Tells each.
    public func request(_ request: any Request, didGatherMetrics metrics: TransferMetrics) async {
        for monitor in monitors {
            await monitor.request(request, didGatherMetrics: metrics)
        }
    }

    /// Tells each.
    public func request(_ request: any Request, didFailTask task: ExchangeRecord, earlyWithError error: RequestError)
        async
    {
        for monitor in monitors {
            await monitor.request(request, didFailTask: task, earlyWithError: error)
        }
    }

    /// Tells each.
    public func request(
        _ request: any Request, didCompleteTask task: ExchangeRecord, with error: RequestError?
    ) async {
        for monitor in monitors {
            await monitor.request(request, didCompleteTask: task, with: error)
        }
    }

    /// Tells each.
    public func request(_ request: any Request, willRetryDueTo error: RequestError, after delay: Duration?) async {
        for monitor in monitors {
            await monitor.request(request, willRetryDueTo: error, after: delay)
        }
    }

    /// Tells each.
    public func requestIsRetrying(_ request: any Request) async {
        for monitor in monitors {
            await monitor.requestIsRetrying(request)
        }
    }

    /// Tells each.
    public func requestDidResume(_ request: any Request) async {
        for monitor in monitors {
            await monitor.requestDidResume(request)
        }
    }

    /// Tells each.
    public func requestDidSuspend(_ request: any Request) async {
        for monitor in monitors {
            await monitor.requestDidSuspend(request)
        }
    }

    /// Tells each.
    public func requestDidCancel(_ request: any Request) async {
        for monitor in monitors {
            await monitor.requestDidCancel(request)
        }
    }

    /// Tells each.
    public func requestDidFinish(_ request: any Request) async {
        for monitor in monitors {
            await monitor.requestDidFinish(request)
        }
    }

    /// Tells each.
    public func request(
        _ request: DataRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse, data: Data?,
        withResult result: ValidationResult
    ) async {
        for monitor in monitors {
            await monitor.request(
                request, didValidateRequest: validatedRequest, response: response, data: data, withResult: result)
        }
    }

    /// Tells each.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, RequestError>) async {
        for monitor in monitors {
            await monitor.request(request, didParseResponse: response)
        }
    }

    /// Tells each.
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>
    ) async {
        for monitor in monitors {
            await monitor.request(request, didParseResponse: response)
        }
    }

    /// Tells each.
    public func request(_ request: UploadRequest, didCreateUploadable uploadable: RequestBody) async {
        for monitor in monitors {
            await monitor.request(request, didCreateUploadable: uploadable)
        }
    }

    /// Tells each.
    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: RequestError) async {
        for monitor in monitors {
            await monitor.request(request, didFailToCreateUploadableWithError: error)
        }
    }

    /// Tells each.
    public func request(
        _ request: DataStreamRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        withResult result: ValidationResult
    ) async {
        for monitor in monitors {
            await monitor.request(request, didValidateRequest: validatedRequest, response: response, withResult: result)
        }
    }

    /// Tells each.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, RequestError>
    ) async {
        for monitor in monitors {
            await monitor.request(request, didParseStream: result)
        }
    }

    /// Tells each.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: ExchangeRecord,
        with result: Result<URL, RequestError>
    ) async {
        for monitor in monitors {
            await monitor.request(request, didFinishDownloadingUsing: task, with: result)
        }
    }

    /// Tells each.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) async {
        for monitor in monitors {
            await monitor.request(request, didCreateDestinationURL: url)
        }
    }

    /// Tells each.
    public func request(
        _ request: DownloadRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        fileURL: URL?, withResult result: ValidationResult
    ) async {
        for monitor in monitors {
            await monitor.request(
                request, didValidateRequest: validatedRequest, response: response, fileURL: fileURL, withResult: result)
        }
    }

    /// Tells each.
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, RequestError>)
        async
    {
        for monitor in monitors {
            await monitor.request(request, didParseResponse: response)
        }
    }

    /// Tells each.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, RequestError>
    ) async {
        for monitor in monitors {
            await monitor.request(request, didParseResponse: response)
        }
    }
}
