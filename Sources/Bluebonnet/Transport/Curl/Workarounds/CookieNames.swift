/// Finds the fields whose cookies libcurl takes although their names forbid it.
///
/// The newer ones tried, 8.14.1 and 8.23.0, tell `__SECURE-` from `__Secure-`, and so take what must not be set without
/// TLS (RFC 6265bis §5.7). 8.14.1 takes cookies without a name, too (RFC 6265 §5.2). They are taken back. 8.14.1 takes
/// `__HOST-` with a path from no list, not even to end the cookie: then all others are set again, as the bytes that
/// they were.
enum CookieNames {
    static let isGuarded = Libcurl.version > 0x07_58_01

    private static let prefixes = ["__Secure-", "__Host-"]

    private static func differsInCase(_ text: Substring, from prefix: String) -> Bool {
        text != prefix && String(text).isSameIgnoringCase(as: prefix)
    }

    /// Whether a field may make a cookie that must not be.
    static func isDoubtful(_ field: String) -> Bool {
        guard isGuarded else { return false }
        let name = field.drop { $0 == " " || $0 == "\t" }
        // As they are usually written, libcurl reads them right: to look again costs a walk through all cookies.
        return name.hasPrefix("=") || prefixes.contains { Self.differsInCase(name.prefix($0.count), from: $0) }
    }

    /// Returns the cookie of a line that libcurl has written; the parser of files takes the value of one without a name
    /// for its name.
    static func restoring(_ cookie: Cookie, from line: String) -> Cookie {
        guard isGuarded, cookie.value.isEmpty, line.hasSuffix("\t\t\(cookie.name)") else { return cookie }
        var restored = cookie
        (restored.name, restored.value) = ("", cookie.name)
        return restored
    }
}
