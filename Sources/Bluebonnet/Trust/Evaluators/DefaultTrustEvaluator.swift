/// Judges as libcurl does without a manager: by the authorities that the session trusts, and by the host's name.
public struct DefaultTrustEvaluator: ServerTrustEvaluating {
    private let validateHost: Bool

    /// Creates an evaluator.
    ///
    /// - Parameter validateHost: Whether the certificate has to be for the host; `true` by default.
    public init(validateHost: Bool = true) {
        self.validateHost = validateHost
    }

    /// Checks the chain, and the host.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host.
    /// - Throws: A `.trust` error that says what is wrong.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        try trust.evaluateChain()
        if validateHost { try trust.evaluateHost() }
    }
}

extension ServerTrustEvaluating where Self == DefaultTrustEvaluator {
    /// Judges as libcurl does without a manager.
    ///
    /// - Parameter validateHost: Whether the certificate has to be for the host; `true` by default.
    /// - Returns: The evaluator.
    public static func `default`(validateHost: Bool = true) -> DefaultTrustEvaluator {
        DefaultTrustEvaluator(validateHost: validateHost)
    }
}
