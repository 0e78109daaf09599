import Bluebonnet
import FoundationEssentials
import TestSupport

/// The shared parts of the trust tests: evaluators by name, and sessions that use them.
enum TrustFixture {
    /// An evaluator with its optional pin.
    enum EvaluatorKind: String, CaseIterable, Sendable {
        case `default`, anyHost, pinnedLeaf, pinnedAuthority, ownAuthority, ownAuthorityOnAnyHost, leafAlone, otherLeaf
        case leafKey, authorityKey, otherKey, keyAlone, revocation, positiveRevocation, ocsp, disabled, accepting
        case refusing, nobody, nobodyAfterAwaiting
    }

    /// Creates an evaluator with pins for the certificate or the authority of a server.
    static func evaluator(_ evaluatorKind: EvaluatorKind, for server: TestServers) throws -> any ServerTrustEvaluating {
        try evaluator(evaluatorKind, leaf: try certificate(of: server))
    }

    /// The same for a server of special chains.
    static func evaluator(_ evaluatorKind: EvaluatorKind, for server: ChainServer) throws -> any ServerTrustEvaluating {
        try evaluator(evaluatorKind, leaf: try chainCertificate(server.rawValue))
    }

    /// One of the certificates of the special chains.
    static func chainCertificate(_ name: String) throws -> Certificate {
        try Certificate.all(inFile: URL(filePath: try ChainServer.file(name)))[0]
    }

    private static func evaluator(_ evaluatorKind: EvaluatorKind, leaf: Certificate) throws -> any ServerTrustEvaluating
    {
        let authority = try Certificate.all(inFile: URL(filePath: try TestCertificates().authority))[0]
        let other = try Certificate.all(inFile: URL(filePath: try TestCertificates().client))[0]
        switch evaluatorKind {
        case .default: return .default()
        case .anyHost: return .default(validateHost: false)
        case .pinnedLeaf: return .pinnedCertificates([other, leaf])
        case .pinnedAuthority: return .pinnedCertificates([authority])
        case .ownAuthority: return .pinnedCertificates([leaf], acceptSelfSignedCertificates: true)
        case .ownAuthorityOnAnyHost:
            return .pinnedCertificates([leaf], acceptSelfSignedCertificates: true, validateHost: false)
        case .leafAlone: return .pinnedCertificates([leaf], performDefaultValidation: false, validateHost: false)
        case .otherLeaf: return .pinnedCertificates([other], performDefaultValidation: false, validateHost: false)
        case .leafKey: return .publicKeys([leaf.publicKey])
        case .authorityKey: return .publicKeys([other.publicKey, authority.publicKey])
        case .otherKey: return .publicKeys([other.publicKey])
        case .keyAlone: return .publicKeys([leaf.publicKey], performDefaultValidation: false, validateHost: false)
        case .revocation: return .revocation()
        case .positiveRevocation: return .revocation(options: [.any, .requirePositiveResponse])
        case .ocsp: return .ocsp(failure: .soft)
        case .disabled: return .disabled
        case .accepting: return AsyncClosureTrustEvaluator { _, _ in await Task.yield() }
        case .refusing: return ClosureTrustEvaluator { _, _ in throw TestFailure("not this one") }
        case .nobody: return .composite([])
        case .nobodyAfterAwaiting: return .composite([AsyncClosureTrustEvaluator { _, _ in }, .composite([])])
        }
    }

    /// The certificate that a server shows.
    static func certificate(of server: TestServers) throws -> Certificate {
        let files = try TestCertificates()
        let folder = URL(filePath: files.authority).deletingLastPathComponent()
        let name =
            switch server {
            case .expiredCertificate: "expired"
            case .wrongHost: "wrong-host"
            case .selfSigned: "self-signed"
            case .untrustedAuthority: "untrusted"
            case .tls1_2, .tls1_3, .clientCertificates: "named"
            default: "server"
            }
        return try Certificate.all(inFile: folder.appending(path: "\(name).pem"))[0]
    }

    /// A session that trusts the authority of the test servers, and has one evaluator for their host.
    static func session(
        _ evaluator: any ServerTrustEvaluating, host: String = "127.0.0.1",
        _ change: (inout Session.Configuration) -> Void = { _ in }
    ) throws -> Session {
        try session(ServerTrustManager(evaluators: [host: evaluator]), change)
    }

    static func session(
        _ manager: ServerTrustManager, _ change: (inout Session.Configuration) -> Void = { _ in }
    ) throws -> Session {
        var configuration = Session.Configuration()
        configuration.tls.caFile = try TestCertificates().authority
        configuration.proxy = .none
        change(&configuration)
        return Session(configuration: configuration, serverTrustManager: manager)
    }
}
