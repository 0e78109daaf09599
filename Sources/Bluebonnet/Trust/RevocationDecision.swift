public import FoundationEssentials

/// Decides whether a server is refused because of the revocation status of its certificates.
struct RevocationDecision {
    /// Whether the certificates must be known not to be revoked.
    let requiresPositiveResponse: Bool
    /// Whether the server's certificate requires a stapled response.
    let demandsStaple: Bool
    /// The results so far.
    private var isRevoked = false
    private var leaf: RevocationStatus = .noResponse
    private var staple: RevocationStatus?
    private var listsCover = false

    init(requiresPositiveResponse: Bool, demandsStaple: Bool) {
        self.requiresPositiveResponse = requiresPositiveResponse
        self.demandsStaple = demandsStaple
    }

    /// Records the status of the server's certificate in the stapled response.
    mutating func noteStaple(_ status: RevocationStatus) {
        staple = status
        note(status)
    }

    /// Records the status of the server's certificate in a responder's response.
    mutating func noteAnswer(_ status: RevocationStatus) {
        note(status)
    }

    /// Records the status of each certificate except the root in the lists, starting with the server's certificate.
    mutating func noteLists(_ statuses: [RevocationStatus]) {
        isRevoked = isRevoked || statuses.contains(.revoked)
        listsCover = !statuses.isEmpty && statuses.allSatisfy { $0 == .good }
        if let bad = statuses.first(where: { $0 != .good && $0 != .noResponse }) {
            note(bad)
        } else if listsCover {
            note(.good)
        }
    }

    private mutating func note(_ status: RevocationStatus) {
        if status == .revoked { isRevoked = true }
        // A good status stays good, and any status replaces a missing response.
        if leaf != .good, status != .noResponse { leaf = status }
    }

    /// Whether more information would not change the decision.
    var isKnown: Bool { isRevoked || leaf == .good && !(demandsStaple && staple != .good) }

    /// Whether the server must be refused, because its certificate requires a stapled response and there is none.
    var cannotSucceed: Bool { demandsStaple && staple == nil }

    /// The reason to refuse the server; `nil` to accept it.
    var refusal: RequestError.RevocationReason? {
        if isRevoked { return .revoked }
        if demandsStaple, staple != .good { return reason(staple ?? .noResponse) }
        return requiresPositiveResponse && leaf != .good ? reason(leaf) : nil
    }

    private func reason(_ status: RevocationStatus) -> RequestError.RevocationReason {
        switch status {
        case .good, .noResponse: .noResponse
        case .revoked: .revoked
        case .unknown: .unknown
        case .stale: .stale
        case .untrustedResponse: .untrustedResponse
        case .replayedResponse: .replayedResponse
        }
    }
}

extension ServerTrust {
    /// The server's certificate and its issuer's certificate; `nil` if the issuer's certificate is missing.
    var issuance: (certificate: X509Certificate, issuer: X509Certificate)? {
        let chain = revocableChain
        return chain.count > 1 ? (chain[0], chain[1]) : nil
    }

    /// The status of the server's certificate in the stapled response.
    var stapledStatus: RevocationStatus {
        guard let stapledResponse, let response = OCSPResponse(stapledResponse) else { return .noResponse }
        return status(in: response)
    }

    /// The status of the server's certificate in a response; `.untrustedResponse` if its signer is not authorized.
    func status(
        in response: OCSPResponse, answering request: OCSPRequest? = nil, requiresNonce: Bool = true
    ) -> RevocationStatus {
        guard let (certificate, issuer) = issuance else { return .untrustedResponse }
        let status = TrustStore.status(in: response, of: certificate, issuedBy: issuer)
        // A response that reports a revoked certificate stays valid when it is replayed. The other two statuses contain
        // no information that could be outdated.
        guard let request, ![.revoked, .untrustedResponse, .noResponse].contains(status) else { return status }
        return request.isAnswered(by: response, requiresNonce: requiresNonce) ? status : .replayedResponse
    }

    /// The status of each certificate except the root in revocation lists.
    func statuses(in lists: [CertificateRevocationList]) -> [RevocationStatus] {
        let chain = revocableChain
        return zip(chain, chain.dropFirst()).map {
            X509RevocationList.status(of: $0, issuedBy: $1, in: lists.map(\.list))
        }
    }

    /// The authenticated chain, or the verified part of the server's chain if the authenticated chain has only one
    /// certificate.
    ///
    /// A trusted certificate does not have to be a root. If it is not a root, only the server's chain can contain the
    /// certificate of its issuer.
    private var revocableChain: [X509Certificate] {
        let chain = authenticatedChain
        return (chain.count > 1 ? chain : shownChain).map(\.x509)
    }
}

/// A list of the certificates that an issuer has revoked (CRL, RFC 5280 §5).
public struct CertificateRevocationList: Sendable {
    let list: X509RevocationList

    /// Reads all revocation lists in a file, in PEM or DER.
    ///
    /// The method reads the file synchronously, on the caller's thread.
    ///
    /// - Parameter url: The URL of the file.
    /// - Returns: At least one list.
    /// - Throws: A `.trust(.configuration)` error if the file cannot be read, contains no list, or contains a malformed
    ///   list.
    public static func all(inFile url: URL) throws(RequestError) -> [CertificateRevocationList] {
        try files.read(url) { X509RevocationList.all(in: $0).map(CertificateRevocationList.init) }
    }

    private static let files = TrustFiles(noun: "revocation list", reason: .configuration)

    /// Reads all revocation lists in the files of a directory.
    ///
    /// The method reads the files whose names end in `.pem`, `.crl` or `.der`, or in `.r` and a number, and ignores all
    /// other files. `openssl rehash` creates names that end in `.r` and a number. The method reads the files
    /// synchronously, on the caller's thread, in the order of their names. It does not search subdirectories.
    ///
    /// - Parameter url: The URL of the directory.
    /// - Returns: At least one list.
    /// - Throws: A `.trust(.configuration)` error if the directory or a file cannot be read, or if no file name has
    ///   one of these endings. The same error is thrown if a file contains no list or a malformed list.
    public static func all(inDirectory url: URL) throws(RequestError) -> [CertificateRevocationList] {
        try files.readAll(in: url, named: isFileName, all(inFile:))
    }

    private static func isFileName(_ name: String) -> Bool {
        let ending = URL(filePath: name).pathExtension.lowercased()
        return ["pem", "crl", "der"].contains(ending) || ending.first == "r" && Int(ending.dropFirst()) != nil
    }
}
