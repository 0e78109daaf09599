import CSystem
import Glibc
import Testing

@testable import Bluebonnet
@testable import BluebonnetReachability

/// The kernel's messages about routes and links, byte for byte as recorded once on Linux 6.
@Suite struct NetlinkTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let route: NetworkRoute?
        let error: Int32?

        init(_ description: String, _ hex: String, _ route: NetworkRoute? = nil, error: Int32? = nil) {
            testDescription = description
            bytes = NetlinkTests.bytes(hex)
            self.route = route
            self.error = error
        }
    }

    static func bytes(_ hex: String) -> [UInt8] {
        var digits = hex[...]
        var bytes: [UInt8] = []
        while let byte = UInt8(digits.prefix(2), radix: 16) {
            bytes.append(byte)
            digits = digits.dropFirst(2)
        }
        return bytes
    }

    static let answers = [
        Row(
            "IPv4 by a default route",
            """
            700000001800000003000000894c000002200000fe0000010002000008000f00fe00000008000100c6290004080004000300000008000700\
            0a000001080005000a000002080019000000000024000c000200000000000000000000000000000000000000000000000000000000000000
            """, NetworkRoute(kind: .sent, link: 3)),
        Row(
            "IPv6 by a default route",
            """
            b00000001800000004000000894c00000a808000fe0300010000000008000f00fe0000001400010020010503ba3e00000000000000020030\
            140002000000000000000000000000000000000014000700fd00000000000000000000000000000108000600000400001400\
            0500fd000000000000000000000000000002080004000300000024000c00020000000000000000000000000000000000000000\
            00000000000000000000000500140000000000
            """, NetworkRoute(kind: .sent, link: 3)),
        Row(
            "127.0.0.1",
            """
            680000001800000005000000894c000002200000fe0000020002008008000f00fe000000080001007f000001080004000100000008000700\
            7f000001080019000000000024000c000200000000000000000000000000000000000000000000000000000000000000
            """, NetworkRoute(kind: .local, link: 1)),
        Row(
            "::1",
            """
            9c0000001800000006000000894c00000a808000ff0200020000000008000f00ff0000001400010000000000000000000000000000000001\
            140002000000000000000000000000000000000014000700000000000000000000000000000000010800060000000000080004000100\
            000024000c0002000000000000000000000000000000000000000000000000000000000000000500140000000000
            """, NetworkRoute(kind: .local, link: 1)),
        Row(
            "multicast",
            """
            68000000180000000e000000894c000002200000fe000005000200a008000f00fe00000008000100e0000001080004000300000008000700\
            0a000001080019000000000024000c000100000000000000000000000000000000000000000000000000000000000000
            """, NetworkRoute(kind: .sent, link: 3)),
        Row(
            "no route, IPv4",
            "380000000200000001000000894c00009bffffff240000001a000100010000000000000002200000000000000000000008000100c6290004",
            error: ENETUNREACH),
        Row(
            "no route, IPv6",
            """
            440000000200000002000000894c00009bffffff300000001a00010002000000000000000a8000000000000000000000140001002001\
            0503ba3e00000000000000020030
            """, error: ENETUNREACH),
        Row(
            "a route that says unreachable",
            "380000000200000008000000894c00008fffffff240000001a0001000800000000000000022000000000000000000000080001000a090001",
            error: EHOSTUNREACH),
        Row(
            "a black hole",
            "380000000200000009000000894c0000eaffffff240000001a0001000900000000000000022000000000000000000000080001000a090002",
            error: EINVAL),
        Row(
            "a prohibition",
            "38000000020000000a000000894c0000f3ffffff240000001a0001000a00000000000000022000000000000000000000080001000a090003",
            error: EACCES),
        Row(
            "a link that is not there",
            """
            400000000200000019000000894c0000edffffff2c0000001a0001001900000000000000022000000000000000000000080001000a020007\
            0800040063000000
            """, error: ENODEV),
    ]

    @Test(arguments: answers)
    func `the kernel's reply to a query for a route is parsed`(_ row: Row) throws {
        let datagram = NetlinkDatagram(row.bytes)
        let message = try #require(datagram.messages.first)
        #expect(datagram.messages.count == 1 && !datagram.isDamaged)
        #expect(message.error == row.error)
        if let route = row.route {
            #expect(message.type == bb_rtm_new_route)
            #expect(NetworkRoute(message.body) == route)
        }
        if let error = row.error { #expect(NetworkPath(error: error) == .none) }
    }

    @Test func `an error of the kernel that is not about routes results in an unknown path`() {
        for error in [EPERM, ENOMEM, ENOBUFS, EBUSY] { #expect(NetworkPath(error: error) == .unknown) }
    }

    /// The beginning of the kernel's message about a link up to its name, and the kind of the link.
    private static func link(_ head: String, _ name: String, kind: String?) -> [UInt8] {
        var body = bytes(head)
        body.append(attribute: bb_ifla_name, Array(name.utf8) + [0])
        body.append(attribute: 4, [220, 5, 0, 0])
        if let kind {
            var info: [UInt8] = []
            info.append(attribute: bb_ifla_info_kind, Array(kind.utf8) + [0])
            body.append(attribute: bb_ifla_info | 0x8000, info)
        }
        return body
    }

    @Test func `the kernel's description of a link is parsed`() {
        let loopback = NetworkLink(Self.link("00000403010000004900010000000000", "lo", kind: nil)[...])
        #expect(loopback == NetworkLink(number: 1, name: "lo", hardware: 772, isLoopback: true))
        let veth = NetworkLink(Self.link("00000100030000004310010000000000", "d0", kind: "veth")[...])
        #expect(veth == NetworkLink(number: 3, name: "d0", kind: "veth"))
        let withoutCarrier = NetworkLink(Self.link("00000100050000000310000000000000", "v0", kind: "veth")[...])
        #expect(withoutCarrier == NetworkLink(number: 5, name: "v0", kind: "veth", isRunning: false))
        let off = NetworkLink(Self.link("00000100040000000210000000000000", "v1", kind: "veth")[...])
        #expect(off == NetworkLink(number: 4, name: "v1", kind: "veth", isUp: false, isRunning: false))
    }

    @Test(arguments: [
        (NetworkLink(number: 1, name: "eth0"), false), (NetworkLink(number: 1, name: "enp3s0"), false),
        (NetworkLink(number: 1, name: "wlan0"), false), (NetworkLink(number: 1, name: "wlp2s0"), false),
        (NetworkLink(number: 1, name: "wg0", kind: "wireguard", hardware: 65534), false),
        (NetworkLink(number: 1, name: "ppp0", hardware: 512), false), (NetworkLink(number: 1, name: "tun0"), false),
        (NetworkLink(number: 1, name: "wwan0"), true), (NetworkLink(number: 1, name: "wwp0s20f0u6"), true),
        (NetworkLink(number: 1, name: "rmnet_data0"), true), (NetworkLink(number: 1, name: "ccmni1"), true),
        (NetworkLink(number: 1, name: "modem", kind: "wwan"), true), (NetworkLink(number: 1, hardware: 519), true),
    ])
    func `a mobile network is recognized by its link`(_ link: NetworkLink, _ isCellular: Bool) {
        #expect(link.isCellular == isCellular)
    }

    @Test func `several next hops count as the first one, and an error of an older kernel as no route`() {
        var body = [UInt8](repeating: 0, count: 12)
        body[7] = bb_rtn_unicast
        #expect(NetworkRoute(body[...]) == NetworkRoute(kind: .sent))
        let hop: [UInt8] = [16, 0, 0, 0, 7, 0, 0, 0, 8, 0, 5, 0, 10, 0, 0, 2]
        body.append(attribute: bb_rta_multipath, hop)
        #expect(NetworkRoute(body[...]) == NetworkRoute(kind: .sent, link: 7))
        body.append(attribute: bb_rta_cache, [UInt8](repeating: 0, count: 12) + [0x9b, 0xff, 0xff, 0xff])
        #expect(NetworkRoute(body[...]) == NetworkRoute(kind: .refused, link: 7))
        body[7] = 7
        #expect(NetworkRoute(body.prefix(12))?.kind == .refused)
        body[8] = 16
        #expect(NetworkRoute(body.prefix(12))?.isDead == true)
    }

    @Test func `a query has the format that the kernel expects`() {
        let address = IPAddress(bytes: [10, 2, 0, 7])
        let question = NetlinkMessage.question(
            bb_rtm_get_route, sequence: 0x19, body: NetworkRoute.question(to: address, by: 0x63))
        #expect(
            question
                == Self.bytes(
                    "2c0000001a0001001900000000000000022000000000000000000000080001000a0200070800040063000000"))
        #expect(
            NetlinkMessage.question(bb_rtm_get_link, sequence: 0x12, body: NetworkLink.question(0x63))
                == Self.bytes("2000000012000100120000000000000000000000630000000000000000000000"))
    }

    // MARK: Bytes that are not what they should be

    @Test(arguments: answers)
    func `a truncated message is damaged and does not trap`(_ row: Row) {
        for count in 1..<row.bytes.count {
            let datagram = NetlinkDatagram(Array(row.bytes.prefix(count)))
            #expect(datagram.isDamaged && datagram.messages.isEmpty)
            #expect(datagram.mayReportChange)
        }
        let body = row.bytes.dropFirst(16)
        for count in 0...body.count {
            _ = NetworkRoute(body.prefix(count))
            _ = NetworkLink(body.prefix(count))
        }
        #expect(NetworkRoute(body.prefix(11)) == nil && NetworkLink(body.prefix(15)) == nil)
    }

    @Test func `wrong lengths do not trap`() {
        for length: UInt32 in [0, 1, 15, 17, 1000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
            var bytes: [UInt8] = []
            bytes.append(number: length)
            bytes += [UInt8](repeating: 0, count: 12)
            #expect(NetlinkDatagram(bytes).isDamaged)
        }
        for length: UInt16 in [0, 1, 3, 9, 0xffff] {
            var body = [UInt8](repeating: 0, count: 12)
            body[7] = bb_rtn_unicast
            body.append(number: length)
            body += [4, 0, 9, 9, 9, 9]
            #expect(NetworkRoute(body[...]) == NetworkRoute(kind: .sent))
        }
    }

    @Test func `random bytes do not trap`() {
        var generator = SystemRandomNumberGenerator()
        for row in Self.answers {
            for _ in 0..<2_000 {
                var bytes = row.bytes
                for _ in 0..<Int.random(in: 1...6, using: &generator) {
                    bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
                }
                for message in NetlinkDatagram(bytes).messages {
                    _ = (message.error, NetworkRoute(message.body), NetworkLink(message.body))
                }
            }
        }
    }

    @Test func `a datagram with several messages is parsed, and only changes are reported`() {
        let route = NetlinkMessage.question(bb_rtm_new_route, sequence: 0, body: [1, 2, 3])
        let done = NetlinkMessage.question(bb_nlmsg_done, sequence: 5, body: [0, 0, 0, 0])
        let datagram = NetlinkDatagram(done + route + [0] + done)
        #expect(datagram.messages.map(\.type) == [bb_nlmsg_done, bb_rtm_new_route, bb_nlmsg_done])
        #expect(datagram.messages.map(\.sequence) == [5, 0, 5] && datagram.messages[1].body == [1, 2, 3])
        #expect(datagram.mayReportChange)
        #expect(!NetlinkDatagram(done).mayReportChange && !NetlinkDatagram([]).mayReportChange)
        #expect(NetlinkDatagram(NetlinkMessage.question(bb_nlmsg_overrun, sequence: 0, body: [])).mayReportChange)
        #expect(NetlinkDatagram(done + [9]).mayReportChange)
        for type: UInt16 in 16...21 {
            #expect(NetlinkDatagram(NetlinkMessage.question(type, sequence: 0, body: [])).mayReportChange)
        }
    }

    @Test func `an error message has its number, whatever its sign`() {
        func error(_ bytes: [UInt8]) -> Int32? {
            NetlinkMessage(type: bb_nlmsg_error, sequence: 0, body: bytes[...]).error
        }
        #expect(error([0, 0, 0, 0]) == 0 && error([0x9b, 0xff, 0xff, 0xff]) == ENETUNREACH)
        #expect(error([0, 0, 0, 0x80]) == .max && error([1, 0, 0]) == nil)
        #expect(NetlinkMessage(type: 24, sequence: 0, body: [0, 0, 0, 0]).error == nil)
    }
}
