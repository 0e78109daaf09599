import COpenSSL

/// Owns a store of OpenSSL's: the certificates that chains may end with.
// Safety: nothing changes a store once it is made, and it lives as long as its owner.
@safe
final class TrustStore: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over a reference.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    /// A store of certificates, none of which has to be a root.
    init?(anchors: [X509Certificate]) {
        guard let pointer = unsafe X509_STORE_new() else { return nil }
        unsafe self.pointer = unsafe pointer
        _ = unsafe X509_STORE_set_flags(pointer, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        for anchor in anchors {
            // A failure leaves it out, and so accepts less.
            _ = unsafe X509_STORE_add_cert(pointer, anchor.pointer)
        }
        ERR_clear_error()
    }

    deinit {
        unsafe X509_STORE_free(pointer)
    }

    /// Looks for a chain from the first certificate to one of the store's, as for a TLS server.
    ///
    /// - Parameters:
    ///   - chain: The certificates, the server's first.
    ///   - level: OpenSSL's security level, which says how weak a key or a signature may be.
    /// - Returns: OpenSSL's verdict, and the chain if that is good.
    func verify(_ chain: [X509Certificate], level: Int32) -> (verdict: ServerTrust.Verdict, chain: [X509Certificate]) {
        guard let leaf = chain.first, let context = unsafe X509_STORE_CTX_new() else { return (.outOfMemory, []) }
        defer {
            unsafe X509_STORE_CTX_free(context)
            ERR_clear_error()
        }
        let others = CertificateStack(chain.dropFirst())
        guard unsafe X509_STORE_CTX_init(context, pointer, leaf.pointer, others.pointer) == 1,
            unsafe X509_STORE_CTX_set_default(context, "ssl_server") == 1,
            let parameters = unsafe X509_STORE_CTX_get0_param(context)
        else { return (.outOfMemory, []) }
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, level)
        let flags = UInt(X509_V_FLAG_TRUSTED_FIRST) | UInt(X509_V_FLAG_PARTIAL_CHAIN)
        _ = unsafe X509_VERIFY_PARAM_set_flags(parameters, flags)
        let isTrusted = unsafe X509_verify_cert(context) == 1
        let verdict = unsafe ServerTrust.Verdict(of: context)
        guard isTrusted, verdict.isTrusted else { return (verdict.isTrusted ? .outOfMemory : verdict, []) }
        return (verdict, unsafe CertificateStack.certificates(of: X509_STORE_CTX_get0_chain(context)))
    }

    /// Whether a chain leads from a certificate straight to one of the store's, and what the lists say of the first.
    ///
    /// The rules are OpenSSL's: what a list is about, for how long, and what it has to be understood for (RFC 5280 §6.3).
    func code(of certificate: X509Certificate, _ lists: borrowing RevocationListStack) -> Int32 {
        guard let context = unsafe X509_STORE_CTX_new() else { return X509_V_ERR_OUT_OF_MEM }
        defer {
            unsafe X509_STORE_CTX_free(context)
            ERR_clear_error()
        }
        guard unsafe X509_STORE_CTX_init(context, pointer, certificate.pointer, nil) == 1 else {
            return X509_V_ERR_OUT_OF_MEM
        }
        unsafe X509_STORE_CTX_set0_crls(context, lists.pointer)
        unsafe X509_STORE_CTX_set_flags(context, UInt(X509_V_FLAG_PARTIAL_CHAIN) | UInt(X509_V_FLAG_CRL_CHECK))
        let isGood = unsafe X509_verify_cert(context) == 1
        let code = unsafe X509_STORE_CTX_get_error(context)
        return isGood || code != X509_V_OK ? code : X509_V_ERR_OUT_OF_MEM
    }

    /// Judges a response of an OCSP responder: whether it is signed by one who may, and what it says (RFC 6960).
    ///
    /// It may be signed by the issuer of the certificate, or by one whom that has named for it (§4.2.2.2). So who else is
    /// trusted does not matter, and not even whether the issuer is: nobody else can say it.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - certificate: The certificate in question.
    ///   - issuer: That of its issuer, which has to have signed it.
    /// - Returns: What it comes to.
    static func status(
        in response: OCSPResponse, of certificate: X509Certificate, issuedBy issuer: X509Certificate
    ) -> RevocationStatus {
        guard let store = TrustStore(anchors: [issuer]) else { return .untrustedResponse }
        let others = CertificateStack([issuer])
        defer { ERR_clear_error() }
        guard unsafe OCSP_basic_verify(response.basic, others.pointer, store.pointer, 0) == 1 else {
            return .untrustedResponse
        }
        return response.status(of: certificate, issuedBy: issuer)
    }
}

/// Owns a stack of certificates.
// Safety: the stack keeps a reference to each certificate, and is used while its owner lives.
@safe
struct CertificateStack: ~Copyable {
    let pointer: OpaquePointer?

    init(_ certificates: ArraySlice<X509Certificate>) {
        unsafe pointer = bb_x509_stack_new()
        for certificate in certificates { _ = unsafe bb_x509_stack_push(pointer, certificate.pointer) }
    }

    deinit {
        unsafe bb_x509_stack_free(pointer)
    }

    /// The certificates of a stack that is somebody else's.
    static func certificates(of stack: OpaquePointer?) -> [X509Certificate] {
        (0..<(unsafe bb_x509_stack_count(stack))).compactMap { index in
            unsafe X509Certificate(retaining: bb_x509_stack_at(stack, index))
        }
    }
}

extension ServerTrust.Verdict {
    /// The verdict of a verification that has ended.
    init(of context: OpaquePointer) {
        unsafe self.init(
            code: Int(X509_STORE_CTX_get_error(context)), depth: Int(X509_STORE_CTX_get_error_depth(context)))
    }

    /// What OpenSSL says when it cannot say anything.
    static let outOfMemory = ServerTrust.Verdict(code: Int(X509_V_ERR_OUT_OF_MEM), depth: 0)

    /// OpenSSL's words for a code.
    static func words(for code: Int) -> String { unsafe String(cString: X509_verify_cert_error_string(code)) }
}
