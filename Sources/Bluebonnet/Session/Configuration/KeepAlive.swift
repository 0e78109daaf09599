extension Session.Configuration {
    /// Says when TCP asks whether a silent peer is still there (RFC 9293 §3.8.4).
    ///
    /// Both times are whole seconds from 1 to 32,767; a fraction of a second is dropped.
    public struct KeepAlive: Hashable, Sendable {
        /// How long a connection is silent before the first probe; 60 s by default.
        public var idle: Duration

        /// How long between probes; 60 s by default.
        public var interval: Duration

        /// Creates settings.
        ///
        /// - Parameters:
        ///   - idle: How long a connection is silent before the first probe.
        ///   - interval: How long between probes.
        public init(idle: Duration = .seconds(60), interval: Duration = .seconds(60)) {
            self.idle = idle
            self.interval = interval
        }
    }
}
