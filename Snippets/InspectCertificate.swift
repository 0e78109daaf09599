// Prints a host's certificates, their pins and the result of their evaluation.
// The argument is a URL of the host.

import Bluebonnet
import FoundationEssentials
import Synchronization

enum InspectCertificate {
    static func run() async throws {
        if let argument = CommandLine.arguments.dropFirst().first {
            return try await show(try argument.asURL(), Session.Configuration())
        }
        let (url, files) = try server()
        var configuration = Session.Configuration()
        configuration.tls.caFile = files.appending(path: "authority.pem").path
        try await show(url, configuration)
    }

    /// A TLS server and the directory of its certificates, which `Snippets/run`
    /// starts for this program.
    static func server(_ name: String = "SNIPPET_TLS_SERVER") throws -> (
        url: URL, files: URL
    ) {
        let environment = ProcessInfo.processInfo.environment
        guard let url = environment[name],
            let files = environment["SNIPPET_TLS_FILES"]
        else {
            throw RequestError(
                .invalidURL,
                detail: "start this with Snippets/run, which starts a server")
        }
        return (try url.asURL(), URL(filePath: files))
    }

    // snippet.trust
    /// Returns the server's certificates from the TLS handshake, without
    /// sending the request.
    static func trust(of url: URL, _ configuration: Session.Configuration)
        async throws -> ServerTrust
    {
        let shown = Mutex<ServerTrust?>(nil)
        let manager = ServerTrustManager { _ in
            ClosureTrustEvaluator { trust, _ in
                shown.withLock { $0 = trust }
                throw CancellationError()
            }
        }
        let session = Session(
            configuration: configuration, serverTrustManager: manager)
        let error = await session.request(url, method: .head)
            .serializingData().response.error
        await session.shutdown()
        if let trust = shown.withLock({ $0 }) { return trust }
        throw error ?? RequestError(.trust(.noCertificatesFound))
    }
    // snippet.end

    // snippet.show
    static func show(_ url: URL, _ configuration: Session.Configuration)
        async throws
    {
        let trust = try await trust(of: url, configuration)
        print("\(trust.host): \(trust.protocolVersion), \(trust.cipher)")
        for certificate in trust.chain {
            print("\n    \(certificate.subject)")
            print("    issued by \(certificate.issuer)")
            print(
                "    from \(certificate.notBefore) to \(certificate.notAfter)")
            if !certificate.names.isEmpty {
                print("    for \(certificate.names.joined(separator: ", "))")
            }
            print("    \(certificate.publicKey.pin)")
        }
        print("\nThe chain: \(trust.verdict)")
        let isForHost = (try? trust.evaluateHost()) != nil
        print(
            "The host: \(isForHost ? "the certificate is for it" : "the certificate is for others")"
        )
        print(
            "Stapled OCSP response: \(trust.stapledResponse.map { "\($0.count) bytes" } ?? "none")"
        )
    }
    // snippet.end
}

try await InspectCertificate.run()
