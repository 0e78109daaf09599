/// Divides the limits of a session among its event loops.
///
/// Libcurl counts connections per multi handle. Each loop therefore gets a fixed share of the limits, so that all loops
/// together never exceed a limit, and reach it when all of them are busy. A host uses as many loops as divide its limit
/// evenly, because libcurl has one limit for all hosts.
struct LoopShares: Equatable {
    /// The number of loops that the session uses.
    let loops: Int
    /// The number of loops that the requests to one host use.
    let loopsPerHost: Int
    /// Whether a loop has a limited number of connections to a host, so that its requests may have to wait.
    var limitsHosts: Bool { limits.perHost != nil }
    private let limits: Session.Configuration.ConnectionLimits

    init(_ configuration: Session.Configuration) {
        var limits = configuration.connectionLimits
        limits.idle = min(limits.idle, ConnectionBudget.shared.socketLimit)
        self.limits = limits
        // A limit of the speed holds for all transfers together, which wait in one queue.
        let count = min(max(configuration.eventLoops.count, 1), Session.Configuration.EventLoopCount.maximum)
        let requested = configuration.speedLimits.isEmpty ? min(count, max(1, limits.idle)) : 1
        let total = max(1, limits.total ?? .max)
        guard let perHost = limits.perHost.map({ max(1, min($0, total)) }) else {
            loops = min(requested, total)
            loopsPerHost = loops
            return
        }
        func divisor(upTo loops: Int) -> Int { (1...loops).last { perHost.isMultiple(of: $0) } ?? 1 }
        loops =
            (1...requested).last { loops in
                loops <= total && total / loops >= perHost / divisor(upTo: loops)
            } ?? 1
        loopsPerHost = divisor(upTo: loops)
    }

    /// The limits of one loop.
    func limits(ofLoop index: Int) -> Session.Configuration.ConnectionLimits {
        guard loops > 1 else { return limits }
        var share = limits
        share.perHost = limits.perHost.map { min($0, limits.total ?? .max) / loopsPerHost }
        share.total = limits.total.map { $0 / loops + (index < $0 % loops ? 1 : 0) }
        share.idle = limits.idle / loops
        return share
    }
}
