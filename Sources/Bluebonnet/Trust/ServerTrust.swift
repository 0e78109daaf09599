public import FoundationEssentials

/// The certificates and the stapled OCSP response of a server, for a ``ServerTrustEvaluating`` to evaluate.
///
/// Nothing of the request has been sent by then. The value may be kept, and read on any thread.
public struct ServerTrust: Sendable {
    /// The host that the request is for, or the proxy's, without a port.
    public let host: String

    /// The certificates that the server has shown, its own first.
    ///
    /// Only the first is proven to be the server's, and the others may be any certificates: see ``authenticatedChain``.
    public let chain: [Certificate]

    /// OpenSSL's verdict on the chain, by the authorities that the session trusts; it does not cover the host's name.
    public private(set) var verdict: Verdict

    /// The OCSP response that came with the certificates (RFC 6066 §8), unread.
    public let stapledResponse: Data?

    /// The version of TLS, such as `TLSv1.3`.
    public let protocolVersion: String

    /// The cipher suite, such as `TLS_AES_256_GCM_SHA384`.
    public let cipher: String

    /// The chain as OpenSSL has built it, up to an authority that is trusted; empty if there is none.
    private(set) var builtChain: [Certificate]
    /// OpenSSL's security level: how weak keys and signatures may be.
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

    /// OpenSSL's verdict on a chain.
    public struct Verdict: Hashable, Sendable, Described {
        /// OpenSSL's code (`X509_V_…`); 0 for a good chain.
        package let code: Int

        /// The index of the bad certificate in the chain; 0 for the server's own.
        package let depth: Int

        init(code: Int, depth: Int) {
            self.code = code
            self.depth = depth
        }

        /// Whether the chain leads to an authority that is trusted, and is valid now.
        public var isTrusted: Bool { code == 0 }

        /// OpenSSL's message for the code.
        package var text: String { Self.message(for: code) }
    }

    /// The server's certificate and its issuers, up to the last verified signature.
    ///
    /// The chain to the trusted authority if there is one; otherwise as many of the certificates that were shown as
    /// have signed each other. Look for a pinned certificate here: a server can put any certificate into ``chain``.
    ///
    /// At most 100 signatures are checked for it. A server that shows certificates which take more is refused with
    /// `.trust(.chainTooLong)`, even if the evaluator that read this property accepts it; the property then holds only
    /// the server's own certificate.
    public var authenticatedChain: [Certificate] {
        builtChain.isEmpty ? shownChain : builtChain
    }

    /// The certificates of ``chain`` that have signed each other, from the first on.
    var shownChain: [Certificate] { signedChain.certificates ?? Array(chain.prefix(1)) }

    // MARK: Checks

    /// Checks that the chain leads to an authority that the session trusts, and is valid now.
    ///
    /// - Throws: A `.trust` error with the reason.
    public func evaluateChain() throws(RequestError) {
        guard verdict.isTrusted else { throw refusal(verdict) }
    }

    /// Checks that the chain leads to one of a few certificates, and is valid now; the session's other authorities do
    /// not count.
    ///
    /// The server's certificates above such a certificate are not looked at.
    ///
    /// - Parameter anchors: The certificates; they need not be roots.
    /// - Returns: The trust with the chain that leads to one of them.
    /// - Throws: A `.trust` error with the reason.
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

    /// Checks that the server's certificate is for the host (RFC 9525 §6), as libcurl does without a manager.
    ///
    /// `*.` stands for exactly one label, of a domain with a dot in it. An address has to be in the certificate as an
    /// address. If the certificate has neither names nor addresses, the subject's common name counts.
    ///
    /// - Throws: A `.trust(.hostMismatch)` error that lists the names of the certificate.
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

    /// The subjects of the chain, for errors.
    var subjects: String {
        chain.map { "\"\($0.subject)\"" }.joined(separator: ", ")
    }
}

/// Finds the certificates of a chain that have signed each other, with bounded work.
///
/// A server can show some 300 certificates of the same name, with which each signature would be checked against each
/// key. OpenSSL stops at a depth of 100, too.
struct ChainSearch<Link: ChainLink> {
    /// How many signatures are checked at most.
    static var checkLimit: Int { 100 }

    /// The chain as far as it is proven, the first certificate first; `nil` if that takes more checks than the limit.
    private(set) var chain: [Link]?
    /// How many signatures were checked.
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

/// A certificate, as the search for a chain uses it.
protocol ChainLink {
    /// Whether the certificate names itself as its issuer.
    var isSelfIssued: Bool { get }

    /// Whether another certificate is that of the issuer, by all fields that can be compared without checking a
    /// signature.
    func isIssued(by issuer: Self) -> Bool

    /// Whether the signature was made with the key of another certificate.
    func isSigned(by issuer: Self) -> Bool
}

/// The certificates that a server has shown, and those of them that have signed each other.
///
/// The search is done once, when its result is first asked for, however many evaluators ask.
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

    /// The certificates that have signed each other, from the first on; `nil` if that is too much to find out.
    var certificates: [Certificate]? {
        switch result.withLock(\.self) ?? search() {
        case .proven(let certificates): certificates
        case .tooLong: nil
        }
    }

    /// The reason why the server is refused whatever the evaluator decides, if the evaluator asked for a chain that is
    /// too long.
    var refusal: RequestError? {
        guard case .tooLong? = result.withLock(\.self) else { return nil }
        return Self.error(shown.count)
    }

    /// The error for a chain that takes too many checks.
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
