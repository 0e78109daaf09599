public import FoundationEssentials

extension Cookie {
    /// Returns whether the cookie is sent with requests to a URL (RFC 6265 §5.4).
    ///
    /// - Parameters:
    ///   - url: The URL of a request.
    ///   - date: The time of the request; now by default.
    /// - Returns: Whether host and path are those of the cookie, a secure one is asked for by `https` or on this machine,
    ///   and the cookie has not expired.
    public func isSent(to url: URL, at date: Date = Date()) -> Bool {
        guard let target = CookieTarget(url), !isExpired(at: date), !isSecure || target.isSecure else { return false }
        return matches(host: target.host) && matches(path: target.path)
    }

    /// Whether the host is the cookie's domain, or below it if the cookie goes there, too (RFC 6265 §5.1.3).
    func matches(host: String) -> Bool {
        if host == domain { return true }
        return includesSubdomains && !IPAddress.isAddress(host) && host.hasSuffix(".\(domain)")
    }

    /// Whether the path is the cookie's, or below it (RFC 6265 §5.1.4).
    func matches(path requested: String) -> Bool {
        guard requested.hasPrefix(path) else { return false }
        return requested.utf8.count == path.utf8.count || path.hasSuffix("/")
            || requested.utf8.dropFirst(path.utf8.count).first == 0x2f
    }
}

extension [Cookie] {
    /// The cookies, which are in the order of their coming, in that in which libcurl sends them.
    ///
    /// The longest path goes first (RFC 6265 §5.4), then the longest domain, the longest name, the latest.
    var inOrderOfSending: [Cookie] {
        enumerated()
            .sorted { left, right in
                let (first, second) = (left.element, right.element)
                return (first.path.utf8.count, first.domain.utf8.count, first.name.utf8.count, left.offset)
                    > (second.path.utf8.count, second.domain.utf8.count, second.name.utf8.count, right.offset)
            }
            .map(\.element)
    }
}

/// What of a request's URL decides about cookies.
struct CookieTarget {
    /// The host in lower case and in ASCII, an IPv6 address without brackets.
    let host: String
    /// The path as it is sent.
    let path: String
    /// Whether a secure cookie may go there: over `https`, and to this machine, as libcurl has it.
    let isSecure: Bool

    init?(_ url: URL) {
        guard let host = url.host(percentEncoded: false), !host.isEmpty else { return nil }
        self.host = HostName.ascii(host)
        let path = url.path(percentEncoded: true)
        self.path = path.isEmpty ? "/" : path
        isSecure = url.scheme?.lowercased() == "https" || ["localhost", "127.0.0.1", "::1"].contains(self.host)
    }

    /// The path of a cookie that names none (RFC 6265 §5.1.4).
    var defaultPath: String {
        guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
