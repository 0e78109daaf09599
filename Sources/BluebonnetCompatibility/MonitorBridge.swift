import BluebonnetCallbacks
import Foundation
import FoundationNetworking

/// An event handler of `Bluebonnet` that calls a monitor of the user.
struct MonitorBridge: BodyEventHandler {
    let monitor: any EventMonitor
    /// The latest attempt of each running request.
    private let attempts = Locked<[RequestID: Attempt]>([:])

    private struct Attempt {
        var task: any AttemptTask
        /// The calls for a response that may be redirected, and for the end of the attempt, which follows the
        /// validation.
        var held: [@Sendable () -> Void] = []
        /// The error of a validator.
        var refusal: AFError?
        /// The latest head.
        var head: HTTPResponse?
        /// The number of sent bytes that the monitor knows.
        var sent: Int64 = 0
        /// The number of written bytes that the monitor knows; `nil` before the head of a download.
        var written: Int64?
    }

    init(monitor: any EventMonitor) { self.monitor = monitor }

    var executor: (any TaskExecutor)? { QueueExecutor(monitor.queue) }

    func handle(_ event: RequestEvent, of base: any Bluebonnet.Request) {
        let request = Request.of(base)
        reportProgress(of: request)
        let task = attempts.withLock { $0[base.id]?.task }
        callHeld(before: event, of: request)
        switch event {
        case .didCreateInitialRequest(let initial):
            monitor.request(request, didCreateInitialURLRequest: URLRequest(initial))
        case .didFailToCreateRequest(let error):
            guard !error.isCancellation else { return }
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
        case .isRetrying:
            request.latest.withLock { $0.data = nil }
            monitor.requestIsRetrying(request)
        case .didFinish:
            attempts.withLock { _ = $0.removeValue(forKey: base.id) }
            monitor.requestDidFinish(request)
        case .didParseResponse(let outcome), .didParseStream(let outcome):
            (outcome as? any MonitoredOutcome)?.report(to: monitor, request)
        case .didValidateRequest(let validated, let response, let data, let fileURL, let result):
            let urlRequest = validated.map { URLRequest($0) }
            report(urlRequest, response.urlResponse, data, fileURL, result, of: request)
        default: handleTask(event, of: request, task)
        }
    }

    private func handleTask(_ event: RequestEvent, of request: Request, _ task: (any AttemptTask)?) {
        func described(_ record: ExchangeRecord) -> any AttemptTask {
            AttemptDescription(
                of: request.base, number: record.attempt - 1, request: record.request, response: record.response
            ).task
        }
        switch event {
        case .didCreateTask(let record):
            begin(record, record.isRedirect ? task : nil, described(record), of: request)
        case .didGatherMetrics(let metrics):
            request.latest.withLock { $0.metrics = metrics }
            if let task {
                reportChallenge(metrics, of: request, task)
                monitor.urlSession(.shared, task: task, didFinishCollecting: metrics)
            }
            monitor.request(request, didGatherMetrics: metrics)
        case .didFailTask(let record, let error):
            monitor.request(request, didFailTask: described(record), earlyWithError: AFError(error))
        case .didCompleteTask(let record, let error):
            let task = described(record)
            request.latest.withLock { $0.response = record.response }
            callUnlessRedirected(record.response, holding: request is DownloadRequest, of: request) {
                if let request = request as? DataRequest, let task = task as? DataAttemptTask, !record.body.isEmpty {
                    request.latest.withLock { $0.data = record.body }
                    monitor.urlSession(.shared, dataTask: task, didReceive: record.body)
                }
                monitor.urlSession(.shared, task: task, didCompleteWithError: error.map(\.systemError))
            }
            callUnlessRedirected(record.response, holding: true, of: request) {
                let refusal = attempts.withLock { $0[request.base.id]?.refusal }
                monitor.request(request, didCompleteTask: task, with: error.map { AFError($0) } ?? refusal)
            }
        case .didReceiveResponse(let response):
            request.latest.withLock { $0.response = response }
            attempts.withLock { $0[request.base.id]?.head = response }
            switch task {
            case let task as DataAttemptTask:
                callUnlessRedirected(response, holding: false, of: request) {
                    monitor.urlSession(.shared, dataTask: task, didReceive: response.urlResponse)
                }
            case let task as DownloadAttemptTask: reportOffset(in: response, of: request, task)
            default: break
            }
        case .willCacheResponse(let response):
            guard let task = task as? DataAttemptTask else { return }
            monitor.urlSession(.shared, dataTask: task, willCacheResponse: CachedURLResponse(response))
        case .willBeRedirected(let newRequest, let response):
            task.map {
                monitor.urlSession(
                    .shared, task: $0, willPerformHTTPRedirection: response.urlResponse,
                    newRequest: URLRequest(newRequest))
            }
        case .didFinishDownloading(let record, let result):
            guard let request = request as? DownloadRequest else { return }
            if case .success(let url) = result, let task = task as? DownloadAttemptTask {
                monitor.urlSession(.shared, downloadTask: task, didFinishDownloadingTo: url)
            }
            monitor.request(request, didFinishDownloadingUsing: described(record), with: result.mapError(AFError.init))
        case .didCreateDestinationURL(let url):
            (request as? DownloadRequest).map { monitor.request($0, didCreateDestinationURL: url) }
        default: break
        }
    }

