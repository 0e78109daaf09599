import FoundationEssentials

/// Refuses servers whose certificates have been revoked, by what the responder says that they name (OCSP, RFC 6960).
///
/// A good response that the server has stapled makes the question unnecessary. Otherwise the responder is asked, over
/// HTTP and with a nonce (RFC 9654), while the handshake is broken off; libcurl does nothing of the kind. The chain and the
/// host are checked first.
public struct OCSPTrustEvaluator: AsyncServerTrustEvaluating {
    /// What it means that nothing is known of a certificate.
    @nonexhaustive
    public enum Failure: Hashable, Sendable {
        /// It is accepted: whoever can keep the responder from answering can make a revoked certificate pass.
        case soft
        /// It is refused: without the responder, nobody is reached.
        case hard
    }

    private let performDefaultValidation: Bool
    private let validateHost: Bool
    private let failure: Failure
    private let timeout: Duration
    private let session: Session

    /// Creates an evaluator.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: Whether the chain has to be valid; `true` by default.
    ///   - validateHost: Whether the certificate has to be for the host; `true` by default.
    ///   - failure: What it means that nothing is known; `.hard` by default.
    ///   - timeout: How long the responder may take; 10 s by default.
    ///   - session: Asks the responder; ``Session/default`` by default.
    public init(
        performDefaultValidation: Bool = true, validateHost: Bool = true, failure: Failure = .hard,
        timeout: Duration = .seconds(10), session: Session = .default
    ) {
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
        self.failure = failure
        self.timeout = timeout
        self.session = session
    }

    /// Checks the chain and the host, and asks the responder.
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
        var (status, cause) = (trust.stapledStatus, nil as (any Error)?)
        if status != .good, status != .revoked { (status, cause) = await asked(about: trust) }
        try Task.checkCancellation()
        var decision = RevocationDecision(requiresPositiveResponse: failure == .hard, demandsStaple: false)
        decision.noteStaple(status)
        if let reason = decision.refusal {
            throw RequestError(
                .trust(.revocationCheckFailed(reason)), detail: "of \(trust.subjects)", underlying: cause)
        }
    }

    /// Asks the responder that the certificate names.
    private func asked(about trust: ServerTrust) async -> (RevocationStatus, (any Error)?) {
        let chain = trust.authenticatedChain
        guard chain.count > 1, let responder = chain[0].x509.responder,
            let question = OCSPRequest(about: chain[0].x509, issuedBy: chain[1].x509)
        else { return (.noResponse, nil) }
        do {
            var request = try HTTPRequest(
                url: responder, method: .post,
                headers: [
                    HTTPHeader(name: "Content-Type", value: "application/ocsp-request"),
                    HTTPHeader(name: "Accept", value: "application/ocsp-response"),
                ], body: .data(question.der))
            request.timeouts = Timeouts(connect: timeout, idle: timeout, total: timeout)
            let data = try await session.request(request).validate(statusCode: [200]).serializingData().value
            guard let response = OCSPResponse(data) else { return (.noResponse, nil) }
            return (trust.status(in: response, answering: question), nil)
        } catch {
            return (.noResponse, error)
        }
    }
}

extension ServerTrustEvaluating where Self == OCSPTrustEvaluator {
    /// Refuses servers whose certificates have been revoked, by what the responder says that they name.
    ///
    /// - Parameters:
    ///   - failure: What it means that nothing is known; `.hard` by default.
    ///   - session: Asks the responder; ``Session/default`` by default.
    /// - Returns: The evaluator.
    public static func ocsp(
        failure: OCSPTrustEvaluator.Failure = .hard, session: Session = .default
    ) -> OCSPTrustEvaluator {
        OCSPTrustEvaluator(failure: failure, session: session)
    }
}
