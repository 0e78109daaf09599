extension Session.Configuration {
    /// The settings of TCP keep-alive probes, which detect broken connections (RFC 9293 §3.8.4).
    ///
    /// ``idle`` and ``interval`` must each be from 1 to 32,767 seconds. Fractions of a second are ignored.
    public struct KeepAlive: Hashable, Sendable {
        /// The idle time of a connection before the first probe; 60 seconds by default.
        public var idle: Duration

        /// The time between two probes; 60 seconds by default.
        public var interval: Duration

        /// Creates the settings of keep-alive probes.
        ///
        /// - Parameters:
        ///   - idle: The idle time of a connection before the first probe; 60 seconds by default.
        ///   - interval: The time between two probes; 60 seconds by default.
        public init(idle: Duration = .seconds(60), interval: Duration = .seconds(60)) {
            self.idle = idle
            self.interval = interval
        }
    }
}
