import CCurl
import FoundationEssentials

/// Sets the proxy of a request.
extension TransferOptions {
    /// Sets the request's proxy, or the session's proxy; returns the error if the proxy cannot be used.
    func applyProxy(of transfer: Transfer, to easy: EasyHandle) -> RequestError? {
        let route: ProxyRoute
        do {
            route = try ProxyRoute(transfer.request.proxy, session: configuration.proxy)
        } catch {
            return error
        }
        // Without values, libcurl would read the environment for each connection.
        let url = transfer.isProxied ? route.url ?? environment.url(isSecure: transfer.url.isSecure) ?? "" : ""
        easy.set(CURLOPT_PROXY, url)
        easy.set(CURLOPT_NOPROXY, "")
        guard !url.isEmpty else { return nil }
        TunnelTrailers.skip(on: easy)
        // With Kerberos, libcurl would wait for a Kerberos server and block the loop.
        easy.set(CURLOPT_SOCKS5_AUTH, bb_curl_auth_basic)
        applyProxyFields(of: transfer.request, to: easy)
        if let error = applyProxyCredential(of: transfer, route, to: easy) { return error }
        if route.isPrivate { useOwnConnection(easy) }
        return nil
    }

    /// Whether a request to a URL uses a proxy.
    func usesProxy(for request: HTTPRequest, to url: URL) -> Bool {
        // Libcurl does not use a proxy with a Unix socket.
        guard !request.isPlain || usesProxy, configuration.unixSocketPath == nil else { return false }
        return switch request.proxy ?? configuration.proxy {
        case .none: false
        case .environment: environment.url(isSecure: url.isSecure) != nil && !environment.exclusions.contains(url)
        case .url(_, _, let excluded):
            !(request.proxy == nil ? exclusions : ProxyExclusions(excluded)).contains(url)
        }
    }

    /// Records the proxy in the transfer, even if its handle is already set up.
    func noteProxy(of transfer: Transfer) {
        transfer.isProxied = usesProxy(for: transfer.request, to: transfer.url)
        guard transfer.isProxied,
            case .url(let url, let credential?, _) = transfer.request.proxy ?? configuration.proxy,
            !ProxyRoute.isSocks(url)
        else { return }
        transfer.proxyChallenges.credential = credential
    }

    /// The hosts of the HTTPS proxies that a request may use, sorted by name.
    func secureProxyHosts(for request: HTTPRequest) -> [String] {
        ProxyRoute.secureHosts(of: request.proxy ?? configuration.proxy, in: environment)
    }

    /// Sets the credential for a proxy's challenges.
    ///
    /// Like the credential in ``applyCredential(of:to:)``, it is not sent before a challenge.
    private func applyProxyCredential(
        of transfer: Transfer, _ route: ProxyRoute, to easy: EasyHandle
    ) -> RequestError? {
        guard route.isSocks else { return apply(transfer.proxyChallenges, of: .proxy, to: easy) }
        guard let credential = route.credential else { return nil }
        easy.set(CURLOPT_PROXYUSERNAME, credential.username)
        easy.set(CURLOPT_PROXYPASSWORD, credential.password)
        return nil
    }

    /// Sets the fields that are only for an HTTP proxy; libcurl never sends them to a server, even through a tunnel.
    private func applyProxyFields(of request: HTTPRequest, to easy: EasyHandle) {
        let own = request.headers.values(for: Self.proxyAuthorization)
        let values = own.isEmpty ? configuration.headers.values(for: Self.proxyAuthorization) : own
        let lines = values.map(\.trimmed).filter { !$0.isEmpty }.map { "\(Self.proxyAuthorization): \($0)" }
        if !lines.isEmpty { easy.set(CURLOPT_PROXYHEADER, own: lines) }
    }

    /// The name of the field with a client's credential for a proxy (RFC 9110 §11.7.2).
    static let proxyAuthorization = "Proxy-Authorization"

    /// Describes the proxy that may have caused a failure, without secrets; `nil` if it is unknown.
    func proxyDescription(of transfer: Transfer, _ kind: RequestError.Kind) -> String? {
        guard transfer.isProxied else { return nil }
        switch kind {
        case .connection, .trust, .timedOut(.connect):
            let proxy = transfer.request.proxy ?? configuration.proxy
            guard proxy == .environment, let entry = environment.exclusions.misunderstood.first else {
                return "through \(proxy)"
            }
            return "through \(proxy), whose no_proxy has \"\(entry)\", neither a host nor a network"
        default:
            return nil
        }
    }
}

