public import FoundationEssentials

/// Something that happened to a request.
///
/// ``EventMonitor`` lists the events of a request in their order, and has a method for each. A ``DataStreamRequest``
/// with a body has the events of uploadables, too, which have no methods there.
@nonexhaustive
public indirect enum RequestEvent: Sendable {
    // MARK: All requests

    /// A request was made from what it was asked for with, before adapters saw it; again for each attempt.
    case didCreateInitialRequest(HTTPRequest)
    /// No request could be made, or not be sent as it is; this attempt is over.
    case didFailToCreateRequest(RequestError)
    /// The adapters have made of the initial request what is to be sent.
    case didAdaptInitialRequest(HTTPRequest, to: HTTPRequest)
    /// An adapter failed, or the request was cancelled meanwhile; this attempt is over.
    case didFailToAdaptRequest(HTTPRequest, RequestError)
    /// The body that is to be sent was made; what it is made of may not have been read yet.
    case didCreateUploadable(RequestBody)
    /// A request is ready to be sent, adapted and without the fields that the session adds; once for each attempt.
    case didCreateRequest(HTTPRequest)
    /// An exchange with a server begins; its connection may have to be made first.
    case didCreateTask(ExchangeRecord)
    /// The head of a response is there, at most one for each exchange.
    case didReceiveResponse(HTTPResponse)
    /// A redirect is followed; the exchange that it came in is over.
    case willBeRedirected(to: HTTPRequest, for: HTTPResponse)
    /// An exchange was measured.
    case didGatherMetrics(TransferMetrics)
    /// An exchange failed before anything was sent in it, since the server's certificate was refused.
    case didFailTask(ExchangeRecord, RequestError)
    /// The body that was to be sent cannot be read, or not be sent again.
    case didFailToCreateUploadable(RequestError)
    /// An exchange is over, with an error if there is no complete response; once for each `didCreateTask`.
    case didCompleteTask(ExchangeRecord, RequestError?)
    /// The validators checked a response: its head, the body of a ``DataRequest``, or the file of a
    /// ``DownloadRequest``.
    case didValidateRequest(HTTPRequest?, HTTPResponse, data: Data?, fileURL: URL?, ValidationResult)
    /// An attempt failed, and another will be made after a delay, unless the request is cancelled meanwhile.
    case willRetry(RequestError, after: Duration?)
    /// The next attempt begins.
    case isRetrying
    /// The request was started, or resumed after a suspension.
    case didResume
    /// The request was held back.
    case didSuspend
    /// The request was cancelled.
    case didCancel
    /// A serializer has made a value, or the request failed: a ``DataResponse`` or a ``DownloadResponse``.
    case didParseResponse(any SerializationOutcome)
    /// The request has ended; ``Request/error`` says why, if it failed.
    case didFinish

    // MARK: Streams and downloads

    /// A reader of the stream took an element, or an error in its place: a ``DataStreamRequest/Stream``.
    case didParseStream(any SerializationOutcome)
    /// It is known where the file goes.
    case didCreateDestinationURL(URL)
    /// A body is complete, and its file is in its place, or could not be put there.
    case didFinishDownloading(ExchangeRecord, Result<URL, RequestError>)
}

/// The result of a serializer, a value of any type or an error.
///
/// Conformed to by ``DataResponse``, ``DownloadResponse`` and ``DataStreamRequest/Stream``.
public protocol SerializationOutcome<Value>: Sendable {
    /// The type of the serializer's values.
    associatedtype Value: Sendable

    /// The value, or `nil` when there is none.
    var value: Value? { get }

    /// Why there is no value, or `nil` when there is one.
    var error: RequestError? { get }
}

extension SerializedResponse: SerializationOutcome where Failure == RequestError {}
extension DataStreamRequest.Stream: SerializationOutcome where Failure == RequestError {}

/// Receives all events of the requests of a session by one method.
///
/// ``EventMonitor`` has a method for each event instead, and describes their order and where they are delivered.
public protocol RequestEventHandler: Sendable {
    /// Where events are delivered; `nil`, which is the default, for the global pool.
    ///
    /// Asked once, when the session is made. An actor's methods run on the actor all the same.
    var executor: (any TaskExecutor)? { get }

    /// Takes note of what happened to a request.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - request: The request that it happened to.
    func handle(_ event: RequestEvent, of request: any Request) async
}

extension RequestEventHandler {
    /// The global pool.
    public var executor: (any TaskExecutor)? { nil }
}

/// Hands every event on to several monitors.
///
/// A session that gets one tells each of its monitors as if it had got them one by one: on its own executor, and none
/// waits for another. Who calls ``handle(_:of:)`` otherwise has the monitors called one after the other.
package struct CompositeEventMonitor: RequestEventHandler {
    /// The monitors.
    package let monitors: [any RequestEventHandler]

    /// Creates a monitor of several.
    ///
    /// - Parameter monitors: The monitors.
    package init(monitors: [any RequestEventHandler]) {
        self.monitors = monitors
    }

    /// Tells each.
    package func handle(_ event: RequestEvent, of request: any Request) async {
        for monitor in monitors { await monitor.handle(event, of: request) }
    }
}

/// The record of one exchange with a server: one for each attempt of a request, and for each redirect.
///
/// Monitors get it, see ``EventMonitor``.
public struct ExchangeRecord: Sendable, Identifiable {
    /// Counts the exchanges of a request, from 1.
    public var id: Int
    /// Counts the attempts of the request, from 1.
    public var attempt: Int
    /// Whether a redirect led here.
    public var isRedirect: Bool
    /// The request as it is sent, without the fields that the session adds.
    public var request: HTTPRequest
    /// The head of the response, once there is one.
    public var response: HTTPResponse?
    /// The metrics, once the exchange is over.
    public var metrics: TransferMetrics?

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - id: Which exchange of its request it is, from 1.
    ///   - attempt: Which attempt it belongs to, from 1.
    ///   - isRedirect: Whether a redirect led to it.
    ///   - request: What is sent.
    ///   - response: The head of the response.
    ///   - metrics: What was measured.
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
