import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The identity that each host receives.
@Suite(.timeLimit(.minutes(10))) struct HostIdentityTests {
    typealias TLS = Session.Configuration.TLS
    typealias Identity = Session.Configuration.TLS.ClientIdentity

    private static let client = "CN=Bluebonnet tests client\n"
    private static let rsa = "CN=Bluebonnet tests client-rsa\n"
    private static let ed25519 = "CN=Bluebonnet tests client-ed25519\n"

    /// The identities of the tests: of the curve P-256, RSA and Ed25519.
    private static func identities() throws -> [Identity] {
        let files = try TestCertificates()
        return [.pem(file: files.client, keyFile: files.clientKey)]
            + files.otherClients.map { .pem(file: $0.certificate, keyFile: $0.key) }
    }

    /// A session that finds `named.test` and what is below it at a server, and has a few identities.
    private static func session(
        _ server: TestServers, version: HTTPVersionPreference = .automatic,
        _ change: (inout Session.Configuration) throws -> Void
    ) throws -> Session {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.httpVersion = version
        configuration.tls.caFile = try TestCertificates().authority
        let port = try #require(server.url().port)
        for host in ["named.test", "a.named.test", "b.named.test"] {
            configuration.dns.overrides["\(host):\(port)"] = ["127.0.0.1"]
        }
        try change(&configuration)
        return Session(configuration: configuration)
    }

    private static func url(_ host: String, _ path: String, on server: TestServers) throws -> URL {
        let url = URL(string: "https://\(host):\(try #require(server.url().port))\(path)")
        return try #require(url)
    }

    /// By blobs, of which libcurl compares other parts than of files' names.
    private static func inMemory(_ identity: Identity) throws -> Identity {
        guard case .file(let certificate) = identity.certificate, case .file(let key)? = identity.key else {
            throw TestFailure("not of files")
        }
        return .pem(
            data: try Data(contentsOf: URL(filePath: certificate)), key: try Data(contentsOf: URL(filePath: key)))
    }

    /// Connections are shared where they may be, and handles are used again; all hosts are one server's.
    @Test(arguments: [HTTPVersionPreference.http1_1, .automatic], [false, true])
    func `the identity of a host is sent to this host only`(
        _ version: HTTPVersionPreference, _ isInMemory: Bool
    ) async throws {
        let server = TestServers.optionalClientCertificates
        let identities = try isInMemory ? Self.identities().map(Self.inMemory) : Self.identities()
        let session = try Self.session(server, version: version) {
            $0.tls.clientIdentities = [
                "NAMED.test": identities[0], "*.named.test": identities[1], "b.named.test": identities[2],
            ]
        }
        let expected = [
            ("named.test", Self.client), ("a.named.test", Self.rsa), ("b.named.test", Self.ed25519), ("127.0.0.1", nil),
            ("localhost", nil),
        ]
        let wrong = try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<100 {
                let (host, subject) = expected[number % expected.count]
                let url = try Self.url(host, "/tls", on: server)
                group.addTask {
                    let text = try await session.request(url).validate().serializingString().value
                    let isRight = subject.map { text.hasSuffix($0) } ?? !text.contains("CN=")
                    return isRight ? nil : "\(host): \(text)"
                }
            }
            return try await group.reduce(into: [String]()) { $0 += $1.map { [$0] } ?? [] }
        }
        #expect(wrong.isEmpty)
        await session.shutdown()
    }

    @Test func `the session's identity is for the other hosts`() async throws {
        let server = TestServers.optionalClientCertificates
        let identities = try Self.identities()
        let session = try Self.session(server) {
            $0.tls.clientIdentity = identities[0]
            $0.tls.clientIdentities = ["*.named.test": identities[1]]
        }
        for (host, subject) in [("a.named.test", Self.rsa), ("named.test", Self.client), ("127.0.0.1", Self.client)] {
            let url = try Self.url(host, "/tls", on: server)
            #expect(try await session.request(url).serializingString().value.hasSuffix(subject))
        }
        await session.shutdown()
    }

    @Test func `the host of a redirect receives its own identity`() async throws {
        let server = TestServers.optionalClientCertificates
        let identities = try Self.identities()
        let session = try Self.session(server) {
            $0.tls.clientIdentities = ["a.named.test": identities[0], "b.named.test": identities[1]]
        }
        for (from, to, subject) in [
            ("a.named.test", "127.0.0.1", nil), ("a.named.test", "b.named.test", Self.rsa),
            ("127.0.0.1", "a.named.test", Self.client), ("a.named.test", "named.test", nil),
        ] {
            let target = try Self.url(to, "/tls", on: server)
            let url = try Self.url(from, "/redirect?to=\(target.absoluteString)", on: server)
            let text = try await session.request(url).validate().serializingString().value
            #expect(subject.map { text.hasSuffix($0) } ?? !text.contains("CN="), "\(from) to \(to): \(text)")
        }
        await session.shutdown()
    }

    @Test(arguments: [TLS.Version.v1_2, .v1_3], [HTTPVersionPreference.http1_1, .automatic])
    func `keys of each kind work if a certificate is required`(
        _ version: TLS.Version, _ http: HTTPVersionPreference
    ) async throws {
        let server = TestServers.clientCertificates
        for (identity, subject) in zip(try Self.identities(), [Self.client, Self.rsa, Self.ed25519]) {
            let session = try Self.session(server, version: http) {
                ($0.tls.minimumVersion, $0.tls.maximumVersion) = (version, version)
                $0.tls.clientIdentities = ["named.test": identity]
            }
            let response = await session.request(try Self.url("named.test", "/tls", on: server)).serializingString()
                .response
            #expect(response.value?.hasSuffix(subject) == true)
            #expect(response.response?.httpVersion == (http == .http1_1 ? .http1_1 : .http2))
            // Another host of the same server receives no certificate, and therefore refuses the request.
            let other = await session.request(try Self.url("a.named.test", "/tls", on: server)).serializingString()
                .response
            #expect(other.response?.statusCode == 400)
            await session.shutdown()
        }
    }

    @Test func `an invalid identity is named and does not affect other hosts`() async throws {
        let files = try TestCertificates()
        let server = TestServers.clientCertificates
        let session = try Self.session(server) {
            $0.tls.clientIdentities = [
                "*.named.test": .pem(file: files.client, keyFile: files.encryptedClientKey, passphrase: "hidden-word"),
                "named.test": .pem(file: files.client, keyFile: files.clientKey),
            ]
        }
        for _ in 1...2 {
            let error = try await TestHarness.expect(
                session.request(try Self.url("a.named.test", "/tls", on: server)).serializingString(), in: session,
                failsWith: .trust(.configuration), saying: #"tls.clientIdentities["*.named.test"]"#)
            #expect(!error.description.contains("hidden-word"))
            let text = try await session.request(try Self.url("named.test", "/tls", on: server)).serializingString()
                .value
            #expect(text.hasSuffix(Self.client))
        }
        await session.shutdown()
    }

    struct ProxyRow: Sendable, CustomTestStringConvertible {
        let forServers: Bool
        let forProxies: Bool

        var testDescription: String { "servers \(forServers), proxies \(forProxies)" }
    }

    @Test(arguments: [false, true].flatMap { one in [false, true].map { ProxyRow(forServers: one, forProxies: $0) } })
    func `a proxy receives the proxy identity, and a server its own identity`(_ row: ProxyRow) async throws {
        let identities = try Self.identities()
        let session = try Self.session(.optionalClientCertificates) {
            $0.proxy = .url(try TestServers.secureProxyForClients.proxyURL())
            if row.forServers { $0.tls.clientIdentity = identities[0] }
            if row.forProxies { $0.tls.proxyClientIdentity = identities[1] }
        }
        let url = try TestServers.optionalClientCertificates.url("/tls")
        let response = await session.request(url).serializingString().response
        if row.forProxies {
            let text = try response.result.get()
            #expect(row.forServers ? text.hasSuffix(Self.client) : !text.contains("CN="))
        } else {
            let error = try #require(response.error)
            // The proxy refuses after the handshake, and closes: the request may meet the closed connection first.
            #expect([.trust(.clientCertificateRequired), .connection(.lost)].contains(error.kind), "\(error)")
            #expect(response.response == nil)
        }
        await session.shutdown()
    }

    @Test func `an invalid proxy identity is named`() async throws {
        let files = try TestCertificates()
        let session = try Self.session(.optionalClientCertificates) {
            $0.proxy = .url(try TestServers.secureProxyForClients.proxyURL())
            $0.tls.clientIdentity = .pem(file: files.client, keyFile: files.clientKey)
            $0.tls.proxyClientIdentity = .pem(file: "/no/such/file.pem")
        }
        let error = await session.request(try TestServers.optionalClientCertificates.url("/tls")).serializingString()
            .response.error
        #expect(error?.kind == .trust(.configuration))
        #expect(error?.description.contains("tls.proxyClientIdentity: ") == true)
        await session.shutdown()
    }

    @Test(arguments: [
        ("https://a.example/", "*.example"), ("https://A.EXAMPLE.:8443/b", "*.example"), ("https://a.b.example/", nil),
        ("https://example/", nil), ("https://b.example/", "b.example"), ("http://b.example/", "b.example"),
        ("https://b.example@other.test/", nil), ("https://127.0.0.1/", nil), ("https://[::1]/", "[::1]"),
        ("https://xn--bcher-kva.test/", "bücher.test"), ("https://b.example.evil.test/", nil),
        ("https://xb.example.test/", nil),
    ])
    func `the identity for a host is found`(_ url: String, _ key: String?) throws {
        var tls = TLS()
        for host in ["*.example", "b.example", "[::1]", "bücher.test"] {
            tls.clientIdentities[host] = .pem(file: "/\(host).pem")
        }
        let choice = ClientIdentityTable(tls).choice(for: try #require(URL(string: url)))
        #expect(choice?.identity == key.map { .pem(file: "/\($0).pem") })
        tls.clientIdentity = .pem(file: "/other.pem")
        let other = ClientIdentityTable(tls).choice(for: try #require(URL(string: url)))
        #expect(other?.identity == .pem(file: "/\(key ?? "other").pem"))
    }
}
