public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

// Safety: the closures are set before the monitor is shared.
/// A monitor that calls closures.
///
/// Set the closures before the monitor is given to a session.
open class ClosureEventMonitor: EventMonitor, @unchecked Sendable {
    /// The queue of the calls.
    public let queue: DispatchQueue

    /// The request was created, before its adapters run.
    open var requestDidCreateInitialURLRequest: ((Request, URLRequest) -> Void)?
    /// The request could not be created.
    open var requestDidFailToCreateURLRequestWithError: ((Request, AFError) -> Void)?
    /// The adapters have changed the request.
    open var requestDidAdaptInitialRequestToAdaptedRequest: ((Request, URLRequest, URLRequest) -> Void)?
    /// An adapter has failed.
    open var requestDidFailToAdaptURLRequestWithError: ((Request, URLRequest, AFError) -> Void)?
    /// The final request was created.
    open var requestDidCreateURLRequest: ((Request, URLRequest) -> Void)?
    /// An exchange begins; the task describes it.
    open var requestDidCreateTask: ((Request, URLSessionTask) -> Void)?
    /// An exchange was measured.
    open var requestDidGatherMetrics: ((Request, URLSessionTaskMetrics) -> Void)?
    /// An exchange has failed before its response.
    open var requestDidFailTaskEarlyWithError: ((Request, URLSessionTask, AFError) -> Void)?
    /// An exchange has ended.
    open var requestDidCompleteTaskWithError: ((Request, URLSessionTask, AFError?) -> Void)?
    /// The request is made again.
    open var requestIsRetrying: ((Request) -> Void)?
    /// The request has ended.
    open var requestDidFinish: ((Request) -> Void)?
    /// The request was started or resumed.
    open var requestDidResume: ((Request) -> Void)?
    /// The exchange was started or resumed.
    open var requestDidResumeTask: ((Request, URLSessionTask) -> Void)?
    /// The request was suspended.
    open var requestDidSuspend: ((Request) -> Void)?
    /// The exchange was suspended.
    open var requestDidSuspendTask: ((Request, URLSessionTask) -> Void)?
    /// The request was cancelled.
    open var requestDidCancel: ((Request) -> Void)?
    /// The exchange was cancelled.
    open var requestDidCancelTask: ((Request, URLSessionTask) -> Void)?
    /// The response of a data request was validated.
    open var requestDidValidateRequestResponseDataWithResult:
        ((DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
    /// A handler gets the body of a data request as it is.
    open var requestDidParseResponse: ((DataRequest, DataResponse<Data?, AFError>) -> Void)?
    /// The response of a stream request was validated.
    open var requestDidValidateRequestResponseWithResult:
        ((DataStreamRequest, URLRequest?, HTTPURLResponse, Request.ValidationResult) -> Void)?
    /// The body of an upload was created.
    open var requestDidCreateUploadable: ((UploadRequest, UploadRequest.Uploadable) -> Void)?
    /// The body of an upload could not be created.
    open var requestDidFailToCreateUploadableWithError: ((UploadRequest, AFError) -> Void)?
    /// The body of a download is complete.
    open var requestDidFinishDownloadingUsingTaskWithResult:
        ((DownloadRequest, URLSessionTask, Result<URL, AFError>) -> Void)?
    /// The place of a download's file is known.
    open var requestDidCreateDestinationURL: ((DownloadRequest, URL) -> Void)?
    /// The response of a download was validated.
    open var requestDidValidateRequestResponseFileURLWithResult:
        ((DownloadRequest, URLRequest?, HTTPURLResponse, URL?, Request.ValidationResult) -> Void)?
    /// A handler gets the file of a download as it is.
    open var requestDidParseDownloadResponse: ((DownloadRequest, DownloadResponse<URL?, AFError>) -> Void)?
    /// A redirect is followed; the session is `URLSession.shared`.
    open var taskWillPerformHTTPRedirection: ((URLSession, URLSessionTask, HTTPURLResponse, URLRequest) -> Void)?
    /// An exchange was measured; the session is `URLSession.shared`.
    open var taskDidFinishCollectingMetrics: ((URLSession, URLSessionTask, URLSessionTaskMetrics) -> Void)?
    /// An exchange has ended; the session is `URLSession.shared`.
    open var taskDidComplete: ((URLSession, URLSessionTask, (any Error)?) -> Void)?
    /// The head of a response has arrived; the session is `URLSession.shared`.
    open var dataTaskDidReceiveResponse: ((URLSession, URLSessionDataTask, URLResponse) -> Void)?
    /// The whole body of a data request is there; the session is `URLSession.shared`.
    open var dataTaskDidReceiveData: ((URLSession, URLSessionDataTask, Data) -> Void)?

    /// Creates a monitor without closures.
    ///
    /// - Parameter queue: The queue of the calls; the main queue by default.
    public init(queue: DispatchQueue = .main) { self.queue = queue }

    /// Calls `requestDidCreateInitialURLRequest`.
    open func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
        requestDidCreateInitialURLRequest?(request, urlRequest)
    }
    /// Calls `requestDidFailToCreateURLRequestWithError`.
    open func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) {
        requestDidFailToCreateURLRequestWithError?(request, error)
    }
    /// Calls `requestDidAdaptInitialRequestToAdaptedRequest`.
    open func request(
        _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
    ) { requestDidAdaptInitialRequestToAdaptedRequest?(request, initialRequest, adaptedRequest) }
    /// Calls `requestDidFailToAdaptURLRequestWithError`.
    open func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: AFError
    ) { requestDidFailToAdaptURLRequestWithError?(request, initialRequest, error) }
    /// Calls `requestDidCreateURLRequest`.
    open func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
        requestDidCreateURLRequest?(request, urlRequest)
    }
    /// Calls `requestDidCreateTask`.
    open func request(_ request: Request, didCreateTask task: URLSessionTask) { requestDidCreateTask?(request, task) }
    /// Calls `requestDidGatherMetrics`.
    open func request(_ request: Request, didGatherMetrics metrics: URLSessionTaskMetrics) {
        requestDidGatherMetrics?(request, metrics)
    }
    /// Calls `requestDidFailTaskEarlyWithError`.
    open func request(_ request: Request, didFailTask task: URLSessionTask, earlyWithError error: AFError) {
        requestDidFailTaskEarlyWithError?(request, task, error)
    }
    /// Calls `requestDidCompleteTaskWithError`.
    open func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
        requestDidCompleteTaskWithError?(request, task, error)
    }
    /// Calls `requestIsRetrying`.
    open func requestIsRetrying(_ request: Request) { requestIsRetrying?(request) }
    /// Calls `requestDidFinish`.
    open func requestDidFinish(_ request: Request) { requestDidFinish?(request) }
    /// Calls `requestDidResume`.
    open func requestDidResume(_ request: Request) { requestDidResume?(request) }
    /// Calls `requestDidResumeTask`.
    open func request(_ request: Request, didResumeTask task: URLSessionTask) { requestDidResumeTask?(request, task) }
    /// Calls `requestDidSuspend`.
    open func requestDidSuspend(_ request: Request) { requestDidSuspend?(request) }
    /// Calls `requestDidSuspendTask`.
    open func request(_ request: Request, didSuspendTask task: URLSessionTask) { requestDidSuspendTask?(request, task) }
    /// Calls `requestDidCancel`.
    open func requestDidCancel(_ request: Request) { requestDidCancel?(request) }
    /// Calls `requestDidCancelTask`.
    open func request(_ request: Request, didCancelTask task: URLSessionTask) { requestDidCancelTask?(request, task) }
    /// Calls `requestDidValidateRequestResponseDataWithResult`.
    open func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) { requestDidValidateRequestResponseDataWithResult?(request, urlRequest, response, data, result) }
    /// Calls `requestDidParseResponse`.
    open func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>) {
        requestDidParseResponse?(request, response)
    }
    /// Calls `requestDidValidateRequestResponseWithResult`.
    open func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) { requestDidValidateRequestResponseWithResult?(request, urlRequest, response, result) }
    /// Calls `requestDidCreateUploadable`.
    open func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
        requestDidCreateUploadable?(request, uploadable)
    }
    /// Calls `requestDidFailToCreateUploadableWithError`.
    open func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError) {
        requestDidFailToCreateUploadableWithError?(request, error)
    }
    /// Calls `requestDidFinishDownloadingUsingTaskWithResult`.
    open func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask, with result: Result<URL, AFError>
    ) { requestDidFinishDownloadingUsingTaskWithResult?(request, task, result) }
    /// Calls `requestDidCreateDestinationURL`.
    open func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        requestDidCreateDestinationURL?(request, url)
    }
    /// Calls `requestDidValidateRequestResponseFileURLWithResult`.
    open func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) { requestDidValidateRequestResponseFileURLWithResult?(request, urlRequest, response, fileURL, result) }
    /// Calls `requestDidParseDownloadResponse`.
    open func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>) {
        requestDidParseDownloadResponse?(request, response)
    }
    /// Calls `taskWillPerformHTTPRedirection`.
    open func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) { taskWillPerformHTTPRedirection?(session, task, response, request) }
    /// Calls `taskDidFinishCollectingMetrics`.
    open func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) { taskDidFinishCollectingMetrics?(session, task, metrics) }
    /// Calls `taskDidComplete`.
    open func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        taskDidComplete?(session, task, error)
    }
    /// Calls `dataTaskDidReceiveResponse`.
    open func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse) {
        dataTaskDidReceiveResponse?(session, dataTask, response)
    }
    /// Calls `dataTaskDidReceiveData`.
    open func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        dataTaskDidReceiveData?(session, dataTask, data)
    }
}
