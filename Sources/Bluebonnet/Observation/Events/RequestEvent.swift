public import FoundationEssentials

/// An event in the life of a request.
///
/// ``EventMonitor`` lists the events of a request in their order, and has a method for each event. A
/// ``DataStreamRequest`` with a body also has the events for uploads, for which ``EventMonitor`` has no methods.
@nonexhaustive
public indirect enum RequestEvent: Sendable {
    // MARK: All requests

    /// The initial request was created, before any adapters; once per attempt.
    case didCreateInitialRequest(HTTPRequest)
    /// The request could not be created or cannot be sent; the attempt is over.
    case didFailToCreateRequest(RequestError)
    /// The adapters changed the initial request to the request to send.
    case didAdaptInitialRequest(HTTPRequest, to: HTTPRequest)
    /// An adapter failed, the adapted request cannot be sent, or the request was cancelled; the attempt is over.
    case didFailToAdaptRequest(HTTPRequest, RequestError)
    /// The body of the request was created; its source may not have been read yet.
    case didCreateUploadable(RequestBody)
    /// The adapted request is ready to be sent, without the header fields added by the session; once per attempt.
    case didCreateRequest(HTTPRequest)
    /// An exchange with a server begins; it may have to establish a connection first.
    case didCreateTask(ExchangeRecord)
    /// The head of a response was received; at most once per exchange.
    case didReceiveResponse(HTTPResponse)
    /// A redirect is followed; the exchange that received it is over.
    case willBeRedirected(to: HTTPRequest, for: HTTPResponse)
    /// The metrics of an exchange are available.
    case didGatherMetrics(TransferMetrics)
    /// An exchange failed because TLS failed, for example because the server's certificate was refused.
    case didFailTask(ExchangeRecord, RequestError)
    /// The body of the request cannot be read, or cannot be sent again.
    case didFailToCreateUploadable(RequestError)
    /// An exchange is over, with an error if there is no complete response; once for each `didCreateTask`.
    case didCompleteTask(ExchangeRecord, RequestError?)
    /// The validators checked a response: its head, the body of a ``DataRequest``, or the file of a
    /// ``DownloadRequest``.
    case didValidateRequest(HTTPRequest?, HTTPResponse, data: Data?, fileURL: URL?, ValidationResult)
    /// An attempt failed, and another follows, after a delay if there is one, unless the request is cancelled first.
    case willRetry(RequestError, after: Duration?)
    /// The next attempt begins.
    case isRetrying
    /// The request was started, or resumed after a suspension.
    case didResume
    /// The request was suspended.
    case didSuspend
    /// The request was cancelled.
    case didCancel
    /// A serializer returned a value, or the request failed: a ``DataResponse`` or a ``DownloadResponse``.
    case didParseResponse(any SerializationOutcome)
    /// The request has ended; ``Request/error`` is its error, if it failed.
    case didFinish

    // MARK: Streams and downloads

    /// A reader of the stream received an element, or an error instead: a ``DataStreamRequest/Stream``.
    case didParseStream(any SerializationOutcome)
    /// The file of a download was saved at this URL; directly before `didFinishDownloading`.
    case didCreateDestinationURL(URL)
    /// A body is complete, and its file was saved at its destination or could not be saved.
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

    /// The reason there is no value, or `nil` if there is a value.
    var error: RequestError? { get }
}

extension SerializedResponse: SerializationOutcome where Failure == RequestError {}
extension DataStreamRequest.Stream: SerializationOutcome where Failure == RequestError {}

/// A type that receives all events of a session's requests in a single method.
///
/// ``EventMonitor`` has one method per event instead. It also describes the order of the events and their delivery.
public protocol RequestEventHandler: Sendable {
    /// The executor on which events are delivered; `nil`, the default, for the global pool.
    ///
    /// It is read once, when the monitor is passed to a session or a request. The methods of an actor always run on
    /// the actor.
    var executor: (any TaskExecutor)? { get }

    /// Handles an event of a request.
    ///
    /// - Parameters:
    ///   - event: The event and its values.
    ///   - request: The request that the event belongs to.
    func handle(_ event: RequestEvent, of request: any Request) async
}

extension RequestEventHandler {
    /// The default executor: `nil`, for the global pool.
    public var executor: (any TaskExecutor)? { nil }
}

/// Forwards every event to several monitors.
///
/// A session treats each of the monitors as if it were passed separately. Each runs on its own executor, and none
/// waits for another. A direct call of ``handle(_:of:)`` calls the monitors one after another instead.
package struct CompositeEventMonitor: RequestEventHandler {
    /// The monitors that receive the events.
    package let monitors: [any RequestEventHandler]

    /// Creates a monitor that forwards to other monitors.
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

/// The record of one exchange with a server.
///
/// Each attempt of a request and each redirect has its own exchange. Monitors receive the records; see
/// ``EventMonitor``.
public struct ExchangeRecord: Sendable, Identifiable {
    /// The number of the exchange within its request, from 1.
    public var id: Int
    /// The number of the attempt within the request, from 1.
    public var attempt: Int
    /// Whether the exchange follows a redirect.
    public var isRedirect: Bool
    /// The request as it is sent, without the header fields added by the session.
    public var request: HTTPRequest
    /// The head of the response, as soon as it is known.
    public var response: HTTPResponse?
    /// The metrics of the exchange, available after its end.
    public var metrics: TransferMetrics?

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - id: The number of the exchange within its request, from 1.
    ///   - attempt: The number of the attempt within the request, from 1.
    ///   - isRedirect: Whether the exchange follows a redirect.
    ///   - request: The request as it is sent.
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
