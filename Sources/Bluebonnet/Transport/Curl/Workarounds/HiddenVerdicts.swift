import COpenSSL

/// Makes libcurl report that a certificate is not valid.
///
/// Libcurl reports the first error of OpenSSL's queue. For a certificate whose signature is wrong, this is an error
/// about the signature, and not that the certificate could not be verified. Libcurl before 8.23.0 (seen with 7.88.1 and
/// 8.14.1) then reports a failed handshake, which may be repeated. Only the verdict is therefore left in the queue.
// Safety: OpenSSL's context is used within the callback that provides it.
enum HiddenVerdicts {
    static let areGuarded = Libcurl.version < 0x08_17_00

    /// Prepares a context whose servers no evaluator checks.
    static func reveal(on context: OpaquePointer) {
        if areGuarded { unsafe bb_ssl_context_verify_plainly(context) }
    }
}
