extension EventSource {
    /// Says how a source reconnects.
    public struct Configuration: Hashable, Sendable {
        /// The ID of the event after which the stream is to go on; none when empty.
        ///
        /// It may hold no CR, LF or NUL: a request with one is never sent.
        public var initialLastEventID: String

        /// How long to wait before reconnecting until the server says otherwise; 3 seconds by default.
        public var reconnectionTime: Duration

        /// How long the wait may become while no connection can be made; 30 seconds by default.
        ///
        /// A longer reconnection time counts nevertheless. A quarter may come on top of it by chance, so that the clients
        /// of a server that was away do not come back all at once.
        public var maximumReconnectionDelay: Duration

        /// After how many attempts in a row without a connection the source gives up; never by default.
        ///
        /// It throws why the last one failed. At least one is made.
        public var maximumAttempts: Int?

        /// Whether the source reconnects at all; so it does by default.
        public var reconnects: Bool

        /// How many bytes the data of an event and a line of the stream may have; 16 MiB by default.
        ///
        /// More ends the sequence with `.invalidResponse(.bodyTooLarge)`.
        public var maximumEventBytes: Int

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - initialLastEventID: The event after which the stream is to go on.
        ///   - reconnectionTime: How long to wait before reconnecting until the server says otherwise.
        ///   - maximumReconnectionDelay: How long the wait may become while no connection can be made.
        ///   - maximumAttempts: After how many attempts in a row without a connection the source gives up.
        ///   - reconnects: Whether the source reconnects at all.
        ///   - maximumEventBytes: How many bytes the data of an event and a line of the stream may have.
        public init(
            initialLastEventID: String = "", reconnectionTime: Duration = .seconds(3),
            maximumReconnectionDelay: Duration = .seconds(30), maximumAttempts: Int? = nil, reconnects: Bool = true,
            maximumEventBytes: Int = 16 * 1024 * 1024
        ) {
            self.initialLastEventID = initialLastEventID
            self.reconnectionTime = reconnectionTime
            self.maximumReconnectionDelay = maximumReconnectionDelay
            self.maximumAttempts = maximumAttempts
            self.reconnects = reconnects
            self.maximumEventBytes = maximumEventBytes
        }
    }
}
