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

    /// Parses a response, and nothing but one; `nil` if it is none, or says that there is none.
    init?(_ data: Data) {
        guard ExitGate.isSet else { return nil }
        defer { ERR_clear_error() }
        let parsed = unsafe data.withUnsafeBytes { bytes -> OpaquePointer? in
            var position = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
            let end = unsafe position.map { unsafe $0 + bytes.count }
            guard let parsed = unsafe d2i_OCSP_RESPONSE(nil, &position, bytes.count) else { return nil }
            guard unsafe position == end else {
                unsafe OCSP_RESPONSE_free(parsed)
                return nil
            }
            return unsafe parsed
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
    ///
    /// A response may hold many answers, and several about the same certificate: what is worst holds, but for what does
    /// not hold any more.
    func status(of certificate: X509Certificate, issuedBy issuer: X509Certificate) -> RevocationStatus {
        var said: Set<RevocationStatus> = []
        for index in 0..<(unsafe OCSP_resp_count(basic)) {
            guard let answer = unsafe OCSP_resp_get0(basic, index),
                unsafe bb_ocsp_is_about(answer, certificate.pointer, issuer.pointer) == 1
            else { continue }
            unsafe said.insert(Self.status(of: answer))
        }
        return [.revoked, .unknown, .good, .stale].first(where: said.contains) ?? .noResponse
    }

    private static func status(of answer: OpaquePointer) -> RevocationStatus {
        var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let status = unsafe OCSP_single_get0_status(answer, nil, nil, &thisUpdate, &nextUpdate)
        // What was revoked stays so.
        if status == V_OCSP_CERTSTATUS_REVOKED { return .revoked }
        let longest = unsafe nextUpdate == nil ? longestWithoutEnd : -1
        guard unsafe OCSP_check_validity(thisUpdate, nextUpdate, leeway, longest) == 1 else { return .stale }
        return status == V_OCSP_CERTSTATUS_GOOD ? .good : .unknown
    }

    /// By how many seconds clocks may differ.
    private static let leeway = 300
    /// For how many seconds an answer holds that does not say when there is a newer one; there always is (RFC 6960 §2.4).
    private static let longestWithoutEnd = 86_400
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

    /// Whether a response is to this question and no other, by its nonce; one that has none may be an old one.
    func isAnswered(by response: OCSPResponse, requiresNonce: Bool) -> Bool {
        switch unsafe OCSP_check_nonce(pointer, response.basic) {
        case 1: true
        // The question alone has one.
        case -1: !requiresNonce
        default: false
        }
    }

    var der: Data { unsafe OpenSSLBuffer.encoded { unsafe i2d_OCSP_REQUEST(pointer, $0) } }
}
