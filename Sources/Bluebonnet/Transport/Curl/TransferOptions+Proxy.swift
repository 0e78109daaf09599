import CCurl

/// Through which proxy a request goes.
extension TransferOptions {
    /// Sets the proxy, the request's own before that of the session; returns what is wrong with it.
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

    /// Whether the environment's proxy depends on whether libcurl speaks TLS with a host although its URL does not say so.
    func asksForUpgrade(of request: HTTPRequest, isSecure: Bool) -> Bool {
        environment.isSplit && !isSecure && configuration.hsts != .off
            && (request.proxy ?? configuration.proxy) == .environment
    }

    /// Notes what the transfer has to know of its proxy, also when its handle is set up already.
    func noteProxy(of transfer: Transfer) {
        guard !transfer.request.isPlain || usesProxy else { return }
        switch transfer.request.proxy ?? configuration.proxy {
        case .none:
            break
        case .environment:
            transfer.isProxied = !environment.isEmpty
        case .url(let url, let credential, _):
            transfer.isProxied = true
            if credential != nil, !ProxyRoute.isSocks(url) { transfer.proxyCredential = credential }
        }
    }

    /// The hosts of the proxies that a request may go through and that are spoken to with TLS, in the order of their names.
    func secureProxyHosts(for request: HTTPRequest) -> [String] {
        ProxyRoute.secureHosts(of: request.proxy ?? configuration.proxy, in: environment)
    }

    /// Sets with what a proxy's challenges are answered, which waits until it asks: see ``applyCredential(of:to:)``.
    private func applyProxyCredential(
        of transfer: Transfer, _ route: ProxyRoute, to easy: EasyHandle
    ) -> RequestError? {
        guard let credential = route.credential else { return nil }
        guard route.isSocks else { return apply(credential, only: transfer.onlyProxyScheme, by: .proxy, to: easy) }
        easy.set(CURLOPT_PROXYUSERNAME, credential.username)
        easy.set(CURLOPT_PROXYPASSWORD, credential.password)
        return nil
    }

    /// Hands over the fields that are for an HTTP proxy alone: libcurl sends them to no server, not even through a tunnel.
    private func applyProxyFields(of request: HTTPRequest, to easy: EasyHandle) {
        let own = request.headers.values(for: Self.proxyAuthorization)
        let values = own.isEmpty ? configuration.headers.values(for: Self.proxyAuthorization) : own
        let lines = values.map(\.trimmed).filter { !$0.isEmpty }.map { "\(Self.proxyAuthorization): \($0)" }
        if !lines.isEmpty { easy.setProxyFields(lines) }
    }

    /// The name of the field with which a client tells a proxy who it is (RFC 9110 §11.7.2).
    static let proxyAuthorization = "Proxy-Authorization"

    /// Which proxy a failure may have to do with, without secrets; `nil` if that is not known.
    func proxyWords(for request: HTTPRequest, _ kind: RequestError.Kind) -> String? {
        let proxy = request.proxy ?? configuration.proxy
        guard proxy != .none else { return nil }
        switch kind {
        case .connection(.proxy), .connection(.proxyNameNotResolved):
            return "through \(proxy)"
        case .connection, .trust, .timedOut(.connect):
            // With exceptions, nobody but libcurl knows.
            guard case .url(_, _, let excluded) = proxy, excluded.isEmpty else { return nil }
            return "through \(proxy)"
        default:
            return nil
        }
    }
}
