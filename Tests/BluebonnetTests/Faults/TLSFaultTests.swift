import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct TLSFaultTests {
    @Test(arguments: [
        (TestServers.expiredCertificate, RequestError.TrustReason.certificateExpired, "has expired"),
        (.wrongHost, .hostMismatch, "is for other hosts"), (.selfSigned, .selfSigned, "is signed by itself"),
        (.untrustedAuthority, .untrustedIssuer, "does not chain to a trusted authority"),
    ])
    func `a certificate that cannot be trusted`(
        _ server: TestServers, reason: RequestError.TrustReason, words: String
    ) async throws {
        let session = try TestHarness.trustingSession()
        let url = try server.url("/small.json?token=hidden")
        let task = session.request(url).serializingData()
        let error = try await TestHarness.expect(task, in: session, failsWith: .trust(reason), saying: words)
        #expect(error.isTrustFailure && !error.description.contains("hidden"))
        #expect(await task.response.response == nil)
        await session.shutdown()
    }

    @Test func `a valid certificate of an authority that the system does not know`() async throws {
        let session = TestHarness.session()
        for server in [TestServers.nginxTLS, .misbehavingHTTP2, .httpbinHTTP2] {
            try await TestHarness.expect(
                session.request(try server.url("/")).serializingData(), in: session,
                failsWith: .trust(.untrustedIssuer),
                saying: "the server's certificate does not chain to a trusted authority")
        }
        await session.shutdown()
    }

    @Test func `a self-signed certificate is trusted if it is the authority`() async throws {
        let file = try TestCertificates().selfSigned
        let session = TestHarness.session { $0.tls.caFile = file }
        let value = try await session.request(try TestServers.selfSigned.url("/small.json")).serializingData().value
        #expect(!value.isEmpty)
        await session.shutdown()
    }

    @Test func `trust does not apply to another session`() async throws {
        let url = try TestServers.nginxTLS.url("/small.json")
        let trusting = try TestHarness.trustingSession()
        #expect(try await !trusting.request(url).serializingData().value.isEmpty)
        let other = TestHarness.session()
        try await TestHarness.expect(
            other.request(url).serializingData(), in: other, failsWith: .trust(.untrustedIssuer))
        await trusting.shutdown()
        await other.shutdown()
    }

    @Test(arguments: ["/no/such/file.pem", "/", "", "/dev/null"])
    func `a missing file of authorities`(_ file: String) async throws {
        let session = TestHarness.session { $0.tls.caFile = file }
        try await TestHarness.expect(
            session.request(try TestServers.nginxTLS.url("/small.json")).serializingData(), in: session,
            failsWith: .trust(.configuration), saying: "the TLS configuration cannot be used")
        await session.shutdown()
    }

    @Test func `an invalid file of authorities`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-\(UUID().uuidString).pem")
        try Data("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let session = TestHarness.session { $0.tls.caFile = file.path }
        try await TestHarness.expect(
            session.request(try TestServers.nginxTLS.url("/small.json")).serializingData(), in: session,
            failsWith: .trust(.configuration), saying: "the TLS configuration cannot be used")
        await session.shutdown()
    }

    @Test func `a server that speaks HTTP where TLS is expected`() async throws {
        let server = try await LocalServer.scripted(
            .waitForBytes(1), .bytes("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request("https://127.0.0.1:\(server.port)/a").serializingData(), in: session,
            failsWith: .trust(.handshake), saying: "the TLS handshake failed", "wrong version number")
        try await TestHarness.end(session, server)
    }

    @Test func `a server that speaks TLS where HTTP is expected`() async throws {
        let session = TestHarness.session()
        let url = try TestServers.misbehavingHTTP2.url("/ok").absoluteString.replacing("https:", with: "http:")
        let error = try #require(await session.request(url).serializingData().response.error)
        let isSaidSo =
            switch error.kind {
            case .invalidResponse(.malformed), .connection(.lost): true
            default: false
            }
        #expect(isSaidSo, "\(error)")
        await session.shutdown()
    }

    @Test(arguments: [true, false])
    func `a connection that ends in the handshake`(resetting: Bool) async throws {
        let server = try await LocalServer.scripted(.waitForBytes(1), resetting ? .reset : .close)
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request("https://127.0.0.1:\(server.port)/a").serializingData(), in: session,
            failsWith: .trust(.handshake), saying: "the TLS handshake failed", "[GET https://127.0.0.1:")
        try await TestHarness.end(session, server)
    }

    /// The fatal alerts of RFC 8446 §6.2 and of earlier versions, and what OpenSSL calls them.
    static let alerts: [(UInt8, String, RequestError.TrustReason)] = [
        (10, "unexpected message", .handshake),
        (20, "bad record mac", .handshake),
        (22, "record overflow", .handshake),
        (40, "handshake failure", .handshake),
        (42, "bad certificate", .clientCertificateRefused),
        (43, "unsupported certificate", .clientCertificateRefused),
        (44, "certificate revoked", .clientCertificateRefused),
        (45, "certificate expired", .clientCertificateRefused),
        (46, "certificate unknown", .clientCertificateRefused),
        (47, "illegal parameter", .handshake),
        (48, "unknown ca", .clientCertificateRefused),
        (49, "access denied", .clientCertificateRefused),
        (50, "decode error", .handshake),
        (51, "decrypt error", .handshake),
        (70, "protocol version", .handshake),
        (71, "insufficient security", .handshake),
        (80, "internal error", .handshake),
        (86, "inappropriate fallback", .handshake),
        (90, "user cancelled", .handshake),
        (109, "", .handshake),
        (110, "unsupported extension", .handshake),
        (112, "unrecognized name", .handshake),
        (113, "bad certificate status response", .handshake),
        (115, "unknown psk identity", .handshake),
        (116, "certificate required", .clientCertificateRequired),
        (120, "no application protocol", .handshake),
        (200, "", .handshake),
    ]

    @Test(arguments: alerts)
    func `a server that sends an alert in the handshake`(
        _ number: UInt8, _ text: String, _ reason: RequestError.TrustReason
    ) async throws {
        let server = try await LocalServer.scripted(.waitForBytes(1), .bytes([0x15, 0x03, 0x03, 0, 2, 2, number]))
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request("https://127.0.0.1:\(server.port)/a").serializingData(), in: session,
            failsWith: .trust(reason), saying: text)
        try await TestHarness.end(session, server)
    }

    @Test func `a stalled handshake causes a connect timeout`() async throws {
        let server = try await LocalServer.scripted(.waitForBytes(1), .stall)
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: .milliseconds(150), idle: .seconds(20)) }
        try await TestHarness.expect(
            session.request("https://127.0.0.1:\(server.port)/a").serializingData(), in: session,
            failsWith: .timedOut(.connect), saying: "connecting took too long")
        try await TestHarness.end(session, server)
    }

    @Test func `a session works again after a certificate was refused`() async throws {
        let session = try TestHarness.trustingSession()
        for _ in 1...3 {
            try await TestHarness.expect(
                session.request(try TestServers.selfSigned.url("/small.json")).serializingData(), in: session,
                failsWith: .trust(.selfSigned))
            let value = try await session.request(try TestServers.nginxTLS.url("/small.json")).serializingData().value
            #expect(!value.isEmpty)
        }
        await session.shutdown()
    }
}
