import Glibc

/// Tells addresses of IP from names.
// Safety: the system writes into the buffer that it is given, within the call.
enum IPAddress {
    /// Whether a text is an address of IPv4, or of IPv6 without brackets.
    static func isValid(_ text: String) -> Bool {
        guard !text.utf8.contains(0) else { return false }
        var address = in6_addr()
        return unsafe inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1
    }
}
