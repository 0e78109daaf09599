/// Finds the fields whose cookies libcurl accepts although their names are not allowed.
///
/// Libcurl 8.14.1, 8.23.0 and versions before 7.87.0 distinguish `__SECURE-` from `__Secure-`. They therefore accept
/// cookies that must not be set without TLS (RFC 6265bis §5.7). Libcurl 8.14.1 also accepts cookies without a name (RFC
/// 6265 §5.2). Such cookies are removed again.
///
/// Libcurl 8.14.1 does not accept a `__HOST-` cookie with a path from a list, even to expire the cookie. In this case,
/// all cookies are deleted, and all other cookies are set again byte for byte.
enum CookieNames {
    static let isGuarded = !(0x07_57_00...0x07_58_01).contains(Libcurl.version)

    private static let prefixes = ["__Secure-", "__Host-"]

    private static func differsInCase(_ text: Substring, from prefix: String) -> Bool {
        text != prefix && String(text).isSameIgnoringCase(as: prefix)
    }

    /// Whether a field may create a cookie that must not exist.
    static func isDoubtful(_ field: String) -> Bool {
        guard isGuarded else { return false }
        let name = field.drop { $0 == " " || $0 == "\t" }
        // Libcurl parses the usual spellings correctly, and another check would read all cookies.
        return name.hasPrefix("=") || prefixes.contains { Self.differsInCase(name.prefix($0.count), from: $0) }
    }

    /// Restores the cookie of a line that libcurl has written.
    ///
    /// The file parser reads the value of a nameless cookie as its name.
    static func restoring(_ cookie: Cookie, from line: String) -> Cookie {
        guard isGuarded, cookie.value.isEmpty, line.hasSuffix("\t\t\(cookie.name)") else { return cookie }
        var restored = cookie
        (restored.name, restored.value) = ("", cookie.name)
        return restored
    }
}
