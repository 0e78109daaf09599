import BluebonnetCallbacks
import Foundation
import FoundationNetworking

/// An event handler of `Bluebonnet` that calls a monitor of the user.
struct MonitorBridge: RequestEventHandler {
    let monitor: any EventMonitor

    var executor: (any TaskExecutor)? { QueueExecutor(monitor.queue) }

    func handle(_ event: RequestEvent, of base: any Bluebonnet.Request) {
        let request = Request.of(base)
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
            guard let upload = request as? UploadRequest else { return }
            monitor.request(upload, didCreateUploadable: UploadRequest.Uploadable(body))
        case .didFailToCreateUploadable(let error):
            guard let upload = request as? UploadRequest else { return }
            monitor.request(upload, didFailToCreateUploadableWithError: AFError(error))
        case .didResume:
            monitor.requestDidResume(request)
            request.task.map { monitor.request(request, didResumeTask: $0) }
        case .didSuspend:
            monitor.requestDidSuspend(request)
            request.task.map { monitor.request(request, didSuspendTask: $0) }
        case .didCancel:
            monitor.requestDidCancel(request)
            request.task.map { monitor.request(request, didCancelTask: $0) }
        case .isRetrying: monitor.requestIsRetrying(request)
        case .didFinish: monitor.requestDidFinish(request)
        case .didParseResponse(let outcome), .didParseStream(let outcome):
            (outcome as? any MonitoredOutcome)?.report(to: monitor, request)
        case .didValidateRequest(let validated, let response, let data, let fileURL, let result):
            let urlRequest = validated.map { URLRequest($0) }
            report(validated, urlRequest, response.urlResponse, data, fileURL, result, of: request)
        default: handleTask(event, of: request)
        }
    }

    private func handleTask(_ event: RequestEvent, of request: Request) {
        func task(_ record: ExchangeRecord) -> ExchangeTask {
            ExchangeTask(
                of: request.base, number: record.attempt - 1, request: record.request, response: record.response)
        }
        switch event {
        case .didCreateTask(let record):
            guard !record.isRedirect else { return }
            let task = task(record)
            monitor.request(request, didCreateTask: task)
            monitor.request(request, didResumeTask: task)
        case .didGatherMetrics(let metrics):
            request.task.map { monitor.urlSession(.shared, task: $0, didFinishCollecting: metrics) }
            monitor.request(request, didGatherMetrics: metrics)
        case .didFailTask(let record, let error):
            monitor.request(request, didFailTask: task(record), earlyWithError: AFError(error))
        case .didCompleteTask(let record, let error):
            let task = task(record)
            monitor.urlSession(.shared, task: task, didCompleteWithError: error.map(\.systemError))
            monitor.request(request, didCompleteTask: task, with: error.map { AFError($0) })
        case .didReceiveResponse(let response):
            guard let task = request.task as? URLSessionDataTask else { return }
            monitor.urlSession(.shared, dataTask: task, didReceive: response.urlResponse)
        case .willBeRedirected(let newRequest, let response):
            guard let task = request.task else { return }
            monitor.urlSession(
                .shared, task: task, willPerformHTTPRedirection: response.urlResponse,
                newRequest: URLRequest(newRequest))
        case .didFinishDownloading(let record, let result):
            guard let download = request as? DownloadRequest else { return }
            monitor.request(
                download, didFinishDownloadingUsing: task(record), with: result.mapError(AFError.init))
        case .didCreateDestinationURL(let url):
            guard let download = request as? DownloadRequest else { return }
            monitor.request(download, didCreateDestinationURL: url)
        default: break
        }
    }

    private func report(
        _ validated: HTTPRequest?, _ urlRequest: URLRequest?, _ response: HTTPURLResponse, _ data: Data?,
        _ fileURL: URL?, _ result: ValidationResult, of request: Request
    ) {
        switch request {
        case let request as DataRequest:
            let data = data.flatMap { $0.isEmpty ? nil : $0 }
            if let data, let task = request.task as? URLSessionDataTask {
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
            AFDataResponse(answer, of: request).report(to: monitor, request)
        } else if let answer = self as? SerializedResponse<Bluebonnet.DownloadRequest, Success, RequestError>,
            let request = request as? DownloadRequest
        {
            AFDownloadResponse(answer, of: request).report(to: monitor, request)
        }
    }
}

extension DataResponse where Failure == AFError, Success: Sendable {
    fileprivate func report(to monitor: any EventMonitor, _ request: DataRequest) {
        if let response = self as? AFDataResponse<Data?> { return monitor.request(request, didParseResponse: response) }
        monitor.request(request, didParseResponse: self)
    }
}

extension DownloadResponse where Failure == AFError, Success: Sendable {
    fileprivate func report(to monitor: any EventMonitor, _ request: DownloadRequest) {
        if let response = self as? AFDownloadResponse<URL?> {
            return monitor.request(request, didParseResponse: response)
        }
        monitor.request(request, didParseResponse: self)
    }
}

extension Bluebonnet.DataStreamRequest.Stream: MonitoredOutcome {
    fileprivate func report(to monitor: any EventMonitor, _ request: Request) {
        guard let request = request as? DataStreamRequest, let result else { return }
        monitor.request(
            request, didParseStream: result.mapError { ($0 as any Error).asAFError(or: .explicitlyCancelled) })
    }
}
