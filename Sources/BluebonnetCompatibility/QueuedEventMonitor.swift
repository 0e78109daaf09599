public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// An event monitor whose methods are called on a dispatch queue and receive `AFError`s.
///
/// `BluebonnetCompatibility` also exports this protocol as `EventMonitor`, its name in Alamofire. Events are delivered
/// one at a time and in order, even on a concurrent queue. A blocked queue delays this monitor and the session's
/// `shutdown()`, but no requests.
public protocol QueuedEventMonitor: Bluebonnet.EventMonitor {
    /// The queue on which the monitor's methods are called; the main queue by default.
    ///
    /// Bluebonnet reads this property once, when the monitor is passed to a session or a request.
    var queue: DispatchQueue { get }

    /// Called when a response without a serializer is complete, or when the request has failed.
    ///
    /// The default implementation calls the generic `didParseResponse` method, which accepts responses with any value.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>)

    /// Called when a serializer has returned a value or failed, or when the request has failed.
    func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>)

    /// Called when a reader of the stream has received an element or an error.
    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>)

    /// Called when a download without a serializer has saved its file, or when the request has failed.
    ///
    /// The default implementation calls the generic `didParseResponse` method, which accepts responses with any value.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>)

    /// Called when a serializer has returned a value or failed, or when the request has failed.
    func request<Value>(_ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>)

    // MARK: Methods with URLRequest

    /// Called when the request was created, before it is adapted.
    func request(_ request: any Request, didCreateInitialURLRequest urlRequest: URLRequest)

    /// Called when the request could not be created.
    func request(_ request: any Request, didFailToCreateURLRequestWithError error: AFError)

    /// Called when an adapter has changed the request.
    func request(
        _ request: any Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest)

    /// Called when an adapter has failed.
    func request(
        _ request: any Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: AFError)

    /// Called when the request is ready to be sent.
    func request(_ request: any Request, didCreateURLRequest urlRequest: URLRequest)

    /// Called when the response of a data request or an upload was validated.
    func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: ValidationResult)

    /// Called when the response of a stream was validated.
    func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: ValidationResult)

    /// Called when the response of a download was validated.
    func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: ValidationResult)

    /// Called when the body of an upload could not be created.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError)
}

extension QueuedEventMonitor {
    /// The main queue.
    public var queue: DispatchQueue { .main }

    /// An executor that runs tasks on the ``queue``.
    public var executor: (any TaskExecutor)? { QueueExecutor(queue) }

    // MARK: Methods with AFError

    /// Calls the generic `didParseResponse` method, which accepts responses with any value.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>) {
        notify(of: response, to: self, request)
    }

    /// Does nothing.
    public func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>) {}

    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, AFError>
    ) {}

    /// Calls the generic `didParseResponse` method, which accepts responses with any value.
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>) {
        notify(of: response, to: self, request)
    }

    /// Does nothing.
    public func request<Value>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    ) {}

    // MARK: Methods with RequestError

    /// Converts the error to an `AFError`, and calls the overload of this method that receives an `AFError`.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, RequestError>) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }

    /// Converts the error to an `AFError`, and calls the overload of this method that receives an `AFError`.
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>
    ) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }

    /// Converts the error to an `AFError`, and calls the overload of this method that receives an `AFError`.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, RequestError>
    ) {
        self.request(request, didParseStream: result.mapError(AFError.init))
    }

    /// Converts the error to an `AFError`, and calls the overload of this method that receives an `AFError`.
    public func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, RequestError>
    ) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }

    /// Converts the error to an `AFError`, and calls the overload of this method that receives an `AFError`.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, RequestError>
    ) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }
}

extension ClosureEventMonitor {
    /// Creates a monitor that calls its closures on a queue; the new monitor has no closures.
    ///
    /// - Parameter queue: The queue on which the closures are called.
    public convenience init(queue: DispatchQueue) {
        self.init(executor: QueueExecutor(queue))
    }
}

/// Calls the generic method.
///
/// A direct call would select the overload for the specific value.
private func notify<Value: Sendable>(
    of response: DataResponse<Value, AFError>, to monitor: some QueuedEventMonitor, _ request: DataRequest
) {
    monitor.request(request, didParseResponse: response)
}

/// Calls the generic method for a download request.
private func notify<Value: Sendable>(
    of response: DownloadResponse<Value, AFError>, to monitor: some QueuedEventMonitor, _ request: DownloadRequest
) {
    monitor.request(request, didParseResponse: response)
}
