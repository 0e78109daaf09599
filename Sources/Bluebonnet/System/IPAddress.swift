import BluebonnetLibc

/// An IPv4 or IPv6 address.
// Safety: the system uses the pointers only during the call, and at most the size of the buffers.
package struct IPAddress: Hashable, Sendable {
    /// The 4 or 16 bytes of the address.
    package let bytes: [UInt8]

    /// The zone of an IPv6 address: the name or number of a link, such as `eth0` in `fe80::1%eth0` (RFC 4007 §11).
    package let zone: String?

    /// Creates an address from 4 or 16 bytes.
    ///
    /// An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) becomes an IPv4 address.
    package init(bytes: [UInt8], zone: String? = nil) {
        let isMapped = bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10...11] == [0xff, 0xff]
        self.bytes = isMapped ? [UInt8](bytes[12...]) : bytes
        self.zone = zone
    }

    /// Parses an address, with or without brackets; `nil` if the text is not an address.
    package init?(_ text: String) {
        guard let (bytes, zone) = Self.parts(of: text) else { return nil }
        self.init(bytes: bytes, zone: zone)
    }

    /// Returns the bytes and the zone of an address.
    private static func parts(of text: String) -> (bytes: [UInt8], zone: String?)? {
        var text = Substring(text)
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        guard let percent = text.firstIndex(of: "%") else { return bytes(of: String(text)).map { ($0, nil) } }
        var zone = text[percent...].dropFirst()
        // In a URL, the percent sign is itself escaped (RFC 6874 §2).
        if zone.hasPrefix("25"), zone.count > 2 { zone = zone.dropFirst(2) }
        guard let bytes = Self.bytes(of: String(text[..<percent])), bytes.count == 16, !zone.isEmpty,
            zone.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "%") })
        else { return nil }
        return (bytes, String(zone))
    }

    /// Parses an address without brackets and zone; `nil` if the text is not an address.
    ///
    /// An IPv4-mapped IPv6 address stays an IPv6 address.
    static func bytes(of text: String) -> [UInt8]? {
        guard !text.utf8.contains(0) else { return nil }
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if unsafe inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }

    /// Whether a host is an address, which has no parent domains or subdomains.
    static func isAddress(_ host: String) -> Bool { IPAddress(host) != nil }

    /// Returns the canonical form of an address, without brackets and zone; `nil` if the host is a name.
    ///
    /// The host must be in lower case. Most addresses have several spellings, such as `127.1`, `0x7f000001` and
    /// `[0::1]`. An IPv4 address has one to four decimal, octal or hexadecimal numbers. The system, libcurl and
    /// browsers parse it in the same way.
    static func canonical(_ host: String) -> String? {
        // Most hosts are names, which contain other letters.
        let mayBeAddress = host.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 &- 0x61 < 6 || $0 == 0x78 || $0 == 0x2e }
        if mayBeAddress {
            var address = in_addr()
            guard unsafe inet_aton(host, &address) != 0 else { return nil }
            return text(of: unsafe withUnsafeBytes(of: &address) { unsafe Array($0) })
        }
        guard host.utf8.contains(UInt8(ascii: ":")), let bytes = parts(of: host)?.bytes, bytes.count == 16 else {
            return nil
        }
        return text(of: bytes)
    }

    /// Returns the text of an address; `nil` if it has neither 4 nor 16 bytes.
    static func text(of bytes: [UInt8]) -> String? {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
