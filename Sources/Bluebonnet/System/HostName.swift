/// Converts host names to forms that can be compared.
package enum HostName {
    /// Returns a host in lower case and in ASCII, without a trailing dot and without the brackets of an IPv6 address.
    ///
    /// Each address has only one such form. A wildcard stays a wildcard. A name that cannot be parsed is only converted
    /// to lower case, so it is not equal to any valid name.
    static func canonical(_ host: String) -> String {
        let isWildcard = host.hasPrefix("*.")
        var name = ascii(isWildcard ? String(host.dropFirst(2)) : host)
        if name.hasSuffix(".") {
            name.removeLast()
            name = IPAddress.canonical(name) ?? name
        }
        return isWildcard ? "*.\(name)" : name
    }

    /// Returns the canonical form, with the trailing dot if the host has one.
    ///
    /// For cookies, a host with a trailing dot is a different host (RFC 6265 §5.1.2).
    static func ascii(_ host: String) -> String {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let host = isBracketed ? String(host.dropFirst().dropLast()) : host
        let name = host.lowercased()
        if let address = IPAddress.canonical(name) { return address }
        guard name.utf8.contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: "%") }),
            // The original text is converted: the lower case of `ẞ` is `ß`, but the ASCII form of `ẞ` contains `ss`.
            let ascii = internationalASCII(host)
        else { return name }
        // Digits of other scripts become ASCII digits.
        return IPAddress.canonical(ascii) ?? ascii
    }

    /// Whether a host has no parent domains and no subdomains.
    ///
    /// This is the case for an address, and for a name whose last label is a number. URLs treat such a name as an
    /// address (WHATWG URL §3.5).
    static func hasNoDomains(_ host: String) -> Bool {
        guard !host.utf8.contains(UInt8(ascii: ":")), let last = host.utf8.split(separator: UInt8(ascii: ".")).last
        else {
            return true
        }
        return isNumber(last)
    }

    /// Whether a label is a decimal, octal or hexadecimal number; `0x` alone means 0, as in URLs.
    private static func isNumber(_ label: Substring.UTF8View) -> Bool {
        guard label.first == UInt8(ascii: "0"), let mark = label.dropFirst().first, mark | 0x20 == UInt8(ascii: "x")
        else {
            return label.allSatisfy { $0 &- 0x30 < 10 }
        }
        return label.dropFirst(2).allSatisfy { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 6 }
    }

    /// Returns the canonical form of a host, or of a wildcard such as `*.example.com`; `nil` if the text is invalid.
    package static func pattern(_ host: String) -> String? {
        let name = canonical(host)
        let rest = name.hasPrefix("*.") ? String(name.dropFirst(2)) : name
        if IPAddress.bytes(of: rest) != nil { return name == rest ? name : nil }
        // A name whose last label is a number is an address, or invalid.
        if name != rest, rest.split(separator: ".").last?.allSatisfy(\.isNumber) == true { return nil }
        let isHost =
            !rest.isEmpty
            && rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"*:/?#@[]\\%".utf8.contains($0) }
        return isHost ? name : nil
    }
}
