public import BluebonnetCallbacks
public import Foundation

/// An event monitor that is called on a queue and receives `AFError`s.
///
/// Code that was written for Alamofire's `EventMonitor` conforms to this protocol under that name. Events are delivered
/// one at a time and in order, even on a concurrent queue. A blocked queue delays only the monitor and the session's
/// `shutdown()`.
public protocol QueuedEventMonitor: Bluebonnet.EventMonitor {
    /// The queue on which the monitor's methods are called; the main queue by default.
    ///
    /// It is read once, when the session is created.
    var queue: DispatchQueue { get }

    /// A response without a serializer received its body, or the request failed.
    ///
    /// By default, calls the method for responses with any value.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>)

    /// A serializer created a value, or the request failed.
    func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>)

    /// A reader of the stream received an element, or an error in its place.
    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>)

    /// A download without a serializer has its file, or the request failed.
    ///
    /// By default, calls the method for responses with any value.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>)

    /// A serializer created a value, or the request failed.
    func request<Value>(_ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>)
}

extension QueuedEventMonitor {
    /// The main queue.
    public var queue: DispatchQueue { .main }

    /// An executor that runs tasks on the ``queue``.
    public var executor: (any TaskExecutor)? { QueueExecutor(queue) }

    // MARK: Methods with AFError

    /// Calls the method for responses with any value.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>) {
        notify(of: response, to: self, request)
    }

    /// Does nothing.
    public func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>) {}

    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, AFError>
    ) {}

    /// Calls the method for responses with any value.
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>) {
        notify(of: response, to: self, request)
    }

    /// Does nothing.
    public func request<Value>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    ) {}

    // MARK: Methods with RequestError

    /// Calls the method that takes an `AFError`.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, RequestError>) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }

    /// Calls the method that takes an `AFError`.
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>
    ) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }

    /// Calls the method that takes an `AFError`.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, RequestError>
    ) {
        self.request(request, didParseStream: result.mapError(AFError.init))
    }

    /// Calls the method that takes an `AFError`.
    public func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, RequestError>
    ) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }

    /// Calls the method that takes an `AFError`.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, RequestError>
    ) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }
}

extension ClosureEventMonitor {
    /// Creates a monitor without closures, whose closures are called on a queue.
    ///
    /// - Parameter queue: The queue on which the closures are called.
    public convenience init(queue: DispatchQueue) {
        self.init(executor: QueueExecutor(queue))
    }
}

/// Calls the generic method, where overload resolution would otherwise choose the method for a specific value.
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
