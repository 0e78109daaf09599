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
