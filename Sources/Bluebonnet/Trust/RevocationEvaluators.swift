import FoundationEssentials

/// Refuses servers with revoked certificates, using the stapled OCSP response and revocation lists.
///
/// This evaluator downloads nothing; use ``OCSPTrustEvaluator`` to query OCSP responders. If stapled responses are
/// checked (``Options-swift.struct/ocsp``), a certificate that requires stapling (RFC 7633) is always refused without a
/// good stapled response.
public struct RevocationTrustEvaluator: ServerTrustEvaluating {
    /// Selects how revocation is checked.
    public struct Options: OptionSet, Sendable {
        /// The raw bits of the options.
        public let rawValue: UInt

        /// Creates options from raw bits.
        ///
        /// - Parameter rawValue: The raw bits of the options.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// Checks the OCSP response that the server staples, which covers only the server's own certificate.
        public static let ocsp = Options(rawValue: 1)
        /// Checks the revocation lists of the evaluator, which cover the whole chain except its root.
        public static let crl = Options(rawValue: 2)
        /// Checks the revocation lists first, and skips the stapled response if they settle the status.
        ///
        /// This option includes ``crl``.
        public static let preferCRL = Options(rawValue: 4)
        /// Refuses a certificate unless it is known not to be revoked.
        ///
        /// Without this option, a certificate is accepted if its status is unknown, or if the only information about it
        /// is invalid.
        public static let requirePositiveResponse = Options(rawValue: 8)
        /// Checks both the stapled OCSP response and the revocation lists.
        public static let any: Options = [.ocsp, .crl]
    }

    private let performDefaultValidation: Bool
    private let validateHost: Bool
    private let options: Options
    private let lists: [CertificateRevocationList]

    /// Creates an evaluator that uses stapled responses and revocation lists.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: Whether the chain must be valid and lead to a trusted authority; `true` by
    ///     default.
    ///   - validateHost: Whether the certificate must be valid for the host; `true` by default.
    ///   - options: The ways to check revocation; `.any` by default.
    ///   - lists: The revocation lists; none by default.
    public init(
        performDefaultValidation: Bool = true, validateHost: Bool = true, options: Options = .any,
        lists: [CertificateRevocationList] = []
    ) {
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
        self.options = options
        self.lists = lists
    }

    /// Checks the chain and the host, unless disabled, and whether a certificate has been revoked.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: A `.trust` error with the reason for the refusal; `.trust(.revocationCheckFailed)` if the reason
    ///   concerns revocation.
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
    ///   - performDefaultValidation: Whether the chain must be valid and lead to a trusted authority; `true` by
    ///     default.
    ///   - validateHost: Whether the certificate must be valid for the host; `true` by default.
    ///   - options: The ways to check revocation; `.any` by default.
    ///   - lists: The revocation lists; none by default.
    /// - Returns: A new evaluator.
    package static func revocation(
        performDefaultValidation: Bool = true, validateHost: Bool = true,
        options: RevocationTrustEvaluator.Options = .any, lists: [CertificateRevocationList] = []
    ) -> RevocationTrustEvaluator {
        RevocationTrustEvaluator(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost, options: options,
            lists: lists)
    }
}

/// Refuses servers with revoked certificates by querying the OCSP responders that the certificates name (RFC 6960).
///
/// Libcurl itself queries no responders. Only the server's own certificate is checked:
///
/// 1. By default, the chain and the host are checked first, because an untrusted certificate could name any server as
///    its responder.
/// 2. If the server staples a response that settles the status, the responders are not queried. A certificate that
///    requires stapling (RFC 7633) is refused without a stapled response.
/// 3. Otherwise, the responders are queried in order over HTTP, with a nonce (RFC 9654), until one knows the
///    certificate.
///
/// Each handshake that needs a new evaluation is aborted, and the connection is opened again if the server is accepted.
public struct OCSPTrustEvaluator: AsyncServerTrustEvaluating {
    /// How to treat a certificate whose revocation status is unknown.
    @nonexhaustive
    public enum Failure: Hashable, Sendable {
        /// Accepts the server, unless its certificate requires stapling.
        ///
        /// An attacker who blocks the responder can then use a revoked certificate.
        case soft
        /// Refuses the server.
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

    /// Creates an evaluator that queries OCSP responders.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: Whether the chain must be valid and lead to a trusted authority; `true` by
    ///     default.
    ///   - validateHost: Whether the certificate must be valid for the host; `true` by default.
    ///   - failure: How to treat a certificate whose revocation status is unknown; `.hard` by default.
    ///   - requiresNonce: Whether a response without the nonce of the request is rejected, because it may be replayed;
    ///     `true` by default. Many public responders ignore nonces. With `false`, their responses are accepted until
    ///     they expire, or for at most one day if they state no end. A response with a different nonce is always
    ///     rejected.
    ///   - timeout: The time limit for each responder; 10 seconds by default.
    ///   - session: The session that queries the responders, and evaluates the servers of `https` responders;
    ///     ``Session/default`` by default.
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

    /// Checks the chain and the host, unless disabled, and queries the responders if necessary.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: A `.trust` error with the reason for the refusal; `.trust(.revocationCheckFailed)` if the reason
    ///   concerns revocation, with the error of the last failed OCSP request as the underlying error.
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

    /// Queries the responders that the certificate names; returns the error of the last responder that failed.
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

    /// Whether a responder uses HTTP; others are skipped (RFC 5280 §4.2.2.1 does not list the protocols).
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
        // The session may be configured not to start requests automatically.
        exchange.resume()
        var data = Data()
        for try await piece in body {
            data += piece
            // An attacker on the network could keep sending bytes until the time limit.
            guard data.count <= Self.answerLimit else {
                throw RequestError(.invalidResponse(.bodyTooLarge(limit: Int64(Self.answerLimit))), detail: responder)
            }
        }
        guard let response = OCSPResponse(data) else {
            throw RequestError(.invalidResponse(.malformed), detail: "\(responder) does not say anything of revocation")
        }
        return response
    }

    /// The maximum size of a response in bytes; typical responses have 500 to 5,000 bytes.
    private static let answerLimit = 65_536
}

extension ServerTrustEvaluating where Self == OCSPTrustEvaluator {
    /// Refuses servers with revoked certificates by querying the OCSP responders that the certificates name.
    ///
    /// - Parameters:
    ///   - failure: How to treat a certificate whose revocation status is unknown; `.hard` by default.
    ///   - session: The session that queries the responders; ``Session/default`` by default.
    /// - Returns: A new evaluator.
    package static func ocsp(
        failure: OCSPTrustEvaluator.Failure = .hard, session: Session = .default
    ) -> OCSPTrustEvaluator {
        OCSPTrustEvaluator(failure: failure, session: session)
    }
}
