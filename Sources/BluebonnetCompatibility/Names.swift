// Code that was written with completion handlers gives these names to protocols in Foundation's terms. A module that
// imports this one, and Bluebonnet only through it, finds those under them; see the article about migrating.
@_exported public import BluebonnetCallbacks
@_exported public import BluebonnetReachability

/// An adapter that answers by a completion handler.
public typealias RequestAdapter = CallbackRequestAdapter

/// A retrier that answers by a completion handler.
public typealias RequestRetrier = CallbackRequestRetrier

/// An interceptor that answers by completion handlers.
public typealias RequestInterceptor = CallbackRequestInterceptor

/// An authenticator that answers by a completion handler.
public typealias Authenticator = CallbackAuthenticator

/// A serializer in Foundation's terms.
public typealias ResponseSerializer = FoundationResponseSerializer

/// A monitor that has a queue.
public typealias EventMonitor = QueuedEventMonitor

extension Session {
    /// Creates a session, and leaves the queues aside.
    ///
    /// Sessions have no queues: requests are made and responses serialized on the global pool, and nothing of it waits for a
    /// queue. Say where a handler is called when you add it.
    ///
    /// - Parameters:
    ///   - rootQueue: Is ignored.
    ///   - requestQueue: Is ignored.
    ///   - serializationQueue: Is ignored.
    ///   - startRequestsImmediately: Whether a request starts when its first handler is added.
    ///   - interceptor: Adapts and retries all requests.
    ///   - eventMonitors: The monitors that receive the events of every request.
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

    /// Cancels every request that was made so far, and calls a closure on a queue when all of them have been answered.
    ///
    /// The same as `cancelAllRequests(completingOn:completion:)`.
    ///
    /// - Parameters:
    ///   - queue: Where the closure is called.
    ///   - completion: Called once.
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
