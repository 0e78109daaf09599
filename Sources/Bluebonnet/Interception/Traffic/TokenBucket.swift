/// Counts how many requests may go now, as a value: tokens come in at a steady rate, and each request takes one.
struct TokenBucket: Hashable, Sendable {
    private let tokensPerSecond: Double
    private let capacity: Double
    private var tokens: Double
    private var updated: Duration

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - tokensPerSecond: How many tokens come in; what is no rate counts as the least there is.
    ///   - capacity: How many there is room for, at least one.
    ///   - now: The time, from any beginning.
    init(tokensPerSecond: Double, capacity: Int, now: Duration) {
        self.tokensPerSecond = tokensPerSecond.isNaN ? Self.least : min(max(tokensPerSecond, Self.least), Self.most)
        self.capacity = Double(max(1, capacity))
        tokens = self.capacity
        updated = now
    }

    /// One in three years; an hour's wait is more than anybody has.
    private static let least = 1e-8
    private static let most = 1e9

    /// Takes a token; returns whether there was one.
    mutating func take(now: Duration) -> Bool {
        update(now)
        guard isReady else { return false }
        tokens = max(0, tokens - 1)
        return true
    }

    /// How long it takes until there is a token.
    func wait(now: Duration) -> Duration {
        var later = self
        later.update(now)
        guard !later.isReady else { return .zero }
        // A little more, so that what is rounded does not make it come too early for ever.
        return .seconds((1 - later.tokens) / tokensPerSecond) + .nanoseconds(1)
    }

    /// Whether nothing was taken lately.
    func isFull(now: Duration) -> Bool {
        var later = self
        later.update(now)
        return later.tokens >= capacity
    }

    private var isReady: Bool { tokens >= 1 - 1e-9 }

    private mutating func update(_ now: Duration) {
        guard now > updated else { return }
        tokens = min(capacity, tokens + (now - updated) / .seconds(1) * tokensPerSecond)
        updated = now
    }
}