    private func report(
        _ urlRequest: URLRequest?, _ response: HTTPURLResponse, _ data: Data?, _ fileURL: URL?,
        _ result: ValidationResult, of request: Request
    ) {
        let result = result.mapError { $0.asAFError(or: .responseValidationFailed(reason: .dataFileNil)) as any Error }
        if case .failure(let error) = result {
            attempts.withLock { $0[request.base.id]?.refusal = error.asAFError }
        }
        switch request {
        case let request as DataRequest:
            let data = data.flatMap { $0.isEmpty ? nil : $0 }
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

// MARK: Exchanges and progress

extension MonitorBridge {
    /// Calls the monitor now; holds the call if a redirect may follow, or if `holds` is `true`.
    private func callUnlessRedirected(
        _ response: HTTPResponse?, holding holds: Bool, of request: Request, _ call: @escaping @Sendable () -> Void
    ) {
        let isRedirect = response.map { (300..<400).contains($0.statusCode) } ?? false
        // A monitor that was added during an attempt does not know the attempt.
        let isHeld = attempts.withLock { attempts in
            guard holds || isRedirect, attempts[request.base.id] != nil else { return false }
            attempts[request.base.id]?.held.append(call)
            return true
        }
        if !isHeld { call() }
    }

    /// Makes the held calls, unless more events of the same attempt may follow; a followed redirect removes the calls.
    private func callHeld(before event: RequestEvent, of request: Request) {
        let isRedirected: Bool
        switch event {
        case .didReceiveResponse, .willCacheResponse, .didGatherMetrics, .didFailTask, .didCompleteTask,
            .didValidateRequest, .didCreateDestinationURL, .didFinishDownloading, .didParseStream, .didSuspend,
            .didResume, .didCancel:
            return
        case .willBeRedirected: isRedirected = true
        default: isRedirected = false
        }
        let held = attempts.withLock { attempts in
            defer { attempts[request.base.id]?.held = [] }
            return attempts[request.base.id]?.held ?? []
        }
        if !isRedirected { for call in held { call() } }
    }

    /// Reports the end of a session to its monitors, after all earlier events.
    static func end(of base: Bluebonnet.Session, for monitors: [any EventMonitor]) {
        guard !monitors.isEmpty else { return }
        Task.detached {
            await base.earlierEventsDelivered()
            for monitor in monitors {
                monitor.queue.async { monitor.urlSession(.shared, didBecomeInvalidWithError: nil) }
            }
        }
    }

    /// Reports the beginning of an exchange, which follows a redirect if the attempt already has a task.
    private func begin(
        _ record: ExchangeRecord, _ current: (any AttemptTask)?, _ new: any AttemptTask, of request: Request
    ) {
        let (task, body) = (current ?? new, record.request.body)
        let earlier = attempts.withLock {
            exchange(&$0[request.base.id], with: Attempt(task: task, sent: body == nil ? .max : 0))
        }
        if current == nil {
            monitor.request(request, didCreateTask: task)
            monitor.request(request, didResumeTask: task)
        }
        if let body, case .stream(let stream) = UploadRequest.Uploadable(body) {
            monitor.urlSession(.shared, taskNeedsNewBodyStream: task)
            (request as? UploadRequest).map { monitor.request($0, didProvideInputStream: stream) }
        }
        guard earlier == nil else { return }
        if body != nil { observe(request.base.uploadProgressUpdates(bufferingPolicy: .latest), of: request) }
        if request is DownloadRequest {
            observe(request.base.downloadProgressUpdates(bufferingPolicy: .latest), of: request)
        }
    }

    /// Reports the progress of a request until the request ends.
    private func observe(_ updates: StreamOf<TransferProgress>, of request: Request) {
        Task.detached(executorPreference: executor) { for await _ in updates { reportProgress(of: request) } }
    }

    /// Reports the bytes that the monitor does not know yet.
    ///
    /// It is called before each event, so that the monitor knows the bytes of a transfer before its end. If the monitor
    /// is slow and the request is already being retried, the last bytes of the failed attempt are not reported.
    private func reportProgress(of request: Request) {
        let (upload, download) = (request.base.uploadProgress, request.base.downloadProgress)
        let (task, sent, written) = attempts.withLock { attempts in
            let attempt = attempts[request.base.id]
            attempts[request.base.id]?.sent = max(attempt?.sent ?? 0, upload.completed)
            attempts[request.base.id]?.written = attempt?.written.map { max($0, download.completed) }
            return (attempt?.task, attempt?.sent ?? 0, attempt?.written)
        }
        if let task, upload.completed > sent {
            monitor.urlSession(
                .shared, task: task, didSendBodyData: upload.completed - sent, totalBytesSent: upload.completed,
                totalBytesExpectedToSend: upload.total ?? -1)
        }
        if let task = task as? DownloadAttemptTask, let written, download.completed > written {
            monitor.urlSession(
                .shared, downloadTask: task, didWriteData: download.completed - written,
                totalBytesWritten: download.completed, totalBytesExpectedToWrite: download.total ?? -1)
        }
    }

    /// Reports the position at which the body of a download begins, unless it is the beginning of the file.
    private func reportOffset(in response: HTTPResponse, of request: Request, _ task: DownloadAttemptTask) {
        let range = response.headers["Content-Range"].flatMap { ContentRange($0) }
        // The session adds `If-Range` to continue a download; a range of the user is a file of its own.
        guard response.statusCode == 206, task.attempt.sent.value(forHTTPHeaderField: "If-Range") != nil,
            case .bytes(let first, _, let total) = range, first > 0
        else {
            // The body of a redirect is not written.
            let written: Int64? = (300..<400).contains(response.statusCode) ? nil : 0
            return attempts.withLock { $0[request.base.id]?.written = written }
        }
        attempts.withLock { $0[request.base.id]?.written = first }
        monitor.urlSession(
            .shared, downloadTask: task, didResumeAtOffset: first, expectedTotalBytes: total ?? -1)
    }

    /// Reports the challenge of the server, if there was one.
    private func reportChallenge(_ metrics: TransferMetrics, of request: Request, _ task: any AttemptTask) {
        let head = attempts.withLock { $0[request.base.id]?.head }
        let refused = head?.statusCode == 401 ? head?.headers.values(for: "WWW-Authenticate") : nil
        guard let challenge = metrics.challenges.first ?? refused.flatMap({ Challenge.parse($0).first }),
            let url = head?.urlResponse.url ?? task.attempt.sent.url
        else { return }
        monitor.urlSession(
            .shared, task: task,
            didReceive: URLAuthenticationChallenge(
                protectionSpace: URLProtectionSpace(challenge, of: url), proposedCredential: nil,
                previousFailureCount: 0, failureResponse: refused == nil ? nil : head?.urlResponse, error: nil,
                sender: ChallengeSender()))
    }
}

extension URLProtectionSpace {
    fileprivate convenience init(_ challenge: Challenge, of url: URL) {
        let method =
            switch challenge.scheme {
            case "basic": NSURLAuthenticationMethodHTTPBasic
            case "digest": NSURLAuthenticationMethodHTTPDigest
            case "ntlm": NSURLAuthenticationMethodNTLM
            case "negotiate": NSURLAuthenticationMethodNegotiate
            default: NSURLAuthenticationMethodDefault
            }
        self.init(
            host: url.host ?? "", port: url.port ?? (url.scheme == "https" ? 443 : 80), protocol: url.scheme,
            realm: challenge.parameter("realm"), authenticationMethod: method)
    }
}

/// The sender of a challenge that has already been answered.
private final class ChallengeSender: NSObject, URLAuthenticationChallengeSender {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
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
