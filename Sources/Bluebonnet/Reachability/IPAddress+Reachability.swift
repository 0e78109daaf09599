extension IPAddress {
    /// Whether it is one of IPv6.
    var isIPv6: Bool { bytes.count == 16 }

    /// Whether it is one of the machine's very own (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3).
    var isLoopback: Bool { bytes == Self.loopback6.bytes || !isIPv6 && bytes.first == 127 }

    /// The number of the link that it names: `nil` if it names none, 0 if there is no such link.
    var zoneNumber: UInt32? {
        zone.map { zone in UInt32(zone) ?? NetlinkSocket.number(ofLink: zone) }
    }

    static let loopback4 = IPAddress(bytes: [127, 0, 0, 1])
    static let loopback6 = IPAddress(bytes: [UInt8](repeating: 0, count: 15) + [1])

    /// Two addresses of the Internet at large, those of a root server of its names.
    ///
    /// Nothing is sent there: the kernel is only asked which way that would go.
    static let internet = [
        IPAddress(bytes: [198, 41, 0, 4]),
        IPAddress(bytes: [0x20, 0x01, 0x05, 0x03, 0xba, 0x3e, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0x30]),
    ]
}
