import Glibc

/// An address of IPv4 or of IPv6, with the link that an address of IPv6 may name.
// Safety: the system writes into the buffer that it is given, within the call.
package struct IPAddress: Hashable, Sendable {
    /// 4 bytes, or 16.
    package let bytes: [UInt8]

    /// The link's name or number, of an address such as `fe80::1%eth0` (RFC 4007 §11).
    package let zone: String?

    /// An address of 4 or 16 bytes; one of IPv4 in the clothes of IPv6 (RFC 4291 §2.5.5.2) is one of IPv4.
    package init(bytes: [UInt8], zone: String? = nil) {
        let isMapped = bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10...11] == [0xff, 0xff]
        self.bytes = isMapped ? [UInt8](bytes[12...]) : bytes
        self.zone = zone
    }

    /// Reads an address, with or without brackets; `nil` if the text is none.
    package init?(_ text: String) {
        var text = Substring(text)
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        guard let percent = text.firstIndex(of: "%") else {
            guard let bytes = Self.bytes(of: String(text)) else { return nil }
            self.init(bytes: bytes)
            return
        }
        var zone = text[percent...].dropFirst()
        // In a URL the sign itself is escaped (RFC 6874 §2).
        if zone.hasPrefix("25"), zone.count > 2 { zone = zone.dropFirst(2) }
        guard let bytes = Self.bytes(of: String(text[..<percent])), bytes.count == 16, !zone.isEmpty,
            zone.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "%") })
        else { return nil }
        self.init(bytes: bytes, zone: String(zone))
    }

    /// The bytes of an address in a text that has neither brackets nor a link; `nil` if the text is no address.
    ///
    /// An address of IPv4 in the clothes of IPv6 stays one of IPv6.
    static func bytes(of text: String) -> [UInt8]? {
        guard !text.utf8.contains(0) else { return nil }
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if unsafe inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }

    /// Whether a host is an address, which has no domains above or below it.
    static func isAddress(_ host: String) -> Bool { IPAddress(host) != nil }
}
