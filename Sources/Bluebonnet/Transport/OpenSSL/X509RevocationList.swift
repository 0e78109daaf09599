import COpenSSL
import FoundationEssentials

/// Owns a list of revoked certificates of OpenSSL's.
// Safety: OpenSSL guards with a lock what it sorts when it looks for a certificate; nothing else changes a list.
@safe
final class X509RevocationList: @unchecked Sendable {
    fileprivate let pointer: OpaquePointer

    private init(owning pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe X509_CRL_free(pointer)
    }

    /// The lists of PEM text, or the one in DER; none if there is none, or one cannot be read.
    static func all(in data: Data) -> [X509RevocationList] {
        _ = ExitGate.isSet
        defer { ERR_clear_error() }
        let parsed = unsafe data.withUnsafeBytes { bytes -> OpaquePointer? in
            var position = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
            return unsafe d2i_X509_CRL(nil, &position, bytes.count)
        }
        if let parsed = unsafe parsed { return unsafe [X509RevocationList(owning: parsed)] }
        ERR_clear_error()
        guard let source = OpenSSLBuffer(data) else { return [] }
        var found: [X509RevocationList] = []
        while let pointer = unsafe PEM_read_bio_X509_CRL(source.pointer, nil, nil, nil) {
            unsafe found.append(X509RevocationList(owning: pointer))
        }
        // Anything but the end of the text is a list that would be missing.
        return bb_error_is_end_of_pem() == 1 ? found : []
    }

    /// Whether the list is that of an authority, by name.
    func isOf(_ issuer: X509Certificate) -> Bool {
        unsafe X509_NAME_cmp(X509_CRL_get_issuer(pointer), X509_get_subject_name(issuer.pointer)) == 0
    }

    /// What lists say of a certificate; whether it is that of the issuer has been seen to.
    static func status(
        of certificate: X509Certificate, issuedBy issuer: X509Certificate, in lists: [X509RevocationList]
    ) -> RevocationStatus {
        let named = lists.filter { $0.isOf(issuer) }
        let signed = named.filter { $0.isSigned(by: issuer) }
        guard !signed.isEmpty else { return named.isEmpty ? .noResponse : .untrustedResponse }
        // What was revoked stays so, whatever else the list is about, and when.
        if signed.contains(where: { $0.names(certificate) }) { return .revoked }
        guard let store = TrustStore(anchors: [issuer]) else { return .untrustedResponse }
        // OpenSSL takes those that say what has changed since another list for whole ones.
        switch store.code(of: certificate, RevocationListStack(signed.filter { !$0.isDelta })) {
        // Lists are looked at before the time is.
        case X509_V_OK, X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID: return .good
        case X509_V_ERR_CERT_REVOKED: return .revoked
        case X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_CRL_NOT_YET_VALID, X509_V_ERR_ERROR_IN_CRL_LAST_UPDATE_FIELD,
            X509_V_ERR_ERROR_IN_CRL_NEXT_UPDATE_FIELD:
            return .stale
        // They are about other certificates, or have something in them that has to be understood and is not.
        case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_DIFFERENT_CRL_SCOPE,
            X509_V_ERR_UNHANDLED_CRITICAL_CRL_EXTENSION:
            return .noResponse
        default: return .untrustedResponse
        }
    }

    private func isSigned(by issuer: X509Certificate) -> Bool {
        defer { ERR_clear_error() }
        guard let key = unsafe X509_get0_pubkey(issuer.pointer) else { return false }
        return unsafe X509_CRL_verify(pointer, key) == 1
    }

    /// Whether the list says only what has changed since another (RFC 5280 §5.2.4).
    private var isDelta: Bool { unsafe X509_CRL_get_ext_by_NID(pointer, NID_delta_crl, -1) >= 0 }

    private func names(_ certificate: X509Certificate) -> Bool {
        var entry: OpaquePointer?
        // 2: the entry says that the certificate is to be taken off the list.
        return unsafe X509_CRL_get0_by_cert(pointer, &entry, certificate.pointer) == 1
    }
}

/// Owns a stack of lists.
// Safety: the stack keeps a reference to each list, and is used while its owner lives.
@safe
struct RevocationListStack: ~Copyable {
    let pointer: OpaquePointer?

    init(_ lists: [X509RevocationList]) {
        unsafe pointer = bb_x509_crl_stack_new()
        for list in lists { _ = unsafe bb_x509_crl_stack_push(pointer, list.pointer) }
    }

    deinit {
        unsafe bb_x509_crl_stack_free(pointer)
    }
}
