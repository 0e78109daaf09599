import FoundationEssentials

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
    package static func revocation(
        performDefaultValidation: Bool = true, validateHost: Bool = true,
        options: RevocationTrustEvaluator.Options = .any, lists: [CertificateRevocationList] = []
    ) -> RevocationTrustEvaluator {
        RevocationTrustEvaluator(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost, options: options,
            lists: lists)
    }
}

/// Refuses servers whose certificates have been revoked, by what the responders say that they name (OCSP, RFC 6960).
///
/// A good response that the server has stapled makes the question unnecessary, and a certificate that demands one
/// (RFC 7633) is refused without. Otherwise the responders are asked, one after the other up to the first that knows, over
/// HTTP and with a nonce (RFC 9654), while the handshake is broken off; libcurl does nothing of the kind. It is the server's
/// own certificate that they are asked about. The chain and the host are checked first: a certificate that nobody vouches for
/// could have anybody asked.
public struct OCSPTrustEvaluator: AsyncServerTrustEvaluating {
    /// What it means that nothing is known of a certificate.
    @nonexhaustive
    public enum Failure: Hashable, Sendable {
        /// It is accepted, unless it demands a stapled response: whoever can keep the responder from answering can make a
        /// revoked certificate pass.
        case soft
        /// It is refused: without the responder, nobody is reached who does not staple.
        case hard
    }

    private let performDefaultValidation: Bool
    private let validateHost: Bool
    private let failure: Failure
    private let requiresNonce: Bool
    private let timeout: Duration
    private let session: Session

    /// Creates an evaluator.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: Whether the chain has to be valid; `true` by default.
    ///   - validateHost: Whether the certificate has to be for the host; `true` by default.
    ///   - failure: What it means that nothing is known; `.hard` by default.
    ///   - requiresNonce: Whether an answer without the question's nonce is none, since it may be an old one; `true` by
    ///     default. Many public responders ignore nonces: `false` believes their answers for as long as those say, at most a
    ///     day if they do not. An answer with another nonce is none in any case.
    ///   - timeout: How long each responder may take; 10 s by default.
    ///   - session: Asks the responders, and judges those behind `https`; ``Session/default`` by default.
    public init(
        performDefaultValidation: Bool = true, validateHost: Bool = true, failure: Failure = .hard,
        requiresNonce: Bool = true, timeout: Duration = .seconds(10), session: Session = .default
    ) {
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
        self.failure = failure
        self.requiresNonce = requiresNonce
        self.timeout = timeout
        self.session = session
    }

    /// Checks the chain and the host, and asks the responders.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host.
    /// - Throws: A `.trust` error that says what is wrong; `.trust(.revocationCheckFailed)`, with what became of the
    ///   question as the underlying error, for what has to do with revocation.
    @concurrent
    public func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
        if performDefaultValidation { try trust.evaluateChain() }
        if validateHost { try trust.evaluateHost() }
        let demandsStaple = trust.chain.first?.x509.demandsStaple == true
        var decision = RevocationDecision(
            requiresPositiveResponse: failure == .hard || demandsStaple,
            demandsStaple: demandsStaple && trust.stapledResponse == nil)
        if trust.stapledResponse != nil { decision.noteStaple(trust.stapledStatus) }
        var cause: (any Error)?
        if !decision.isKnown, !decision.isHopeless { cause = try await ask(about: trust, &decision) }
        if let reason = decision.refusal {
            throw RequestError(
                .trust(.revocationCheckFailed(reason)), detail: "of \(trust.subjects)", underlying: cause)
        }
    }

    /// Asks the responders that the certificate names; returns what went wrong with the last one that said nothing.
    private func ask(about trust: ServerTrust, _ decision: inout RevocationDecision) async throws -> (any Error)? {
        guard let (certificate, issuer) = trust.issuance else { return nil }
        var cause: (any Error)?
        for responder in certificate.responders where Self.isAsked(responder) && !decision.isKnown {
            guard let question = OCSPRequest(about: certificate, issuedBy: issuer) else { break }
            do {
                let answer = try await answer(of: responder, to: question)
                decision.noteAnswer(trust.status(in: answer, answering: question, requiresNonce: requiresNonce))
            } catch {
                cause = error
            }
            try Task.checkCancellation()
        }
        return cause
    }

    /// Over other protocols (RFC 5280 §4.2.2.1 does not say which there are) nobody is asked.
    private static func isAsked(_ responder: String) -> Bool {
        let url = responder.lowercased()
        return url.hasPrefix("http://") || url.hasPrefix("https://")
    }

    private func answer(of responder: String, to question: OCSPRequest) async throws -> OCSPResponse {
        var request = try HTTPRequest(
            url: responder, method: .post,
            headers: [
                HTTPHeader(name: "Content-Type", value: "application/ocsp-request"),
                HTTPHeader(name: "Accept", value: "application/ocsp-response"),
            ], body: .data(question.der))
        request.timeouts = Timeouts(connect: timeout, idle: timeout, total: timeout)
        request.handlesCookies = false
        let exchange = session.streamRequest(request).validate(statusCode: [200])
        let body = exchange.streamTask().bytes
        // The session may leave that to its user.
        exchange.resume()
        var data = Data()
        for try await piece in body {
            data += piece
            // Whoever holds the line could send for as long as there is time.
            guard data.count <= Self.answerLimit else {
                throw RequestError(.invalidResponse(.bodyTooLarge(limit: Int64(Self.answerLimit))), detail: responder)
            }
        }
        guard let response = OCSPResponse(data) else {
            throw RequestError(.invalidResponse(.malformed), detail: "\(responder) does not say anything of revocation")
        }
        return response
    }

    /// How many bytes a response may have; they are some 500 to 5,000 long.
    private static let answerLimit = 65_536
}

extension ServerTrustEvaluating where Self == OCSPTrustEvaluator {
    /// Refuses servers whose certificates have been revoked, by what the responders say that they name.
    ///
    /// - Parameters:
    ///   - failure: What it means that nothing is known; `.hard` by default.
    ///   - session: Asks the responders; ``Session/default`` by default.
    /// - Returns: The evaluator.
    package static func ocsp(
        failure: OCSPTrustEvaluator.Failure = .hard, session: Session = .default
    ) -> OCSPTrustEvaluator {
        OCSPTrustEvaluator(failure: failure, session: session)
    }
}
