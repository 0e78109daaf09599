import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// Which evaluator accepts which stapled response, certificate or list, on the wire.
@Suite(.timeLimit(.minutes(10))) struct RevocationMatrixTests {
    typealias EvaluatorKind = RevocationFixture.EvaluatorKind

    /// A server, and the verdicts of the evaluators in their order: accepted (-), or refused because it was revoked
    /// (R), is unknown (U), or because the revocation information is stale (S), not trusted (T) or missing (N).
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let verdicts: String

        init(_ name: String, _ verdicts: String) {
            self.name = name
            self.verdicts = verdicts.filter { $0 != " " }
        }

        var testDescription: String { name }

        var reasons: [(EvaluatorKind, RequestError.RevocationReason?)] {
            zip(EvaluatorKind.allCases, verdicts).map { ($0, RevocationMatrixTests.reason($1)) }
        }
    }

    static let rows = [
        //                      default, ocsp, crl, any, prefer; the same but the first with a plus; soft, hard
        Row("good", "-          ---- ---- --"),
        Row("revoked", "-       RRRR RRRR RR"),
        Row("unknown", "-       ---- U--- -U"),
        Row("expired", "-       ---- S--- --"),
        Row("expired-revoked", "- RRRR RRRR RR"),
        Row("future", "-        ---- S--- --"),
        Row("endless", "-       ---- S--- --"),
        Row("none", "-          ---- N--- --"),
        Row("none-revoked", "-  -RRR NRRR RR"),
        Row("foreign", "-       ---- T--- --"),
        Row("delegated", "-     ---- ---- --"),
        Row("undelegated", "-   ---- T--- --"),
        Row("another", "-       ---- N--- --"),
        Row("garbage", "-       ---- N--- --"),
        Row("must", "-          ---- ---- --"),
        Row("must-none", "-     N-NN N-NN NN"),
        Row("must-expired", "-  S-SS S-SS --"),
        Row("must-revoked", "-  RRRR RRRR RR"),
        Row("branch", "-        -RRR -RRR --"),
    ]

    static func reason(_ letter: Character) -> RequestError.RevocationReason? {
        switch letter {
        case "R": .revoked
        case "U": .unknown
        case "S": .stale
        case "T": .untrustedResponse
        case "N": .noResponse
        default: nil
        }
    }

    @Test(arguments: rows, [HTTPVersionPreference.http1_1, .automatic])
    func `the result of an evaluator for a server's staple`(_ row: Row, _ version: HTTPVersionPreference) async throws {
        let files = try RevocationFiles()
        let asker = try RevocationFixture.asker()
        #expect(row.reasons.count == EvaluatorKind.allCases.count)
        for (evaluatorKind, reason) in row.reasons {
            let session = try RevocationFixture.session(try RevocationFixture.evaluator(evaluatorKind, asker), version)
            let response = await session.request(files.address(of: row.name)).serializingData().response
            if let reason {
                #expect(response.error?.kind == .trust(.revocationCheckFailed(reason)), "\(evaluatorKind)")
                #expect(response.response == nil && response.error?.isTrustFailure == true)
            } else {
                #expect(response.error == nil, "\(evaluatorKind)")
                #expect(response.response?.statusCode == 200)
                #expect(response.response?.httpVersion == (version == .http1_1 ? .http1_1 : .http2))
            }
            await session.shutdown()
        }
        await asker.shutdown()
    }

    /// The records of the servers also show that refused servers have decrypted nothing, and accepted servers have.
    @Test(arguments: rows, [HTTPVersionPreference.http1_1, .automatic])
    func `a server that is refused for its staple receives nothing`(
        _ row: Row, _ version: HTTPVersionPreference
    ) async throws {
        let server = try await Recorder(row: row.name, protocols: version == .http1_1 ? "http/1.1" : "h2")
        let asker = try RevocationFixture.asker()
        var before = try await server.counts()
        for (evaluatorKind, reason) in row.reasons {
            let evaluator = try RevocationFixture.evaluator(evaluatorKind, asker)
            let error = try await RevocationFixture.error(of: row.name, at: server, evaluator, version)
            #expect(error?.kind == reason.map { .trust(.revocationCheckFailed($0)) }, "\(evaluatorKind)")
            let counts = try await server.finalCounts()
            #expect((counts.bytes == before.bytes) == (reason != nil), "\(evaluatorKind)")
            #expect(counts.requests.count == before.requests.count + (reason == nil ? 1 : 0), "\(evaluatorKind)")
            // The server was there, and showed its certificate.
            #expect(counts.connections > before.connections)
            before = counts
        }
        await asker.shutdown()
        try await server.stop()
    }

    /// The command line accepts the same servers as the default evaluator.
    ///
    /// Both ignore revocation.
    @Test func `the curl command line accepts the same servers as the default evaluator`() async throws {
        let files = try RevocationFiles()
        for row in Self.rows {
            let outcome = try await Subprocess.run(
                "/usr/bin/env",
                [
                    "curl", "--silent", "--output", "/dev/null", "--noproxy", "*",
                    "--cacert", files.url("root.pem").path,
                    "--resolve", "\(row.name).staple.test:\(files.port):127.0.0.1", files.address(of: row.name),
                ])
            #expect((outcome.code == 0) == (row.verdicts.first == "-"), "\(row.name)")
        }
    }

    /// A private authority that the session does not trust, as where a certificate is pinned.
    @Test(arguments: [("good", "--"), ("revoked", "RR"), ("none", "-N"), ("delegated", "--"), ("foreign", "-T")])
    func `without validation of the chain, only the issuer can revoke`(_ row: String, _ verdicts: String)
        async throws
    {
        for (options, letter) in zip(
            [RevocationTrustEvaluator.Options.ocsp, [.ocsp, .requirePositiveResponse]], verdicts)
        {
            let evaluator = RevocationTrustEvaluator(performDefaultValidation: false, options: options)
            let error = try await RevocationFixture.error(of: row, evaluator) { $0.tls.caFile = nil }
            #expect(error?.kind == Self.reason(letter).map { .trust(.revocationCheckFailed($0)) })
        }
    }

    /// An authority that is below the root, or the certificate itself, may be what is trusted.
    @Test(arguments: ["rows/revoked.chain.pem", "int.pem", "revoked.pem"])
    func `an issuer that is not a root can revoke`(_ anchor: String) async throws {
        let files = try RevocationFiles()
        let list = try CertificateRevocationList.all(inFile: files.url("crls/int.pem"))
        for (row, evaluator) in [
            ("revoked", RevocationTrustEvaluator(options: .ocsp)),
            ("none-revoked", RevocationTrustEvaluator(options: .crl, lists: list)),
        ] {
            let error = try await RevocationFixture.error(of: row, evaluator) {
                $0.tls.caFile = files.url(anchor).path
            }
            #expect(error?.kind == .trust(.revocationCheckFailed(.revoked)))
        }
    }
}
