/// Finds the certificates that `Tests/run` made for its servers: paths of PEM files.
///
/// The keys are of the curve P-256. The names of the leaf certificates are `localhost` and `127.0.0.1`.
public struct TestCertificates: Sendable {
    /// The authority that signed the certificates of the servers that are right.
    public let authority: String

    /// An authority that signed one certificate, that of ``TestServers/untrustedAuthority``.
    public let untrustedAuthority: String

    /// The certificate of the servers that are right, signed by ``authority``.
    public let server: String

    /// The key of ``server``.
    public let serverKey: String

    /// The certificate that signs itself, of ``TestServers/selfSigned``.
    public let selfSigned: String

    /// Reads where they are from the environment.
    ///
    /// - Throws: ``TestServers/NotStarted`` when `Tests/run` did not start the tests.
    public init() throws {
        let directory = try TestServers.variable("BLUEBONNET_CERTIFICATES")
        authority = directory + "/ca.pem"
        untrustedAuthority = directory + "/untrusted-ca.pem"
        server = directory + "/server.pem"
        serverKey = directory + "/server.key"
        selfSigned = directory + "/self-signed.pem"
    }
}
