/// Sends the trace context with each request, and reports the begin and the end of a span for each exchange.
///
/// Pass the interceptor to the initializer of ``Session``, alone or in an ``Interceptor``:
///
/// ```swift
/// let session = Session(interceptor: TraceInterceptor())
/// ```
///
/// An exchange is one request and its response. Each attempt and each redirect of a request is an exchange with a span
/// of its own. All spans of a request belong to one trace and have the same parent. The interceptor sets the fields
/// `traceparent` and `tracestate` after the session has looked in its cache. A response from the cache therefore has no
/// span, and the fields do not affect the cache. Event monitors see requests without these fields. If a
/// ``HedgingTransport`` sends the request of an exchange several times, the fields always describe the same span.
///
/// A request that already has a `traceparent` field is sent unchanged and has no span. If you add the interceptor only
/// to a single request, and not to the session, it has no effect.
///
/// After a redirect to another origin, `tracestate` is not sent, because it may contain identifiers of your own
/// services.
public struct TraceInterceptor: RequestInterceptor, TransportWrapper {
    /// A closure that begins the span of an exchange.
    ///
    /// The closure receives the request and the context of the parent span. If the new span is the first of its trace,
    /// there is no parent span, and ``TraceContext/hasSpan`` of this context is `false`. The closure runs directly
    /// before the request is passed to the transport. It must return quickly.
    public typealias SpanStart = @Sendable (_ request: HTTPRequest, _ parent: TraceContext) -> TraceSpan

    fileprivate let begin: SpanStart
    private let parent: @Sendable () -> TraceContext?
    fileprivate let sendsFields: @Sendable (HTTPRequest) -> Bool

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - begin: Begins the span of an exchange; by default, the span has a new identifier, and nothing is recorded.
    ///   - parent: Returns the context to which a request belongs, or `nil` for no trace. By default, this is the
    ///     ``TraceContext/current`` context, or a new trace if there is none. The closure is called once for each
    ///     request without a ``TraceContext/Parent`` tag, in a task with the task-local values of the code that
    ///     created the request.
    ///   - sendsFields: Returns whether a request carries the fields `traceparent` and `tracestate`; by default, all
    ///     requests do. Return `false` for servers that must not receive these fields.
    public init(
        begin: @escaping SpanStart = { _, parent in TraceSpan(context: parent.child()) },
        parent: @escaping @Sendable () -> TraceContext? = { TraceContext.current ?? .newTrace() },
        sendsFields: @escaping @Sendable (_ request: HTTPRequest) -> Bool = { _ in true }
    ) {
        self.begin = begin
        self.parent = parent
        self.sendsFields = sendsFields
    }

    /// Adds the ``TraceContext/Parent`` tag to the request.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - state: The state of the request.
    /// - Returns: The request with the tag.
    /// - Throws: Nothing.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        guard request.tags[TraceContext.Parent.self] == nil, let parent = parent() else { return request }
        // Each retry is created again from the original request, and must belong to the same trace.
        state.session.context.request(state.requestID)?.tag(TraceContext.Parent.self, parent)
        var request = request
        request.tags[TraceContext.Parent.self] = parent
        return request
    }

    package func wrapped(_ transport: any Transport) -> any Transport {
        TracingTransport(inner: transport, tracing: self)
    }
}

/// The span of one exchange.
public struct TraceSpan: Sendable {
    /// The context that the request carries.
    public let context: TraceContext

    /// Ends the span.
    let end: @Sendable (ExchangeOutcome) -> Void

    /// Creates a span that has begun.
    ///
    /// - Parameters:
    ///   - context: The context that the request carries, usually a ``TraceContext/child()`` of the parent.
    ///   - end: A closure that is called exactly once when the exchange has ended, before the request finishes. It
    ///     receives the response or the error, and the metrics. It runs on a thread that the transport chooses, must
    ///     return quickly and must not block. By default, it does nothing.
    public init(context: TraceContext, end: @escaping @Sendable (_ outcome: ExchangeOutcome) -> Void = { _ in }) {
        self.context = context
        self.end = end
    }
}

/// A transport that begins and ends the span of each exchange.
private struct TracingTransport: WrappingTransport {
    let inner: any Transport
    let tracing: TraceInterceptor

    func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange {
        guard let parent = request.tags[TraceContext.Parent.self], !request.headers.contains("traceparent") else {
            return inner.start(request, options: options, observer: observer)
        }
        let span = tracing.begin(request, parent)
        var traced = request
        // The state may contain identifiers of the session's own services.
        let isOther = request.omitsSessionSecrets && !request.isOutsideBase
        if tracing.sendsFields(request) {
            for field in span.context.headers where !isOther || !field.name.isSameIgnoringCase(as: "tracestate") {
                traced.headers.update(field)
            }
        }
        let ending = FilteringObserver(observer) { event in
            if case .outcome(let outcome) = event { span.end(outcome) }
            return true
        }
        return inner.start(traced, options: options, observer: ending)
    }
}
