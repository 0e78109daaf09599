import FoundationEssentials

/// Refuses servers with revoked certificates, using the stapled OCSP response and revocation lists.
///
/// A stapled OCSP response is a signed statement about revocation, which the server sends in the TLS handshake. You
/// provide the revocation lists. This evaluator does not use the network. To query OCSP responders, use
/// ``OCSPTrustEvaluator``.
///
/// Some certificates require stapling (RFC 7633). With the option ``Options-swift.struct/ocsp``, the evaluator accepts
/// a server with such a certificate only if the server staples a response with the status `good`.
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
        /// Looks up all certificates of the chain except the root in the revocation lists of the evaluator.
        public static let crl = Options(rawValue: 2)
        /// Checks the revocation lists, and prefers them to the stapled response.
        ///
        /// You do not need to add ``crl`` to this option. Combine this option with ``ocsp`` to check stapled responses
        /// too. The evaluator then uses the stapled response in two cases: if the lists do not determine the status,
        /// and if the certificate requires stapling (RFC 7633).
        public static let preferCRL = Options(rawValue: 4)
        /// Refuses a server if the revocation status is unknown.
        ///
        /// With this option, the evaluator accepts a server only with one of these proofs:
        ///
        /// - A stapled response has the status `good` for the server's own certificate.
        /// - The revocation lists cover all certificates of the chain except the root, and contain none of them.
        ///
        /// A response or list is not a proof if it has expired or has an invalid signature. Without this option, the
        /// evaluator accepts a server with an unknown status, unless the certificate requires stapling.
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

    /// Checks the chain and the host, if these checks are enabled, and then the revocation status.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: A ``RequestError`` of the kind `.trust`, with the reason for the refusal. If the reason is the
    ///   revocation status, the kind is `.trust(.revocationCheckFailed)`.
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

/// Refuses servers with revoked certificates, by querying OCSP responders (RFC 6960).
///
/// An OCSP responder is an HTTP service that reports whether a certificate was revoked. A certificate contains the URLs
/// of its responders.
///
/// libcurl itself does not query responders. This evaluator checks the revocation of the server's own certificate only,
/// in these steps:
///
/// 1. By default, the evaluator first checks the chain and the host. Without these checks, an untrusted certificate
///    could make the evaluator send requests to any server.
/// 2. The server may have sent an OCSP response in the TLS handshake (a stapled response). If this response determines
///    the status, the evaluator does not query the responders. If the certificate requires stapling (RFC 7633) and
///    there is no stapled response, the server is refused.
/// 3. Otherwise, the evaluator queries the responders in order until the status is known. It uses HTTP or HTTPS, as the
///    URL requires. It skips URLs with other schemes. Each request contains a nonce, which is a random value (RFC
///    9654).
///
/// The session aborts the TLS handshake before the evaluator runs. If the evaluator accepts the server, the session
/// opens the connection again.
public struct OCSPTrustEvaluator: AsyncServerTrustEvaluating {
    /// The ways to handle a certificate whose revocation status is unknown.
    @nonexhaustive
    public enum Failure: Hashable, Sendable {
        /// Accepts the server, but refuses it if its certificate requires stapling (RFC 7633).
        ///
        /// With this value, an attacker who blocks the connection to the responders can use a revoked certificate.
        case soft
        /// Refuses the server.
        ///
        /// If no responder is reachable, the server is accepted only if it stapled a good response.
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
    ///   - requiresNonce: Whether a response must contain the nonce (a random value) of the request; `true` by default.
    ///     The nonce prevents an attacker from replaying an old response. Many public responders ignore nonces. With
    ///     `false`, a response without a nonce is accepted until the time in its `nextUpdate`, or for at most one day
    ///     if it has no `nextUpdate`. Whether the value is `true` or `false`, a response with a different nonce is
    ///     rejected. The nonce is not checked if the response reports that the certificate was revoked.
    ///   - timeout: The time limit for each responder; 10 seconds by default.
    ///   - session: The session that queries the responders; ``Session/default`` by default. If the URL of a responder
    ///     uses `https`, this session also checks the certificate of the responder.
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

    /// Makes the enabled checks of the chain and the host, and then checks the revocation status.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: A ``RequestError`` of the kind `.trust`, with the reason for the refusal. If the reason is the
    ///   revocation status, the kind is `.trust(.revocationCheckFailed)`. If OCSP requests failed, the error of the
    ///   last failed request is the underlying error. If the task is cancelled while the evaluator queries a responder,
    ///   the method throws `CancellationError`.
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
        request.timeouts = Timeouts(queue: timeout, connect: timeout, idle: timeout, total: timeout)
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
