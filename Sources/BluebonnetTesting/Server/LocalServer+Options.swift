extension LocalServer {
    /// Sets the limits of a server.
    public struct Options: Hashable, Sendable {
        /// The longest head of a request that is accepted, in bytes; 65,536 by default.
        ///
        /// A longer one is answered with 431, or with 414 when its first line alone is longer.
        public var maximumHeadBytes = 64 * 1024

        /// The longest body of a request that is accepted, in bytes; 1 GiB by default.
        ///
        /// A longer one is answered with 413, as soon as its length is known to be too much.
        public var maximumBodyBytes = 1024 * 1024 * 1024

        /// How many requests are kept in ``LocalServer/requests``, the latest; 10,000 by default.
        public var recordedRequests = 10_000

        /// How much is kept of a recorded request's body, in bytes; 1 MiB by default.
        public var recordedBodyBytes = 1024 * 1024

        /// How much of a body is read ahead of a route that reads it piece by piece, in bytes; 256 KiB by default.
        public var bodyWindowBytes = 256 * 1024

        /// The size of the system's receive buffer of each connection, in bytes; `nil` for what the system thinks best.
        ///
        /// The system doubles it, for its own needs. What a client can send that nobody reads is bounded by this, its own
        /// send buffer and ``bodyWindowBytes``.
        public var receiveBufferBytes: Int?

        /// The size of the system's send buffer of each connection, in bytes; `nil` for what the system thinks best.
        ///
        /// The system doubles it, for its own needs. What can be sent to a client that does not read is bounded by this
        /// and its own receive buffer; left to itself, the system lets both grow to several MiB.
        public var sendBufferBytes: Int?

        /// Creates options with the default limits.
        public init() {}
    }
}
