/// Says which elements of a sequence are kept for an observer that is slower than they come.
public enum StreamBufferingPolicy: Hashable, Sendable {
    /// Keeps all of them.
    case unbounded
    /// Keeps the newest ones, this many.
    case newest(Int)
    /// Keeps the oldest ones, this many, and drops what comes while they are waiting.
    case oldest(Int)

    /// Keeps the newest one: right for values of which only the latest counts, such as progress.
    public static let latest = StreamBufferingPolicy.newest(1)

    /// Keeps the newest 256: for events of which each one counts.
    public static let events = StreamBufferingPolicy.newest(256)
}
