/// Says what happens to a response whose head is there.
public enum ResponseDisposition: Hashable, Sendable {
    /// The body is received.
    case allow
    /// The request is cancelled, before any of the body is delivered.
    case cancel
}
