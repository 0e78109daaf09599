import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct TLSOptionTests {
    typealias TLS = Session.Configuration.TLS

    /// A server's report of TLS: the version, the cipher and the client's subject.
    private static func lines(_ server: TestServers, _ change: (inout TLS) -> Void) async throws -> [String] {
        let session = try TestHarness.trustingSession { change(&$0.tls) }
        let text = try await session.request(try server.url("/tls")).validate().serializingString().value
        await session.shutdown()
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test(arguments: [
        (TLS.Version.v1_2, TLS.Version?.none, "TLSv1.3"), (.v1_2, .v1_3, "TLSv1.3"), (.v1_2, .v1_2, "TLSv1.2"),
        (.v1_3, nil, "TLSv1.3"), (.v1_3, .v1_3, "TLSv1.3"),
    ])
    func `a TLS version within the limits is used`(
        minimum: TLS.Version, maximum: TLS.Version?, expected: String
    ) async throws {
        let files = try TestCertificates()
        let session = try TestHarness.trustingSession {
            ($0.tls.minimumVersion, $0.tls.maximumVersion) = (minimum, maximum)
            $0.tls.clientIdentity = .pem(file: files.client, keyFile: files.clientKey)
        }
        let url = try TestServers.clientCertificates.url("/tls")
        #expect(try await session.request(url).serializingString().value.hasPrefix(expected + "\n"))
        await session.shutdown()
    }

    @Test(arguments: [TestServers.tls1_2, .tls1_3])
    func `a TLS version that the server does not support fails the handshake`(_ server: TestServers) async throws {
        let session = try TestHarness.trustingSession {
            if server == .tls1_2 { $0.tls.minimumVersion = .v1_3 } else { $0.tls.maximumVersion = .v1_2 }
        }
        let error = try await TestHarness.expect(
            session.request(try server.url("/tls")).serializingData(), in: session, failsWith: .trust(.handshake),
            saying: "the TLS handshake failed", "protocol version")
        #expect(error.isTrustFailure)
        await session.shutdown()
    }

    @Test(arguments: [
        ["ECDHE-ECDSA-AES128-GCM-SHA256"], ["ECDHE-ECDSA-CHACHA20-POLY1305"],
        ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"],
    ])
    func `a cipher of the list is used with TLS 1.2`(_ ciphers: [String]) async throws {
        let lines = try await Self.lines(.tls1_2) { $0.ciphers = ciphers }
        #expect(lines[0] == "TLSv1.2")
        #expect(lines[1] == ciphers.last)
    }

    @Test(arguments: ["TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"])
    func `a suite of the list is used with TLS 1.3`(_ suite: String) async throws {
        let lines = try await Self.lines(.tls1_3) { $0.cipherSuites = [suite] }
        #expect(lines[0] == "TLSv1.3")
        #expect(lines[1] == suite)
    }

    @Test func `the lists of one TLS version do not affect the other version`() async throws {
        let lines = try await Self.lines(.tls1_3) { $0.ciphers = ["ECDHE-RSA-AES128-GCM-SHA256"] }
        #expect(lines[0] == "TLSv1.3")
        let others = try await Self.lines(.tls1_2) { $0.cipherSuites = ["TLS_AES_128_GCM_SHA256"] }
        #expect(others[0] == "TLSv1.2")
    }

    @Test func `a handshake without a common cipher fails`() async throws {
        // The server's certificate is not one of RSA.
        let session = try TestHarness.trustingSession { $0.tls.ciphers = ["ECDHE-RSA-AES128-GCM-SHA256"] }
        try await TestHarness.expect(
            session.request(try TestServers.tls1_2.url("/tls")).serializingData(), in: session,
            failsWith: .trust(.handshake), saying: "handshake failure")
        await session.shutdown()
    }
}
