public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

// Safety: the closures are set before the monitor is shared.
/// A monitor that calls closures.
///
/// Set the closures before you pass the monitor to a session. A closure whose first argument is a `URLSession` always
/// receives `URLSession.shared`.
open class ClosureEventMonitor: EventMonitor, @unchecked Sendable {
    /// The queue on which the closures are called.
    public let queue: DispatchQueue

    /// The initial request was created; its adapters have not run yet.
    open var requestDidCreateInitialURLRequest: ((Request, URLRequest) -> Void)?
    /// The request could not be created.
    open var requestDidFailToCreateURLRequestWithError: ((Request, AFError) -> Void)?
    /// The adapters have run.
    open var requestDidAdaptInitialRequestToAdaptedRequest: ((Request, URLRequest, URLRequest) -> Void)?
    /// An adapter has failed.
    open var requestDidFailToAdaptURLRequestWithError: ((Request, URLRequest, AFError) -> Void)?
    /// The final request was created.
    open var requestDidCreateURLRequest: ((Request, URLRequest) -> Void)?
    /// An attempt begins; the task describes the attempt.
    open var requestDidCreateTask: ((Request, URLSessionTask) -> Void)?
    /// The metrics of an exchange are available.
    open var requestDidGatherMetrics: ((Request, URLSessionTaskMetrics) -> Void)?
    /// An exchange failed because of a TLS error, for example a refused server certificate.
    open var requestDidFailTaskEarlyWithError: ((Request, URLSessionTask, AFError) -> Void)?
    /// An attempt has ended.
    open var requestDidCompleteTaskWithError: ((Request, URLSessionTask, AFError?) -> Void)?
    /// A retry of the request begins.
    open var requestIsRetrying: ((Request) -> Void)?
    /// The request has ended.
    open var requestDidFinish: ((Request) -> Void)?
    /// The request was started or resumed.
    open var requestDidResume: ((Request) -> Void)?
    /// The task of an attempt was started or resumed.
    open var requestDidResumeTask: ((Request, URLSessionTask) -> Void)?
    /// The request was suspended.
    open var requestDidSuspend: ((Request) -> Void)?
    /// The task of an attempt was suspended.
    open var requestDidSuspendTask: ((Request, URLSessionTask) -> Void)?
    /// The request was cancelled.
    open var requestDidCancel: ((Request) -> Void)?
    /// The task of an attempt was cancelled.
    open var requestDidCancelTask: ((Request, URLSessionTask) -> Void)?
    /// The response of a data request was validated.
    open var requestDidValidateRequestResponseDataWithResult:
        ((DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
    /// The response of a data request was created; its value is the unchanged body.
    open var requestDidParseResponse: ((DataRequest, DataResponse<Data?, AFError>) -> Void)?
    /// The response of a stream request was validated.
    open var requestDidValidateRequestResponseWithResult:
        ((DataStreamRequest, URLRequest?, HTTPURLResponse, Request.ValidationResult) -> Void)?
    /// The body of an upload was created.
    open var requestDidCreateUploadable: ((UploadRequest, UploadRequest.Uploadable) -> Void)?
    /// The body of an upload could not be created.
    open var requestDidFailToCreateUploadableWithError: ((UploadRequest, AFError) -> Void)?
    /// An exchange that uploads a stream begins; the closure receives a separate stream with the same body.
    open var requestDidProvideInputStream: ((UploadRequest, InputStream) -> Void)?
    /// The body of a download is complete, and its file was saved or an error occurred.
    open var requestDidFinishDownloadingUsingTaskWithResult:
        ((DownloadRequest, URLSessionTask, Result<URL, AFError>) -> Void)?
    /// The file of a download was saved at this URL.
    open var requestDidCreateDestinationURL: ((DownloadRequest, URL) -> Void)?
    /// The response of a download was validated.
    open var requestDidValidateRequestResponseFileURLWithResult:
        ((DownloadRequest, URLRequest?, HTTPURLResponse, URL?, Request.ValidationResult) -> Void)?
    /// The response of a download was created; its value is the URL of the file.
    open var requestDidParseDownloadResponse: ((DownloadRequest, DownloadResponse<URL?, AFError>) -> Void)?
    /// A redirect will be followed.
    open var taskWillPerformHTTPRedirection: ((URLSession, URLSessionTask, HTTPURLResponse, URLRequest) -> Void)?
    /// The metrics of an exchange are available.
    open var taskDidFinishCollectingMetrics: ((URLSession, URLSessionTask, URLSessionTaskMetrics) -> Void)?
    /// An attempt has ended.
    open var taskDidComplete: ((URLSession, URLSessionTask, (any Error)?) -> Void)?
    /// The head of a response was received.
    open var dataTaskDidReceiveResponse: ((URLSession, URLSessionDataTask, URLResponse) -> Void)?
    /// The whole body of a data request was received.
    open var dataTaskDidReceiveData: ((URLSession, URLSessionDataTask, Data) -> Void)?
    /// The `Session` was released; the error is `nil`.
    open var sessionDidBecomeInvalidWithError: ((URLSession, (any Error)?) -> Void)?
    /// The server sent a challenge for the credential of the request, or the response is a 401.
    ///
    /// An answer to the challenge has no effect. The closure is called once, when the exchange has ended.
    open var taskDidReceiveChallenge: ((URLSession, URLSessionTask, URLAuthenticationChallenge) -> Void)?
    /// A part of the body was sent.
    ///
    /// The expected number of bytes is -1 if it is unknown.
    open var taskDidSendBodyData: ((URLSession, URLSessionTask, Int64, Int64, Int64) -> Void)?
    /// An exchange that uploads a stream begins.
    open var taskNeedNewBodyStream: ((URLSession, URLSessionTask) -> Void)?
    /// Never called, because requests do not wait for a network.
    open var taskIsWaitingForConnectivity: ((URLSession, URLSessionTask) -> Void)?
    /// A response can be stored in the cache.
    open var dataTaskWillCacheResponse: ((URLSession, URLSessionDataTask, CachedURLResponse) -> Void)?
    /// The response continues an earlier download.
    ///
    /// The expected number of bytes is -1 if it is unknown.
    open var downloadTaskDidResumeAtOffset: ((URLSession, URLSessionDownloadTask, Int64, Int64) -> Void)?
    /// A part of the body of a download was written.
    ///
    /// The expected number of bytes is -1 if it is unknown.
    open var downloadTaskDidWriteData: ((URLSession, URLSessionDownloadTask, Int64, Int64, Int64) -> Void)?
    /// The file of a download was saved at its destination.
    open var downloadTaskDidFinishDownloadingToURL: ((URLSession, URLSessionDownloadTask, URL) -> Void)?

    /// Creates a monitor without closures.
    ///
    /// - Parameter queue: The queue on which the closures are called; the main queue by default.
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
    /// Calls `requestDidProvideInputStream`.
    open func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
        requestDidProvideInputStream?(request, stream)
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
    /// Calls `sessionDidBecomeInvalidWithError`.
    open func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        sessionDidBecomeInvalidWithError?(session, error)
    }
    /// Calls `taskDidReceiveChallenge`.
    open func urlSession(_ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge)
    {
        taskDidReceiveChallenge?(session, task, challenge)
    }
    /// Calls `taskDidSendBodyData`.
    open func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        taskDidSendBodyData?(session, task, bytesSent, totalBytesSent, totalBytesExpectedToSend)
    }
    /// Calls `taskNeedNewBodyStream`.
    open func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask) {
        taskNeedNewBodyStream?(session, task)
    }
    /// Calls `taskIsWaitingForConnectivity`.
    open func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        taskIsWaitingForConnectivity?(session, task)
    }
    /// Calls `dataTaskWillCacheResponse`.
    open func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
    ) {
        dataTaskWillCacheResponse?(session, dataTask, proposedResponse)
    }
    /// Calls `downloadTaskDidResumeAtOffset`.
    open func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        downloadTaskDidResumeAtOffset?(session, downloadTask, fileOffset, expectedTotalBytes)
    }
    /// Calls `downloadTaskDidWriteData`.
    open func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        downloadTaskDidWriteData?(session, downloadTask, bytesWritten, totalBytesWritten, totalBytesExpectedToWrite)
    }
    /// Calls `downloadTaskDidFinishDownloadingToURL`.
    open func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        downloadTaskDidFinishDownloadingToURL?(session, downloadTask, location)
    }
}
