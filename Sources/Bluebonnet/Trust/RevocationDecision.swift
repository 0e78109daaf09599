public import FoundationEssentials

/// Decides whether a server is refused because of the revocation status of its certificates.
struct RevocationDecision {
    /// Whether the certificates must be known to be good.
    let requiresPositiveResponse: Bool
    /// Whether the certificate requires a stapled response.
    let demandsStaple: Bool
    /// The result so far: the worst status, and whether each certificate is known to be good.
    private var isRevoked = false
    private var leaf: RevocationStatus = .noResponse
    private var staple: RevocationStatus?
    private var listsCover = false

    init(requiresPositiveResponse: Bool, demandsStaple: Bool) {
        self.requiresPositiveResponse = requiresPositiveResponse
        self.demandsStaple = demandsStaple
    }

    /// Notes the server certificate's status in the stapled response.
    mutating func noteStaple(_ status: RevocationStatus) {
        staple = status
        note(status)
    }

    /// Notes the server certificate's status in a responder's response.
    mutating func noteAnswer(_ status: RevocationStatus) {
        note(status)
    }

    /// Notes the status of each certificate but the root in the lists, the server's first.
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

    /// Whether no further information is needed.
    var isKnown: Bool { isRevoked || leaf == .good && !(demandsStaple && staple != .good) }

    /// Whether no further information can help: a certificate that requires a stapled response has none.
    var cannotSucceed: Bool { demandsStaple && staple == nil }

    /// The reason why the server is refused; `nil` if it is not.
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
    /// The server's certificate and its issuer's, if that is known.
    var issuance: (certificate: X509Certificate, issuer: X509Certificate)? {
        let chain = revocableChain
        return chain.count > 1 ? (chain[0], chain[1]) : nil
    }

    /// The server certificate's status in the stapled response.
    var stapledStatus: RevocationStatus {
        guard let stapledResponse, let response = OCSPResponse(stapledResponse) else { return .noResponse }
        return status(in: response)
    }

    /// The server certificate's status in a response, if the signer of the response is authorized.
    func status(
        in response: OCSPResponse, answering request: OCSPRequest? = nil, requiresNonce: Bool = true
    ) -> RevocationStatus {
        guard let (certificate, issuer) = issuance else { return .untrustedResponse }
        let status = TrustStore.status(in: response, of: certificate, issuedBy: issuer)
        // A revoked status stays valid in a replayed response; the other two statuses carry no information that could
        // be old.
        guard let request, ![.revoked, .untrustedResponse, .noResponse].contains(status) else { return status }
        return request.isAnswered(by: response, requiresNonce: requiresNonce) ? status : .replayedResponse
    }

    /// The status of each certificate but the root in the lists.
    func statuses(in lists: [CertificateRevocationList]) -> [RevocationStatus] {
        let chain = revocableChain
        return zip(chain, chain.dropFirst()).map {
            X509RevocationList.status(of: $0, issuedBy: $1, in: lists.map(\.list))
        }
    }

    /// The chain, and its issuers as far as that is proven: a trusted certificate need not be a root.
    private var revocableChain: [X509Certificate] {
        let chain = authenticatedChain
        return (chain.count > 1 ? chain : shownChain).map(\.x509)
    }
}

/// A list of revoked certificates, as an authority publishes it (CRL, RFC 5280 §5).
public struct CertificateRevocationList: Sendable {
    let list: X509RevocationList

    /// Reads the lists of a file, PEM or DER.
    ///
    /// Reads the file on the caller's thread.
    ///
    /// - Parameter url: The URL of the file.
    /// - Returns: At least one list.
    /// - Throws: A `.trust(.configuration)` error if there is none, or the file cannot be read.
    public static func all(inFile url: URL) throws(RequestError) -> [CertificateRevocationList] {
        try files.read(url) { X509RevocationList.all(in: $0).map(CertificateRevocationList.init) }
    }

    private static let files = TrustFiles(noun: "revocation list", reason: .configuration)

    /// Reads the lists of the files of a directory whose names end in `.pem`, `.crl` or `.der`, or in `.r` and a
    /// number, as `openssl rehash` names them.
    ///
    /// Reads the files on the caller's thread. Directories within are not entered.
    ///
    /// - Parameter url: The URL of the directory.
    /// - Returns: At least one list.
    /// - Throws: A `.trust(.configuration)` error if there is none, or a file has none or cannot be read.
    public static func all(inDirectory url: URL) throws(RequestError) -> [CertificateRevocationList] {
        try files.readAll(in: url, named: isFileName, all(inFile:))
    }

    private static func isFileName(_ name: String) -> Bool {
        let ending = URL(filePath: name).pathExtension.lowercased()
        return ["pem", "crl", "der"].contains(ending) || ending.first == "r" && Int(ending.dropFirst()) != nil
    }
}
