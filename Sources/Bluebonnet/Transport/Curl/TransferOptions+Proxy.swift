import CCurl

/// Through which proxy a request goes.
extension TransferOptions {
    /// Sets the proxy, the request's own before that of the session; returns the error if it cannot be used.
    func applyProxy(of transfer: Transfer, to easy: EasyHandle) -> RequestError? {
        let route: ProxyRoute
        do {
            route = try ProxyRoute(transfer.request.proxy, session: configuration.proxy)
        } catch {
            return error
        }
        // Without either, libcurl looks into the environment for each connection.
        let url = route.url ?? environmentProxy(for: transfer.request, easy) ?? ""
        easy.set(CURLOPT_PROXY, url)
        easy.set(CURLOPT_NOPROXY, url.isEmpty ? "" : route.exclusions ?? environment.exclusions)
        guard !url.isEmpty else { return nil }
        TunnelTrailers.skip(on: easy)
        // Libcurl would wait for a Kerberos server, and the loop with it.
        easy.set(CURLOPT_SOCKS5_AUTH, bb_curl_auth_basic)
        applyProxyFields(of: transfer.request, to: easy)
        if let error = applyProxyCredential(of: transfer, route, to: easy) { return error }
        if route.isPrivate { useOwnConnection(easy) }
        return nil
    }

    /// The environment's proxy for a request.
    private func environmentProxy(for request: HTTPRequest, _ easy: EasyHandle) -> String? {
        var isSecure = Self.isSecure(request.url)
        if asksForUpgrade(of: request, isSecure: isSecure) { isSecure = easy.share?.upgrades(request.url) == true }
        return environment.url(isSecure: isSecure)
    }

    /// Whether the environment's proxy depends on whether libcurl uses TLS with a host although the URL's scheme is not
    /// `https`.
    func asksForUpgrade(of request: HTTPRequest, isSecure: Bool) -> Bool {
        environment.isSplit && !isSecure && configuration.hsts != .off
            && (request.proxy ?? configuration.proxy) == .environment
    }

    /// Notes the proxy on the transfer, also when its handle is set up already.
    func noteProxy(of transfer: Transfer) {
        guard !transfer.request.isPlain || usesProxy else { return }
        switch transfer.request.proxy ?? configuration.proxy {
        case .none:
            break
        case .environment:
            transfer.isProxied = !environment.isEmpty
        case .url(let url, let credential, _):
            transfer.isProxied = true
            if credential != nil, !ProxyRoute.isSocks(url) { transfer.proxyChallenges.credential = credential }
        }
    }

    /// The hosts of the proxies that a request may go through and that are spoken to with TLS, in the order of their
    /// names.
    func secureProxyHosts(for request: HTTPRequest) -> [String] {
        ProxyRoute.secureHosts(of: request.proxy ?? configuration.proxy, in: environment)
    }

    /// Sets the credential for a proxy's challenges, which is not sent before a challenge: see
    /// ``applyCredential(of:to:)``.
    private func applyProxyCredential(
        of transfer: Transfer, _ route: ProxyRoute, to easy: EasyHandle
    ) -> RequestError? {
        guard route.isSocks else { return apply(transfer.proxyChallenges, of: .proxy, to: easy) }
        guard let credential = route.credential else { return nil }
        easy.set(CURLOPT_PROXYUSERNAME, credential.username)
        easy.set(CURLOPT_PROXYPASSWORD, credential.password)
        return nil
    }

    /// Hands over the fields that are for an HTTP proxy alone: libcurl sends them to no server, not even through a
    /// tunnel.
    private func applyProxyFields(of request: HTTPRequest, to easy: EasyHandle) {
        let own = request.headers.values(for: Self.proxyAuthorization)
        let values = own.isEmpty ? configuration.headers.values(for: Self.proxyAuthorization) : own
        let lines = values.map(\.trimmed).filter { !$0.isEmpty }.map { "\(Self.proxyAuthorization): \($0)" }
        if !lines.isEmpty { easy.set(CURLOPT_PROXYHEADER, own: lines) }
    }

    /// The name of the field with a client's credential for a proxy (RFC 9110 §11.7.2).
    static let proxyAuthorization = "Proxy-Authorization"

    /// Which proxy a failure may have to do with, without secrets; `nil` if that is not known.
    func proxyDescription(for request: HTTPRequest, _ kind: RequestError.Kind) -> String? {
        let proxy = request.proxy ?? configuration.proxy
        guard proxy != .none else { return nil }
        switch kind {
        case .connection(.proxy), .connection(.proxyNameNotResolved):
            return "through \(proxy)"
        case .connection, .trust, .timedOut(.connect):
            // With exceptions, only libcurl knows.
            guard case .url(_, _, let excluded) = proxy, excluded.isEmpty else { return nil }
            return "through \(proxy)"
        default:
            return nil
        }
    }
}

