public import FoundationEssentials

/// Decides whether a server is refused by what is known of the revocation of its certificates.
struct RevocationDecision {
    /// Whether it has to be known that the certificates are good.
    let requiresPositiveResponse: Bool
    /// Whether the certificate demands a stapled response.
    let demandsStaple: Bool
    /// What has been found so far: the worst, and whether it is known of each certificate that it is good.
    private var isRevoked = false
    private var leaf: RevocationStatus = .noResponse
    private var staple: RevocationStatus?
    private var listsCover = false

    init(requiresPositiveResponse: Bool, demandsStaple: Bool) {
        self.requiresPositiveResponse = requiresPositiveResponse
        self.demandsStaple = demandsStaple
    }

    /// Notes what the stapled response says of the server's certificate.
    mutating func noteStaple(_ status: RevocationStatus) {
        staple = status
        note(status)
    }

    /// Notes what a responder says of the server's certificate.
    mutating func noteAnswer(_ status: RevocationStatus) {
        note(status)
    }

    /// Notes what the lists say of each certificate but the root, the server's first.
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
        // What is known to be good stays good, and what is known to be something goes before nothing.
        if leaf != .good, status != .noResponse { leaf = status }
    }

    /// Whether nothing more has to be asked.
    var isKnown: Bool { isRevoked || leaf == .good && !(demandsStaple && staple != .good) }

    /// Whether nothing that may come can help: a certificate that demands a stapled response has none.
    var isHopeless: Bool { demandsStaple && staple == nil }

    /// Why the server is refused; `nil` if it is not.
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

    /// What the stapled response says of the server's certificate.
    var stapledStatus: RevocationStatus {
        guard let stapledResponse, let response = OCSPResponse(stapledResponse) else { return .noResponse }
        return status(in: response)
    }

    /// What a response says of the server's certificate, if it is signed by one who may.
    func status(
        in response: OCSPResponse, answering request: OCSPRequest? = nil, requiresNonce: Bool = true
    ) -> RevocationStatus {
        guard let (certificate, issuer) = issuance else { return .untrustedResponse }
        let status = TrustStore.status(in: response, of: certificate, issuedBy: issuer)
        // What was revoked stays so, whether this is an old answer or not; the rest say nothing that could be old.
        guard let request, ![.revoked, .untrustedResponse, .noResponse].contains(status) else { return status }
        return request.isAnswered(by: response, requiresNonce: requiresNonce) ? status : .replayedResponse
    }

    /// What the lists say of each certificate but the root.
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

    /// Reads the lists of the files of a directory whose names end in `.pem`, `.crl` or `.der`, or in `.r` and a number, as
    /// `openssl rehash` names them.
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
