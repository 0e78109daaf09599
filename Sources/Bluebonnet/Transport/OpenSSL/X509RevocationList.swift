import COpenSSL
import FoundationEssentials

/// Owns a list of revoked certificates of OpenSSL's.
// Safety: OpenSSL guards with a lock what it sorts when it looks for a certificate; nothing else changes a list.
@safe
final class X509RevocationList: @unchecked Sendable {
    private let pointer: OpaquePointer

    private init(owning pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe X509_CRL_free(pointer)
    }

    /// The lists of PEM text, or the one in DER; none if there is none.
    static func all(in data: Data) -> [X509RevocationList] {
        defer { ERR_clear_error() }
        let parsed = unsafe data.withUnsafeBytes { bytes -> OpaquePointer? in
            var position = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
            return unsafe d2i_X509_CRL(nil, &position, bytes.count)
        }
        if let parsed = unsafe parsed { return unsafe [X509RevocationList(owning: parsed)] }
        guard let source = OpenSSLBuffer(data) else { return [] }
        var found: [X509RevocationList] = []
        while let pointer = unsafe PEM_read_bio_X509_CRL(source.pointer, nil, nil, nil) {
            unsafe found.append(X509RevocationList(owning: pointer))
        }
        return found
    }

    /// Whether the list is that of an authority, by name.
    func isOf(_ issuer: X509Certificate) -> Bool {
        unsafe X509_NAME_cmp(X509_CRL_get_issuer(pointer), X509_get_subject_name(issuer.pointer)) == 0
    }

    /// What the list says of a certificate; whether it is that of the issuer has been seen to.
    func status(of certificate: X509Certificate, issuedBy issuer: X509Certificate) -> RevocationStatus {
        defer { ERR_clear_error() }
        guard let key = unsafe X509_get0_pubkey(issuer.pointer), unsafe X509_CRL_verify(pointer, key) == 1 else {
            return .untrustedResponse
        }
        var entry: OpaquePointer?
        // 2: the entry says that the certificate is to be taken off the list.
        if unsafe X509_CRL_get0_by_cert(pointer, &entry, certificate.pointer) == 1 { return .revoked }
        let begins = unsafe X509_CRL_get0_lastUpdate(pointer)
        guard unsafe begins != nil, unsafe X509_cmp_current_time(begins) < 0 else { return .stale }
        if let ends = unsafe X509_CRL_get0_nextUpdate(pointer), unsafe X509_cmp_current_time(ends) <= 0 {
            return .stale
        }
        return .good
    }
}
