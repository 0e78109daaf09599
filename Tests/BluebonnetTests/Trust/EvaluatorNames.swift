@testable import Bluebonnet

// Short names for evaluators in tests.

extension ServerTrustEvaluating where Self == PublicKeysTrustEvaluator {
    static func publicKeys(
        _ keys: [PublicKey], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) -> PublicKeysTrustEvaluator {
        PublicKeysTrustEvaluator(
            keys: keys, performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}

extension ServerTrustEvaluating where Self == PinnedCertificatesTrustEvaluator {
    static func pinnedCertificates(
        _ certificates: [Certificate], acceptSelfSignedCertificates: Bool = false,
        performDefaultValidation: Bool = true, validateHost: Bool = true
    ) -> PinnedCertificatesTrustEvaluator {
        PinnedCertificatesTrustEvaluator(
            certificates: certificates, acceptSelfSignedCertificates: acceptSelfSignedCertificates,
            performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}

extension ServerTrustEvaluating where Self == RevocationTrustEvaluator {
    static func revocation(
        performDefaultValidation: Bool = true, validateHost: Bool = true,
        options: RevocationTrustEvaluator.Options = .any, lists: [CertificateRevocationList] = []
    ) -> RevocationTrustEvaluator {
        RevocationTrustEvaluator(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost, options: options,
            lists: lists)
    }
}

extension ServerTrustEvaluating where Self == OCSPTrustEvaluator {
    static func ocsp(
        failure: OCSPTrustEvaluator.Failure = .hard, session: Session = .default
    ) -> OCSPTrustEvaluator {
        OCSPTrustEvaluator(failure: failure, session: session)
    }
}

extension ServerTrustEvaluating where Self == DefaultTrustEvaluator {
    static func `default`(validateHost: Bool = true) -> DefaultTrustEvaluator {
        DefaultTrustEvaluator(validateHost: validateHost)
    }
}

extension ServerTrustEvaluating where Self == DisabledTrustEvaluator {
    static var disabled: DisabledTrustEvaluator { DisabledTrustEvaluator() }
}

extension ServerTrustEvaluating where Self == CompositeTrustEvaluator {
    static func composite(_ evaluators: [any ServerTrustEvaluating]) -> CompositeTrustEvaluator {
        CompositeTrustEvaluator(evaluators: evaluators)
    }
}

/// Evaluates servers with an asynchronous closure.
struct AsyncClosureTrustEvaluator: AsyncServerTrustEvaluating {
    private let closure: @Sendable (ServerTrust, String) async throws -> Void

    init(_ evaluate: @escaping @Sendable (_ trust: ServerTrust, _ host: String) async throws -> Void) {
        closure = evaluate
    }

    @concurrent func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
        try await closure(trust, host)
    }
}
