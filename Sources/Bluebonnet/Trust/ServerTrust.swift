public import FoundationEssentials

/// The certificates of a server, and its stapled OCSP response if the server sent one.
///
/// An OCSP response states whether a certificate was revoked (RFC 6960). A stapled response is a response that the
/// server sends in the TLS handshake.
///
/// A ``ServerTrustEvaluating`` type evaluates this value before any part of the request is sent. You may keep the value
/// and read it on any thread.
public struct ServerTrust: Sendable {
    /// The host of the request, or of the HTTPS proxy, without a port.
    public let host: String

    /// The certificates in the order in which the server sent them, starting with the server's own certificate.
    ///
    /// The handshake proves only that the first certificate belongs to the server. The server can add any other
    /// certificates. To search for a pinned certificate, use ``authenticatedChain``.
    public let chain: [Certificate]

    /// OpenSSL's result for the chain.
    ///
    /// OpenSSL checks whether the chain leads to one of the session's trusted authorities. OpenSSL does not check the
    /// host name; use ``evaluateHost()`` for this.
    public private(set) var verdict: Verdict

    /// The bytes of the OCSP response that the server sent in the handshake; `nil` if it sent none (RFC 6066 §8).
    public let stapledResponse: Data?

    /// The TLS version of the connection, such as `TLSv1.3`.
    public let protocolVersion: String

    /// The cipher suite of the connection, such as `TLS_AES_256_GCM_SHA384`.
    public let cipher: String

    /// The chain that OpenSSL built, up to a trusted authority; empty if there is no such chain.
    private(set) var builtChain: [Certificate]
    /// OpenSSL's security level, which sets the minimum strength of keys and signatures.
    let securityLevel: Int32
    /// The verified signatures among the certificates of ``chain``.
    let signedChain: SignedChain

    init(
        host: String, chain: [Certificate], verdict: Verdict, stapledResponse: Data?, protocolVersion: String,
        cipher: String, builtChain: [Certificate], securityLevel: Int32
    ) {
        self.host = host
        self.chain = chain
        self.verdict = verdict
        self.stapledResponse = stapledResponse
        self.protocolVersion = protocolVersion
        self.cipher = cipher
        self.builtChain = builtChain
        self.securityLevel = securityLevel
        signedChain = SignedChain(chain)
    }

    /// The result of OpenSSL's validation of a certificate chain.
    public struct Verdict: Hashable, Sendable, Described {
        /// OpenSSL's error code (`X509_V_…`); 0 if the chain is trusted.
        package let code: Int

        /// The index of the certificate that failed; 0 for the server's own certificate.
        package let depth: Int

        init(code: Int, depth: Int) {
            self.code = code
            self.depth = depth
        }

        /// Whether the chain leads to a trusted authority, and all its certificates are currently valid.
        public var isTrusted: Bool { code == 0 }

        /// OpenSSL's message for the code.
        package var text: String { Self.message(for: code) }
    }

    /// The verified part of the chain: the server's certificate and its issuers.
    ///
    /// If the chain leads to a trusted authority, the array is the chain from the server's certificate to this
    /// authority. Otherwise, the array contains certificates from ``chain``. The first certificate is the server's own.
    /// Each further certificate has signed the certificate before it. The array ends at a root certificate, or at a
    /// certificate whose signer is not in ``chain``.
    ///
    /// Search for pinned certificates in this property and not in ``chain``, because a server can add any certificate
    /// to ``chain``.
    ///
    /// At most 100 signatures are checked. If a chain needs more checks, the array contains only the server's own
    /// certificate. In this case, the session refuses the server with `.trust(.chainTooLong)`, even if your evaluator
    /// accepts the server.
    public var authenticatedChain: [Certificate] {
        builtChain.isEmpty ? shownChain : builtChain
    }

    /// The server's certificate, followed by its issuers from ``chain``; each certificate is signed by the next one.
    var shownChain: [Certificate] { signedChain.certificates ?? Array(chain.prefix(1)) }

    // MARK: Checks

    /// Checks that the chain leads to one of the session's trusted authorities, and that all its certificates are
    /// currently valid.
    ///
    /// - Throws: A `.trust` error with the reason for the refusal.
    public func evaluateChain() throws(RequestError) {
        guard verdict.isTrusted else { throw refusal(verdict) }
    }

    /// Checks that the chain leads to one of the given certificates, and that all its certificates are currently valid.
    ///
    /// The session's trusted authorities are not used. If the server also sent the issuer of one of the given
    /// certificates, this issuer is ignored.
    ///
    /// - Parameter anchors: The certificates to trust; they do not have to be root certificates.
    /// - Returns: A copy of this value, whose ``authenticatedChain`` is the chain to one of the given certificates.
    /// - Throws: A `.trust` error with the reason for the refusal.
    @discardableResult
    package func evaluateChain(anchoredBy anchors: [Certificate]) throws(RequestError) -> ServerTrust {
        guard let store = TrustStore(anchors: anchors.map(\.x509)) else {
            throw RequestError(.internal, detail: "OpenSSL is out of memory")
        }
        // Certificates above a trusted certificate are irrelevant (RFC 5280 §6.1), but OpenSSL would verify them.
        guard let proven = signedChain.certificates else { throw SignedChain.error(chain.count) }
        let shown = proven.firstIndex(where: anchors.contains).map { Array(proven[...$0]) } ?? chain
        let (verdict, built) = store.verify(shown.map(\.x509), level: securityLevel)
        guard verdict.isTrusted else { throw refusal(verdict) }
        var trust = self
        trust.verdict = verdict
        trust.builtChain = built.map(Certificate.init)
        return trust
    }

