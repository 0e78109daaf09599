import FoundationEssentials

/// Refuses servers with revoked certificates, using the stapled OCSP response and revocation lists.
///
/// This evaluator does not use the network. To query OCSP responders, use ``OCSPTrustEvaluator``. With the option
/// ``Options-swift.struct/ocsp``, a certificate that requires stapling (RFC 7633) is refused unless the server staples
/// a good response.
public struct RevocationTrustEvaluator: ServerTrustEvaluating {
    /// The ways to check revocation.
    public struct Options: OptionSet, Sendable {
        /// The raw bits of the options.
        public let rawValue: UInt

        /// Creates options from raw bits.
        ///
        /// - Parameter rawValue: The raw bits of the options.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// Checks the stapled OCSP response, which covers only the server's own certificate.
        public static let ocsp = Options(rawValue: 1)
        /// Checks the evaluator's revocation lists, which cover all certificates of the chain except the root.
        public static let crl = Options(rawValue: 2)
        /// Checks the revocation lists first, and uses the stapled response only if the lists do not determine the
        /// status.
        ///
        /// This option includes ``crl``. To check stapled responses as well, combine it with ``ocsp``.
        public static let preferCRL = Options(rawValue: 4)
        /// Refuses a certificate if its status is unknown.
        ///
        /// Without this option, such a certificate is accepted. The status is also unknown if the response or the list
        /// has expired, or has an invalid signature.
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
    ///   - performDefaultValidation: Whether the chain must lead to a trusted authority and be currently valid; `true`
    ///     by default.
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

    /// Checks the chain and the host, if enabled, and then the revocation status.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: A `.trust` error with the reason for the refusal. The kind is `.trust(.revocationCheckFailed)` if the
    ///   reason is the revocation status.
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
    ///   - performDefaultValidation: Whether the chain must lead to a trusted authority and be currently valid; `true`
    ///     by default.
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

/// Refuses servers with revoked certificates by querying the OCSP responders in the certificates (RFC 6960).
///
/// Libcurl itself does not query responders. The evaluator checks only the server's own certificate:
///
/// 1. By default, the chain and the host are checked first, because an untrusted certificate could contain any server
///    as its responder.
/// 2. If the server staples a response that determines the status, the responders are not queried. If the certificate
///    requires stapling (RFC 7633) and the server staples no response, the server is refused.
/// 3. Otherwise, the responders are queried in order over HTTP, with a nonce (RFC 9654), until the status is known.
///
/// The handshake is aborted while the evaluator runs. If the server is accepted, the connection is opened again.
public struct OCSPTrustEvaluator: AsyncServerTrustEvaluating {
    /// The ways to handle a certificate whose revocation status is unknown.
    @nonexhaustive
    public enum Failure: Hashable, Sendable {
        /// Accepts the server, unless its certificate requires stapling.
        ///
        /// An attacker who blocks the connection to the responder can then use a revoked certificate.
        case soft
        /// Refuses the server.
        ///
        /// If the responder is unreachable, all servers without a stapled response are refused.
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
    ///   - performDefaultValidation: Whether the chain must lead to a trusted authority and be currently valid; `true`
    ///     by default.
    ///   - validateHost: Whether the certificate must be valid for the host; `true` by default.
    ///   - failure: The way to handle a certificate whose revocation status is unknown; `.hard` by default.
    ///   - requiresNonce: Whether a response must contain the nonce of the request, which prevents replays; `true` by
    ///     default. Many public responders ignore nonces. With `false`, a response without a nonce is accepted until
    ///     its `nextUpdate`, or for at most one day if it has no `nextUpdate`. A response with a different nonce is
    ///     rejected. A response that reports a revoked certificate is used regardless of its nonce.
    ///   - timeout: The time limit for each responder; 10 seconds by default.
    ///   - session: The session that queries the responders; ``Session/default`` by default. It also evaluates the
    ///     servers of responders with `https` URLs.
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

    /// Checks the chain and the host, if enabled, and then the revocation status.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: A `.trust` error with the reason for the refusal. The kind is `.trust(.revocationCheckFailed)` if the
    ///   reason is the revocation status. The error of the last failed OCSP request is the underlying error.
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

    /// Queries the responders in the certificate; returns the error of the last responder that failed.
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

    /// Whether a responder has an HTTP or HTTPS URL; RFC 5280 §4.2.2.1 allows other protocols, which are skipped.
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
        // The session may not start requests automatically.
        exchange.resume()
        var data = Data()
        for try await piece in body {
            data += piece
            // An attacker on the network could otherwise send bytes until the time limit.
            guard data.count <= Self.answerLimit else {
                throw RequestError(.invalidResponse(.bodyTooLarge(limit: Int64(Self.answerLimit))), detail: responder)
            }
        }
        guard let response = OCSPResponse(data) else {
            throw RequestError(.invalidResponse(.malformed), detail: "\(responder) does not say anything of revocation")
        }
        return response
    }

    /// The maximum size of a response in bytes; a typical response has between 500 and 5,000 bytes.
    private static let answerLimit = 65_536
}

extension ServerTrustEvaluating where Self == OCSPTrustEvaluator {
    /// Refuses servers with revoked certificates by querying the OCSP responders in the certificates.
    ///
    /// - Parameters:
    ///   - failure: The way to handle a certificate whose revocation status is unknown; `.hard` by default.
    ///   - session: The session that queries the responders; ``Session/default`` by default.
    /// - Returns: A new evaluator.
    package static func ocsp(
        failure: OCSPTrustEvaluator.Failure = .hard, session: Session = .default
    ) -> OCSPTrustEvaluator {
        OCSPTrustEvaluator(failure: failure, session: session)
    }
}
