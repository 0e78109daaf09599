import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// Which evaluator accepts which chain, on the wire, over HTTP/2 and HTTP/1.1; and whether libcurl thinks the same.
@Suite(.timeLimit(.minutes(10))) struct ChainMatrixTests {
    typealias Reason = RequestError.TrustReason

    /// A server, its requested name, and the expected fault.
    struct Row: CustomTestStringConvertible, Sendable {
        let server: ChainServer
        var host = "127.0.0.1"
        /// OpenSSL's result for the chain.
        var chain: Reason?
        /// OpenSSL's result if the server's certificate is the authority.
        var own: Reason?
        /// Whether the certificate is for the host.
        var isForHost = true

        var testDescription: String { "\(server.rawValue) as \(host)" }

        /// The URL of something on the server.
        func url(_ path: String) throws -> String { "https://\(host):\(try server.port())\(path)" }
    }

    static let rows: [Row] = [
        Row(server: .threeLevels),
        Row(server: .reversed),
        Row(server: .extra),
        Row(server: .notYetValid, chain: .certificateExpired, own: .certificateExpired),
        Row(server: .missingIntermediate, chain: .untrustedIssuer),
        Row(server: .impostor, chain: .untrustedIssuer),
        Row(server: .clientOnly, chain: .certificateRefused, own: .certificateRefused),
        Row(server: .weakKey, chain: .certificateRefused, own: .certificateRefused),
        // What is an authority by decree need not be signed well.
        Row(server: .weakSHA1, chain: .certificateRefused),
        Row(server: .weakMD5, chain: .certificateRefused),
        Row(server: .constrained, chain: .certificateRefused),
        Row(server: .notAuthority, chain: .certificateRefused),
        Row(server: .expiredIntermediate, chain: .certificateExpired),
        Row(server: .tooLong, chain: .certificateRefused),
        Row(server: .critical, chain: .certificateRefused, own: .certificateRefused),
        Row(server: .wildcard, host: "a.example.test"),
        Row(server: .wildcard, host: "A.Example.Test"),
        Row(server: .wildcard, host: "a.b.example.test", isForHost: false),
        Row(server: .wildcard, host: "example.test", isForHost: false),
        Row(server: .wildcardTwo, host: "a.b.example.test", isForHost: false),
        Row(server: .wildcardTwo, host: "b.example.test", isForHost: false),
        Row(server: .wildcardTop, host: "example.test", isForHost: false),
        Row(server: .wildcardPartial, host: "ab.example.test", isForHost: false),
        Row(server: .addresses),
        Row(server: .addresses, host: "[::1]"),
        Row(server: .addresses, host: "127.0.0.2", isForHost: false),
        Row(server: .addresses, host: "[::2]", isForHost: false),
        Row(server: .addresses, host: "localhost", isForHost: false),
        Row(server: .addressAsCommonName),
        Row(server: .addressAsDNS, isForHost: false),
        Row(server: .nameAsCommonName, host: "a.example.test"),
        Row(server: .nameAsCommonName, host: "b.example.test", isForHost: false),
        Row(server: .commonNameBesideAddress, host: "a.example.test", isForHost: false),
    ]

    @Test(arguments: rows, TrustFixture.EvaluatorKind.allCases)
    func `the result of each evaluator for a chain`(_ row: Row, _ evaluatorKind: TrustFixture.EvaluatorKind)
        async throws
    {
        let expected = Self.reason(evaluatorKind, row)
        for version in [HTTPVersionPreference.automatic, .http1_1] {
            let response = try await Self.response(row, evaluatorKind, version)
            #expect(response.error?.kind == expected.map { .trust($0) }, "\(version)")
            guard expected == nil else {
                #expect(response.error?.isTrustFailure == true && response.response == nil)
                continue
            }
            #expect(response.response?.httpVersion == (version == .automatic ? .http2 : .http1_1))
        }
    }

    @Test(arguments: [ChainServer.oldTLS, .earlyTLS], TrustFixture.EvaluatorKind.allCases)
    func `old TLS versions are refused in each case`(_ server: ChainServer, _ evaluatorKind: TrustFixture.EvaluatorKind)
        async throws
    {
        let response = try await Self.response(Row(server: server), evaluatorKind, .automatic)
        #expect(response.error?.kind == .trust(.handshake))
    }

    @Test(arguments: rows + [Row(server: .oldTLS, chain: .handshake), Row(server: .earlyTLS, chain: .handshake)])
    func `the default evaluator, a session without a manager and curl agree`(_ row: Row) async throws {
        let evaluated = try await Self.response(row, .default, .automatic).error
        let session = Session(configuration: try Self.configuration(for: row))
        let withoutManager = await session.request(try row.url("/")).serializingData().response.error
        await session.shutdown()
        let curl = try await Subprocess.run(
            "/usr/bin/curl",
            [
                "--silent", "--globoff", "--max-time", "20", "--noproxy", "*",
                "--cacert", try TestCertificates().authority, "--connect-to", try Self.detour(row), try row.url("/"),
            ])
        let isAccepted = row.chain == nil && row.isForHost
        #expect((curl.code == 0) == isAccepted, "curl says \(curl.code)")
        #expect((evaluated == nil) == isAccepted)
        #expect((withoutManager == nil) == isAccepted)
        #expect(isAccepted || [35, 60].contains(curl.code))
        #expect(evaluated?.kind == withoutManager?.kind)
    }

    // MARK: What is expected

    private static func reason(_ evaluatorKind: TrustFixture.EvaluatorKind, _ row: Row) -> Reason? {
        let host: Reason? = row.isForHost ? nil : .hostMismatch
        switch evaluatorKind {
        case .default, .pinnedLeaf, .pinnedAuthority, .leafKey, .authorityKey, .revocation, .ocsp:
            return row.chain ?? host
        case .positiveRevocation: return row.chain ?? host ?? .revocationCheckFailed(.noResponse)
        case .otherKey: return row.chain ?? host ?? .publicKeyPinningFailed
        case .anyHost: return row.chain
        case .ownAuthority: return row.own ?? host
        case .ownAuthorityOnAnyHost: return row.own
        case .leafAlone, .keyAlone, .disabled, .accepting: return nil
        case .otherLeaf: return .certificatePinningFailed
        case .refusing: return .customEvaluationFailed
        case .nobody, .nobodyAfterAwaiting: return .notEvaluated
        }
    }

    // MARK: Requests

    private static func detour(_ row: Row) throws -> String {
        "\(row.host):\(try row.server.port()):127.0.0.1:\(try row.server.port())"
    }

    private static func configuration(for row: Row) throws -> Session.Configuration {
        var configuration = Session.Configuration()
        configuration.tls.caFile = try TestCertificates().authority
        configuration.proxy = .none
        let port = try row.server.port()
        configuration.dns.connectTo = ["\(row.host):\(port)": "127.0.0.1:\(port)"]
        return configuration
    }

    private static func response(
        _ row: Row, _ evaluatorKind: TrustFixture.EvaluatorKind, _ version: HTTPVersionPreference
    ) async throws -> DataResponse<Data, RequestError> {
        let evaluator = try TrustFixture.evaluator(evaluatorKind, for: row.server)
        var configuration = try configuration(for: row)
        configuration.httpVersion = version
        let manager = ServerTrustManager(evaluators: [row.host: evaluator])
        let session = Session(configuration: configuration, serverTrustManager: manager)
        let response = await session.request(try row.url("/?token=hidden")).serializingData().response
        await session.shutdown()
        return response
    }
}
