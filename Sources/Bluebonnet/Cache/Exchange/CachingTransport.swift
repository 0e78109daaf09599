import FoundationEssentials

/// A transport that adds a response cache to a session's transport.
///
/// Only a session with a cache has this transport. Requests for which no stored response can be used are sent to the
/// inner transport unchanged. These include streams and downloads, which receive their bodies piece by piece.
final class CachingTransport: Transport {
    /// The session's settings that a cache needs.
    struct Settings: Sendable {
        var policy: HTTPRequest.CachePolicy = .useProtocolCachePolicy
        /// The session's default header fields.
        var headers = HTTPHeaders()
        /// The session's default header fields without secrets, for requests after a redirect to another origin.
        var openHeaders = HTTPHeaders()
        /// Whether the transport may send cookies that are not in the request's header fields.
        var hasCookies = false
        /// Whether bodies keep their content coding.
        var keepsCoding = false
        /// The settings that determine the resource of a URL and the coding of its body, as text; empty for default
        /// settings.
        var view = ""
    }

    let inner: any Transport
    let cache: ResponseCache
    private let settings: Settings
    private let active = Locked(ActiveExchanges())

    private struct ActiveExchanges {
        var running: [ObjectIdentifier: CachingExchange] = [:]
        var isShutDown = false
    }

    init(_ inner: any Transport, cache: ResponseCache, configuration: Session.Configuration) {
        self.inner = inner
        self.cache = cache
        let headers = configuration.effectiveHeaders
        settings = Settings(
            policy: configuration.cachePolicy, headers: headers,
            openHeaders: HTTPHeaders(headers.filter { !HTTPHeader.isSensitive(name: $0.name) }),
            // A transport without `cookieStorage` may wrap another transport that stores cookies.
            hasCookies: configuration.cookies.policy != .never || inner.cookieStorage != nil,
            keepsCoding: !configuration.decodesContent, view: configuration.view)
    }

    var executor: (any TaskExecutor)? { inner.executor }
    var cookieStorage: (any CookieStorage)? { inner.cookieStorage }
    func renewConnections() { inner.renewConnections() }
    func connectionCounts() async -> ConnectionCounts { await inner.connectionCounts() }

    func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange {
        let cacheRequest = CacheRequest(request, settings: settings)
        if options.pausesBody, Invalidation.isSafe(request.method), !cacheRequest.isForCacheOnly {
            return inner.start(request, options: options, observer: observer)
        }
        let exchange = CachingExchange(
            request, cacheRequest, options: options, observer: observer, cache: cache, inner: inner
        ) { [weak self] exchange in self?.ended(exchange) }
        let isShutDown = active.withLock { active in
            if !active.isShutDown { active.running[ObjectIdentifier(exchange)] = exchange }
            return active.isShutDown
        }
        // After the shutdown, the inner transport reports the error.
        if isShutDown { return inner.start(request, options: options, observer: observer) }
        exchange.begin()
        return exchange
    }

    func shutDown() async {
        let running = active.withLock { active in
            active.isShutDown = true
            return Array(active.running.values)
        }
        for exchange in running { exchange.shutDown() }
        await inner.shutDown()
    }

    private func ended(_ exchange: CachingExchange) {
        active.withLock { _ = $0.running.removeValue(forKey: ObjectIdentifier(exchange)) }
    }
}

extension Session.Configuration {
    /// The settings that determine the resource of a URL and the coding of its body, as text; empty for default
    /// settings.
    fileprivate var view: String {
        var parts = decodesContent ? [] : ["coded"]
        if let unixSocketPath { parts.append("socket \(unixSocketPath)") }
        parts += dns.overrides.map { "override \($0) \($1.joined(separator: ","))" }.sorted()
        parts += dns.connectTo.map { "connect \($0) \($1)" }.sorted()
        parts += dns.servers.map { "server \($0)" }
        if let server = dns.httpsServer { parts.append("server \(server.absoluteString)") }
        return parts.joined(separator: "\n")
    }
}
