import BluebonnetCallbacks
import Foundation
import FoundationNetworking

/// An event handler of `Bluebonnet` that calls a monitor of the user.
struct MonitorBridge: RequestEventHandler {
    let monitor: any EventMonitor
    /// The latest task of each running request, and the event for the end of its attempt; a followed redirect removes
    /// this event.
    private let tasks = Locked<[RequestID: (task: ExchangeTask, completion: (@Sendable () -> Void)?)]>([:])

    init(monitor: any EventMonitor) { self.monitor = monitor }

    var executor: (any TaskExecutor)? { QueueExecutor(monitor.queue) }

    func handle(_ event: RequestEvent, of base: any Bluebonnet.Request) {
        let request = Request.of(base)
        let (task, completion) = tasks.withLock { tasks in
            defer { tasks[base.id]?.completion = nil }
            return (tasks[base.id]?.task, tasks[base.id]?.completion)
        }
        if case .willBeRedirected = event {} else { completion?() }
        switch event {
        case .didCreateInitialRequest(let initial):
            monitor.request(request, didCreateInitialURLRequest: URLRequest(initial))
        case .didFailToCreateRequest(let error):
            monitor.request(request, didFailToCreateURLRequestWithError: AFError(error))
        case .didAdaptInitialRequest(let initial, let adapted):
            monitor.request(request, didAdaptInitialRequest: URLRequest(initial), to: URLRequest(adapted))
        case .didFailToAdaptRequest(let initial, let error):
            monitor.request(request, didFailToAdaptURLRequest: URLRequest(initial), withError: AFError(error))
        case .didCreateRequest(let created): monitor.request(request, didCreateURLRequest: URLRequest(created))
        case .didCreateUploadable(let body):
            (request as? UploadRequest).map { monitor.request($0, didCreateUploadable: .init(body)) }
        case .didFailToCreateUploadable(let error):
            (request as? UploadRequest).map {
                monitor.request($0, didFailToCreateUploadableWithError: AFError(error))
            }
        case .didResume:
            monitor.requestDidResume(request)
            task.map { monitor.request(request, didResumeTask: $0) }
        case .didSuspend:
            monitor.requestDidSuspend(request)
            task.map { monitor.request(request, didSuspendTask: $0) }
        case .didCancel:
            monitor.requestDidCancel(request)
            task.map { monitor.request(request, didCancelTask: $0) }
        case .isRetrying: monitor.requestIsRetrying(request)
        case .didFinish:
            tasks.withLock { _ = $0.removeValue(forKey: base.id) }
            monitor.requestDidFinish(request)
        case .didParseResponse(let outcome), .didParseStream(let outcome):
            (outcome as? any MonitoredOutcome)?.report(to: monitor, request)
        case .didValidateRequest(let validated, let response, let data, let fileURL, let result):
            let urlRequest = validated.map { URLRequest($0) }
            report(urlRequest, response.urlResponse, data, fileURL, result, of: request, task)
        default: handleTask(event, of: request, task)
        }
    }

