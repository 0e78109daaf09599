import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// The shared parts of the revocation tests: evaluators by name, sessions, and a scripted OCSP responder.
enum RevocationFixture {
    /// The name of an evaluator; a plus means that it fails if the status is unknown.
    enum EvaluatorKind: String, CaseIterable, Sendable {
        case `default`, ocsp, crl, any, prefer
        case ocspPlus = "ocsp+"
        case crlPlus = "crl+"
        case anyPlus = "any+"
        case preferPlus = "prefer+"
        case soft, hard
    }

    /// Creates an evaluator with the lists of all authorities and a session for OCSP queries.
    static func evaluator(_ evaluatorKind: EvaluatorKind, _ session: Session) throws -> any ServerTrustEvaluating {
        let lists = try CertificateRevocationList.all(inFile: try RevocationFiles().url("crls/all.pem"))
        switch evaluatorKind {
        case .default: return .default()
        case .ocsp: return .revocation(options: .ocsp, lists: lists)
        case .crl: return .revocation(options: .crl, lists: lists)
        case .any: return .revocation(lists: lists)
        case .prefer: return .revocation(options: [.ocsp, .preferCRL], lists: lists)
        case .ocspPlus: return .revocation(options: [.ocsp, .requirePositiveResponse], lists: lists)
        case .crlPlus: return .revocation(options: [.crl, .requirePositiveResponse], lists: lists)
        case .anyPlus: return .revocation(options: [.any, .requirePositiveResponse], lists: lists)
        case .preferPlus: return .revocation(options: [.any, .preferCRL, .requirePositiveResponse], lists: lists)
        case .soft: return .ocsp(failure: .soft, session: session)
        case .hard: return .ocsp(failure: .hard, session: session)
        }
    }

    /// A session that trusts the root, and has the same evaluator for all hosts.
    static func session(
        _ evaluator: any ServerTrustEvaluating, _ version: HTTPVersionPreference = .automatic
    ) throws -> Session {
        try session(ServerTrustManager { _ in evaluator }, version)
    }

    static func session(_ manager: ServerTrustManager?, _ version: HTTPVersionPreference = .automatic) throws -> Session
    {
        Session(configuration: try configuration { $0.httpVersion = version }, serverTrustManager: manager)
    }

    /// The error of a request with secrets to a server that records the bytes that it receives: see ``Recorder``.
    static func error(
        of row: String, at server: Recorder, _ evaluator: any ServerTrustEvaluating,
        _ version: HTTPVersionPreference = .automatic,
        _ change: (inout Session.Configuration) -> Void = { _ in }
    ) async throws -> RequestError? {
        let configuration = try configuration { configuration in
            configuration.httpVersion = version
            configuration.dns.overrides = ["*:\(server.port)": ["127.0.0.1"]]
            change(&configuration)
        }
        let session = Session(
            configuration: configuration, serverTrustManager: ServerTrustManager { _ in evaluator })
        let response = await session.request(
            server.url("/?secret", host: "\(row).staple.test"), method: .post, parameters: ["password": "hidden"],
            headers: ["Authorization": "Bearer hidden"]
        ).serializingData().response
        await session.shutdown()
        return response.error
    }

    /// The same for a server of its own, which gets nothing if it is refused, and something if not.
    static func error(
        of row: String, _ evaluator: any ServerTrustEvaluating,
        _ change: (inout Session.Configuration) -> Void = { _ in }
    ) async throws -> RequestError? {
        let server = try await Recorder(row: row)
        let error = try await error(of: row, at: server, evaluator, .automatic, change)
        #expect(try await (server.finalCounts().bytes == 0) == (error != nil))
        try await server.stop()
        return error
    }

    /// A session for OCSP queries; responders with the given names and ports are at the given URLs.
    static func asker(
        _ responders: [String: URL] = [:], _ change: (inout Session.Configuration) -> Void = { _ in }
    ) throws -> Session {
        Session(
            configuration: try configuration { configuration in
                for (name, url) in responders {
                    configuration.dns.connectTo[name] = "127.0.0.1:\(url.port ?? 0)"
                }
                change(&configuration)
            })
    }

    /// The same for one that stands in for the responder that most certificates name.
    static func asker(_ responder: URL) throws -> Session {
        try asker(["127.0.0.1:\(try RevocationFiles().responderPort)": responder])
    }

    private static func configuration(
        _ change: (inout Session.Configuration) -> Void
    ) throws -> Session.Configuration {
        let files = try RevocationFiles()
        var configuration = Session.Configuration()
        configuration.tls.caFile = files.url("root.pem").path
        configuration.proxy = .none
        configuration.dns.overrides = ["*:\(files.port)": ["127.0.0.1"]]
        change(&configuration)
        return configuration
    }

    /// What `openssl ocsp` answers to a question, signed by the one whose certificate and key have the name.
    static func answer(to question: Data, signer: String = "int") async throws -> Data {
        let directory = try TestDirectory()
        let files = try RevocationFiles()
        let (asked, answered) = (directory.url("question.der"), directory.url("answer.der"))
        try question.write(to: asked)
        let outcome = try await Subprocess.run(
            "/usr/bin/env",
            [
                "openssl", "ocsp", "-index", files.url("int.txt").path, "-CA", files.url("int.pem").path,
                "-rsigner", files.url("\(signer).pem").path, "-rkey", files.url("\(signer).key").path,
                "-reqin", asked.path, "-respout", answered.path, "-nmin", "60",
            ])
        guard outcome.code == 0 else { throw TestFailure("openssl ocsp ended with \(outcome.code)") }
        return try Data(contentsOf: answered)
    }

    static func response(_ answer: Data) -> LocalServer.Response {
        .data(answer, contentType: "application/ocsp-response")
    }
}
