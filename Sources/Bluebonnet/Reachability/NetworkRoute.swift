import CSystem

/// The way that packets to an address would take, as the kernel says when it is asked.
struct NetworkRoute: Hashable, Sendable {
    /// What becomes of the packets.
    enum Kind: Hashable, Sendable {
        /// They are sent.
        case sent
        /// They are for the machine itself.
        case local
        /// They are refused or dropped.
        case refused
    }

    var kind: Kind
    /// The number of the link that they leave by.
    var link: UInt32?
    /// Whether the kernel has seen that the link is down.
    var isDead = false
}

extension NetworkRoute {
    /// Reads the body of a message about a route; `nil` if it is too short for that.
    init?(_ body: ArraySlice<UInt8>) {
        // The family, two lengths of prefixes, the kind of service, the table, the origin, the scope, the kind, the flags.
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
                // The first of several ways: its length, flags, its weight, and the link's number.
                link = value.number(at: 4)
                let flags: UInt8 = value.number(at: 2) ?? 0
                isDead = isDead || UInt32(flags) & (bb_rtnh_dead | bb_rtnh_link_down) != 0
            case bb_rta_cache:
                // Older kernels answer for IPv6 with a route that carries the error.
                let error: UInt32 = value.number(at: 12) ?? 0
                if error != 0 { self.kind = .refused }
            default: break
            }
        }
    }

    /// The body of a question for the way to an address, by any link or by a certain one.
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