    private func handleTask(_ event: RequestEvent, of request: Request, _ task: ExchangeTask?) {
        func described(_ record: ExchangeRecord) -> ExchangeTask {
            ExchangeTask(
                of: request.base, number: record.attempt - 1, request: record.request, response: record.response)
        }
        switch event {
        case .didCreateTask(let record):
            guard !record.isRedirect else { return }
            let task = described(record)
            tasks.withLock { $0[request.base.id] = (task, nil) }
            monitor.request(request, didCreateTask: task)
            monitor.request(request, didResumeTask: task)
        case .didGatherMetrics(let metrics):
            request.latest.withLock { $0.metrics = metrics }
            task.map { monitor.urlSession(.shared, task: $0, didFinishCollecting: metrics) }
            monitor.request(request, didGatherMetrics: metrics)
        case .didFailTask(let record, let error):
            monitor.request(request, didFailTask: described(record), earlyWithError: AFError(error))
        case .didCompleteTask(let record, let error):
            let task = described(record)
            request.latest.withLock { $0.response = record.response }
            let completion: @Sendable () -> Void = { [monitor] in
                monitor.urlSession(.shared, task: task, didCompleteWithError: error.map(\.systemError))
                monitor.request(request, didCompleteTask: task, with: error.map { AFError($0) })
            }
            let status = record.response?.statusCode ?? 0
            guard (300..<400).contains(status), error == nil else { return completion() }
            tasks.withLock { $0[request.base.id]?.completion = completion }
        case .didReceiveResponse(let response):
            request.latest.withLock { $0.response = response }
            task.map { monitor.urlSession(.shared, dataTask: $0, didReceive: response.urlResponse) }
        case .willBeRedirected(let newRequest, let response):
            task.map {
                monitor.urlSession(
                    .shared, task: $0, willPerformHTTPRedirection: response.urlResponse,
                    newRequest: URLRequest(newRequest))
            }
        case .didFinishDownloading(let record, let result):
            (request as? DownloadRequest).map {
                monitor.request($0, didFinishDownloadingUsing: described(record), with: result.mapError(AFError.init))
            }
        case .didCreateDestinationURL(let url):
            (request as? DownloadRequest).map { monitor.request($0, didCreateDestinationURL: url) }
        default: break
        }
    }

    private func report(
        _ urlRequest: URLRequest?, _ response: HTTPURLResponse, _ data: Data?, _ fileURL: URL?,
        _ result: ValidationResult, of request: Request, _ task: ExchangeTask?
    ) {
        switch request {
        case let request as DataRequest:
            let data = data.flatMap { $0.isEmpty ? nil : $0 }
            if let data, let task {
                monitor.urlSession(.shared, dataTask: task, didReceive: data)
            }
            monitor.request(
                request, didValidateRequest: urlRequest, response: response, data: data, withResult: result)
        case let request as DownloadRequest:
            monitor.request(
                request, didValidateRequest: urlRequest, response: response, fileURL: fileURL, withResult: result)
        case let request as DataStreamRequest:
            monitor.request(request, didValidateRequest: urlRequest, response: response, withResult: result)
        default: break
        }
    }
}

/// An outcome of serializing that a monitor receives.
private protocol MonitoredOutcome {
    func report(to monitor: any EventMonitor, _ request: Request)
}

extension SerializedResponse: MonitoredOutcome {
    fileprivate func report(to monitor: any EventMonitor, _ request: Request) {
        if let answer = self as? SerializedResponse<Bluebonnet.DataRequest, Success, RequestError>,
            let request = request as? DataRequest
        {
            let response = AFDataResponse(answer, of: request)
            if let response = response as? AFDataResponse<Data?> {
                monitor.request(request, didParseResponse: response)
            } else if Success.self is any AnyHanded.Type {
                monitor.request(request, didParseResponse: response.map { ($0 as? any AnyHanded)?.sendable ?? $0 })
            } else {
                monitor.request(request, didParseResponse: response)
            }
        } else if let answer = self as? SerializedResponse<Bluebonnet.DownloadRequest, Success, RequestError>,
            let request = request as? DownloadRequest
        {
            let response = AFDownloadResponse(answer, of: request)
            if let response = response as? AFDownloadResponse<URL?> {
                monitor.request(request, didParseResponse: response)
            } else if Success.self is any AnyHanded.Type {
                monitor.request(request, didParseResponse: response.map { ($0 as? any AnyHanded)?.sendable ?? $0 })
            } else {
                monitor.request(request, didParseResponse: response)
            }
        }
    }
}

extension Bluebonnet.DataStreamRequest.Stream: MonitoredOutcome {
    fileprivate func report(to monitor: any EventMonitor, _ request: Request) {
        guard let request = request as? DataStreamRequest, let result else { return }
        monitor.request(
            request, didParseStream: result.mapError { ($0 as any Error).asAFError(or: .explicitlyCancelled) })
    }
}
