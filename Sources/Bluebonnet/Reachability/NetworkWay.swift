import CSystem

/// What is known of the way to an address.
enum NetworkWay: Hashable, Sendable {
    /// Packets would take this way, over this link.
    case through(NetworkRoute, NetworkLink)
    /// There is no way.
    case none
    /// The kernel did not say.
    case unknown

    /// What an error means that the kernel answers with instead of a route.
    init(error: Int32) {
        switch error {
        // No route; routes that say so: unreachable, prohibit, blackhole; the link or the kind of address is not there.
        case ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, ENETDOWN, ENODEV, ENXIO, ESRCH, EAGAIN, EAFNOSUPPORT,
            EOPNOTSUPP:
            self = .none
        default: self = .unknown
        }
    }

    /// The status of an address that this is the way to.
    func status(of address: IPAddress) -> NetworkReachabilityManager.Status {
        guard case .through(let route, let link) = self else { return self == .none ? .notReachable : .unknown }
        guard route.kind != .refused, !route.isDead, link.isUp, link.isRunning,
            !address.isLoopback || route.kind == .local
        else { return .notReachable }
        return .reachable(link.isCellular ? .cellular : .ethernetOrWiFi)
    }

    /// The status of the Internet at large, if this is the way there: it does not end in the machine itself.
    var statusOfInternet: NetworkReachabilityManager.Status {
        guard case .through(let route, let link) = self else { return status(of: IPAddress.internet[0]) }
        return route.kind == .local || link.isLoopback ? .notReachable : status(of: IPAddress.internet[0])
    }
}

extension NetworkReachabilityManager.Status {
    /// What several ways to one destination mean together: one that works is enough, and one that is not known might.
    init(of statuses: [Self]) {
        let order: [Self] = [.reachable(.ethernetOrWiFi), .reachable(.cellular), .unknown]
        self = order.first { statuses.contains($0) } ?? .notReachable
    }
}
