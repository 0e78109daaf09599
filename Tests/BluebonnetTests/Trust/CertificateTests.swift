import Bluebonnet
import Foundation
import TestSupport
import Testing

/// Certificates and keys, compared with the output of the openssl command.
@Suite struct CertificateTests {
    private static func file(_ name: String) throws -> URL {
        URL(filePath: try TestCertificates().authority).deletingLastPathComponent().appending(path: name)
    }

    private static func openssl(_ arguments: String...) async throws -> String {
        let outcome = try await Subprocess.run("/usr/bin/openssl", arguments)
        return String(decoding: outcome.output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test(arguments: ["ca.pem", "server.pem", "named.pem", "self-signed.pem", "expired.pem"])
    func `a certificate has the same contents as in openssl`(_ name: String) async throws {
        let file = try Self.file(name)
        let certificate = try Certificate.all(inFile: file)[0]
        let text = try await Self.openssl(
            "x509", "-in", file.path, "-noout", "-subject", "-issuer", "-serial", "-fingerprint", "-sha256",
            "-nameopt", "RFC2253,-esc_msb")
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.contains("subject=\(certificate.subject)"))
        #expect(lines.contains("issuer=\(certificate.issuer)"))
        #expect(lines.contains("serial=\(certificate.serialNumber)"))
        #expect(lines.contains("sha256 Fingerprint=\(certificate.fingerprint)"))
        #expect(certificate.notBefore < certificate.notAfter)
        #expect((certificate.notAfter < Date()) == (name == "expired.pem"))
    }

    @Test func `the names of a certificate are read`() throws {
        let certificate = try Certificate.all(inFile: try Self.file("named.pem"))[0]
        #expect(certificate.names == ["localhost", "127.0.0.1", "::1", "named.test", "*.named.test"])
    }

    @Test func `a pin has the format of curl`() async throws {
        let file = try Self.file("server.pem")
        let certificate = try Certificate.all(inFile: file)[0]
        let key = try await Self.openssl("x509", "-in", file.path, "-noout", "-pubkey")
        #expect(try PublicKey(pem: key) == certificate.publicKey)
        #expect(try PublicKey(pin: certificate.publicKey.pin) == certificate.publicKey)
        let curl = try await Subprocess.run(
            "/usr/bin/curl",
            [
                "--silent", "--max-time", "20", "--noproxy", "*", "--cacert", try TestCertificates().authority,
                "--pinnedpubkey",
                "sha256//" + certificate.publicKey.pin.dropFirst(7),
                try TestServers.nginxTLS.url("/small.json").absoluteString,
            ])
        #expect(curl.code == 0)
    }

    @Test func `certificates are read from PEM and DER, files and directories`() throws {
        let file = try Self.file("client.pem")
        let certificate = try Certificate.all(inFile: file)[0]
        #expect(try Certificate.all(inFile: try Self.file("client.der")) == [certificate])
        #expect(try Certificate(der: certificate.derRepresentation) == certificate)
        #expect(try Certificate(pem: String(decoding: Data(contentsOf: file), as: UTF8.self)) == certificate)
        #expect(throws: RequestError.self) { try Certificate(der: certificate.derRepresentation + [0]) }
        #expect(throws: RequestError.self) { try Certificate(der: certificate.derRepresentation.dropLast()) }
        #expect(throws: RequestError.self) { try Certificate(pem: "no certificate") }
        #expect(throws: RequestError.self) { try Certificate.all(inFile: URL(filePath: "/no/such/file")) }
        #expect(throws: RequestError.self) { try Certificate.all(inDirectory: URL(filePath: "/proc/self/fd")) }
    }

    @Test func `a digest may begin with slashes`() throws {
        for first in UInt8.min...UInt8.max {
            let digest = Data([first, first] + [UInt8](repeating: 1, count: 30))
            for prefix in ["sha256/", "sha256//"] {
                #expect(try PublicKey(pin: prefix + digest.base64EncodedString()).sha256 == digest)
            }
        }
    }

    @Test(arguments: [
        "", "sha256/", "sha256/AAAA", "sha1/AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "AAAA",
        "sha256///6W3CZOPJlKW8uHNwcs6Y7Ls7FwRbxfCvhXO9sq8zcU=A",
        "sha256////6W3CZOPJlKW8uHNwcs6Y7Ls7FwRbxfCvhXO9sq8zcU=",
    ])
    func `an invalid pin`(_ pin: String) {
        #expect(throws: RequestError.self) { try PublicKey(pin: pin) }
    }

    @Test(arguments: [
        ("example.com", "example.com", true), ("*.example.com", "www.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "a.b.example.com", false), ("EXAMPLE.com", "example.COM", true),
        ("example.com", "example.com.", true),
        ("bücher.example", "xn--bcher-kva.example", true), ("*.0.0.1", "127.0.0.1", false), ("[::1]", "::1", true),
        ("::1", "[::1]", true), ("*", "example.com", false),
    ])
    func `the host of an evaluator is matched`(_ key: String, _ host: String, _ isFound: Bool) throws {
        let manager = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [key: .disabled])
        #expect((try manager.serverTrustEvaluator(forHost: host) != nil) == isFound)
    }

    @Test func `the evaluator of a host takes precedence over the evaluator of a wildcard`() throws {
        let manager = ServerTrustManager(evaluators: ["*.example.com": .disabled, "a.example.com": .default()])
        #expect(try manager.serverTrustEvaluator(forHost: "a.example.com") is DefaultTrustEvaluator)
        #expect(try manager.serverTrustEvaluator(forHost: "b.example.com") is DisabledTrustEvaluator)
    }

    @Test func `a host with two evaluators must pass both`() throws {
        for host in ["a.example.com", "A.EXAMPLE.com."] {
            let manager = ServerTrustManager(evaluators: ["a.example.com": .disabled, "A.Example.COM": .default()])
            #expect(try manager.serverTrustEvaluator(forHost: host) is CompositeTrustEvaluator)
        }
    }
}