    /// Checks that the server's certificate is valid for the host (RFC 9525 §6), by the same rules as libcurl.
    ///
    /// A name in the certificate can start with the wildcard `*.`. The star stands for exactly one label:
    /// `*.example.com` is valid for `www.example.com`, but not for `a.b.example.com`. The rest of the name must contain
    /// a dot, so `*.com` is not a wildcard. If the host is an IP address, the certificate must contain this address.
    ///
    /// If the certificate contains neither DNS names nor IP addresses, the method compares the host with the subject's
    /// common name instead.
    ///
    /// - Throws: A `.trust(.hostMismatch)` error that lists the names in the certificate.
    public func evaluateHost() throws(RequestError) {
        guard let leaf = chain.first, leaf.x509.match.isFor(host) else {
            let names = chain.first?.names ?? []
            throw RequestError(
                .trust(.hostMismatch),
                detail: "\(host) is not among \(names.isEmpty ? "no names" : names.joined(separator: ", "))")
        }
    }

    private func refusal(_ verdict: Verdict) -> RequestError {
        RequestError(.trust(.init(verdict)), detail: "\(verdict) (certificate \(verdict.depth) of \(subjects))")
    }

    /// The subjects of the chain, for error texts.
    var subjects: String {
        chain.map { "\"\($0.subject)\"" }.joined(separator: ", ")
    }
}

/// Orders certificates into a chain in which each is signed by the next, with a limit on the work.
///
/// A server can send about 300 certificates with the same name. Without a limit, each signature would be checked
/// against each key. OpenSSL also has a limit: a depth of 100.
struct ChainSearch<Link: ChainLink> {
    /// The maximum number of signatures to check.
    static var checkLimit: Int { 100 }

    /// The verified part of the chain, from the first certificate on; `nil` if the chain needs more checks than the
    /// limit.
    private(set) var chain: [Link]?
    /// The number of signatures that were checked.
    private(set) var checks = 0

    init(_ shown: [Link]) {
        guard var last = shown.first else {
            chain = []
            return
        }
        var found = [last]
        var rest = Array(shown.dropFirst())
        while !last.isSelfIssued {
            var next: Int?
            for index in rest.indices where last.isIssued(by: rest[index]) {
                guard checks < Self.checkLimit else { return }
                checks += 1
                guard last.isSigned(by: rest[index]) else { continue }
                next = index
                break
            }
            guard let next else { break }
            last = rest.remove(at: next)
            found.append(last)
        }
        chain = found
    }
}

/// The properties of a certificate that the search for a chain uses.
protocol ChainLink {
    /// Whether the certificate has the same issuer and subject.
    var isSelfIssued: Bool { get }

    /// Whether another certificate is the issuer's certificate, without a check of the signature.
    func isIssued(by issuer: Self) -> Bool

    /// Whether the signature was made with the key of another certificate.
    func isSigned(by issuer: Self) -> Bool
}

/// The certificates that a server sent, and the verified signatures among them.
///
/// The search runs only once, when its result is first needed.
final class SignedChain: Sendable {
    private let shown: [Certificate]
    private let result = Locked<Result?>(nil)

    private enum Result {
        case proven([Certificate])
        case tooLong
    }

    init(_ shown: [Certificate]) {
        self.shown = shown
    }

    /// The server's certificate, followed by its issuers, each signed by the next one; `nil` if too many checks are
    /// needed.
    var certificates: [Certificate]? {
        switch result.withLock(\.self) ?? search() {
        case .proven(let certificates): certificates
        case .tooLong: nil
        }
    }

    /// The refusal of a server whose chain needs too many checks; `nil` if no evaluator needed such a chain.
    ///
    /// This refusal replaces the evaluator's decision.
    var refusal: RequestError? {
        guard case .tooLong? = result.withLock(\.self) else { return nil }
        return Self.error(shown.count)
    }

    /// The error for a chain that needs too many checks.
    static func error(_ count: Int) -> RequestError {
        let limit = ChainSearch<X509Certificate>.checkLimit
        return RequestError(
            .trust(.chainTooLong),
            detail: "\(count) certificates were shown, and no more than \(limit) signatures are checked")
    }

    private func search() -> Result {
        let found = ChainSearch(shown.map(\.x509)).chain.map { Result.proven($0.map(Certificate.init)) } ?? .tooLong
        result.withLock { $0 = found }
        return found
    }
}

extension RequestError.TrustReason {
    /// Maps OpenSSL's verdict to a reason.
    init(_ verdict: ServerTrust.Verdict) {
        self =
            switch verdict.code {
            case 62, 64: .hostMismatch  // HOSTNAME_MISMATCH, IP_ADDRESS_MISMATCH
            case 9, 10: .certificateExpired  // CERT_NOT_YET_VALID, CERT_HAS_EXPIRED
            case 18: .selfSigned  // DEPTH_ZERO_SELF_SIGNED_CERT
            case 2, 19, 20, 21: .untrustedIssuer  // no issuer, a self-signed one in the chain, the first not verifiable
            case 22: .chainTooLong  // CERT_CHAIN_TOO_LONG
            default: .certificateRefused
            }
    }
}
