import FoundationEssentials

/// Refuses servers with revoked certificates, using the stapled OCSP response and revocation lists.
///
/// Nothing is fetched; ``OCSPTrustEvaluator`` does that. Where stapled responses are checked, a certificate that
/// requires one (RFC 7633) and comes without a good one is refused in any case.
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

        /// By the OCSP response that the server staples; it covers the server's own certificate.
        public static let ocsp = Options(rawValue: 1)
        /// By the revocation lists that the evaluator was given; they cover the whole chain except its root.
        public static let crl = Options(rawValue: 2)
        /// By the lists first, and by nothing else if they know the answer; includes ``crl``.
        public static let preferCRL = Options(rawValue: 4)
        /// The certificate must be known not to be revoked.
        ///
        /// Without this option, a certificate is accepted if its status is unknown, or known only from invalid
        /// information.
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
    ///   - trust: The certificates and the stapled response of the server.
    ///   - host: The host.
    /// - Throws: A `.trust` error with the reason of the refusal; `.trust(.revocationCheckFailed)` for reasons that
    ///   concern revocation.
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
    /// Refuses servers with revoked certificates, using the stapled OCSP response and revocation lists.
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

/// Refuses servers with revoked certificates by asking the OCSP responders that the certificates name (RFC 6960).
///
/// A good stapled response makes the request to the responder unnecessary, and a certificate that requires a stapled
/// response (RFC 7633) is refused without one. Otherwise the responders are asked, one after the other up to the first
/// that knows the certificate, over HTTP and with a nonce (RFC 9654). The handshake is aborted meanwhile. Libcurl does
/// nothing of the kind. Only the server's own certificate is checked. The chain and the host are checked first.
/// Otherwise an untrusted certificate could name any server as its OCSP responder.
public struct OCSPTrustEvaluator: AsyncServerTrustEvaluating {
    /// The treatment of a certificate whose status is unknown.
    @nonexhaustive
    public enum Failure: Hashable, Sendable {
        /// The server is accepted, unless its certificate requires stapling.
        ///
        /// An attacker who blocks the responder can make a revoked certificate pass.
        case soft
        /// The server is refused.
        ///
        /// While the responder is unreachable, servers without a stapled response cannot be reached.
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
    ///   - failure: The treatment of a certificate whose status is unknown; `.hard` by default.
    ///   - requiresNonce: Whether a response without the nonce of the request is rejected, since it may be replayed;
    ///     `true` by default. Many public responders ignore nonces: with `false`, their responses are accepted for as
    ///     long as the responses are valid, at most a day if they set no end. A response with another nonce is rejected
    ///     in any case.
    ///   - timeout: How long each responder may take; 10 s by default.
    ///   - session: Asks the responders, and checks the certificates of those behind `https`; ``Session/default`` by
    ///     default.
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
    ///   - trust: The certificates and the stapled response of the server.
    ///   - host: The host.
    /// - Throws: A `.trust` error with the reason of the refusal; `.trust(.revocationCheckFailed)` for reasons that
    ///   concern revocation, with the error of the OCSP request as the underlying error.
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
        if !decision.isKnown, !decision.cannotSucceed { cause = try await ask(about: trust, &decision) }
        if let reason = decision.refusal {
            throw RequestError(
                .trust(.revocationCheckFailed(reason)), detail: "of \(trust.subjects)", underlying: cause)
        }
    }

    /// Asks the responders that the certificate names; returns the error of the last one that gave no response.
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

    /// Responders with other protocols are not asked (RFC 5280 §4.2.2.1 does not list the protocols).
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
        // The session may leave resuming to its user.
        exchange.resume()
        var data = Data()
        for try await piece in body {
            data += piece
            // An attacker on the network could send bytes until the time limit.
            guard data.count <= Self.answerLimit else {
                throw RequestError(.invalidResponse(.bodyTooLarge(limit: Int64(Self.answerLimit))), detail: responder)
            }
        }
        guard let response = OCSPResponse(data) else {
            throw RequestError(.invalidResponse(.malformed), detail: "\(responder) does not say anything of revocation")
        }
        return response
    }

    /// The limit of a response in bytes; responses have some 500 to 5,000.
    private static let answerLimit = 65_536
}

extension ServerTrustEvaluating where Self == OCSPTrustEvaluator {
    /// Refuses servers with revoked certificates by asking the OCSP responders that the certificates name.
    ///
    /// - Parameters:
    ///   - failure: The treatment of a certificate whose status is unknown; `.hard` by default.
    ///   - session: Asks the responders; ``Session/default`` by default.
    /// - Returns: The evaluator.
    package static func ocsp(
        failure: OCSPTrustEvaluator.Failure = .hard, session: Session = .default
    ) -> OCSPTrustEvaluator {
        OCSPTrustEvaluator(failure: failure, session: session)
    }
}
