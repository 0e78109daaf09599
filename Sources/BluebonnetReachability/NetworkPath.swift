import Bluebonnet
import CSystem

/// The route of packets to an address, as reported by the kernel.
enum NetworkPath: Hashable, Sendable {
    /// Packets would take this route, over this link.
    case through(NetworkRoute, NetworkLink)
    /// There is no route.
    case none
    /// The kernel did not reply to the query.
    case unknown

    /// Creates the path for an error that the kernel returns instead of a route.
    init(error: Int32) {
        switch error {
        // Either there is no route, or the route has the type unreachable, prohibit or blackhole, or the link or the
        // address family does not exist.
        case ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, ENETDOWN, ENODEV, ENXIO, ESRCH, EAGAIN, EAFNOSUPPORT,
            EOPNOTSUPP:
            self = .none
        default: self = .unknown
        }
    }

    /// Returns the reachability of an address with this path.
    func status(of address: IPAddress) -> NetworkReachabilityManager.Status {
        guard case .through(let route, let link) = self else { return self == .none ? .notReachable : .unknown }
        guard route.kind != .refused, !route.isDead, link.isUp, link.isRunning,
            !address.isLoopback || route.kind == .local
        else { return .notReachable }
        return .reachable(link.isCellular ? .cellular : .ethernetOrWiFi)
    }

    /// The reachability of the Internet with this path; not reachable if the path ends in the machine itself.
    var statusOfInternet: NetworkReachabilityManager.Status {
        guard case .through(let route, let link) = self else { return status(of: IPAddress.internet[0]) }
        return route.kind == .local || link.isLoopback ? .notReachable : status(of: IPAddress.internet[0])
    }
}

extension NetworkReachabilityManager.Status {
    /// Combines the statuses of several paths to one destination.
    ///
    /// One working path is enough. An unknown path might work.
    init(of statuses: [Self]) {
        let order: [Self] = [.reachable(.ethernetOrWiFi), .reachable(.cellular), .unknown]
        self = order.first { statuses.contains($0) } ?? .notReachable
    }
}

/// The route that packets to an address would take, as reported by the kernel.
struct NetworkRoute: Hashable, Sendable {
    /// How the packets are handled.
    enum Kind: Hashable, Sendable {
        /// The packets are sent.
        case sent
        /// The packets are for the machine itself.
        case local
        /// The packets are refused or dropped.
        case refused
    }

    var kind: Kind
    /// The number of the link over which the packets leave.
    var link: UInt32?
    /// Whether the kernel reports that the link is down.
    var isDead = false
}

extension NetworkRoute {
    /// Reads the body of a route message; `nil` if the body is too short.
    init?(_ body: ArraySlice<UInt8>) {
        // The fields of `rtmsg`: family, two prefix lengths, type of service, table, origin, scope, type and flags.
        guard let type: UInt8 = body.number(at: 7), let flags: UInt32 = body.number(at: 8) else { return nil }
        let kind: Kind =
            switch type {
            case bb_rtn_local: .local
            case bb_rtn_unicast...bb_rtn_multicast: .sent
            default: .refused
            }
        self.init(kind: kind, isDead: flags & (bb_rtnh_dead | bb_rtnh_link_down) != 0)
        for (type, value) in NetlinkAttributes(body, after: 12) {
            switch type {
            case bb_rta_link: link = value.number(at: 0)
            case bb_rta_multipath where link == nil:
                // The first of several next hops, with its length, its flags, its weight and the number of its link.
                link = value.number(at: 4)
                let flags: UInt8 = value.number(at: 2) ?? 0
                isDead = isDead || UInt32(flags) & (bb_rtnh_dead | bb_rtnh_link_down) != 0
            case bb_rta_cache:
                // For IPv6, older kernels report an error as an attribute of a route.
                let error: UInt32 = value.number(at: 12) ?? 0
                if error != 0 { self.kind = .refused }
            default: break
            }
        }
    }

    /// Returns the body of a query for the route to an address, over any link or over a certain link.
    static func question(to address: IPAddress, by link: UInt32? = nil) -> [UInt8] {
        var body = [UInt8](repeating: 0, count: 12)
        body[0] = UInt8(address.isIPv6 ? AF_INET6 : AF_INET)
        body[1] = UInt8(address.bytes.count * 8)
        body.append(attribute: bb_rta_destination, address.bytes)
        if let link {
            var number: [UInt8] = []
            number.append(number: link)
            body.append(attribute: bb_rta_link, number)
        }
        return body
    }
}

