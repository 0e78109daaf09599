/// The number of connections of a session, and the number of waiting requests.
///
/// Read these numbers with ``Session/connectionCounts()``, for example before your metrics are collected.
public struct ConnectionCounts: Hashable, Sendable {
    /// The number of open connections, including those that are being opened.
    public var open = 0
    /// The number of open connections that no request uses.
    public var idle = 0
    /// The number of requests that wait for a connection, or that wait because of
    /// ``Session/Configuration/requestLimits-swift.property``.
    public var waiting = 0

    /// Creates counts.
    ///
    /// - Parameters:
    ///   - open: The number of open connections; 0 by default.
    ///   - idle: The number of open connections that no request uses; 0 by default.
    ///   - waiting: The number of requests that wait; 0 by default.
    public init(open: Int = 0, idle: Int = 0, waiting: Int = 0) {
        (self.open, self.idle, self.waiting) = (open, idle, waiting)
    }

    static func += (counts: inout Self, other: Self) {
        counts.open += other.open
        counts.idle += other.idle
        counts.waiting += other.waiting
    }
}

extension Session {
    /// Returns the current numbers of connections and of waiting requests.
    ///
    /// The event loops count connections and requests only when you call this method, one event loop after the other.
    /// Without a call, there is no cost. The connections of WebSockets are included.
    ///
    /// - Returns: The counts; all are 0 if the session's transport does not count connections.
    public nonisolated func connectionCounts() async -> ConnectionCounts {
        await context.transport.connectionCounts()
    }
}

extension MetricsMonitor {
    /// Sets the gauges for connections and waiting requests.
    ///
    /// A monitor receives no event when a connection opens or becomes idle. Call this method before each collection:
    ///
    /// ```swift
    /// metrics.record(await session.connectionCounts())
    /// print(metrics.prometheusText)
    /// ```
    ///
    /// The gauges are ``Instrument/openConnections`` and ``Instrument/waitingRequests``. If the monitor serves several
    /// sessions, add up their counts first.
    ///
    /// - Parameter counts: The current counts.
    public func record(_ counts: ConnectionCounts) {
        let state = "http.connection.state"
        set(.openConnections, [Attribute(name: state, value: "active")], counts.open - counts.idle)
        set(.openConnections, [Attribute(name: state, value: "idle")], counts.idle)
        set(.waitingRequests, [], counts.waiting)
    }
}
