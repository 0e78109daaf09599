public import FoundationEssentials

/// A server's certificates and stapled OCSP response, for a ``ServerTrustEvaluating`` to evaluate.
///
/// During the evaluation, no part of the request has been sent yet. You may keep the value and read it on any thread.
public struct ServerTrust: Sendable {
    /// The host of the request, or of the HTTPS proxy, without a port.
    public let host: String

    /// The certificates as the server sent them, its own first.
    ///
    /// Only the first certificate is proven to belong to the server. The others may be any certificates; see
    /// ``authenticatedChain``.
    public let chain: [Certificate]

    /// OpenSSL's verdict on the chain, using the authorities that the session trusts; it does not cover the host name.
    public private(set) var verdict: Verdict

    /// The OCSP response that the server stapled to the handshake (RFC 6066 §8), unparsed; `nil` if there was none.
    public let stapledResponse: Data?

    /// The TLS version of the connection, such as `TLSv1.3`.
    public let protocolVersion: String

    /// The cipher suite of the connection, such as `TLS_AES_256_GCM_SHA384`.
    public let cipher: String

    /// The chain that OpenSSL built, up to a trusted authority; empty if it found none.
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

    /// OpenSSL's verdict on a certificate chain.
    public struct Verdict: Hashable, Sendable, Described {
        /// OpenSSL's error code (`X509_V_…`); 0 if the chain is trusted.
        package let code: Int

        /// The index of the failing certificate in the chain; 0 for the server's own.
        package let depth: Int

        init(code: Int, depth: Int) {
            self.code = code
            self.depth = depth
        }

        /// Whether the chain leads to a trusted authority and is currently valid.
        public var isTrusted: Bool { code == 0 }

        /// OpenSSL's message for the code.
        package var text: String { Self.message(for: code) }
    }

    /// The server's certificate and its issuers, up to the last verified signature.
    ///
    /// If the chain leads to a trusted authority, this is that chain. Otherwise, it starts with the server's own
    /// certificate and continues as long as another certificate in ``chain`` has verifiably signed the last one. Look
    /// for pinned certificates in this property, because a server can put any certificate into ``chain``.
    ///
    /// At most 100 signatures are checked. A server whose certificates need more is refused with
    /// `.trust(.chainTooLong)`, even if the evaluator that read this property accepts it. The property then only
    /// contains the server's own certificate.
    public var authenticatedChain: [Certificate] {
        builtChain.isEmpty ? shownChain : builtChain
    }

    /// The certificates in ``chain``, from the server's own on, as long as each has verifiably been signed by the next.
    var shownChain: [Certificate] { signedChain.certificates ?? Array(chain.prefix(1)) }

    // MARK: Checks

    /// Checks that the chain leads to an authority that the session trusts, and is currently valid.
    ///
    /// - Throws: A `.trust` error with the reason for the refusal.
    public func evaluateChain() throws(RequestError) {
        guard verdict.isTrusted else { throw refusal(verdict) }
    }

    /// Checks that the chain leads to one of the given certificates, and is currently valid.
    ///
    /// The session's authorities do not count. The server's certificates above such a certificate are ignored.
    ///
    /// - Parameter anchors: The certificates to trust; they need not be roots.
    /// - Returns: The trust, with the chain that leads to one of the certificates.
    /// - Throws: A `.trust` error with the reason for the refusal.
    @discardableResult
    package func evaluateChain(anchoredBy anchors: [Certificate]) throws(RequestError) -> ServerTrust {
        guard let store = TrustStore(anchors: anchors.map(\.x509)) else {
            throw RequestError(.internal, detail: "OpenSSL is out of memory")
        }
        // Certificates above a trusted authority are irrelevant (RFC 5280 §6.1), but OpenSSL would verify them.
        guard let proven = signedChain.certificates else { throw SignedChain.error(chain.count) }
        let shown = proven.firstIndex(where: anchors.contains).map { Array(proven[...$0]) } ?? chain
        let (verdict, built) = store.verify(shown.map(\.x509), level: securityLevel)
        guard verdict.isTrusted else { throw refusal(verdict) }
        var trust = self
        trust.verdict = verdict
        trust.builtChain = built.map(Certificate.init)
        return trust
    }

    /// Checks that the server's certificate is valid for the host (RFC 9525 §6), with the same rules as libcurl.
    ///
    /// A leading `*.` in a certificate stands for exactly one label of a domain that contains a dot. An IP address must
    /// be in the certificate as an address. If the certificate contains neither names nor addresses, the subject's
    /// common name is used.
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

/// Orders certificates into a chain in which each is signed by the next, with bounded work.
///
/// A server can send some 300 certificates with the same name. Without a limit, each signature would be checked against
/// each key. OpenSSL also stops at a depth of 100.
struct ChainSearch<Link: ChainLink> {
    /// The maximum number of signatures to check.
    static var checkLimit: Int { 100 }

    /// The chain as far as it is proven, the first certificate first; `nil` if that takes more checks than the limit.
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

/// The properties of a certificate that the search for a chain needs.
protocol ChainLink {
    /// Whether the certificate names itself as its issuer.
    var isSelfIssued: Bool { get }

    /// Whether another certificate is the issuer's, by all fields that can be compared without checking a signature.
    func isIssued(by issuer: Self) -> Bool

    /// Whether the signature was made with another certificate's key.
    func isSigned(by issuer: Self) -> Bool
}

/// The certificates that a server sent, and the chain of signatures among them.
///
/// The search runs once, when its result is first needed, no matter how many evaluators use it.
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

    /// The certificates in which each is signed by the next, from the first on; `nil` if finding them takes too many
    /// checks.
    var certificates: [Certificate]? {
        switch result.withLock(\.self) ?? search() {
        case .proven(let certificates): certificates
        case .tooLong: nil
        }
    }

    /// The reason to refuse the server regardless of the evaluator's decision, if the evaluator requested a chain that
    /// is too long.
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
