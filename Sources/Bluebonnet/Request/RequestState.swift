/// Says where a request is in its life.
public enum RequestState: Hashable, Sendable {
    /// Made, and not started.
    case initialized
    /// Started, or going on after a suspension.
    case resumed
    /// Held back: nothing is read from or written to the network.
    case suspended
    /// Cancelled; final.
    case cancelled
    /// Answered, with a value or an error; final.
    case finished
}
