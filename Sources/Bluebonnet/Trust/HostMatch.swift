/// Decides whether a certificate is for a host, by what it says of whom it is for (RFC 9525 §6).
///
/// The rules are libcurl's to the letter: nothing is accepted that it refuses, nor the other way round. So the subject's
/// common name counts where there is neither a DNS name nor an address, which RFC 9525 has given up.
struct HostMatch: Equatable {
    var names: [[UInt8]] = []
    var addresses: [[UInt8]] = []
    var commonName: [UInt8]?

    /// Whether the certificate is for a host: a name in ASCII, or an address, one of IPv6 with or without brackets.
    func isFor(_ host: String) -> Bool {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let text = isBracketed ? String(host.dropFirst().dropLast()) : host
        let address = IPAddress.bytes(of: text)
        if let address, addresses.contains(address) { return true }
        let name = Self.withoutFinalDot(Array(text.utf8)[...])
        guard !name.isEmpty else { return false }
        if address == nil, names.contains(where: { Self.matches($0, name, isAddress: false) }) { return true }
        guard names.isEmpty, addresses.isEmpty, let commonName else { return false }
        return Self.matches(commonName, name, isAddress: address != nil)
    }

    /// Whether a pattern stands for a name: the same, or any first label in place of a star.
    private static func matches(_ pattern: [UInt8], _ name: ArraySlice<UInt8>, isAddress: Bool) -> Bool {
        let pattern = withoutFinalDot(pattern[...])
        guard !pattern.isEmpty, !pattern.contains(0) else { return false }
        let dot = UInt8(ascii: ".")
        // Below a domain alone: a star for all of `.com` would be too much.
        guard pattern.starts(with: "*.".utf8), pattern.dropFirst(2).contains(dot) else { return equal(pattern, name) }
        guard !isAddress, let end = name.firstIndex(of: dot), end > name.startIndex else { return false }
        return equal(pattern.dropFirst(), name[end...])
    }

    private static func withoutFinalDot(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        name.last == UInt8(ascii: ".") ? name.dropLast() : name
    }

    /// Whether two names are the same but for upper and lower case, of ASCII alone.
    private static func equal(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> Bool {
        first.count == second.count && zip(first, second).allSatisfy { lowercase($0) == lowercase($1) }
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