/// Sets the credentials for challenges.
// Safety: libcurl copies its arguments within the call.
extension TransferOptions {
    /// Sets the credential for a server's challenges; returns an error if it cannot be set.
    ///
    /// The credential is not sent before the server's challenge. If only one scheme were allowed, libcurl would send
    /// Basic credentials immediately. With other schemes, it would send a request without its body to provoke a
    /// challenge. A server without authentication would process this request.
    func applyCredential(of transfer: Transfer, to easy: EasyHandle) -> RequestError? {
        guard let credential = transfer.serverChallenges.credential else { return nil }
        if let flaw = credential.flaw {
            return RequestError(.invalidRequest(.configuration("the credential holds \(flaw)")))
        }
        return apply(transfer.serverChallenges, of: .server, to: easy)
    }

    /// Sets the credential for the challenges of the server or the proxy; returns an error if it cannot be set.
    ///
    /// - Parameters:
    ///   - challenges: The credential, and the only scheme to use if a challenge has already been received.
    ///   - party: The options for the server or for the proxy.
    ///   - easy: The handle on which to set the options.
    /// - Returns: The error; `nil` if everything has been set.
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

    /// Makes the transfer open a new connection that no other transfer uses.
    func useOwnConnection(_ easy: EasyHandle) {
        easy.set(CURLOPT_FRESH_CONNECT, 1)
        easy.set(CURLOPT_FORBID_REUSE, 1)
    }

    /// Whether the header fields already contain a credential, so that libcurl must not add one.
    func authenticatesItself(_ request: HTTPRequest) -> Bool {
        request.headers.contains("Authorization") || configuration.headers.contains("Authorization")
    }

    static func bits(of schemes: Credential.Schemes) -> Int {
        (schemes.contains(.basic) ? bb_curl_auth_basic : 0) | (schemes.contains(.digest) ? bb_curl_auth_digest : 0)
            | (schemes.contains(.ntlm) ? bb_curl_auth_ntlm : 0)
            | (schemes.contains(.negotiate) ? bb_curl_auth_negotiate : 0)
    }
}

/// The state of the challenges from the server or from an HTTP proxy.
struct AuthenticationChallenges {
    /// The credential that answers the challenges.
    var credential: Credential?
    /// The only scheme that libcurl may use, if any, because it would answer other challenges incorrectly.
    private(set) var onlyScheme: Credential.Schemes?
    /// The Digest challenge that Bluebonnet answers instead of libcurl, and the number of its answers so far.
    private var digest: (challenge: Challenge, answers: Int)?

    /// Returns the value of the field that answers this challenge, unless libcurl answers.
    mutating func nextAnswer(to method: HTTPMethod, _ url: URL) -> String? {
        guard let challenge = digest?.challenge, let credential else { return nil }
        digest?.answers += 1
        let target = RequestTargets.target(of: url.curlString, .origin) ?? "/"
        return DigestAnswer(challenge: challenge, credential: credential, count: digest?.answers ?? 1)
            .fieldValue(method: method, target: target)
    }

    /// Whether libcurl may answer a Digest challenge.
    var mayDigest: Bool { digest == nil && credential?.schemes.contains(.digest) == true }
    /// The challenges in the first head that has them; `nil` before that head.
    private(set) var received: [Challenge]?

    init(credential: Credential? = nil) {
        self.credential = credential
    }

    /// Decides how to handle the challenges in the fields of a name in a head.
    ///
    /// Only the first head with challenges is checked, and later ones if Bluebonnet answers them itself.
    mutating func received(_ name: String, in head: ReceivedHead, hasBody: Bool) -> ChallengeDecision {
        guard let credential, received == nil || digest != nil else { return .deliver }
        let values = head.headers.values(for: name)
        let challenges = Challenge.parse(values)
        // The server has refused the answer, unless only its nonce is too old (RFC 7616 §3.3).
        if digest != nil, !challenges.contains(where: \.isStale) { return .deliver }
        received = challenges
        var decision = ChallengeDecision.on(
            challenges, apparent: Challenge.apparentSchemes(in: values),
            schemes: credential.schemes.intersection(Libcurl.schemes), hasBody: hasBody)
        // Libcurl does not take over again.
        if digest != nil, decision == .answer, let challenge = challenges.first(where: \.isStale) {
            decision = .answerDigest(challenge)
        }
        switch decision {
        case .answerOnly(let scheme): (onlyScheme, digest) = (scheme, nil)
        case .answerDigest(let challenge): (onlyScheme, digest) = ([], (challenge, 0))
        case .deliver, .answer, .refuse: break
        }
        return decision
    }
}

/// The options that control libcurl's answers to the challenges of the server or of a proxy.
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
    /// The authentication schemes that libcurl supports.
    static let schemes: Credential.Schemes = {
        let features = unsafe bb_curl_version()?.pointee.features ?? 0
        var schemes: Credential.Schemes = [.basic, .digest]
        if features & CURL_VERSION_NTLM != 0 { schemes.insert(.ntlm) }
        if features & CURL_VERSION_SPNEGO != 0 { schemes.insert(.negotiate) }
        return schemes
    }()
}
