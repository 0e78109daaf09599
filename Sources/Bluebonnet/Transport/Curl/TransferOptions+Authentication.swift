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
        return apply(credential, only: transfer.onlyScheme, by: .server, to: easy)
    }

    /// Sets with what the server's or the proxy's challenges are answered; returns why they cannot be.
    ///
    /// - Parameters:
    ///   - credential: With what.
    ///   - scheme: The one scheme to use at once: the challenge was there before. `nil` to wait for one.
    ///   - party: Whose challenges.
    ///   - easy: The handle to tell.
    /// - Returns: What is wrong; `nil` when all is set.
    func apply(
        _ credential: Credential, only scheme: Credential.Schemes?, by party: ChallengingParty, to easy: EasyHandle
    ) -> RequestError? {
        let schemes = credential.schemes.intersection(Libcurl.schemes)
        guard !schemes.isEmpty else {
            return RequestError(.authentication(.unsupportedScheme(credential.schemes.names)))
        }
        easy.set(party.schemes, scheme.map(Self.bits) ?? (Self.bits(of: schemes) | bb_curl_auth_only))
        easy.set(party.username, credential.username)
        easy.set(party.password, credential.password)
        // Libcurl would use a connection again that Negotiate has authenticated for somebody else.
        if schemes.contains(.negotiate) { useOwnConnection(easy) }
        return nil
    }

    /// Has the transfer make a connection that nobody used before and nobody uses after it.
    func useOwnConnection(_ easy: EasyHandle) {
        easy.set(CURLOPT_FRESH_CONNECT, 1)
        easy.set(CURLOPT_FORBID_REUSE, 1)
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

/// The options with which libcurl is told how to answer one party's challenges.
struct ChallengingParty {
    let schemes: CURLoption
    let username: CURLoption
    let password: CURLoption

    static let server = ChallengingParty(
        schemes: CURLOPT_HTTPAUTH, username: CURLOPT_USERNAME, password: CURLOPT_PASSWORD)
    static let proxy = ChallengingParty(
        schemes: CURLOPT_PROXYAUTH, username: CURLOPT_PROXYUSERNAME, password: CURLOPT_PROXYPASSWORD)
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
