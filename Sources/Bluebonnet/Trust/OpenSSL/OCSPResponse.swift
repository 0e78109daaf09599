import COpenSSL
import FoundationEssentials

/// The revocation status of a certificate.
enum RevocationStatus: Hashable, Sendable {
    /// The certificate is not revoked.
    case good
    case revoked
    /// The responder does not know the certificate.
    case unknown
    /// The response or the list has expired or is not valid yet.
    case stale
    /// The signer of the response or the list is not authorized.
    case untrustedResponse
    /// The response does not belong to the request.
    case replayedResponse
    /// There is no response or list that can be parsed.
    case noResponse
}

/// Owns the response of an OCSP responder (RFC 6960 §4.2).
// Safety: the response is only read, and lives as long as its owner.
@safe
final class OCSPResponse {
    fileprivate let response: OpaquePointer
    let basic: OpaquePointer

    /// Parses a response; returns `nil` if the data is not exactly one response, or if the response reports an error.
    init?(_ data: Data) {
        guard ExitGate.isSet else { return nil }
        defer { ERR_clear_error() }
        guard
            let parsed = unsafe OpenSSLBuffer.decoded(
                data, by: { unsafe d2i_OCSP_RESPONSE(nil, $0, $1) }, or: { unsafe OCSP_RESPONSE_free($0) })
        else { return nil }
        guard unsafe OCSP_response_status(parsed) == OCSP_RESPONSE_STATUS_SUCCESSFUL,
            let basic = unsafe OCSP_response_get1_basic(parsed)
        else {
            unsafe OCSP_RESPONSE_free(parsed)
            return nil
        }
        unsafe response = unsafe parsed
        unsafe self.basic = unsafe basic
    }

    deinit {
        unsafe OCSP_BASICRESP_free(basic)
        unsafe OCSP_RESPONSE_free(response)
    }

    /// Returns the status of a certificate in the response, whose signature has already been verified.
    ///
    /// A response may contain several entries for the same certificate. The worst status is used. Expired entries count
    /// only if they report a revoked certificate, or if there are no valid entries.
    func status(of certificate: X509Certificate, issuedBy issuer: X509Certificate) -> RevocationStatus {
        var statuses: Set<RevocationStatus> = []
        for index in 0..<(unsafe OCSP_resp_count(basic)) {
            guard let answer = unsafe OCSP_resp_get0(basic, index),
                unsafe bb_ocsp_is_about(answer, certificate.pointer, issuer.pointer) == 1
            else { continue }
            unsafe statuses.insert(Self.status(of: answer))
        }
        return [.revoked, .unknown, .good, .stale].first(where: statuses.contains) ?? .noResponse
    }

    private static func status(of answer: OpaquePointer) -> RevocationStatus {
        var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let status = unsafe OCSP_single_get0_status(answer, nil, nil, &thisUpdate, &nextUpdate)
        // A revoked certificate stays revoked.
        if status == V_OCSP_CERTSTATUS_REVOKED { return .revoked }
        let longest = unsafe nextUpdate == nil ? longestWithoutEnd : -1
        guard unsafe OCSP_check_validity(thisUpdate, nextUpdate, leeway, longest) == 1 else { return .stale }
        return status == V_OCSP_CERTSTATUS_GOOD ? .good : .unknown
    }

    /// The number of seconds by which clocks may differ.
    private static let leeway = 300
    /// The number of seconds for which a response without `nextUpdate` is valid.
    ///
    /// Without `nextUpdate`, newer information is always available (RFC 6960 §2.4).
    private static let longestWithoutEnd = 86_400
}

/// Owns a request to an OCSP responder (RFC 6960 §4.1), with a nonce (RFC 9654).
// Safety: the request does not change after its creation, and lives as long as its owner.
@safe
final class OCSPRequest: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Creates a request for the status of a certificate.
    init?(about certificate: X509Certificate, issuedBy issuer: X509Certificate) {
        guard let pointer = unsafe OCSP_REQUEST_new() else { return nil }
        unsafe self.pointer = unsafe pointer
        defer { ERR_clear_error() }
        guard let id = unsafe OCSP_cert_to_id(EVP_sha1(), certificate.pointer, issuer.pointer) else { return nil }
        guard unsafe OCSP_request_add0_id(pointer, id) != nil else {
            unsafe OCSP_CERTID_free(id)
            return nil
        }
        guard unsafe OCSP_request_add1_nonce(pointer, nil, 32) == 1 else { return nil }
    }

    deinit {
        unsafe OCSP_REQUEST_free(pointer)
    }

    /// Whether the nonce of a response matches this request; a response without a nonce may be a replay.
    func isAnswered(by response: OCSPResponse, requiresNonce: Bool) -> Bool {
        switch unsafe OCSP_check_nonce(pointer, response.basic) {
        case 1: true
        // Only the request has a nonce.
        case -1: !requiresNonce
        default: false
        }
    }

    var der: Data { unsafe OpenSSLBuffer.encoded { unsafe i2d_OCSP_REQUEST(pointer, $0) } }
}

/// Owns a certificate revocation list of OpenSSL.
// Safety: OpenSSL locks the list when it sorts it to look up a certificate; nothing else changes a list.
@safe
final class X509RevocationList: @unchecked Sendable {
    let pointer: OpaquePointer

    private init(owning pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe X509_CRL_free(pointer)
    }

    /// Returns the lists in PEM text, or the list in DER; an empty array if there is no list, or if a list cannot be
    /// parsed.
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
        // After any other error, a list would be missing.
        return bb_error_is_end_of_pem() == 1 ? found : []
    }

    /// Whether the list was issued by an authority, by name.
    func isOf(_ issuer: X509Certificate) -> Bool {
        unsafe X509_NAME_cmp(X509_CRL_get_issuer(pointer), X509_get_subject_name(issuer.pointer)) == 0
    }

    /// Returns the status of a certificate in revocation lists; its issuer has already been verified.
    static func status(
        of certificate: X509Certificate, issuedBy issuer: X509Certificate, in lists: [X509RevocationList]
    ) -> RevocationStatus {
        let named = lists.filter { $0.isOf(issuer) }
        let signed = named.filter { $0.isSigned(by: issuer) }
        guard !signed.isEmpty else { return named.isEmpty ? .noResponse : .untrustedResponse }
        // A revoked certificate stays revoked, regardless of the scope and the validity of the list.
        if signed.contains(where: { $0.names(certificate) }) { return .revoked }
        // OpenSSL treats delta lists as complete lists.
        let whole = signed.filter { !$0.isDelta }
        guard let store = TrustStore(anchors: [issuer], lists: whole) else { return .untrustedResponse }
        switch store.code(of: certificate) {
        // OpenSSL checks the lists before the validity period.
        case X509_V_OK, X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID: return .good
        case X509_V_ERR_CERT_REVOKED: return .revoked
        case X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_CRL_NOT_YET_VALID, X509_V_ERR_ERROR_IN_CRL_LAST_UPDATE_FIELD,
            X509_V_ERR_ERROR_IN_CRL_NEXT_UPDATE_FIELD:
            return .stale
        // The lists are for other certificates, or contain an unknown critical extension.
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

    /// Whether the list only contains the changes since another list (RFC 5280 §5.2.4).
    private var isDelta: Bool { unsafe X509_CRL_get_ext_by_NID(pointer, NID_delta_crl, -1) >= 0 }

    private func names(_ certificate: X509Certificate) -> Bool {
        var entry: OpaquePointer?
        // 2 means that the entry removes the certificate from the list.
        return unsafe X509_CRL_get0_by_cert(pointer, &entry, certificate.pointer) == 1
    }
}
