/// Accepts servers whose ``ServerTrust/authenticatedChain`` contains a pinned public key.
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

    /// Checks the chain and the host, and looks for a pinned key in ``ServerTrust/authenticatedChain``.
    ///
    /// - Parameters:
    ///   - trust: The certificates and the stapled response of the server.
    ///   - host: The host.
    /// - Throws: A `.trust` error with the reason of the refusal, the keys of the server and the pinned keys.
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
    /// Accepts servers whose ``ServerTrust/authenticatedChain`` contains a pinned public key.
    ///
    /// - Parameters:
    ///   - keys: The pinned keys.
    ///   - performDefaultValidation: Whether the chain has to be valid; `true` by default.
    ///   - validateHost: Whether the certificate has to be for the host; `true` by default.
    /// - Returns: The evaluator.
    package static func publicKeys(
        _ keys: [PublicKey], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) -> PublicKeysTrustEvaluator {
        PublicKeysTrustEvaluator(
            keys: keys, performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}

/// Accepts servers whose ``ServerTrust/authenticatedChain`` contains a pinned certificate.
public struct PinnedCertificatesTrustEvaluator: ServerTrustEvaluating {
    private let certificates: [Certificate]
    private let acceptSelfSignedCertificates: Bool
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Creates an evaluator.
    ///
    /// - Parameters:
    ///   - certificates: The pinned certificates. With none, no server is accepted.
    ///   - acceptSelfSignedCertificates: Whether the pinned certificates are the authorities to trust, in place of the
    ///     session's: then a pinned certificate may be self-signed, or of an authority of your own. `false` by default.
    ///   - performDefaultValidation: Whether the chain has to be valid; `true` by default.
    ///   - validateHost: Whether the certificate has to be for the host; `true` by default.
    public init(
        certificates: [Certificate], acceptSelfSignedCertificates: Bool = false, performDefaultValidation: Bool = true,
        validateHost: Bool = true
    ) {
        self.certificates = certificates
        self.acceptSelfSignedCertificates = acceptSelfSignedCertificates
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Checks the chain and the host, and looks for a pinned certificate in ``ServerTrust/authenticatedChain``.
    ///
    /// - Parameters:
    ///   - trust: The certificates and the stapled response of the server.
    ///   - host: The host.
    /// - Throws: A `.trust` error with the reason of the refusal and the pinned certificates.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !certificates.isEmpty else {
            throw RequestError(.trust(.noCertificatesFound), detail: "no certificate is pinned for \(host)")
        }
        var trust = trust
        if performDefaultValidation {
            if acceptSelfSignedCertificates {
                trust = try trust.evaluateChain(anchoredBy: certificates)
            } else {
                try trust.evaluateChain()
            }
        }
        if validateHost { try trust.evaluateHost() }
        guard trust.authenticatedChain.contains(where: { certificates.contains($0) }) else {
            let pinned = certificates.map { "\"\($0.subject)\" \($0.fingerprint)" }
            throw RequestError(
                .trust(.certificatePinningFailed),
                detail: "none of \(trust.subjects) is one of \(pinned.joined(separator: ", "))")
        }
    }
}

extension ServerTrustEvaluating where Self == PinnedCertificatesTrustEvaluator {
    /// Accepts servers whose ``ServerTrust/authenticatedChain`` contains a pinned certificate.
    ///
    /// - Parameters:
    ///   - certificates: The pinned certificates.
    ///   - acceptSelfSignedCertificates: Whether they are the authorities to trust; `false` by default.
    ///   - performDefaultValidation: Whether the chain has to be valid; `true` by default.
    ///   - validateHost: Whether the certificate has to be for the host; `true` by default.
    /// - Returns: The evaluator.
    package static func pinnedCertificates(
        _ certificates: [Certificate], acceptSelfSignedCertificates: Bool = false,
        performDefaultValidation: Bool = true,
        validateHost: Bool = true
    ) -> PinnedCertificatesTrustEvaluator {
        PinnedCertificatesTrustEvaluator(
            certificates: certificates, acceptSelfSignedCertificates: acceptSelfSignedCertificates,
            performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}
