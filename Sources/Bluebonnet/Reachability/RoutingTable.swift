import CSystem

/// Knows which ways packets take.
protocol RoutingTable: Sendable {
    /// Returns the ways to addresses, as many as these.
    func ways(to addresses: [IPAddress]) -> [NetworkWay]
}

/// Asks the kernel, which knows better than its tables tell.
///
/// Rules, metrics, and links that are down count as they do for packets. Costs some microseconds for each address, and
/// needs no privilege.
struct KernelRoutingTable: RoutingTable {
    func ways(to addresses: [IPAddress]) -> [NetworkWay] {
        guard let socket = NetlinkSocket.forQuestions() else { return addresses.map { _ in .unknown } }
        var questions = KernelQuestions(socket: socket)
        return addresses.map { questions.way(to: $0) }
    }
}

/// Questions to the kernel, one after the other.
private struct KernelQuestions {
    private enum Answer {
        case body(ArraySlice<UInt8>)
        case error(Int32)
        case none
    }

    let socket: NetlinkSocket
    private var sequence: UInt32 = 0

    init(socket: NetlinkSocket) {
        self.socket = socket
    }

    mutating func way(to address: IPAddress) -> NetworkWay {
        let zone = address.zoneNumber
        guard zone != 0 else { return .none }
        switch ask(bb_rtm_get_route, NetworkRoute.question(to: address, by: zone), for: bb_rtm_new_route) {
        case .body(let body):
            guard let route = NetworkRoute(body) else { return .unknown }
            guard route.kind != .refused, let number = route.link else { return .none }
            return way(by: route, over: number)
        case .error(let error): return NetworkWay(error: error)
        case .none: return .unknown
        }
    }

    private mutating func way(by route: NetworkRoute, over number: UInt32) -> NetworkWay {
        switch ask(bb_rtm_get_link, NetworkLink.question(number), for: bb_rtm_new_link) {
        case .body(let body): NetworkLink(body).map { .through(route, $0) } ?? .unknown
        case .error(let error): NetworkWay(error: error)
        case .none: .unknown
        }
    }

    private mutating func ask(_ type: UInt16, _ body: [UInt8], for answerType: UInt16) -> Answer {
        sequence += 1
        guard socket.send(NetlinkMessage.question(type, sequence: sequence, body: body)) else { return .none }
        // The kernel answers within the call that asks. Other messages than the answer are not to be expected.
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
