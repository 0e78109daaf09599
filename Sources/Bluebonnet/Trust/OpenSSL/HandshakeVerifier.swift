import COpenSSL
import FoundationEssentials

/// Evaluates the servers in the handshakes of one connection, for OpenSSL's callbacks.
///
/// An instance belongs to the engine and never leaves the loop's thread. OpenSSL stores it in the connection's context
/// for the context's lifetime. The transfer for which the connection is opened also refers to it.
// Safety: OpenSSL's pointers are used within the callback that provides them.
final class HandshakeVerifier {
    /// The result of the handshake's evaluation.
    enum Outcome {
        /// No evaluator has been called yet.
        case open
        case accepted
        case refused(RequestError)
        /// The evaluator is asynchronous.
        case undecided(ServerTrust, any ServerTrustEvaluating)
    }

    let policy: TrustPolicy
    private let cache: TrustCache
    private(set) var outcome = Outcome.open
    private var verdict = ServerTrust.Verdict.outOfMemory
    private var securityLevel: Int32 = 0

    init(policy: TrustPolicy, cache: TrustCache) {
        self.policy = policy
        self.cache = cache
    }

    /// Whether a transfer with this policy may use the connection.
    func hasAccepted(for policy: TrustPolicy) -> Bool {
        guard case .accepted = outcome else { return false }
        return self.policy === policy
    }

    // MARK: Calls from OpenSSL

    /// Validates the chain with OpenSSL, and lets the handshake continue in any case.
    ///
    /// The evaluation follows when all data has arrived.
    func verify(_ context: OpaquePointer) -> Int32 {
        let isTrusted = unsafe X509_verify_cert(context) == 1
        unsafe verdict = ServerTrust.Verdict(of: context)
        if !isTrusted, verdict.isTrusted { verdict = .outOfMemory }
        if let parameters = unsafe X509_STORE_CTX_get0_param(context) {
            securityLevel = unsafe X509_VERIFY_PARAM_get_auth_level(parameters)
        }
        unsafe X509_STORE_CTX_set_error(context, X509_V_OK)
        ERR_clear_error()
        outcome = .open
        return 1
    }

    /// Evaluates the server; returns whether the handshake may continue.
    func evaluateServer(_ ssl: OpaquePointer) -> Bool {
        let name = unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { unsafe String(cString: $0) }
        let shown = unsafe trust(in: ssl, host: policy.host(named: name))
        outcome = outcome(of: shown, by: policy.evaluator(named: name))
        if case .accepted = outcome { return true }
        return false
    }

    private func outcome(of trust: ServerTrust?, by evaluator: (any ServerTrustEvaluating)?) -> Outcome {
        guard let trust, let evaluator else {
            let message = "an HTTPS proxy and a host that are both addresses cannot be distinguished"
            return .refused(RequestError(.trust(.notEvaluated), detail: message))
        }
        if evaluator.isAwaited {
            return cache.hasAccepted(trust) ? .accepted : .undecided(trust, evaluator)
        }
        return evaluator.verdict(on: trust).map { .refused($0) } ?? .accepted
    }

    private func trust(in ssl: OpaquePointer, host: String?) -> ServerTrust? {
        guard let host else { return nil }
        var staple: UnsafePointer<UInt8>?
        let count = unsafe bb_ssl_staple(ssl, &staple)
        let response = unsafe staple.flatMap { count > 0 ? unsafe Data(bytes: $0, count: count) : nil }
        let chain = unsafe CertificateStack.certificates(of: SSL_get_peer_cert_chain(ssl))
        let built = verdict.isTrusted ? unsafe CertificateStack.certificates(of: SSL_get0_verified_chain(ssl)) : []
        // Before the end of a handshake with TLS 1.2, the session has no cipher yet.
        let cipher = unsafe SSL_get_pending_cipher(ssl) ?? SSL_get_current_cipher(ssl)
        return ServerTrust(
            host: host, chain: chain.map(Certificate.init), verdict: verdict, stapledResponse: response,
            protocolVersion: unsafe String(cString: SSL_get_version(ssl)),
            cipher: unsafe SSL_CIPHER_get_name(cipher).map { unsafe String(cString: $0) } ?? "",
            builtChain: built.map(Certificate.init), securityLevel: securityLevel)
    }

    // MARK: Storage in OpenSSL's contexts

    /// The index under which OpenSSL's contexts store verifiers.
    private static let index = unsafe bb_ssl_context_index { context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<HandshakeVerifier>.fromOpaque(context).release()
    }

    /// Makes OpenSSL use this verifier for the connections of a context; returns whether this succeeded.
    func attach(to context: OpaquePointer) -> Bool {
        let kept = unsafe Unmanaged.passRetained(self)
        let isAttached = unsafe bb_ssl_context_verify(
            context, Self.index, kept.toOpaque(),
            { context, pointer in
                guard let context = unsafe context, let pointer = unsafe pointer else { return 0 }
                return unsafe Unmanaged<HandshakeVerifier>.fromOpaque(pointer).takeUnretainedValue().verify(context)
            },
            { ssl, pointer in
                guard let ssl = unsafe ssl, let pointer = unsafe pointer else { return 0 }
                let verifier = unsafe Unmanaged<HandshakeVerifier>.fromOpaque(pointer).takeUnretainedValue()
                return unsafe verifier.evaluateServer(ssl) ? 1 : 0
            })
        return isAttached == 1
    }

    /// Returns the verifier of a connection; `nil` if it has none.
    static func of(_ ssl: OpaquePointer?) -> HandshakeVerifier? {
        guard let kept = unsafe bb_ssl_context_argument(ssl, index) else { return nil }
        return unsafe Unmanaged<HandshakeVerifier>.fromOpaque(kept).takeUnretainedValue()
    }
}
