/// Accepts servers that all of several evaluators accept.
public struct CompositeTrustEvaluator: ServerTrustEvaluating {
    let evaluators: [any ServerTrustEvaluating]

    /// Creates an evaluator.
    ///
    /// - Parameter evaluators: The evaluators, asked in this order up to the first that refuses. Some may have to be
    ///   awaited. With none, no server is accepted.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
    }

    /// Asks the evaluators.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host.
    /// - Throws: What the first that refuses throws.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !evaluators.isEmpty else {
            throw RequestError(.trust(.notEvaluated), detail: "there is no evaluator for \(host)")
        }
        for evaluator in evaluators { try evaluator.evaluate(trust, forHost: host) }
    }
}

extension ServerTrustEvaluating where Self == CompositeTrustEvaluator {
    /// Accepts servers that all of several evaluators accept.
    ///
    /// - Parameter evaluators: The evaluators, asked in this order.
    /// - Returns: The evaluator.
    public static func composite(_ evaluators: [any ServerTrustEvaluating]) -> CompositeTrustEvaluator {
        CompositeTrustEvaluator(evaluators: evaluators)
    }
}
