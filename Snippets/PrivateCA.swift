// Trusts a private certificate authority instead of the system's authorities,
// in addition to them, or for one host only.

import Bluebonnet
import FoundationEssentials

enum PrivateCA {
    static func run() async throws {
        let (url, files) = try server()
        let authority = files.appending(path: "authority.pem")
        try await alone(authority, url)
        try await beside(authority, url)
        try await forOneHost(authority, url)
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

    static func alone(_ file: URL, _ url: URL) async throws {
        // snippet.alone
        var configuration = Session.Configuration()
        configuration.tls.caFile = file.path  // or caDirectory for a directory
        let session = Session(configuration: configuration)
        // snippet.end
        print("By a file: \(try await status(of: url, session))")
    }

    static func beside(_ file: URL, _ url: URL) async throws {
        // snippet.beside
        var configuration = Session.Configuration()
        // Or `init(pem:)`, `init(der:)`.
        configuration.tls.caCertificates = try Certificate.all(inFile: file)
        configuration.tls.includesSystemAuthorities = true
        let session = Session(configuration: configuration)
        // snippet.end
        print("Beside the system's: \(try await status(of: url, session))")
    }

    static func forOneHost(_ file: URL, _ url: URL) async throws {
        // snippet.host
        let authority = try Certificate.all(inFile: file)
        let manager = ServerTrustManager(
            allHostsMustBeEvaluated: false,
            evaluators: [
                "localhost": PinnedCertificatesTrustEvaluator(
                    certificates: authority, acceptSelfSignedCertificates: true)
            ])
        let session = Session(serverTrustManager: manager)
        // snippet.end
        print("For one host: \(try await status(of: url, session))")
    }

    static func status(of url: URL, _ session: Session) async throws -> Int {
        let response = await session.request(url).serializingString().response
        await session.shutdown()
        _ = try response.result.get()
        return response.statusCode ?? 0
    }
}

try await PrivateCA.run()
