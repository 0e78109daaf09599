public import BluebonnetCallbacks
public import Foundation

/// A monitor whose methods are called on a queue, and get `AFError`s.
///
/// Code that was written for `EventMonitor` conforms to this under that name. Events are delivered one at a time, in
/// order, also on a concurrent queue. A blocked queue delays only the monitor and the session's `shutdown()`.
public protocol QueuedEventMonitor: Bluebonnet.EventMonitor {
    /// Where the monitor's methods are called; the main queue by default. Asked once, when the session is made.
    var queue: DispatchQueue { get }

    /// The body was asked for as it is, and is there, or the request failed.
    ///
    /// Implemented as one of the responses with any value.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>)

    /// A serializer has made a value, or the request failed.
    func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>)

    /// A reader of the stream took an element, or an error in its place.
    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>)

    /// The file was asked for as it is, which may be none, and is there, or the request failed.
    ///
    /// Implemented as one of the responses with any value.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>)

    /// A serializer has made a value, or the request failed.
    func request<Value>(_ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>)
}

extension QueuedEventMonitor {
    /// The main queue.
    public var queue: DispatchQueue { .main }

    /// The ``queue``.
    public var executor: (any TaskExecutor)? { QueueExecutor(queue) }

    // MARK: With AFError

    /// Tells of it as of one with any value.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>) {
        notify(of: response, to: self, request)
    }

    /// Does nothing.
    public func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>) {}

    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, AFError>
    ) {}

    /// Tells of it as of one with any value.
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>) {
        notify(of: response, to: self, request)
    }

    /// Does nothing.
    public func request<Value>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    ) {}

    // MARK: Without

    /// Tells of it with an `AFError`.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, RequestError>) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }

    /// Tells of it with an `AFError`.
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>
    ) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }

    /// Tells of it with an `AFError`.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, RequestError>
    ) {
        self.request(request, didParseStream: result.mapError(AFError.init))
    }

    /// Tells of it with an `AFError`.
    public func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, RequestError>
    ) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }

    /// Tells of it with an `AFError`.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, RequestError>
    ) {
        self.request(request, didParseResponse: response.mapError(AFError.init))
    }
}

extension ClosureEventMonitor {
    /// Creates a monitor without closures.
    ///
    /// - Parameter queue: Where the closures are called.
    public convenience init(queue: DispatchQueue) {
        self.init(executor: QueueExecutor(queue))
    }
}

/// Calls the method for all values, where the one for a certain value would be nearer.
private func notify<Value: Sendable>(
    of response: DataResponse<Value, AFError>, to monitor: some QueuedEventMonitor, _ request: DataRequest
) {
    monitor.request(request, didParseResponse: response)
}

/// As for a data request.
private func notify<Value: Sendable>(
    of response: DownloadResponse<Value, AFError>, to monitor: some QueuedEventMonitor, _ request: DownloadRequest
) {
    monitor.request(request, didParseResponse: response)
}
