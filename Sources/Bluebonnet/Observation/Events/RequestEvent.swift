public import FoundationEssentials

/// An event in the life of a request.
///
/// ``EventMonitor`` describes the order of the events and has a method for each event. There is one exception. A
/// ``DataStreamRequest`` or ``DownloadRequest`` with a body has the events `didCreateUploadable` and
/// `didFailToCreateUploadable`, but ``EventMonitor`` has methods for these events only for a ``DataRequest``.
@nonexhaustive
public indirect enum RequestEvent: Sendable {
    // MARK: All requests

    /// The initial request was created; the adapters have not run yet.
    case didCreateInitialRequest(HTTPRequest)
    /// The request of an attempt cannot be created, which ends the attempt.
    ///
    /// Examples of the reason are an invalid URL and an invalid destination of a download.
    case didFailToCreateRequest(RequestError)
    /// The adapters have run.
    case didAdaptInitialRequest(HTTPRequest, to: HTTPRequest)
    /// An adapter failed, or the adapted request is invalid, which ends the attempt.
    ///
    /// The event also occurs if the request was cancelled before the adapters returned.
    case didFailToAdaptRequest(HTTPRequest, RequestError)
    /// The body of the request was created.
    ///
    /// At this point, Bluebonnet may not have read the source of the body, such as a file.
    case didCreateUploadable(RequestBody)
    /// The final request of an attempt was created.
    ///
    /// The request does not contain the header fields that the session adds.
    case didCreateRequest(HTTPRequest)
    /// An exchange is about to start.
    ///
    /// An exchange is one request and its response. At this point, Bluebonnet has not checked the cache and has not
    /// connected to the server. The cache can therefore still provide the response.
    case didCreateTask(ExchangeRecord)
    /// The head of a response was received.
    ///
    /// The event occurs at most once per exchange.
    case didReceiveResponse(HTTPResponse)
    /// A complete response can be stored in the cache.
    ///
    /// The ``CachedResponseHandler`` then decides whether the response is stored.
    case willCacheResponse(CachedResponse)
    /// A redirect will be followed, and the exchange that received the redirect has ended.
    case willBeRedirected(to: HTTPRequest, for: HTTPResponse)
    /// The metrics of an exchange are available.
    case didGatherMetrics(TransferMetrics)
    /// An exchange failed because of a TLS error, for example a refused server certificate.
    case didFailTask(ExchangeRecord, RequestError)
    /// The body of the request cannot be read, or cannot be sent again.
    case didFailToCreateUploadable(RequestError)
    /// An exchange has ended.
    ///
    /// The error is `nil` if the response is complete. The event occurs once for each `didCreateTask`.
    case didCompleteTask(ExchangeRecord, RequestError?)
    /// The validators checked a response.
    ///
    /// For a ``DataRequest``, `data` is the body. For a ``DownloadRequest``, `fileURL` is the URL of the file if the
    /// validators checked the file. If the validators checked the head, `fileURL` is `nil`.
    case didValidateRequest(HTTPRequest?, HTTPResponse, data: Data?, fileURL: URL?, ValidationResult)
    /// An attempt failed, and the request will be retried.
    ///
    /// The delay is `nil` if the retry starts immediately. If the request is cancelled during the delay, it is not
    /// retried.
    case willRetry(RequestError, after: Duration?)
    /// The next attempt starts.
    case isRetrying
    /// The request was started, or resumed after a suspension.
    case didResume
    /// The request was suspended.
    case didSuspend
    /// The request was cancelled.
    case didCancel
    /// A serializer returned a value or failed, or the request of the serializer failed.
    ///
    /// The outcome is a ``DataResponse`` or a ``DownloadResponse``.
    case didParseResponse(any SerializationOutcome)
    /// The request has finished.
    ///
    /// If the request failed, ``Request/error`` is its error.
    case didFinish

    // MARK: Streams and downloads

    /// A task that reads a stream received an element or an error.
    ///
    /// The outcome is a ``DataStreamRequest/Stream``.
    case didParseStream(any SerializationOutcome)
    /// The file of a download was saved at this URL.
    ///
    /// `didFinishDownloading` follows directly.
    case didCreateDestinationURL(URL)
    /// The body of a download is complete, and its file was saved or an error occurred.
    ///
    /// The result is the URL of the saved file, or the error of a validator or of the file system.
    case didFinishDownloading(ExchangeRecord, Result<URL, RequestError>)
}

/// The result of a serializer: a value of any type, or an error.
///
/// ``DataResponse``, ``DownloadResponse`` and ``DataStreamRequest/Stream`` conform to this protocol.
public protocol SerializationOutcome<Value>: Sendable {
    /// The type of the serialized value.
    associatedtype Value: Sendable

