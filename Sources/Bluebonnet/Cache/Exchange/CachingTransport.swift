import FoundationEssentials

/// A transport that adds a response cache to a session's transport.
///
/// Only a session with a cache has this transport. Requests that ask for another protocol are sent to the inner
/// transport unchanged.
final class CachingTransport: WrappingTransport {
    let inner: any Transport
    let cache: ResponseCache
    private let settings: CacheSettings
    private let active = Locked(ActiveExchanges())

    private struct ActiveExchanges {
        var running: [ObjectIdentifier: CachingExchange] = [:]
        var groups = FetchGroups<CachingExchange>()
        /// Keys whose last response could not be stored.
        var unstored: Set<CacheKey> = []
        var isShutDown = false
    }

    init(_ inner: any Transport, cache: ResponseCache, configuration: Session.Configuration) {
        self.inner = inner
        self.cache = cache
        let headers = configuration.effectiveHeaders
        let cookies = inner.cookieStorage as? SessionCookies
        settings = CacheSettings(
            policy: configuration.cachePolicy, headers: headers,
            openHeaders: HTTPHeaders(headers.filter { !HTTPHeader.isSensitive(name: $0.name) }),
            cookies: cookies,
            // A transport without `cookieStorage` may wrap another transport that stores cookies.
            hasHiddenCookies: cookies == nil
                && (configuration.cookies.policy != .never || inner.cookieStorage != nil),
            keepsCoding: !configuration.decodesContent, view: configuration.view,
            totalLimit: configuration.timeouts.total)
    }

    func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange {
        let exchange = CachingExchange(
            request, CacheRequest(request, settings: settings), options: options, observer: observer, owner: self)
        // After the shutdown, the inner transport reports the error.
        guard options.upgrade == nil, starts(exchange) else {
            return inner.start(request, options: options, observer: observer)
        }
        exchange.begin()
        return exchange
    }

    /// The number of exchanges that have not ended.
    var runningCount: Int { active.withLock { $0.running.count } }

    /// Records an exchange; returns `false` after the shutdown.
    private func starts(_ exchange: CachingExchange, _ key: FetchKey? = nil) -> Bool {
        active.withLock { active in
            if active.isShutDown { return false }
            if let key {
                guard !active.groups.contains(key) else { return false }
                _ = active.groups.join(exchange, key)
            }
            active.running[ObjectIdentifier(exchange)] = exchange
            return true
        }
    }

    func shutDown() async {
        let running = active.withLock { active in
            active.isShutDown = true
            return Array(active.running.values)
        }
        for exchange in running { exchange.shutDown() }
        await inner.shutDown()
    }

    /// Records the end of an exchange.
    func ended(_ exchange: CachingExchange) {
        active.withLock { _ = $0.running.removeValue(forKey: ObjectIdentifier(exchange)) }
    }

    /// Returns the limit of an exchange for a request, if the limit is set.
    func totalLimit(of request: HTTPRequest) -> Duration? { request.timeouts.total ?? settings.totalLimit }

    // MARK: Equal requests

    /// Adds an exchange to the group of a key; returns whether it leads.
    func join(_ exchange: CachingExchange, _ key: FetchKey) -> Bool {
        active.withLock { $0.groups.join(exchange, key) }
    }

    /// Records an exchange that no request waits for; returns `false` if another one has the same key.
    func startsBehind(_ exchange: CachingExchange, _ key: FetchKey) -> Bool { starts(exchange, key) }

    /// Records whether the response to a GET request could be stored.
    func note(_ request: CacheRequest, isStored: Bool) {
        guard request.mayBeAnswered, request.method == .get else { return }
        active.withLock { active in
            if isStored {
                active.unstored.remove(request.key)
            } else {
                if active.unstored.count >= 1000 { active.unstored = [] }
                active.unstored.insert(request.key)
            }
        }
    }

    /// Whether the last response for a key could not be stored, so that a request must not wait for another.
    func isUnstored(_ key: CacheKey) -> Bool { active.withLock { $0.unstored.contains(key) } }

    /// Whether an exchange waits for the leader of its group.
    func follows(_ exchange: CachingExchange) -> Bool { active.withLock { $0.groups.follows(exchange) } }

    /// Removes an exchange from its group, and lets the next leader or all other members go on.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - handsOn: Whether another exchange becomes the leader; otherwise, all of them go on.
    func leave(_ exchange: CachingExchange, handsOn: Bool) {
        switch active.withLock({ $0.groups.leave(exchange, handsOn: handsOn) }) {
        case .none: break
        case .leader(let next): Task { next.carryOn(leads: true) }
        case .all(let followers): Task { for follower in followers { follower.carryOn(leads: false) } }
        }
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
