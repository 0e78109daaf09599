/// Limits how long the stages of a request may take; `nil` means no limit.
public struct Timeouts: Hashable, Sendable {
    /// 30 seconds to connect, 60 seconds idle, no limit in total.
    public static let `default` = Timeouts()

    /// The limit for name lookup, connecting and TLS together.
    public var connect: Duration?

    /// The longest time in which nothing is sent or received, to an eighth of itself; suspension does not count.
    public var idle: Duration?

    /// The limit for one exchange as a whole, from its start to the last byte of the body; suspension counts.
    ///
    /// Each redirect and each retry is an exchange of its own: a request may take as many times as long, and the waits
    /// between. To bound a request as a whole, cancel the task that awaits it.
    public var total: Duration?

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - connect: The limit for name lookup, connecting and TLS together; 30 seconds by default.
    ///   - idle: The longest time in which nothing is sent or received; 60 seconds by default.
    ///   - total: The limit for the exchange as a whole; none by default.
    public init(connect: Duration? = .seconds(30), idle: Duration? = .seconds(60), total: Duration? = nil) {
        self.connect = connect
        self.idle = idle
        self.total = total
    }
}
