/// Accepts a server only if a certificate in its ``ServerTrust/authenticatedChain`` has a pinned public key.
public struct PublicKeysTrustEvaluator: ServerTrustEvaluating {
    private let keys: Set<PublicKey>
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Creates an evaluator for pinned public keys.
    ///
    /// - Parameters:
    ///   - keys: The pinned keys. If the array is empty, no server is accepted.
    ///   - performDefaultValidation: Whether the chain must lead to a trusted authority and be currently valid; `true`
    ///     by default.
    ///   - validateHost: Whether the certificate must be valid for the host; `true` by default.
    public init(keys: [PublicKey], performDefaultValidation: Bool = true, validateHost: Bool = true) {
        self.keys = Set(keys)
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Performs the enabled checks of the chain and the host, and then looks for a pinned key.
    ///
    /// A certificate in the ``ServerTrust/authenticatedChain`` must have a pinned key.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: A ``RequestError`` of the kind `.trust`, with the reason for the refusal. If no key matches, the error
    ///   contains the server's keys and the pinned keys.
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

/// Accepts a server only if its ``ServerTrust/authenticatedChain`` contains a pinned certificate.
public struct PinnedCertificatesTrustEvaluator: ServerTrustEvaluating {
    private let certificates: [Certificate]
    private let acceptSelfSignedCertificates: Bool
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Creates an evaluator for pinned certificates.
    ///
    /// - Parameters:
    ///   - certificates: The pinned certificates. If the array is empty, no server is accepted.
    ///   - acceptSelfSignedCertificates: Whether the chain must lead to a pinned certificate, and not to one of the
    ///     session's trusted authorities; `false` by default. With `true`, you can pin a self-signed certificate or
    ///     your own authority. The value has no effect if `performDefaultValidation` is `false`.
    ///   - performDefaultValidation: Whether the chain must lead to a trusted authority and be currently valid; `true`
    ///     by default.
    ///   - validateHost: Whether the certificate must be valid for the host; `true` by default.
    public init(
        certificates: [Certificate], acceptSelfSignedCertificates: Bool = false, performDefaultValidation: Bool = true,
        validateHost: Bool = true
    ) {
        self.certificates = certificates
        self.acceptSelfSignedCertificates = acceptSelfSignedCertificates
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Performs the enabled checks of the chain and the host, and then looks for a pinned certificate.
    ///
    /// A pinned certificate must be in the ``ServerTrust/authenticatedChain``.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: A ``RequestError`` of the kind `.trust`, with the reason for the refusal. If no certificate matches,
    ///   the error contains the subjects of the server's certificates. It also contains the subjects and fingerprints
    ///   of the pinned certificates.
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
