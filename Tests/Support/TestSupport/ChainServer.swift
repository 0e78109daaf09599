/// Names a server whose chain of certificates, or whose TLS, is special in one way; all have the same root as the others.
///
/// It is an nginx, which answers in HTTP/2 or HTTP/1.1 by ALPN: with the number of the connection, whether its TLS session was
/// resumed (`r` or `.`), and whether the request came with the handshake (`early1` or `early`). Where nothing else is said, the certificate is for `localhost` and `127.0.0.1`.
public enum ChainServer: String, CaseIterable, Sendable {
    /// Right, with an intermediate authority between it and the root.
    case threeLevels = "three-levels"
    /// The certificate is valid from tomorrow on.
    case notYetValid = "not-yet-valid"
    /// It is for `*.example.test`.
    case wildcard
    /// It is for `*.*.example.test`, which is nothing.
    case wildcardTwo = "wildcard-two"
    /// It is for `*.test`, which is too much.
    case wildcardTop = "wildcard-top"
    /// It is for `a*.example.test`.
    case wildcardPartial = "wildcard-partial"
    /// It is for `127.0.0.1` and `::1`, as addresses.
    case addresses
    /// It has an address for its common name, and no other names.
    case addressAsCommonName = "address-as-cn"
    /// It has an address as a DNS name.
    case addressAsDNS = "address-as-dns"
    /// It has `a.example.test` for its common name, and no other names.
    case nameAsCommonName = "name-as-cn"
    /// The same, and an address, which is not this one.
    case commonNameBesideAddress = "cn-beside-address"
    /// The server does not show the intermediate authority.
    case missingIntermediate = "missing-intermediate"
    /// It shows the root before the intermediate authority.
    case reversed
    /// It shows certificates that have nothing to do with it.
    case extra
    /// The certificate is for clients.
    case clientOnly = "client-only"
    /// Its key is RSA of 1,024 bits.
    case weakKey = "weak-key"
    /// It is signed with SHA-1.
    case weakSHA1 = "weak-sha1"
    /// It is signed with MD5.
    case weakMD5 = "weak-md5"
    /// The intermediate authority may issue certificates for other names and addresses only.
    case constrained
    /// What signed the certificate is no authority.
    case notAuthority = "not-ca"
    /// The intermediate authority's certificate has expired.
    case expiredIntermediate = "expired-intermediate"
    /// Below an authority below which there must be none is one.
    case tooLong = "too-long"
    /// The certificate has an unknown critical extension.
    case critical
    /// The certificate is by another authority than the intermediate and the root that are shown.
    case impostor
    /// TLS 1.1 only.
    case oldTLS = "old-tls"
    /// TLS 1.0 only.
    case earlyTLS = "early-tls"

    /// The port on 127.0.0.1.
    ///
    /// - Returns: The port.
    /// - Throws: ``TestServers/NotStarted`` when `Tests/run` did not start the tests.
    public func port() throws -> Int {
        let all = try TestServers.variable("BLUEBONNET_CHAINS").split(separator: " ")
        guard let own = all.first(where: { $0.hasPrefix("\(rawValue)=") }),
            let port = Int(own.dropFirst(rawValue.count + 1))
        else { throw TestServers.NotStarted(variable: "BLUEBONNET_CHAINS") }
        return port
    }

    /// The file of the server's certificate, in PEM.
    ///
    /// - Returns: The path.
    /// - Throws: ``TestServers/NotStarted`` when `Tests/run` did not start the tests.
    public func certificate() throws -> String { try Self.file(rawValue) }

    /// The PEM file of a certificate in these chains.
    ///
    /// - Parameter name: Its name in `Tests/Support/servers/chains.sh`.
    /// - Returns: The path.
    /// - Throws: ``TestServers/NotStarted`` when `Tests/run` did not start the tests.
    public static func file(_ name: String) throws -> String {
        try TestServers.variable("BLUEBONNET_CERTIFICATES") + "/chains/\(name).pem"
    }

    /// The log of all these servers: a line for each request, which begins with the number of the connection and ends with
    /// the request's target.
    ///
    /// - Returns: The path.
    /// - Throws: ``TestServers/NotStarted`` when `Tests/run` did not start the tests.
    public static func log() throws -> String { try TestServers.variable("BLUEBONNET_CHAINS_LOG") }
}
