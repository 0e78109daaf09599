import Bluebonnet
import TestSupport
import Testing

/// Which evaluator accepts which server, on the wire.
@Suite(.timeLimit(.minutes(10))) struct TrustMatrixTests {
    typealias Reason = RequestError.TrustReason

    /// A server that is right, over both versions of TLS and of HTTP.
    @Test(
        arguments: [TestServers.nginxTLS, .nghttpd, .httpbinHTTP2, .tls1_2, .tls1_3],
        TrustFixture.EvaluatorKind.allCases)
    func `a valid certificate`(_ server: TestServers, _ evaluatorKind: TrustFixture.EvaluatorKind) async throws {
        let reason: Reason? =
            switch evaluatorKind {
            case .otherLeaf: .certificatePinningFailed
            case .otherKey: .publicKeyPinningFailed
            case .positiveRevocation: .revocationCheckFailed(.noResponse)
            case .refusing: .customEvaluationFailed
            case .nobody, .nobodyAfterAwaiting: .notEvaluated
            default: nil
            }
        try await expect(server, evaluatorKind, reason)
    }

    @Test(arguments: TrustFixture.EvaluatorKind.allCases)
    func `a certificate that has expired`(_ evaluatorKind: TrustFixture.EvaluatorKind) async throws {
        try await expect(
            .expiredCertificate, evaluatorKind, reason(evaluatorKind, .certificateExpired, pinned: .certificateExpired))
    }

    @Test(arguments: TrustFixture.EvaluatorKind.allCases)
    func `a certificate for another host`(_ evaluatorKind: TrustFixture.EvaluatorKind) async throws {
        var expected = reason(evaluatorKind, .hostMismatch, pinned: .hostMismatch)
        if evaluatorKind == .anyHost || evaluatorKind == .ownAuthorityOnAnyHost { expected = nil }
        try await expect(.wrongHost, evaluatorKind, expected)
    }

    @Test(arguments: TrustFixture.EvaluatorKind.allCases)
    func `a self-signed certificate`(_ evaluatorKind: TrustFixture.EvaluatorKind) async throws {
        try await expect(.selfSigned, evaluatorKind, reason(evaluatorKind, .selfSigned, pinned: nil))
    }

    @Test(arguments: TrustFixture.EvaluatorKind.allCases)
    func `a certificate of an untrusted authority`(_ evaluatorKind: TrustFixture.EvaluatorKind) async throws {
        try await expect(.untrustedAuthority, evaluatorKind, reason(evaluatorKind, .untrustedIssuer, pinned: nil))
    }

    /// An evaluator's reason for refusing a server whose chain or name is wrong; `pinned` is the reason of evaluators
    /// for which the server's own certificate is the authority.
    private func reason(_ evaluatorKind: TrustFixture.EvaluatorKind, _ flaw: Reason, pinned: Reason?) -> Reason? {
        switch evaluatorKind {
        case .default, .anyHost, .pinnedLeaf, .pinnedAuthority, .leafKey, .authorityKey, .otherKey, .revocation,
            .positiveRevocation, .ocsp:
            flaw
        case .ownAuthority, .ownAuthorityOnAnyHost: pinned
        case .leafAlone, .keyAlone, .disabled, .accepting: nil
        case .otherLeaf: .certificatePinningFailed
        case .refusing: .customEvaluationFailed
        case .nobody, .nobodyAfterAwaiting: .notEvaluated
        }
    }

    private func expect(_ server: TestServers, _ evaluatorKind: TrustFixture.EvaluatorKind, _ reason: Reason?)
        async throws
    {
        let session = try TrustFixture.session(try TrustFixture.evaluator(evaluatorKind, for: server))
        let response = await session.request(try server.url("/?token=hidden")).serializingData().response
        if let reason {
            let error = try #require(response.error)
            #expect(error.kind == .trust(reason))
            #expect(response.response == nil && error.isTrustFailure)
            #expect(!error.description.contains("hidden") && error.url?.contains("127.0.0.1") == true)
        } else {
            #expect(response.error == nil)
            #expect(response.response != nil)
        }
        await session.shutdown()
    }
}
