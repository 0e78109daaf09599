/// Finds the fields whose cookies libcurl takes although their names forbid it.
///
/// The newer ones tried, 8.14.1 and 8.23.0, tell `__SECURE-` from `__Secure-`, and so take what must not be set without TLS
/// (RFC 6265bis §5.7). 8.14.1 takes cookies without a name, too (RFC 6265 §5.2). They are taken back; 8.14.1 takes
/// no such name from a list, not even to end the cookie, so that all others may have to be set anew.
enum CookieNames {
    static let isGuarded = Libcurl.version > 0x07_58_01

    /// Whether a field may make a cookie that must not be.
    static func isDoubtful(_ field: String) -> Bool {
        guard isGuarded else { return false }
        let name = field.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        return name.first == 0x3d || name.starts(with: "__".utf8)
    }

    /// Returns the cookie of a line that libcurl has written; in a file, tabs in a row are one.
    static func restoring(_ cookie: Cookie, from line: String) -> Cookie {
        guard isGuarded, cookie.value.isEmpty, line.hasSuffix("\t\t\(cookie.name)") else { return cookie }
        var restored = cookie
        (restored.name, restored.value) = ("", cookie.name)
        return restored
    }
}
