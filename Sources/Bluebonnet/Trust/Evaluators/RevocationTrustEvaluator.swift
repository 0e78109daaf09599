/// Refuses servers whose certificates have been revoked, by what is at hand: the stapled OCSP response and lists.
///
/// Nothing is fetched: that is what ``OCSPTrustEvaluator`` does. Where stapled responses are looked at, a certificate that
/// demands one (RFC 7633) and comes without a good one is refused in any case.
public struct RevocationTrustEvaluator: ServerTrustEvaluating {
    /// Says how revocation is checked.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt

        /// Creates options from bits.
        ///
        /// - Parameter rawValue: The bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// By the OCSP response that the server staples; it speaks of the server's own certificate.
        public static let ocsp = Options(rawValue: 1)
        /// By the revocation lists that the evaluator was given; of the whole chain, but for its root.
        public static let crl = Options(rawValue: 2)
        /// By the lists first, and by nothing else if they know the answer; includes ``crl``.
        public static let preferCRL = Options(rawValue: 4)
        /// It has to be known that a certificate is not revoked; without this, a certificate of which nothing is known, or
        /// nothing that holds, is accepted.
        public static let requirePositiveResponse = Options(rawValue: 8)
        /// By both.
        public static let any: Options = [.ocsp, .crl]
    }

    private let performDefaultValidation: Bool
    private let validateHost: Bool
    private let options: Options
    private let lists: [CertificateRevocationList]

    /// Creates an evaluator.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: Whether the chain has to be valid; `true` by default.
    ///   - validateHost: Whether the certificate has to be for the host; `true` by default.
    ///   - options: How revocation is checked; in any way by default.
    ///   - lists: Revocation lists; none by default.
    public init(
        performDefaultValidation: Bool = true, validateHost: Bool = true, options: Options = .any,
        lists: [CertificateRevocationList] = []
    ) {
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
        self.options = options
        self.lists = lists
    }

    /// Checks the chain and the host, and whether a certificate was revoked.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host.
    /// - Throws: A `.trust` error that says what is wrong; `.trust(.revocationCheckFailed)` for what has to do with
    ///   revocation.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        if performDefaultValidation { try trust.evaluateChain() }
        if validateHost { try trust.evaluateHost() }
        var decision = RevocationDecision(
            requiresPositiveResponse: options.contains(.requirePositiveResponse),
            demandsStaple: options.contains(.ocsp) && trust.chain.first?.x509.demandsStaple == true)
        let prefersLists = options.contains(.preferCRL)
        let usesLists = prefersLists || options.contains(.crl)
        if prefersLists { decision.noteLists(trust.statuses(in: lists)) }
        if options.contains(.ocsp), !(prefersLists && decision.isKnown) { decision.noteStaple(trust.stapledStatus) }
        if usesLists, !prefersLists { decision.noteLists(trust.statuses(in: lists)) }
        if let reason = decision.refusal {
            throw RequestError(.trust(.revocationCheckFailed(reason)), detail: "of \(trust.subjects)")
        }
    }
}

extension ServerTrustEvaluating where Self == RevocationTrustEvaluator {
    /// Refuses servers whose certificates have been revoked, by what is at hand.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: Whether the chain has to be valid; `true` by default.
    ///   - validateHost: Whether the certificate has to be for the host; `true` by default.
    ///   - options: How revocation is checked; in any way by default.
    ///   - lists: Revocation lists; none by default.
    /// - Returns: The evaluator.
    public static func revocation(
        performDefaultValidation: Bool = true, validateHost: Bool = true,
        options: RevocationTrustEvaluator.Options = .any, lists: [CertificateRevocationList] = []
    ) -> RevocationTrustEvaluator {
        RevocationTrustEvaluator(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost, options: options,
            lists: lists)
    }
}
