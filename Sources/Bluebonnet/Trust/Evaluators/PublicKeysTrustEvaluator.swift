/// Accepts servers that one of a few public keys vouches for, or whose own it is.
public struct PublicKeysTrustEvaluator: ServerTrustEvaluating {
    private let keys: Set<PublicKey>
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Creates an evaluator.
    ///
    /// - Parameters:
    ///   - keys: The pinned keys. With none, no server is accepted.
    ///   - performDefaultValidation: Whether the chain has to be valid; `true` by default.
    ///   - validateHost: Whether the certificate has to be for the host; `true` by default.
    public init(keys: [PublicKey], performDefaultValidation: Bool = true, validateHost: Bool = true) {
        self.keys = Set(keys)
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Checks the chain and the host, and looks for a pinned key in what vouches for the server.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host.
    /// - Throws: A `.trust` error that says what is wrong, and names the keys that were there and that were expected.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !keys.isEmpty else {
            throw RequestError(.trust(.noPublicKeysFound), detail: "no public key is pinned for \(host)")
        }
        if performDefaultValidation { try trust.evaluateChain() }
        if validateHost { try trust.evaluateHost() }
        let shown = trust.authenticatedChain
        guard shown.contains(where: { keys.contains($0.publicKey) }) else {
            let found = shown.map { "\"\($0.subject)\" \($0.publicKey.pin)" }.joined(separator: ", ")
            let pinned = keys.map(\.pin).sorted().joined(separator: ", ")
            throw RequestError(.trust(.publicKeyPinningFailed), detail: "none of \(found) is one of \(pinned)")
        }
    }
}

extension ServerTrustEvaluating where Self == PublicKeysTrustEvaluator {
    /// Accepts servers that one of a few public keys vouches for.
    ///
    /// - Parameters:
    ///   - keys: The pinned keys.
    ///   - performDefaultValidation: Whether the chain has to be valid; `true` by default.
    ///   - validateHost: Whether the certificate has to be for the host; `true` by default.
    /// - Returns: The evaluator.
    public static func publicKeys(
        _ keys: [PublicKey], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) -> PublicKeysTrustEvaluator {
        PublicKeysTrustEvaluator(
            keys: keys, performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}