    /// The value, or `nil` if there is none.
    var value: Value? { get }

    /// The error, or `nil` if there is none.
    var error: RequestError? { get }
}

extension SerializedResponse: SerializationOutcome where Failure == RequestError {}
extension DataStreamRequest.Stream: SerializationOutcome where Failure == RequestError {}

/// A type that receives all events of requests in a single method.
///
/// To implement a separate method for each event, conform to ``EventMonitor`` instead. The documentation of
/// ``EventMonitor`` describes the order and the delivery of the events.
public protocol RequestEventHandler: Sendable {
    /// The executor that runs ``handle(_:of:)``, or `nil` for the global executor.
    ///
    /// The default is `nil`. Bluebonnet reads this property once, when you pass the monitor to a session or a request.
    /// If the monitor is an actor, its methods always run on the actor.
    var executor: (any TaskExecutor)? { get }

    /// Handles an event of a request.
    ///
    /// - Parameters:
    ///   - event: The event and its values.
    ///   - request: The request that the event belongs to.
    func handle(_ event: RequestEvent, of request: any Request) async
}

extension RequestEventHandler {
    /// The default value: `nil`, for the global executor.
    public var executor: (any TaskExecutor)? { nil }
}

/// An event handler whose records contain the bodies of responses.
///
/// Other monitors may keep many records, and would keep the bodies with them.
package protocol BodyEventHandler: RequestEventHandler {}

extension RequestEvent {
    /// The event without the body of a response.
    var withoutBody: RequestEvent {
        guard case .didCompleteTask(var record, let error) = self, !record.body.isEmpty else { return self }
        record.body = Data()
        return .didCompleteTask(record, error)
    }
}

/// A monitor that forwards every event to several monitors.
///
/// In a session, each monitor runs on its own executor and does not wait for the other monitors. If you call
/// ``handle(_:of:)`` yourself, the method calls the monitors one after another instead.
package struct CompositeEventMonitor: RequestEventHandler {
    /// The monitors that receive the events.
    package let monitors: [any RequestEventHandler]

    /// Creates a monitor that forwards every event to other monitors.
    ///
    /// - Parameter monitors: The monitors that receive the events.
    package init(monitors: [any RequestEventHandler]) {
        self.monitors = monitors
    }

    /// Calls the monitors one after another.
    package func handle(_ event: RequestEvent, of request: any Request) async {
        for monitor in monitors { await monitor.handle(event, of: request) }
    }
}

/// The record of one exchange, which is one request and its response.
///
/// Each attempt and each redirect of a request has its own exchange. An ``EventMonitor`` receives the records.
public struct ExchangeRecord: Sendable, Identifiable {
    /// The number of the exchange within its request, starting with 1.
    public var id: Int
    /// The number of the attempt within the request, starting with 1.
    ///
    /// Each retry of the request is a new attempt.
    public var attempt: Int
    /// Whether the exchange follows a redirect.
    public var isRedirect: Bool
    /// The request, without the header fields that the session adds.
    public var request: HTTPRequest
    /// The head of the response, or `nil` if it was not received.
    public var response: HTTPResponse?
    /// The metrics of the exchange, or `nil` if they are not available.
    ///
    /// Metrics are available when the exchange has ended. If the exchange did not use the network, there are no
    /// metrics.
    public var metrics: TransferMetrics?
    /// Whether the response came from the server or from the session's cache; known when the exchange has ended.
    public var source: ResponseSource = .network
    /// The way in which the session's cache handled the request, which is known when the exchange has ended; `nil` if
    /// the session has no cache.
    public var cacheStatus: CacheStatus?
    /// The body of a response that was kept in memory, for a ``BodyEventHandler``; otherwise empty.
    package var body = Data()

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - id: The number of the exchange within its request, starting with 1.
    ///   - attempt: The number of the attempt within the request, starting with 1. Each retry is a new attempt.
    ///   - isRedirect: Whether the exchange follows a redirect.
    ///   - request: The request, without the header fields that the session adds.
    ///   - response: The head of the response.
    ///   - metrics: The metrics of the exchange.
    package init(
        id: Int = 1, attempt: Int = 1, isRedirect: Bool = false, request: HTTPRequest, response: HTTPResponse? = nil,
        metrics: TransferMetrics? = nil
    ) {
        self.id = id
        self.attempt = attempt
        self.isRedirect = isRedirect
        self.request = request
        self.response = response
        self.metrics = metrics
    }
}
