// Authenticates to a server with a client certificate, and sends no certificate
// to other hosts.

import Bluebonnet
import FoundationEssentials

enum ClientCertificate {
    static func run() async throws {
        let (url, files) = try server("SNIPPET_TLS_CLIENT_SERVER")
        let file = { (name: String) in files.appending(path: name).path }
        var configuration = Session.Configuration()
        configuration.tls.caFile = file("authority.pem")
        await forget(url, configuration)
        try await show(
            file("client.pem"), file("client.key"), url, configuration)
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

    static func show(
        _ certificate: String, _ key: String, _ url: URL,
        _ base: Session.Configuration
    ) async throws {
        var configuration = base
        // snippet.hosts
        configuration.tls.clientIdentities["localhost"] = .pem(
            file: certificate, keyFile: key)
        configuration.tls.clientIdentities["*.example.com"] = .pkcs12(
            file: "other.p12", passphrase: "secret")
        let session = Session(configuration: configuration)
        // snippet.end
        let response = await session.request(url).serializingString().response
        await session.shutdown()
        let page = try response.result.get()
        // The page contains a line about the client certificate.
        print(
            "The server knows the client: \(page.contains("Bluebonnet tests client"))"
        )
    }

    static func forget(_ url: URL, _ configuration: Session.Configuration) async
    {
        let session = Session(configuration: configuration)
        // snippet.error
        let error = await session.request(url)
            .serializingString().response.error
        switch error?.kind {
        case .trust(.clientCertificateRequired):
            print("The server wants to know who is there.")
        case .trust(.clientCertificateRefused):
            print("The server does not know this client.")
        case .trust(.configuration):
            print("Certificate and key cannot be used: \(error?.detail ?? "")")
        default: print(error.map { "\($0)" } ?? "The server did not mind.")
        }
        // snippet.end
        await session.shutdown()
    }
}

try await ClientCertificate.run()
