extension Session.Configuration {
    /// The limits for the number and the lifetime of a session's connections.
    public struct ConnectionLimits: Hashable, Sendable {
        /// The maximum number of connections to one host, at least 1; with `nil`, the default, about 256.
        ///
        /// If the limit is reached, requests wait for a free connection. The wait counts towards ``Timeouts/pool`` and
        /// ``Timeouts/total``, but not towards ``Timeouts/connect``.
        ///
        /// All sessions of the process together use at most a quarter of its file descriptors, whatever the limits are.
        public var perHost: Int?

        /// The maximum number of connections to all hosts together, at least 1; with `nil`, the default, about 1,024.
        public var total: Int?

        /// The maximum number of connections that stay open, at least 1; 1,024 by default.
        ///
        /// Connections in use count too. If the limit is exceeded when a request ends, the connection with the longest
        /// idle time is closed. The limit is at most half of the process's file descriptors.
        public var idle = 1024

        /// The idle time after which a connection is no longer reused, at least 1 second; 118 seconds by default, as in
        /// libcurl.
        ///
        /// Fractions of a second are ignored.
        public var idleLifetime: Duration = .seconds(118)

        /// The age at which a connection is no longer reused, at least 1 second; `nil`, the default, for no limit.
        ///
        /// Fractions of a second are ignored.
        public var lifetime: Duration?

        /// Creates the default limits.
        public init() {}
    }
}
