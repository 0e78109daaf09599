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

    /// Notes what the stapled response, or the responder's, says of the server's certificate.
    mutating func noteStaple(_ status: RevocationStatus) {
        staple = status
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
    /// What the stapled response says of the server's certificate.
    var stapledStatus: RevocationStatus {
        guard let stapledResponse, let response = OCSPResponse(stapledResponse) else { return .noResponse }
        return status(in: response)
    }

    /// What a response says of the server's certificate, if it is signed by one who may.
    func status(in response: OCSPResponse, answering request: OCSPRequest? = nil) -> RevocationStatus {
        let chain = authenticatedChain.map(\.x509)
        guard let store, chain.count > 1 else { return .untrustedResponse }
        return store.status(in: response, of: chain[0], issuedBy: chain[1], chain, answering: request)
    }

    /// What the lists say of each certificate but the root.
    func statuses(in lists: [CertificateRevocationList]) -> [RevocationStatus] {
        let chain = authenticatedChain.map(\.x509)
        return zip(chain, chain.dropFirst()).map { certificate, issuer in
            let statuses = lists.map(\.list).filter { $0.isOf(issuer) }
                .map { $0.status(of: certificate, issuedBy: issuer) }
            if statuses.contains(.revoked) { return .revoked }
            return statuses.contains(.good) ? .good : statuses.first ?? .noResponse
        }
    }
}
