/// The names of hosts, as they are compared.
package enum HostName {
    /// A host in lower case and in ASCII, without a dot at its end and without the brackets of an IPv6 address.
    ///
    /// An address is written in one way, so that it is the host that is connected to. A wildcard stays one. A name that
    /// cannot be read stays as it is, in lower case, and so is like no other.
    static func canonical(_ host: String) -> String {
        let isWildcard = host.hasPrefix("*.")
        var name = ascii(isWildcard ? String(host.dropFirst(2)) : host)
        if name.hasSuffix(".") {
            name.removeLast()
            name = IPAddress.canonical(name) ?? name
        }
        return isWildcard ? "*.\(name)" : name
    }

    /// The same with the dot that may be at the end of a name: to cookies, that makes another host (RFC 6265 §5.1.2).
    static func ascii(_ host: String) -> String {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let host = isBracketed ? String(host.dropFirst().dropLast()) : host
        let name = host.lowercased()
        if let address = IPAddress.canonical(name) { return address }
        guard name.utf8.contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: "%") }),
            // As it is written: `ẞ` in lower case is `ß`, but its name has `ss`.
            let ascii = internationalASCII(host)
        else { return name }
        // Digits of other scripts stand for those of ASCII.
        return IPAddress.canonical(ascii) ?? ascii
    }

    /// Whether a host has no domains above or below it: an address, however it is written, or a name that ends in a
    /// number, which URLs take for one (WHATWG URL §3.5).
    static func hasNoDomains(_ host: String) -> Bool {
        guard !host.utf8.contains(UInt8(ascii: ":")), let last = host.utf8.split(separator: UInt8(ascii: ".")).last
        else {
            return true
        }
        return isNumber(last)
    }

    /// Whether a label is a number, decimal, octal or hexadecimal, as URLs have it: `0x` alone stands for 0.
    private static func isNumber(_ label: Substring.UTF8View) -> Bool {
        guard label.first == UInt8(ascii: "0"), let mark = label.dropFirst().first, mark | 0x20 == UInt8(ascii: "x")
        else {
            return label.allSatisfy { $0 &- 0x30 < 10 }
        }
        return label.dropFirst(2).allSatisfy { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 6 }
    }

    /// The canonical form of a host or of a wildcard for one label of it; `nil` for a text that is neither.
    package static func pattern(_ host: String) -> String? {
        let name = canonical(host)
        let rest = name.hasPrefix("*.") ? String(name.dropFirst(2)) : name
        if IPAddress.bytes(of: rest) != nil { return name == rest ? name : nil }
        // A name that ends in a number is an address, or nothing.
        if name != rest, rest.split(separator: ".").last?.allSatisfy(\.isNumber) == true { return nil }
        let isHost =
            !rest.isEmpty
            && rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"*:/?#@[]\\%".utf8.contains($0) }
        return isHost ? name : nil
    }
}
