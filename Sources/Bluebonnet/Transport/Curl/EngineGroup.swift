import FoundationEssentials

/// The state that the engines of a transport share; each engine runs on an event loop of its own.
final class EngineGroup: Sendable {
    /// The session's cookies, and the hosts that require TLS; `nil` if the session does not store them.
    let cookies: SessionCookies?
    let hsts: SessionHSTS?
    /// The exchanges that wait for other exchanges to end; `nil` if there are no limits.
    let queue: Locked<RequestQueue>?
    let shares: LoopShares
    /// The choice of a loop for each exchange; `nil` if there is only one loop.
    private let choice: Locked<LoopChoice>?
    /// The engines that have started an exchange, by the number of their loop.
    private let engines = Locked<[Int: TransferEngine]>([:])
    private let options: RoutingOptions
    private let manager: Locked<TrustManagerState>

    /// The trust manager, which can only be set before the first exchange.
    private enum TrustManagerState {
        case none
        case named(ServerTrustManager)
        /// An exchange has started, so the manager can no longer change.
        ///
        /// Without a manager, no verdicts are created, because their keys are not `Int`; see ``TransferID``.
        case settled((ServerTrustManager, SharedVerdicts)?)
    }

    init(_ configuration: Session.Configuration, _ serverTrustManager: ServerTrustManager? = nil) {
        manager = Locked(serverTrustManager.map(TrustManagerState.named) ?? .none)
        cookies = SessionCookies(configuration.cookies)
        hsts = SessionHSTS(configuration.hsts)
        queue = RequestQueue(configuration.requestLimits).map { Locked($0) }
        let shares = LoopShares(configuration)
        self.shares = shares
        choice =
            shares.loops == 1
            ? nil : Locked(LoopChoice(shares, idleLifetime: configuration.connectionLimits.idleLifetime))
        options = RoutingOptions(configuration: configuration)
    }

    /// Chooses the loop of an exchange; returns the ID of the exchange, which contains the number of the loop.
    func choose(for request: HTTPRequest, _ number: Int) -> TransferID {
        guard let choice else { return number << Self.loopBits }
        let url = hsts?.secured(request.url) ?? request.url
        let key = options.destination(of: request, url)
        let mayMultiplex = options.mayMultiplex(request, url)
        let now = MonotonicClock.now()
        let loop = choice.withLock { $0.choose(for: number, to: key, mayMultiplex: mayMultiplex, now: now) }
        return number << Self.loopBits | loop
    }

    /// The number of the loop on which an exchange runs.
    static func loop(of id: TransferID) -> Int { id & (1 << loopBits - 1) }

    private static let loopBits = 8

    /// Called when an exchange has ended; the version is that of its response.
    func ended(_ id: TransferID, _ version: HTTPVersion?) {
        choice?.withLock {
            $0.ended(id >> Self.loopBits, on: Self.loop(of: id), isMultiplexed: version?.isMultiplexed)
        }
    }

    /// Sets the manager whose evaluators check servers; returns whether it will be used.
    func setServerTrustManager(_ named: ServerTrustManager) -> Bool {
        manager.withLock { manager in
            guard case .none = manager else { return false }
            manager = .named(named)
            return true
        }
    }

    /// The manager, which cannot change any more, and the verdicts of its evaluators.
    func settledTrust() -> (ServerTrustManager, SharedVerdicts)? {
        manager.withLock { manager in
            switch manager {
            case .none: manager = .settled(nil)
            case .named(let named): manager = .settled((named, SharedVerdicts()))
            case .settled: break
            }
            guard case .settled(let settled) = manager else { return nil }
            return settled
        }
    }

    /// Called when an engine starts its first exchange, and when it has ended.
    func add(_ engine: TransferEngine, ofLoop index: Int) {
        engines.withLock { $0[index] = engine }
        ConnectionBudget.shared.add(engine)
    }
    func removeEngine(ofLoop index: Int) {
        let engine = engines.withLock { $0.removeValue(forKey: index) }
        if let engine { ConnectionBudget.shared.remove(engine) }
    }

    func engine(ofLoop index: Int) -> TransferEngine? { engines.withLock { $0[index] } }

    /// Closes the idle connections of all engines.
    func renewConnections() {
        for engine in engines.withLock({ Array($0.values) }) { engine.accept(.renewConnections) }
    }

    /// Ends the exchanges that wait in a queue.
    func refuseWaiting() {
        for engine in engines.withLock({ Array($0.values) }) { engine.accept(.refuseWaiting) }
    }

    /// Called when the session has ended.
    func close() {
        cookies?.close()
        hsts?.close()
    }
}

/// The settings that determine the destination of an exchange before its options are set.
private struct RoutingOptions: Sendable {
    let configuration: Session.Configuration
    let environment = ProxyEnvironment()

    /// The destination; all requests that may use a proxy have the same one, because they share its connections.
    func destination(of request: HTTPRequest, _ url: URL) -> ConnectionDestination {
        let usesProxy = environment.allowsUse(of: request.proxy ?? configuration.proxy)
        guard !usesProxy, configuration.unixSocketPath == nil else { return .proxy("") }
        let origin = Origin(of: url)
        let host = configuration.dns.replacement(for: origin.host, origin.port) ?? origin.host
        return .server(host: host, port: origin.port)
    }

    /// Whether a connection may carry many exchanges.
    func mayMultiplex(_ request: HTTPRequest, _ url: URL) -> Bool {
        switch request.httpVersion ?? configuration.httpVersion {
        case .http1_1: false
        case .http2PriorKnowledge: url.isSecure || !CleartextHTTP2Streams.isGuarded
        case .automatic, .http3, .http3Only: url.isSecure
        }
    }
}
