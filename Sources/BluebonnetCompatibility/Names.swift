// These aliases give the protocols with completion handlers their Alamofire names. They apply in a module that imports
// this module but does not import `Bluebonnet` itself. The article about migrating describes the imports.
@_exported public import BluebonnetCallbacks
@_exported public import BluebonnetReachability

/// An adapter that returns its result through a completion handler.
public typealias RequestAdapter = CallbackRequestAdapter

/// A retrier that returns its decision through a completion handler.
public typealias RequestRetrier = CallbackRequestRetrier

/// An interceptor that returns its results through completion handlers.
public typealias RequestInterceptor = CallbackRequestInterceptor

/// An authenticator that refreshes its credential with a completion handler.
public typealias Authenticator = CallbackAuthenticator

/// A serializer that receives a `URLRequest` and an `HTTPURLResponse`.
public typealias ResponseSerializer = FoundationResponseSerializer

/// An event monitor whose methods are called on a dispatch queue.
public typealias EventMonitor = QueuedEventMonitor

extension Session {
    /// Creates a session; the queues are ignored.
    ///
    /// A session has no queues. It creates requests and serializes responses on the global executor. To select the
    /// queue of a handler, pass the queue to the method that adds the handler.
    ///
    /// - Parameters:
    ///   - rootQueue: Ignored.
    ///   - requestQueue: Ignored.
    ///   - serializationQueue: Ignored.
    ///   - startRequestsImmediately: Whether a request starts when its first handler is added; `true` by default.
    ///   - interceptor: An interceptor that adapts and retries all requests; none by default.
    ///   - eventMonitors: The monitors that receive the events of every request; none by default.
    @available(*, deprecated, message: "sessions have no queues; say where a handler is called when you add it")
    public init(
        rootQueue: DispatchQueue, requestQueue: DispatchQueue? = nil, serializationQueue: DispatchQueue? = nil,
        startRequestsImmediately: Bool = true, interceptor: (any Bluebonnet.RequestInterceptor)? = nil,
        eventMonitors: [any RequestEventHandler] = []
    ) {
        self.init(
            interceptor: interceptor, eventMonitors: eventMonitors,
            startRequestsImmediately: startRequestsImmediately)
    }

    /// Cancels all requests created so far, and calls a closure on a queue when all of them have ended.
    ///
    /// This method does the same as `cancelAllRequests(completingOn:completion:)`.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called.
    ///   - completion: The closure, which is called once.
    @preconcurrency
    public nonisolated func cancelAllRequests(
        completingOnQueue queue: DispatchQueue, completion: @escaping @Sendable () -> Void
    ) {
        cancelAllRequests(completingOn: queue, completion: completion)
    }
}

extension HTTPHeaders {
    /// Sets the value of a field, and removes all other fields with the same name.
    ///
    /// This method does the same as `update(name:value:)`. Use `append(name:value:)` to keep existing fields with the
    /// same name.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public mutating func add(name: String, value: String) { update(name: name, value: value) }

    /// Sets a header field, and removes all other fields with the same name.
    ///
    /// This method does the same as `update(_:)`. Use `append(_:)` to keep existing fields with the same name.
    ///
    /// - Parameter header: The field to set.
    public mutating func add(_ header: HTTPHeader) { update(header) }
}
