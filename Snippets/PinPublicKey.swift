// Accepts only the server with a certain public key, and refuses another server
// with the same name.

import Bluebonnet
import FoundationEssentials

enum PinPublicKey {
    static func run() async throws {
        let (url, files) = try server()
        let certificate = try Certificate.all(
            inFile: files.appending(path: "server.pem"))[0]
        var configuration = Session.Configuration()
        configuration.tls.caFile = files.appending(path: "authority.pem").path
        try await pin(certificate.publicKey.pin, url, configuration)
        await refuse(url, configuration)
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

    static func pin(
        _ current: String, _ url: URL, _ configuration: Session.Configuration
    ) async throws {
        let next = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        // snippet.pin
        let keys = [try PublicKey(pin: current), try PublicKey(pin: next)]
        let manager = ServerTrustManager(evaluators: [
            "localhost": PublicKeysTrustEvaluator(keys: keys)
        ])
        let session = Session(
            configuration: configuration, serverTrustManager: manager)
        let response = await session.request(url).serializingString().response
        // snippet.end
        print(
            "\(url) with the key \(keys[0]): \(response.statusCode ?? 0)"
        )
        await session.shutdown()
        _ = try response.result.get()
    }

    static func refuse(_ url: URL, _ configuration: Session.Configuration) async
    {
        // snippet.refuse
        let other = PublicKey(
            subjectPublicKeyInfo: Data("that of another key".utf8))
        let manager = ServerTrustManager(evaluators: [
            "localhost": PublicKeysTrustEvaluator(keys: [other])
        ])
        let session = Session(
            configuration: configuration, serverTrustManager: manager)
        let error = await session.request(url)
            .serializingString().response.error
        if error?.kind == .trust(.publicKeyPinningFailed) {
            print("Nothing was sent. \(error?.detail ?? "")")
        }
        // snippet.end
        await session.shutdown()
    }
}

try await PinPublicKey.run()