/// The credentials for challenges.
// Safety: libcurl copies what it is given, within the call.
extension TransferOptions {
    /// Sets the credential for a server's challenges; returns why it cannot be set.
    ///
    /// Nothing is sent before the server asks. With a single scheme, libcurl would: Basic at once, and for others a
    /// request without its body, to provoke the challenge, which a server that asks for nothing would take for the real
    /// one.
    func applyCredential(of transfer: Transfer, to easy: EasyHandle) -> RequestError? {
        guard let credential = transfer.serverChallenges.credential else { return nil }
        guard !credential.username.utf8.contains(0), !credential.password.utf8.contains(0) else {
            return RequestError(.invalidRequest(.configuration("the credential holds a NUL")))
        }
        return apply(transfer.serverChallenges, of: .server, to: easy)
    }

    /// Sets the credential for the server's or the proxy's challenges; returns why it cannot be set.
    ///
    /// - Parameters:
    ///   - challenges: The credential, and the one scheme to use at once if the challenge was there before.
    ///   - party: Whose challenges.
    ///   - easy: The handle to set it on.
    /// - Returns: The error; `nil` when all is set.
    private func apply(
        _ challenges: AuthenticationChallenges, of party: AuthenticationOptions, to easy: EasyHandle
    ) -> RequestError? {
        guard let credential = challenges.credential else { return nil }
        let schemes = credential.schemes.intersection(Libcurl.schemes)
        guard !schemes.isEmpty else {
            return RequestError(.authentication(.unsupportedScheme(credential.schemes.names)))
        }
        easy.set(party.schemes, challenges.onlyScheme.map(Self.bits) ?? (Self.bits(of: schemes) | bb_curl_auth_only))
        easy.set(party.username, credential.username)
        easy.set(party.password, credential.password)
        // Libcurl would reuse a connection that Negotiate has authenticated for another user.
        if schemes.contains(.negotiate) { useOwnConnection(easy) }
        return nil
    }

    /// Has the transfer make a connection that no transfer used before and none uses after it.
    func useOwnConnection(_ easy: EasyHandle) {
        easy.set(CURLOPT_FRESH_CONNECT, 1)
        easy.set(CURLOPT_FORBID_REUSE, 1)
    }

    /// Whether the fields contain a credential already, which leaves nothing to libcurl.
    func authenticatesItself(_ request: HTTPRequest) -> Bool {
        request.headers.contains("Authorization") || configuration.headers.contains("Authorization")
    }

    static func bits(of schemes: Credential.Schemes) -> Int {
        (schemes.contains(.basic) ? bb_curl_auth_basic : 0) | (schemes.contains(.digest) ? bb_curl_auth_digest : 0)
            | (schemes.contains(.ntlm) ? bb_curl_auth_ntlm : 0)
            | (schemes.contains(.negotiate) ? bb_curl_auth_negotiate : 0)
    }
}

/// The state of one party's challenges, the server's or an HTTP proxy's.
struct AuthenticationChallenges {
    /// The credential with which they are answered.
    var credential: Credential?
    /// The only scheme that libcurl may use, since it would get the answer wrong otherwise.
    private(set) var onlyScheme: Credential.Schemes?
    private var wasReceived = false

    init(credential: Credential? = nil) {
        self.credential = credential
    }

    /// Decides about the challenges in a head's fields of a name; after the first time, libcurl continues.
    mutating func received(_ name: String, in head: ReceivedHead, hasBody: Bool) -> ChallengeDecision {
        guard let credential, !wasReceived else { return .deliver }
        wasReceived = true
        let challenges = Challenge.parse(head.headers.values(for: name))
        let schemes = credential.schemes.intersection(Libcurl.schemes)
        let decision = ChallengeDecision(challenges, schemes: schemes, hasBody: hasBody)
        if case .answerOnly(let scheme) = decision { onlyScheme = scheme }
        return decision
    }
}

/// The options that set libcurl's answers to one party's challenges.
private struct AuthenticationOptions {
    let schemes: CURLoption
    let username: CURLoption
    let password: CURLoption

    static let server = AuthenticationOptions(
        schemes: CURLOPT_HTTPAUTH, username: CURLOPT_USERNAME, password: CURLOPT_PASSWORD)
    static let proxy = AuthenticationOptions(
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
