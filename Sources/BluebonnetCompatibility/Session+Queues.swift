public import BluebonnetCallbacks

extension Session {
    /// Creates a session, and leaves the queues aside.
    ///
    /// Sessions have no queues: requests are made and responses serialized on the global pool, and nothing of it waits for a
    /// queue. Say where a handler is called when you add it.
    ///
    /// - Parameters:
    ///   - rootQueue: Of no meaning.
    ///   - requestQueue: Of no meaning.
    ///   - serializationQueue: Of no meaning.
    ///   - startRequestsImmediately: Whether a request starts when its first handler is added.
    ///   - interceptor: Adapts and retries all requests.
    ///   - eventMonitors: Are told what happens to every request.
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
}
