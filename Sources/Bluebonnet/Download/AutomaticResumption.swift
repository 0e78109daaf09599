/// Decides whether an interrupted download goes on by itself, and when.
///
/// A pure value that is told of every interruption. Attempts that get on with the body may follow each other without
/// end; those that do not are few, and further and further apart.
struct AutomaticResumption: Hashable, Sendable {
    /// What an attempt must have fetched to count as one that got on, in bytes.
    static let minimumProgress: Int64 = 1024

    /// How many attempts in a row may get nowhere.
    static let limit = 5

    /// How long to wait before the first attempt.
    static let shortestDelay: Duration = .milliseconds(500)

    /// How many attempts in a row got nowhere.
    private(set) var fruitless = 0

    enum Verdict: Hashable, Sendable {
        case resume(after: Duration)
        case giveUp
    }

    /// Takes note of an interruption and returns what to do about it.
    ///
    /// - Parameters:
    ///   - kind: Why the attempt failed.
    ///   - fetched: How many bytes it added to the file.
    ///   - canResume: Whether there is anything to go on from.
    ///   - spread: From 0 to 1, at random: delays grow by up to half, so that clients that were interrupted together do
    ///     not all come back together.
    /// - Returns: Whether to go on.
    mutating func interrupted(
        by kind: RequestError.Kind, fetched: Int64, canResume: Bool, spread: Double
    ) -> Verdict {
        guard canResume, Self.isInterruption(kind) else { return .giveUp }
        fruitless = fetched >= Self.minimumProgress ? 0 : fruitless + 1
        guard fruitless < Self.limit else { return .giveUp }
        let delay = Self.shortestDelay * (1 << fruitless)
        return .resume(after: delay + delay / 2 * min(max(spread, 0), 1))
    }

    /// Whether the failure is one of the way between here and the server, which the next attempt may not meet.
    ///
    /// The time limit of the exchange as a whole is the user's wish, not an interruption.
    static func isInterruption(_ kind: RequestError.Kind) -> Bool {
        switch kind {
        case .connection(.nameNotResolved), .connection(.refused), .connection(.lost), .connection(.http2): true
        case .timedOut(.connect), .timedOut(.idle): true
        case .invalidResponse(.truncated), .invalidResponse(.http2Stream): true
        default: false
        }
    }
}
