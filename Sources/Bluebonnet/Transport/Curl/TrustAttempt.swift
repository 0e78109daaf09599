/// The checks of the servers of a transfer's connection, and their results.
///
/// A value belongs to its transfer and never leaves the loop's thread.
// Safety: OpenSSL's context is used within the callback that provides it.
struct TrustAttempt {
    /// How the preparation of a handshake has ended.
    enum Preparation {
        case ready
        /// Libcurl began with the settings of earlier files, and perhaps with a TLS session from them.
        case outdated
        case failed
        case refused(RequestError)
    }

    /// Whether a request may be sent on a connection that libcurl has chosen.
    enum Permission {
        case granted
        /// The request needs a connection that is opened for it, and the chosen one must not be used again.
        case needsOwnConnection
        case refused(RequestError)
    }

    /// The maximum number of verdicts for which a single transfer may wait.
    private static let verdictLimit = 8

    /// The settings of the next handshakes; the policy is `nil` if only libcurl checks the servers.
    private var basis: (authorities: AuthorityStore, policy: TrustPolicy?, cache: TrustCache?)?
    /// The verifiers of the handshakes for the connection that was opened for this transfer.
    private(set) var verifiers: [HandshakeVerifier] = []
    /// The number of handshakes started for the transfer's connection, with a proxy or with the server.
    private(set) var handshakes = 0
    private var verdicts = 0
    /// Whether a connection was opened because another one was not evaluated.
    private var triedOwnConnection = false

    /// The policy for the servers of the transfer's connection; `nil` if only libcurl checks them.
    var policy: TrustPolicy? { basis?.policy }

    /// Called when a connection will be opened for the transfer, unless an open connection can be reused.
    mutating func begins(trusting authorities: AuthorityStore, evaluatedBy policy: TrustPolicy?, _ cache: TrustCache?) {
        verifiers.removeAll()
        handshakes = 0
        basis = (authorities, policy, cache)
    }

    /// Makes a context trust the session's authorities and evaluate servers.
    ///
    /// Libcurl has its own handles for DNS over HTTPS; they do not use the policy, and are not `isOwn`.
    mutating func prepare(_ context: OpaquePointer, of easy: EasyHandle, isOwn: Bool) -> Preparation {
        guard let basis else { return .failed }
        if isOwn { handshakes += 1 }
        do throws(RequestError) {
            let store = try basis.authorities.store(with: easy.identity?.identity)
            guard easy.authorities == basis.authorities.generation else { return .outdated }
            guard unsafe store.attach(to: context) else { return .failed }
        } catch {
            return .refused(error)
        }
        guard let policy = basis.policy, isOwn else {
            unsafe HiddenVerdicts.reveal(on: context)
            return .ready
        }
        guard let cache = basis.cache else { return .failed }
        let verifier = HandshakeVerifier(policy: policy, cache: cache)
        verifiers.append(verifier)
        return unsafe verifier.attach(to: context) ? .ready : .failed
    }

    /// Called when libcurl has chosen a connection, whose server the transfer's own policy has perhaps evaluated.
    ///
    /// Another connection is replaced once by a new one.
    mutating func permission(isEvaluated: Bool) -> Permission {
        guard !isEvaluated else { return .granted }
        guard triedOwnConnection else {
            triedOwnConnection = true
            return .needsOwnConnection
        }
        return .refused(RequestError(.trust(.notEvaluated), detail: "the connection was not evaluated"))
    }

    /// Called when the transfer has to wait for a verdict; returns whether it may.
    mutating func mayAwaitVerdict() -> Bool {
        guard verdicts < Self.verdictLimit else { return false }
        verdicts += 1
        return true
    }

    /// The reason why a verifier aborted the handshake; `nil` if no verifier aborted it.
    var refusal: RequestError? {
        for verifier in verifiers { if case .refused(let error) = verifier.outcome { return error } }
        return nil
    }

    /// The server and its asynchronous evaluator, if the handshake was aborted for the evaluation.
    var undecided: (ServerTrust, any ServerTrustEvaluating)? {
        for verifier in verifiers {
            if case .undecided(let trust, let evaluator) = verifier.outcome { return (trust, evaluator) }
        }
        return nil
    }
}
