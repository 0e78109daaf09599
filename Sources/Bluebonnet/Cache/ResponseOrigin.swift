/// Says where a response came from.
@nonexhaustive
public enum ResponseOrigin: Hashable, Sendable {
    /// From the server.
    case network
    /// From the session's cache, without the server.
    case cache
    /// From the session's cache, after the server had said that it is good still.
    case validated
}
