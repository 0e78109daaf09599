public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// A type that receives the events of requests.
///
/// Every method has a default implementation. The methods are called in order, on the monitor's queue. They do not
/// delay the request. `urlSession(_:taskIsWaitingForConnectivity:)` is never called, as with Alamofire on Linux.
///
/// An exchange is one request with its response. An attempt is the first sending of a request, or a retry. An attempt
/// includes the exchanges of its redirects.
public protocol EventMonitor: Sendable {
    /// The queue on which the methods are called; the main queue by default.
    var queue: DispatchQueue { get }

    /// The initial request was created; its adapters have not run yet.
    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest)
    /// The request could not be created.
    func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError)
    /// The adapters have run.
    func request(_ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest)
    /// An adapter has failed.
    func request(_ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: AFError)
    /// The final request was created.
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest)
    /// An attempt begins; the task describes the attempt.
    func request(_ request: Request, didCreateTask task: URLSessionTask)
    /// The metrics of an exchange are available.
    func request(_ request: Request, didGatherMetrics metrics: URLSessionTaskMetrics)
    /// An exchange failed because of a TLS error, for example a refused server certificate.
    func request(_ request: Request, didFailTask task: URLSessionTask, earlyWithError error: AFError)
    /// An attempt has ended.
    func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?)
    /// A retry of the request begins.
    func requestIsRetrying(_ request: Request)
    /// The request has ended.
    func requestDidFinish(_ request: Request)
    /// The request was started or resumed.
    func requestDidResume(_ request: Request)
    /// The task of an attempt was started or resumed.
    func request(_ request: Request, didResumeTask task: URLSessionTask)
    /// The request was suspended.
    func requestDidSuspend(_ request: Request)
    /// The task of an attempt was suspended.
    func request(_ request: Request, didSuspendTask task: URLSessionTask)
    /// The request was cancelled.
    func requestDidCancel(_ request: Request)
    /// The task of an attempt was cancelled.
    func request(_ request: Request, didCancelTask task: URLSessionTask)
    /// The response of a data request was validated.
    func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    )
    /// The response of a data request was created; its value is the unchanged body.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>)
    /// The response of a stream request was validated.
    func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    )
    /// The body of an upload was created.
    func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable)
    /// The body of an upload could not be created.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError)
    /// An exchange with a streamed request body begins; `stream` is a separate stream with the same body.
    func request(_ request: UploadRequest, didProvideInputStream stream: InputStream)
    /// The body of a download is complete; the result is the URL of the saved file, or an error.
    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask, with result: Result<URL, AFError>
    )
    /// The file of a download was saved at this URL.
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL)
    /// The response of a download was validated.
    func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    )
    /// The response of a download was created; its value is the URL of the file.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>)
    /// A redirect will be followed; the session is `URLSession.shared`.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    )
    /// The metrics of an exchange are available; the session is `URLSession.shared`.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)
    /// An attempt has ended; the session is `URLSession.shared`.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
    /// The head of a response was received; the session is `URLSession.shared`.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse)
    /// The whole body of a data request was received; the session is `URLSession.shared`.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
    /// The `Session` of this library was released; `session` is `URLSession.shared`, and the error is `nil`.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)
    /// The server sent a challenge for the credential of the request, or the response is a 401; the session is
    /// `URLSession.shared`.
    ///
    /// An answer to the challenge has no effect. The method is called once, when the exchange has ended.
    func urlSession(_ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge)
    /// A part of the body was sent; the session is `URLSession.shared`.
    ///
    /// The expected number of bytes is -1 if it is unknown.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    )
    /// An exchange with a streamed request body begins; the session is `URLSession.shared`.
    func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask)
    /// Never called, because requests do not wait for a network.
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)
    /// A response can be stored in the cache; the session is `URLSession.shared`.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
    )
    /// The response continues an earlier download; the session is `URLSession.shared`.
    ///
    /// The expected number of bytes is -1 if it is unknown.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    )
    /// A part of the body of a download was written; the session is `URLSession.shared`.
    ///
    /// The expected number of bytes is -1 if it is unknown.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    )
    /// The file of a download was saved at its destination; the session is `URLSession.shared`.
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL)
    /// The response of a data request was created; its value comes from a serializer.
    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>)
    /// A reader of a stream received a value or an error.
    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>)
    /// The response of a download was created; its value comes from a serializer.
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    )
}

extension EventMonitor {
    /// The main queue.
    public var queue: DispatchQueue { .main }

    /// Does nothing.
    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {}
    /// Does nothing.
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) {}
    /// Does nothing.
    public func request(
        _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
    ) {}
    /// Does nothing.
    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: AFError
    ) {}
    /// Does nothing.
    public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {}
    /// Does nothing.
    public func request(_ request: Request, didCreateTask task: URLSessionTask) {}
    /// Does nothing.
    public func request(_ request: Request, didGatherMetrics metrics: URLSessionTaskMetrics) {}
    /// Does nothing.
    public func request(_ request: Request, didFailTask task: URLSessionTask, earlyWithError error: AFError) {}
    /// Does nothing.
    public func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {}
    /// Does nothing.
    public func requestIsRetrying(_ request: Request) {}
    /// Does nothing.
    public func requestDidFinish(_ request: Request) {}
    /// Does nothing.
    public func requestDidResume(_ request: Request) {}
    /// Does nothing.
    public func request(_ request: Request, didResumeTask task: URLSessionTask) {}
    /// Does nothing.
    public func requestDidSuspend(_ request: Request) {}
    /// Does nothing.
    public func request(_ request: Request, didSuspendTask task: URLSessionTask) {}
    /// Does nothing.
    public func requestDidCancel(_ request: Request) {}
    /// Does nothing.
    public func request(_ request: Request, didCancelTask task: URLSessionTask) {}
    /// Does nothing.
    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) {}
    /// Passes the response to the generic overload of this method.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>) {
        func report<Value: Sendable>(_ response: DataResponse<Value, AFError>, to monitor: some EventMonitor) {
            monitor.request(request, didParseResponse: response)
        }
        report(response, to: self)
    }
    /// Does nothing.
    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) {}
    /// Does nothing.
    public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {}
    /// Does nothing.
    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError) {}
    /// Does nothing.
    public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {}
    /// Does nothing.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask, with result: Result<URL, AFError>
    ) {}
    /// Does nothing.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {}
    /// Does nothing.
    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {}
    /// Passes the response to the generic overload of this method.
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>) {
        func report<Value: Sendable>(_ response: DownloadResponse<Value, AFError>, to monitor: some EventMonitor) {
            monitor.request(request, didParseResponse: response)
        }
        report(response, to: self)
    }
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {}
    /// Does nothing.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {}
    /// Does nothing.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse) {}
    /// Does nothing.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {}
    /// Does nothing.
    public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {}
    /// Does nothing.
    public func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask) {}
    /// Does nothing.
    public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}
    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>
    ) {}
    /// Does nothing.
    public func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>) {}
    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    ) {}
}
