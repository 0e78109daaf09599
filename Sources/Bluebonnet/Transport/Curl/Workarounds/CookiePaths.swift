import FoundationEssentials

/// Records the cookies whose paths end with a slash, because libcurl does not record the slash.
///
/// By RFC 6265 §5.1.4, a cookie for `/a/` is not sent to `/a`. Libcurl removes the slash and sends the cookie to `/a`.
/// All tested versions do this, 7.88 to 8.23. Such a cookie is hidden while a request for `/a` is sent.
///
/// For an invalid path, such as `a` or `"/a"`, the default path is used (§5.2.4). Libcurl uses `/`, or the text between
/// the quotes, so the cookie is set again correctly.
struct CookiePaths: Equatable {
    /// A cookie, identified by the properties by which libcurl distinguishes cookies.
    private struct Key: Hashable {
        let name: String
        let domain: String
        let includesSubdomains: Bool
        /// The path without its trailing slash.
        let path: String

        init(_ cookie: Cookie) {
            name = cookie.name
            domain = cookie.domain
            includesSubdomains = cookie.includesSubdomains
            path = CookiePaths.withoutSlash(cookie.path)
        }
    }

    private var slashed: Set<Key> = []
    /// The paths of these cookies without the slash, for a quick check.
    private var paths: Set<String> = []

    /// Whether libcurl would send cookies with a request for a path that must not contain them.
    func concerns(_ path: String) -> Bool { paths.contains(path) }

    var isEmpty: Bool { slashed.isEmpty }

    /// Called when a cookie was set.
    mutating func cookieSet(_ cookie: Cookie) {
        guard cookie.path.utf8.count > 1, cookie.path.hasSuffix("/") else {
            slashed.remove(Key(cookie))
            return
        }
        slashed.insert(Key(cookie))
        paths.insert(Self.withoutSlash(cookie.path))
    }

    /// Restores the path of a cookie, because libcurl writes default paths with a slash, and other paths without their
    /// slash.
    func restoring(_ cookie: Cookie) -> Cookie {
        guard cookie.path.utf8.count > 1 else { return cookie }
        var restored = cookie
        restored.path = Self.withoutSlash(cookie.path)
        if slashed.contains(Key(cookie)) { restored.path += "/" }
        return restored
    }

    /// Forgets all cookies except the given ones.
    mutating func keep(_ cookies: some Sequence<Cookie>) {
        slashed.formIntersection(cookies.map(Key.init))
        paths = Set(slashed.map(\.path))
    }

    // MARK: How libcurl parses a field

    /// Whether libcurl parses the path in a field by the standard.
    static func isRead(_ field: String) -> Bool {
        guard let attribute = attribute(of: field) else { return true }
        return attribute == "/" || (attribute.hasPrefix("/") && !attribute.hasSuffix("/"))
    }

    /// Returns libcurl's cookie that resulted from a field, with a path by which libcurl identifies the cookie.
    static func taken(from field: String, as parsed: Cookie, among kept: [Cookie]) -> Cookie? {
        let alike = kept.filter { cookie in
            cookie.name == parsed.name && cookie.value == parsed.value && cookie.domain == parsed.domain
                && cookie.isSecure == parsed.isSecure && cookie.includesSubdomains == parsed.includesSubdomains
        }
        guard let attribute = attribute(of: field) else {
            return alike.first { withoutSlash($0.path) == withoutSlash(parsed.path) }
        }
        if let cookie = alike.first(where: { $0.path == attribute }) { return cookie }
        guard var cookie = alike.first(where: { $0.path == pathTaken(from: attribute) }) else { return nil }
        // Libcurl 7.88 keeps a cookie for the root separate from a cookie with an invalid path.
        if !attribute.hasPrefix("/"), cookie.path == "/" { cookie.path = "-" }
        return cookie
    }

    /// Whether libcurl treats two cookies as the same cookie, by all properties that are compared here.
    static func areSameInLibcurl(_ first: Cookie, _ second: Cookie) -> Bool { Key(first) == Key(second) }

    private static func pathTaken(from attribute: String) -> String {
        var path = Substring(attribute)
        if path.hasPrefix("\"") { path = path.dropFirst() }
        if path.hasSuffix("\"") { path = path.dropLast() }
        return path.hasPrefix("/") ? withoutSlash(String(path)) : "/"
    }

    /// The last path in a field, which is the valid path (RFC 6265 §5.3).
    private static func attribute(of field: String) -> String? {
        guard let end = field.utf8.firstIndex(of: 0x3b) else { return nil }
        var path: String?
        for part in field[end...].split(separator: ";") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, String(pair[0].trimmed).isSameIgnoringCase(as: "path") else { continue }
            path = String(pair[1].trimmed)
        }
        return path
    }

    private static func withoutSlash(_ path: String) -> String {
        path.utf8.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
