import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ClientIdentityTests {
    typealias TLS = Session.Configuration.TLS
    typealias Identity = Session.Configuration.TLS.ClientIdentity

    private static let subject = "CN=Bluebonnet tests client"

    private static func data(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    private static func session(_ identity: Identity?) throws -> Session {
        try TestHarness.trustingSession { $0.tls.clientIdentity = identity }
    }

    /// The ways to configure the same identity.
    enum IdentitySource: String, CaseIterable {
        case pemFiles, oneEncryptedKey, pemData, encryptedData, oneText, derFiles, derData, pkcs12File, pkcs12Data

        func identity() throws -> Identity {
            let files = try TestCertificates()
            func data(_ path: String) throws -> Data { try ClientIdentityTests.data(path) }
            return switch self {
            case .pemFiles: .pem(file: files.client, keyFile: files.clientKey)
            case .oneEncryptedKey:
                .pem(file: files.client, keyFile: files.encryptedClientKey, passphrase: files.passphrase)
            case .pemData: .pem(data: try data(files.client), key: try data(files.clientKey))
            case .encryptedData:
                .pem(
                    data: try data(files.client), key: try data(files.encryptedClientKey), passphrase: files.passphrase)
            case .oneText: .pem(data: try data(files.client) + data(files.clientKey))
            case .derFiles: .der(file: files.clientDER, keyFile: files.clientKeyDER)
            case .derData: .der(data: try data(files.clientDER), key: try data(files.clientKeyDER))
            case .pkcs12File: .pkcs12(file: files.clientPKCS12, passphrase: files.passphrase)
            case .pkcs12Data: .pkcs12(data: try data(files.clientPKCS12), passphrase: files.passphrase)
            }
        }
    }

    @Test(arguments: IdentitySource.allCases) func `a server that requests a certificate receives it`(
        _ source: IdentitySource
    ) async throws {
        let session = try Self.session(try source.identity())
        let url = try TestServers.clientCertificates.url("/tls")
        // Twice with fields, so that a handle is set up again.
        for _ in 1...2 {
            let text = try await session.request(url, headers: ["X-A": "b"]).validate().serializingString().value
            #expect(text.contains(Self.subject))
        }
        await session.shutdown()
    }

    /// The server would resume the TLS session of the earlier certificate.
    @Test func `a replaced certificate is used for new connections`() async throws {
        let files = try TestCertificates()
        let directory = try TestDirectory()
        func install(_ certificate: String, _ key: String) throws {
            try Self.data(certificate).write(to: directory.url("certificate"), options: .atomic)
            try Self.data(key).write(to: directory.url("key"), options: .atomic)
        }
        try install(files.client, files.clientKey)
        let session = try Self.session(.pem(file: directory.path("certificate"), keyFile: directory.path("key")))
        let url = try TestServers.clientCertificates.url("/tls")
        for _ in 1...2 {
            #expect(try await session.request(url).serializingString().value.contains(Self.subject))
            session.renewConnections()
        }
        try install(files.stranger, files.strangerKey)
        let answer = await session.request(url).serializingString().response
        #expect(answer.response?.statusCode == 400, "\(answer)")
        await session.shutdown()
    }

    enum KeyFault: String, CaseIterable {
        case missing = "No such file or directory"
        case noKey = "there is no private key in the PEM text"
        case noPassphrase = "the key is encrypted, but has no passphrase"
        case wrongPassphrase = "wrong passphrase"

        func identities() throws -> [Identity] {
            let files = try TestCertificates()
            let (key, passphrase): (String, String?) =
                switch self {
                case .missing: ("/nonexistent/key.pem", files.passphrase)
                case .noKey: (files.client, nil)
                case .noPassphrase: (files.encryptedClientKey, nil)
                case .wrongPassphrase: (files.encryptedClientKey, "another")
                }
            let file = Identity.pem(file: files.client, keyFile: key, passphrase: passphrase)
            guard self != .missing else { return [file] }
            let certificate = try ClientIdentityTests.data(files.client)
            return [file, .pem(data: certificate, key: try ClientIdentityTests.data(key), passphrase: passphrase)]
        }
    }

    @Test(arguments: KeyFault.allCases) func `an error tells why a key cannot be used`(_ fault: KeyFault) async throws {
        for identity in try fault.identities() {
            let session = try Self.session(identity)
            let url = try TestServers.clientCertificates.url("/tls")
            let error = await session.request(url).serializingString().response.error
            #expect(error?.kind == .trust(.configuration))
            #expect(error?.detail?.hasPrefix("tls.clientIdentity: ") == true)
            #expect(error?.detail?.contains(fault.rawValue) == true, "\(error?.detail ?? "")")
            await session.shutdown()
        }
    }

    @Test func `a server that does not request a certificate receives no certificate`() async throws {
        let session = try Self.session(try IdentitySource.pemFiles.identity())
        let text = try await session.request(try TestServers.tls1_3.url("/tls")).serializingString().value
        #expect(!text.contains("CN="))
        await session.shutdown()
    }

    @Test func `a client without an identity, or with one that the server does not know, is refused`() async throws {
        let files = try TestCertificates()
        for identity in [nil, Identity.pem(file: files.stranger, keyFile: files.strangerKey)] {
            let session = try Self.session(identity)
            let url = try TestServers.clientCertificates.url("/tls")
            let answer = await session.request(url).serializingString().response
            #expect(answer.response?.statusCode == 400)
            #expect(answer.value?.contains("SSL certificate") == true)
            await session.shutdown()
        }
    }

    @Test(arguments: [TLS.Version.v1_2, .v1_3])
    func `an error reports a refused client certificate`(_ version: TLS.Version)
        async throws
    {
        let files = try TestCertificates()
        let url = try TestServers.handshakeEnder.url("/")
        // TLS 1.2 has no alert for a missing certificate.
        let missing: RequestError.TrustReason = version == .v1_2 ? .handshake : .clientCertificateRequired
        for (identity, reason) in [
            (nil, missing),
            (Identity.pem(file: files.stranger, keyFile: files.strangerKey), .clientCertificateRefused),
            (Identity.pem(file: files.expiredClient, keyFile: files.expiredClientKey), .clientCertificateRefused),
        ] {
            let session = try TestHarness.trustingSession {
                ($0.tls.minimumVersion, $0.tls.maximumVersion) = (version, version)
                $0.tls.clientIdentity = identity
            }
            try await TestHarness.expect(
                session.request(url).serializingData(), in: session, failsWith: .trust(reason), saying: " alert ")
            await session.shutdown()
        }
        let session = try Self.session(try IdentitySource.pemFiles.identity())
        #expect(await session.request(url).serializingData().response.response?.statusCode == 200)
        await session.shutdown()
    }

    @Test func `identities are not used on connections of another session`() async throws {
        let loop = EventLoop()
        let authority = try TestCertificates().authority
        let url = try TestServers.clientCertificates.url("/tls")
        let identity = try IdentitySource.pemFiles.identity()
        let sessions = [identity, nil].map { identity in
            TestHarness.session {
                $0.eventLoop = loop
                $0.tls.caFile = authority
                $0.tls.clientIdentity = identity
            }
        }
        for _ in 1...2 {
            #expect(try await sessions[0].request(url).serializingString().value.contains(Self.subject))
            #expect(await sessions[1].request(url).serializingString().response.response?.statusCode == 400)
        }
        for session in sessions { await session.shutdown() }
    }

    enum Flaw: String, CaseIterable {
        case wrongPassphrase, noPassphrase, wrongPKCS12Passphrase, noPKCS12Passphrase, noFile, noKeyFile, noKey
        case otherKey, garbage, otherFormat, legacyPKCS12

        func identity() throws -> Identity {
            let files = try TestCertificates()
            let encrypted = files.encryptedClientKey
            return switch self {
            case .wrongPassphrase: .pem(file: files.client, keyFile: encrypted, passphrase: "hidden-word")
            case .noPassphrase: .pem(file: files.client, keyFile: encrypted)
            case .wrongPKCS12Passphrase: .pkcs12(file: files.clientPKCS12, passphrase: "hidden-word")
            case .noPKCS12Passphrase: .pkcs12(file: files.clientPKCS12)
            case .noFile: .pem(file: "/no/such/file.pem", keyFile: files.clientKey)
            case .noKeyFile: .pem(file: files.client, keyFile: "/no/such/file.key")
            case .noKey: .pem(file: files.client)
            case .otherKey: .pem(file: files.client, keyFile: files.strangerKey)
            case .garbage: .pem(data: Data("hidden-word".utf8), passphrase: "hidden-word")
            case .legacyPKCS12: .pkcs12(file: files.legacyClientPKCS12, passphrase: files.passphrase)
            case .otherFormat: .der(file: files.client, keyFile: files.clientKey)
            }
        }
    }

    @Test(arguments: Flaw.allCases) func `an invalid identity is an error with the option's name`(
        _ flaw: Flaw
    ) async throws {
        let session = try Self.session(try flaw.identity())
        let url = try TestServers.clientCertificates.url("/tls")
        let error = try await TestHarness.expect(
            session.request(url).serializingString(), in: session, failsWith: .trust(.configuration),
            saying: "the TLS configuration cannot be used", "tls.clientIdentity")
        #expect(!error.description.contains("hidden-word") && !error.description.contains("open-sesame"))
        if flaw == .legacyPKCS12 { #expect(error.description.contains("unsupported")) }
        await session.shutdown()
    }

    @Test func `descriptions do not show the key or the pass phrase`() {
        var configuration = Session.Configuration()
        let key = Data("hidden-key".utf8)
        for identity in [
            Identity.pem(file: "/client.pem", keyFile: "/client.key", passphrase: "hidden-word"),
            .pem(data: Data("certificate".utf8), key: key, passphrase: "hidden-word"),
            .pkcs12(data: key, passphrase: "hidden-word"),
        ] {
            configuration.tls.clientIdentity = identity
            configuration.tls.clientIdentities = ["a.test": identity]
            configuration.tls.proxyClientIdentity = identity
            var dumped = ""
            dump(configuration, to: &dumped)
            let bytes = key.map { "\($0)" }.joined(separator: ", ")
            for text in ["\(identity)", String(reflecting: identity), "\(configuration.tls)", dumped] {
                #expect(!text.contains("hidden") && !text.contains(bytes))
            }
        }
        #expect("\(Identity.pem(file: "/client.pem", passphrase: "a"))" == #"ClientIdentity(PEM, "/client.pem")"#)
        #expect("\(Identity.pkcs12(data: key))" == "ClientIdentity(P12, 10 bytes)")
    }
}
