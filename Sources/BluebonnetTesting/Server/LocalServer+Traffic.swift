extension LocalServer {
    /// Counts the bytes that have gone over all connections of a server, heads and framing included.
    public struct Traffic: Hashable, Sendable {
        /// How many bytes the system has accepted from the server.
        ///
        /// The client need not have them: what it does not read fills the system's buffers first; see
        /// ``Options/sendBufferBytes``.
        public internal(set) var bytesSent = 0

        /// How many bytes the server has read.
        public internal(set) var bytesReceived = 0
    }

    /// The bytes that were sent and received so far.
    public var traffic: Traffic { record.traffic }

    /// Waits until at least so many bytes were sent, over all connections.
    ///
    /// - Parameter count: The number of bytes.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    public func waitForBytesSent(atLeast count: Int) async throws {
        try await record.waitForTraffic { $0.bytesSent >= count }
    }

    /// Waits until at least so many bytes were received, over all connections.
    ///
    /// - Parameter count: The number of bytes.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    public func waitForBytesReceived(atLeast count: Int) async throws {
        try await record.waitForTraffic { $0.bytesReceived >= count }
    }

    /// Waits until nothing has been sent or received for a while, as when one side is held back by the other.
    ///
    /// It is quiet before the first byte, too, and when the machine is busy with something else: first wait for what has
    /// to move in any case. What moves later shows that it was too early, never that too much was sent.
    ///
    /// - Parameter duration: How long it has to be quiet.
    /// - Returns: The bytes that were sent and received until then.
    /// - Throws: `CancellationError` when the task is cancelled, ``Failure/stopped`` when the server is.
    @discardableResult
    public func waitForQuiet(of duration: Duration = .milliseconds(250)) async throws -> Traffic {
        var last = traffic
        while true {
            try await Task.sleep(for: duration)
            // Throws when the server was stopped.
            try await record.waitForTraffic { _ in true }
            let now = traffic
            if now == last { return now }
            last = now
        }
    }
}
