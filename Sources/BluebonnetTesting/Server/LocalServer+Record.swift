extension LocalServer {
    /// The requests that were received, the oldest first; at most the latest ``Options/recordedRequests``.
    ///
    /// A request is received when its body is complete; a script may also record one whose head is, and a route
    /// that reads the body itself (``Router/streaming(_:method:continue:_:)``) one whose body never was.
    public var requests: [Request] { record.requests }

    /// How many requests were received, ever.
    public var requestCount: Int { record.requestCount }

    /// How many connections were accepted, ever.
    public var connectionCount: Int { record.connectionCount }

    /// How many connections are open.
    public var openConnectionCount: Int { record.openConnectionCount }

    /// Forgets the recorded requests; the counts go on.
    public func forgetRequests() {
        record.forgetRequests()
    }

    /// Waits for the next request that this method has not returned yet, beginning with the server's first.
    ///
    /// - Returns: The request.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    public func nextRequest() async throws -> Request {
        try await record.nextRequest()
    }

    /// Waits until a number of requests were received.
    ///
    /// - Parameter number: The number; 1 for the first.
    /// - Returns: The request with that number.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is, and
    ///   ``Failure/notRecorded`` when the request is not kept any more.
    public func request(_ number: Int) async throws -> Request {
        try await record.request(number)
    }

    /// Waits until no more than a number of connections are open.
    ///
    /// - Parameter count: The number.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    public func waitForOpenConnections(atMost count: Int) async throws {
        try await record.waitForOpenConnections(atMost: count)
    }

    /// Waits until a number of connections were accepted, ever.
    ///
    /// - Parameter count: The number.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    public func waitForConnections(atLeast count: Int) async throws {
        try await record.waitForConnections(atLeast: count)
    }
}
