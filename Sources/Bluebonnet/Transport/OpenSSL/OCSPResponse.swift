import COpenSSL
import FoundationEssentials

/// What is known of a certificate's revocation.
enum RevocationStatus: Hashable, Sendable {
    /// It is not revoked.
    case good
    case revoked
    /// Whoever was asked does not know the certificate.
    case unknown
    /// What was said does not hold any more, or not yet.
    case stale
    /// What was said is not signed by one who may say it.
    case untrustedResponse
    /// What was said is not an answer to what was asked.
    case replayedResponse
    /// Nothing was said, or nothing that can be read.
    case noResponse
}

/// Owns a response of an OCSP responder (RFC 6960 §4.2).
// Safety: the response is only read, and lives as long as its owner.
@safe
final class OCSPResponse {
    fileprivate let response: OpaquePointer
    let basic: OpaquePointer

    /// Parses a response; `nil` if it is none, or says that there is none.
    init?(_ data: Data) {
        defer { ERR_clear_error() }
        let parsed = unsafe data.withUnsafeBytes { bytes -> OpaquePointer? in
            var position = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
            return unsafe d2i_OCSP_RESPONSE(nil, &position, bytes.count)
        }
        guard let parsed = unsafe parsed else { return nil }
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

    /// What the response says of a certificate; whether one may believe it has been seen to.
    func status(of certificate: X509Certificate, issuedBy issuer: X509Certificate) -> RevocationStatus {
        // The responder chooses how certificates are named.
        for name in ["SHA1", "SHA256"] {
            guard let digest = unsafe EVP_get_digestbyname(name),
                let id = unsafe OCSP_cert_to_id(digest, certificate.pointer, issuer.pointer)
            else { continue }
            defer { unsafe OCSP_CERTID_free(id) }
            var (status, reason): (Int32, Int32) = (-1, 0)
            var revoked: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            let isFound = unsafe OCSP_resp_find_status(
                basic, id, &status, &reason, &revoked, &thisUpdate, &nextUpdate)
            guard isFound == 1 else { continue }
            if status == V_OCSP_CERTSTATUS_REVOKED { return .revoked }
            guard unsafe OCSP_check_validity(thisUpdate, nextUpdate, Self.leeway, -1) == 1 else { return .stale }
            return status == V_OCSP_CERTSTATUS_GOOD ? .good : .unknown
        }
        return .unknown
    }

    /// By how many seconds clocks may differ.
    private static let leeway = 300
}

/// Owns a question for an OCSP responder (RFC 6960 §4.1), with a nonce (RFC 9654).
// Safety: the request is not changed once it is made, and lives as long as its owner.
@safe
final class OCSPRequest: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Asks about a certificate.
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

    var der: Data { unsafe OpenSSLBuffer.encoded { unsafe i2d_OCSP_REQUEST(pointer, $0) } }
}
