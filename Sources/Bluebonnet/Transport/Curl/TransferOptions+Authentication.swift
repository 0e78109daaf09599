import CCurl

/// With what challenges are answered.
// Safety: libcurl copies what it is given, within the call.
extension TransferOptions {
    /// Sets with what a server's challenges are answered; returns why they cannot be.
    ///
    /// Nothing is sent before the server asks. With a single scheme, libcurl would: Basic at once, and for others a request
    /// without its body, to provoke the challenge, which a server that asks for nothing would take for the real one.
    func applyCredential(of transfer: Transfer, to easy: EasyHandle) -> RequestError? {
        guard let credential = transfer.credential else { return nil }
        guard !credential.username.utf8.contains(0), !credential.password.utf8.contains(0) else {
            return RequestError(.invalidRequest(.configuration("the credential holds a NUL")))
        }
        let schemes = credential.schemes.intersection(Libcurl.schemes)
        guard !schemes.isEmpty else {
            return RequestError(.authentication(.unsupportedScheme(credential.schemes.names)))
        }
        if let scheme = transfer.onlyScheme {
            // The server has asked already.
            easy.set(CURLOPT_HTTPAUTH, Self.bits(of: scheme))
        } else {
            easy.set(CURLOPT_HTTPAUTH, Self.bits(of: schemes) | bb_curl_auth_only)
        }
        easy.set(CURLOPT_USERNAME, credential.username)
        easy.set(CURLOPT_PASSWORD, credential.password)
        if schemes.contains(.negotiate) {
            // Libcurl would use a connection again that Negotiate has authenticated for somebody else.
            easy.set(CURLOPT_FRESH_CONNECT, 1)
            easy.set(CURLOPT_FORBID_REUSE, 1)
        }
        return nil
    }

    /// Whether the fields say already with what to authenticate, which leaves nothing to libcurl.
    func authenticatesItself(_ request: HTTPRequest) -> Bool {
        request.headers.contains("Authorization") || configuration.headers.contains("Authorization")
    }

    static func bits(of schemes: Credential.Schemes) -> Int {
        (schemes.contains(.basic) ? bb_curl_auth_basic : 0) | (schemes.contains(.digest) ? bb_curl_auth_digest : 0)
            | (schemes.contains(.ntlm) ? bb_curl_auth_ntlm : 0)
            | (schemes.contains(.negotiate) ? bb_curl_auth_negotiate : 0)
    }
}

extension Libcurl {
    /// The schemes of authentication that libcurl is built with.
    static let schemes: Credential.Schemes = {
        let features = unsafe bb_curl_version()?.pointee.features ?? 0
        var schemes: Credential.Schemes = [.basic, .digest]
        if features & CURL_VERSION_NTLM != 0 { schemes.insert(.ntlm) }
        if features & CURL_VERSION_SPNEGO != 0 { schemes.insert(.negotiate) }
        return schemes
    }()
}
