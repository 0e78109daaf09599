import Glibc

/// Tells addresses of IP from names.
// Safety: the system writes into the buffer that it is given, within the call.
enum IPAddress {
    /// Whether a text is an address of IPv4, or of IPv6 without brackets.
    static func isValid(_ text: String) -> Bool { bytes(of: text) != nil }

    /// The bytes of an address, 4 or 16; `nil` if the text is none.
    static func bytes(of text: String) -> [UInt8]? {
        guard !text.utf8.contains(0) else { return nil }
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if unsafe inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }
}
