extension EventSource {
    /// What a source's connection is doing.
    public enum State: Hashable, Sendable {
        /// A connection is being made.
        case connecting
        /// Events can come.
        case open
        /// The connection has ended, or could not be made: for which reason, none when the server has closed it.
        case waiting(Duration, after: RequestError.Kind?)
        /// No more events come: the sequence has ended or its loop was left.
        case closed
    }
}