/// A link of the machine to a network, as the kernel describes it.
struct NetworkLink: Hashable, Sendable {
    var number: UInt32
    /// The name, such as `eth0`.
    var name = ""
    /// The kind of a link created by software or by its driver, such as `wwan`, `veth` or `wireguard`.
    var kind = ""
    /// The hardware type, such as the number of `ARPHRD_ETHER`.
    var hardware: UInt16 = 1
    /// Whether the link is switched on.
    var isUp = true
    /// Whether packets can be sent, for example because the cable is plugged in.
    var isRunning = true
    var isLoopback = false

    /// Whether the link leads to a mobile network, as far as this can be detected.
    ///
    /// A link is detected by its kind (`wwan`, `rmnet`), by its hardware type (raw IP, which modems use) or by its
    /// name. The kernel names a modem `wwan0`. In systemd, the name of a modem begins with `ww`. Some phone drivers use
    /// `rmnet` or `ccmni`. A dial-up line (`ppp0`), a phone's hotspot and a tunnel through a mobile network are not
    /// detected.
    var isCellular: Bool {
        ["wwan", "rmnet"].contains(kind) || [Self.rawIP, Self.rmnet].contains(hardware)
            || ["ww", "rmnet", "ccmni"].contains { name.hasPrefix($0) }
    }

    private static let rawIP: UInt16 = 519
    private static let rmnet: UInt16 = 530
}

extension NetworkLink {
    /// Reads the body of a link message; `nil` if the body is too short.
    init?(_ body: ArraySlice<UInt8>) {
        // The fields of `ifinfomsg`: family and a padding byte, hardware type, number, flags, and the mask of changed
        // flags.
        guard let hardware: UInt16 = body.number(at: 2), let number: UInt32 = body.number(at: 4),
            let flags: UInt32 = body.number(at: 8), body.count >= 16
        else { return nil }
        self.init(
            number: number, hardware: hardware, isUp: flags & bb_iff_up != 0, isRunning: flags & bb_iff_running != 0,
            isLoopback: flags & bb_iff_loopback != 0)
        for (type, value) in NetlinkAttributes(body, after: 16) {
            switch type {
            case bb_ifla_name: name = value.text
            case bb_ifla_info: kind = NetlinkAttributes(value).first { $0.type == bb_ifla_info_kind }?.value.text ?? ""
            default: break
            }
        }
    }

    /// Returns the body of a query for a link.
    static func question(_ number: UInt32) -> [UInt8] {
        var body = [UInt8](repeating: 0, count: 4)
        body.append(number: number)
        body += [UInt8](repeating: 0, count: 8)
        return body
    }
}

extension NetworkPath {
    /// Queries the kernel for the routes that packets to these addresses would take.
    ///
    /// Unlike the routing tables, the result considers rules, metrics and links that are down. A query takes some
    /// microseconds and needs no privilege.
    static func paths(to addresses: [IPAddress]) -> [NetworkPath] {
        guard let socket = NetlinkSocket.querySocket() else { return addresses.map { _ in .unknown } }
        var queries = RouteQueries(socket: socket)
        return addresses.map { queries.path(to: $0) }
    }
}

/// Sends queries to the kernel, one after the other.
private struct RouteQueries {
    private enum RouteReply {
        case body(ArraySlice<UInt8>)
        case error(Int32)
        case none
    }

    let socket: NetlinkSocket
    var sequence: UInt32 = 0

    mutating func path(to address: IPAddress) -> NetworkPath {
        let zone = address.zoneNumber
        guard zone != 0 else { return .none }
        switch ask(bb_rtm_get_route, NetworkRoute.question(to: address, by: zone), for: bb_rtm_new_route) {
        case .body(let body):
            guard let route = NetworkRoute(body) else { return .unknown }
            guard route.kind != .refused, let number = route.link else { return .none }
            return path(by: route, over: number)
        case .error(let error): return NetworkPath(error: error)
        case .none: return .unknown
        }
    }

    private mutating func path(by route: NetworkRoute, over number: UInt32) -> NetworkPath {
        switch ask(bb_rtm_get_link, NetworkLink.question(number), for: bb_rtm_new_link) {
        case .body(let body): NetworkLink(body).map { .through(route, $0) } ?? .unknown
        case .error(let error): NetworkPath(error: error)
        case .none: .unknown
        }
    }

    private mutating func ask(_ type: UInt16, _ body: [UInt8], for answerType: UInt16) -> RouteReply {
        sequence += 1
        guard socket.send(NetlinkMessage.question(type, sequence: sequence, body: body)) else { return .none }
        // The kernel replies during the call that sends the query. No other messages are expected.
        for _ in 0..<8 {
            guard case .datagram(let bytes) = socket.receive() else { return .none }
            for message in NetlinkDatagram(bytes).messages where message.sequence == sequence {
                if let error = message.error { return .error(error) }
                if message.type == answerType { return .body(message.body) }
            }
        }
        return .none
    }
}
