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
