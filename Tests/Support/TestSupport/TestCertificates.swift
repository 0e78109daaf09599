/// The paths of the PEM files with the certificates that `Tests/run` creates for its servers.
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

    /// The certificate of a client, signed by ``authority``.
    public let client: String

    /// The same certificate in DER.
    public let clientDER: String

    /// The key of ``client``.
    public let clientKey: String

    /// The same key in DER.
    public let clientKeyDER: String

    /// The same key, encrypted with ``passphrase``.
    public let encryptedClientKey: String

    /// Certificate and key of the client in a PKCS #12 file, encrypted with ``passphrase``.
    public let clientPKCS12: String

    /// The same in a file as of old, encrypted with RC2, which OpenSSL does not take any more.
    public let legacyClientPKCS12: String

    /// The password of the client's files.
    public let passphrase = "open-sesame"

    /// The certificate of a client that no server here knows, signed by ``untrustedAuthority``.
    public let stranger: String

    /// The key of ``stranger``.
    public let strangerKey: String

    /// The certificate of a client that has expired, signed by ``authority``.
    public let expiredClient: String

    /// The key of ``expiredClient``.
    public let expiredClientKey: String

    /// The certificates of clients whose keys are of other kinds, each with its key; signed by ``authority``.
    public let otherClients: [(certificate: String, key: String)]

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
        client = directory + "/client.pem"
        clientDER = directory + "/client.der"
        clientKey = directory + "/client.key"
        clientKeyDER = directory + "/client.key.der"
        encryptedClientKey = directory + "/client.encrypted.key"
        clientPKCS12 = directory + "/client.p12"
        legacyClientPKCS12 = directory + "/client.legacy.p12"
        stranger = directory + "/stranger.pem"
        strangerKey = directory + "/stranger.key"
        expiredClient = directory + "/client-expired.pem"
        expiredClientKey = directory + "/client-expired.key"
        otherClients = ["rsa", "ed25519"].map {
            (directory + "/client-\($0).pem", directory + "/client-\($0).key")
        }
    }
}
