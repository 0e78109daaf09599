/// An address of IPv4 or of IPv6, with the link that an address of IPv6 may name.
struct NetworkAddress: Hashable, Sendable {
    /// 4 bytes, or 16.
    let bytes: [UInt8]

    /// The link's name or number, of an address such as `fe80::1%eth0` (RFC 4007 §11).
    let zone: String?

    /// An address of 4 or 16 bytes; one of IPv4 in the clothes of IPv6 (RFC 4291 §2.5.5.2) is one of IPv4.
    init(bytes: [UInt8], zone: String? = nil) {
        let isMapped = bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10...11] == [0xff, 0xff]
        self.bytes = isMapped ? [UInt8](bytes[12...]) : bytes
        self.zone = zone
    }

    /// Reads an address, with or without brackets; `nil` if the text is none.
    init?(_ text: String) {
        var text = Substring(text)
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        guard let percent = text.firstIndex(of: "%") else {
            guard let bytes = IPAddress.bytes(of: String(text)) else { return nil }
            self.init(bytes: bytes)
            return
        }
        var zone = text[percent...].dropFirst()
        // In a URL the sign itself is escaped (RFC 6874 §2).
        if zone.hasPrefix("25"), zone.count > 2 { zone = zone.dropFirst(2) }
        guard let bytes = IPAddress.bytes(of: String(text[..<percent])), bytes.count == 16, !zone.isEmpty,
            zone.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "%") })
        else { return nil }
        self.init(bytes: bytes, zone: String(zone))
    }

    /// Whether it is one of IPv6.
    var isIPv6: Bool { bytes.count == 16 }

    /// Whether it is one of the machine's very own (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3).
    var isLoopback: Bool { bytes == Self.loopback6.bytes || !isIPv6 && bytes.first == 127 }

    /// The number of the link that it names: `nil` if it names none, 0 if there is no such link.
    var zoneNumber: UInt32? {
        zone.map { zone in UInt32(zone) ?? NetlinkSocket.number(ofLink: zone) }
    }

    static let loopback4 = NetworkAddress(bytes: [127, 0, 0, 1])
    static let loopback6 = NetworkAddress(bytes: [UInt8](repeating: 0, count: 15) + [1])

    /// Two addresses of the Internet at large, those of a root server of its names.
    ///
    /// Nothing is sent there: the kernel is only asked which way that would go.
    static let internet = [
        NetworkAddress(bytes: [198, 41, 0, 4]),
        NetworkAddress(bytes: [0x20, 0x01, 0x05, 0x03, 0xba, 0x3e, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0x30]),
    ]
}
