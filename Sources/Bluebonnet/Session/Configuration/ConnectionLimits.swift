extension Session.Configuration {
    /// Limits how many connections a session opens and keeps.
    public struct ConnectionLimits: Hashable, Sendable {
        /// How many connections there may be to one host, at least 1; `nil`, the default, for no limit.
        ///
        /// Further requests wait; the time they wait counts as connecting.
        public var perHost: Int?

        /// How many connections there may be in all, at least 1; `nil`, the default, for no limit.
        public var total: Int?

        /// How many connections are kept open, the ones in use included, once a request has ended; 1,024 by default.
        ///
        /// Above that, the one that has been unused for longest is closed.
        public var idle = 1024

        /// How long an unused connection may be used again, in whole seconds; 118 s by default, as in libcurl.
        public var idleLifetime: Duration = .seconds(118)

        /// How long after its beginning a connection may be used for another request, in whole seconds; `nil`, the
        /// default, for no limit.
        public var lifetime: Duration?

        /// Creates the default limits: 1,024 kept connections, unused for 118 s at most.
        public init() {}
    }
}
