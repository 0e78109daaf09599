import Synchronization

/// Accepts every server, whoever it is: never in production.
///
/// Whoever can reach the network between you and the server can read and change everything. The first one of a process
/// says so on standard error when it is asked.
public struct DisabledTrustEvaluator: ServerTrustEvaluating {
    private static let hasWarned = Atomic<Bool>(false)

    /// Creates an evaluator that must not be used in production.
    public init() {}

    /// Accepts.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host.
    public func evaluate(_ trust: ServerTrust, forHost host: String) {
        guard !Self.hasWarned.exchange(true, ordering: .relaxed) else { return }
        StandardError.write("Bluebonnet: DisabledTrustEvaluator accepts any server as \(host); never in production\n")
    }
}

extension ServerTrustEvaluating where Self == DisabledTrustEvaluator {
    /// Accepts every server, whoever it is: never in production.
    public static var disabled: DisabledTrustEvaluator { DisabledTrustEvaluator() }
}
