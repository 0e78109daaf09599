extension Session.Configuration {
    /// The limits for the number and the lifetime of a session's connections.
    public struct ConnectionLimits: Hashable, Sendable {
        /// The maximum number of connections to one host, at least 1; `nil`, the default, for no limit.
        ///
        /// Further requests wait for a connection. The wait counts towards ``Timeouts/pool`` and ``Timeouts/total``,
        /// but not towards ``Timeouts/connect``.
        public var perHost: Int?

        /// The maximum number of connections to all hosts together, at least 1; `nil`, the default, for no limit.
        public var total: Int?

        /// The maximum number of open connections after a request has ended, at least 1; 1,024 by default.
        ///
        /// Connections in use count as well. Above the limit, the connection that has been idle for longest is closed.
        public var idle = 1024

        /// The time after which an idle connection is no longer reused, at least 1 second; 118 seconds by default, as
        /// in libcurl.
        ///
        /// A fraction of a second is dropped.
        public var idleLifetime: Duration = .seconds(118)

        /// The age at which a connection is no longer reused, at least 1 second; `nil`, the default, for no limit.
        ///
        /// A fraction of a second is dropped.
        public var lifetime: Duration?

        /// Creates the default limits: 1,024 open connections, and 118 seconds before an idle connection is no longer
        /// reused.
        public init() {}
    }
}
