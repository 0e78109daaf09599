// Code with completion handlers uses these names for the protocols with Foundation's types. A module that imports this
// module, and Bluebonnet only through it, finds the protocols under these names; see the article about migrating.
@_exported public import BluebonnetCallbacks
@_exported public import BluebonnetReachability

/// An adapter with a completion handler.
public typealias RequestAdapter = CallbackRequestAdapter

/// A retrier with a completion handler.
public typealias RequestRetrier = CallbackRequestRetrier

/// An interceptor with completion handlers.
public typealias RequestInterceptor = CallbackRequestInterceptor

/// An authenticator with a completion handler.
public typealias Authenticator = CallbackAuthenticator

/// A serializer that works with Foundation's request and response types.
public typealias ResponseSerializer = FoundationResponseSerializer

/// A monitor with a queue.
public typealias EventMonitor = QueuedEventMonitor

extension Session {
    /// Creates a session and ignores the queues.
    ///
    /// Sessions have no queues: requests are created and responses serialized on the global pool. Pass a queue when you
    /// add a handler instead.
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
    /// Does the same as `cancelAllRequests(completingOn:completion:)`.
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
    /// Replaces all fields of the name with one field, or appends the field.
    ///
    /// The same as `update(name:value:)`. Use `append(name:value:)` to keep the fields of the same name.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public mutating func add(name: String, value: String) { update(name: name, value: value) }

    /// Replaces all fields of the header's name with the header, or appends it.
    ///
    /// The same as `update(_:)`. Use `append(_:)` to keep the fields of the same name.
    ///
    /// - Parameter header: The header.
    public mutating func add(_ header: HTTPHeader) { update(header) }
}
