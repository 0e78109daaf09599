extension Session.Configuration {
    /// The limits for the number of requests that run at the same time.
    ///
    /// These limits are independent of the limits for connections: with HTTP/2, one connection carries many requests.
    /// If the limits do not allow a request to start, the request waits until another request has ended. The most
    /// urgent request starts first (``HTTPRequest/priority``). Among equally urgent requests, the request that has
    /// waited longest starts first. Less urgent requests continue to wait while more urgent requests are waiting. The
    /// waiting time has no limit unless you set ``Timeouts/queue``. ``TransferMetrics/queue`` is the time that a
    /// request has waited.
    ///
    /// A request counts while its exchange with the server runs. It does not count during the delay before a retry.
    /// Each redirect and each retry must wait again if a limit is reached. Responses from the cache do not count. The
    /// request of a stream or an event source counts until its response has ended. A suspended request that has started
    /// still counts. While a request that has not started is suspended, it does not count, and other requests can start
    /// before it. A request also counts while a redirect handler, a trust evaluator or an `onHTTPResponse` closure runs
    /// for it. If such code makes a further request with the same session, the limits must leave room for the further
    /// request.
    ///
    /// A file to upload is opened when its request runs. The partial file of a download is already open while the
    /// download waits, and needs a file descriptor.
    public struct RequestLimits: Hashable, Sendable {
        /// The maximum number of running requests to one scheme, host and port, at least 1; `nil`, the default, for no
        /// limit.
        public var perHost: Int?

        /// The maximum number of running requests to all hosts together, at least 1; `nil`, the default, for no limit.
        public var total: Int?

        /// Creates limits.
        ///
        /// - Parameters:
        ///   - perHost: The maximum number of running requests to one scheme, host and port; `nil`, the default, for no
        ///     limit.
        ///   - total: The maximum number of running requests to all hosts together; `nil`, the default, for no limit.
        public init(perHost: Int? = nil, total: Int? = nil) {
            self.perHost = perHost
            self.total = total
        }
    }
}
