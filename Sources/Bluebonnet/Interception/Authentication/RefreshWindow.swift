/// Limits how often a credential is refreshed, so that a server that accepts none is not asked for ever.
public struct RefreshWindow: Hashable, Sendable {
    /// The time that counts, back from now.
    public let interval: Duration

    /// How many refreshes may be begun in that time; with 0, none ever.
    public let maximumAttempts: Int

    /// Creates a window.
    ///
    /// - Parameters:
    ///   - interval: The time that counts; 30 s by default.
    ///   - maximumAttempts: How many refreshes may be begun in that time; 5 by default.
    public init(interval: Duration = .seconds(30), maximumAttempts: Int = 5) {
        self.interval = interval
        self.maximumAttempts = maximumAttempts
    }
}
