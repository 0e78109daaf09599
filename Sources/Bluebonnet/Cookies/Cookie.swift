public import FoundationEssentials

/// A cookie: a name and a value that a server asked to be sent back (RFC 6265).
///
/// What is printed of a cookie shows no value, which often is as good as a password.
public struct Cookie: Hashable, Sendable {
    /// The name.
    ///
    /// Libcurl keeps one cookie of names that differ in case only.
    public var name: String

    /// The value, as it is sent.
    public var value: String

    /// The host to which the cookie belongs, in lower case and without a leading dot; an international name in its ASCII
    /// form (`xn--…`).
    public var domain: String {
        didSet { domain = Self.canonicalDomain(domain) }
    }

    /// Whether the cookie is sent to the hosts below its domain, too, because it was set with a `Domain` attribute.
    public var includesSubdomains: Bool

    /// The path below which the cookie is sent.
    public var path: String

    /// Whether the cookie is sent over `https` only, or to this machine itself.
    public var isSecure: Bool

    /// Whether scripts of a page may not see the cookie; means nothing to a client that runs none, and is kept.
    public var isHTTPOnly: Bool

    /// When the cookie expires, in whole seconds; `nil` for a cookie that lasts as long as its session.
    public var expires: Date?

    /// Creates a cookie.
    ///
    /// It is checked when it is given to a session.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value, as it is sent.
    ///   - domain: The host to which the cookie belongs.
    ///   - includesSubdomains: Whether it is sent to the hosts below the domain, too.
    ///   - path: The path below which it is sent.
    ///   - isSecure: Whether it is sent over `https` only.
    ///   - isHTTPOnly: Whether scripts may not see it.
    ///   - expires: When it expires; `nil` with the session.
    public init(
        name: String, value: String, domain: String, includesSubdomains: Bool = false, path: String = "/",
        isSecure: Bool = false, isHTTPOnly: Bool = false, expires: Date? = nil
    ) {
        self.name = name
        self.value = value
        self.domain = Self.canonicalDomain(domain)
        self.includesSubdomains = includesSubdomains
        self.path = path
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.expires = expires
    }

    /// Whether the cookie is sent to the very host only that set it.
    public var isHostOnly: Bool { !includesSubdomains }

    /// Whether the cookie lasts as long as its session.
    public var isSessionCookie: Bool { expires == nil }

    /// Returns whether the cookie has expired.
    ///
    /// - Parameter date: The time in question; now by default.
    /// - Returns: Whether the cookie is not sent any more at that time.
    public func isExpired(at date: Date = Date()) -> Bool {
        expires.map { $0 <= date } ?? false
    }

    /// Whether two cookies are the same one, of which a session keeps the later (RFC 6265 §5.3, step 11).
    ///
    /// Letters are compared as libcurl does it, which knows no upper and lower case in names and paths either.
    func isReplaced(by other: Cookie) -> Bool {
        domain == other.domain && includesSubdomains == other.includesSubdomains
            && name.isSameIgnoringCase(as: other.name) && path.isSameIgnoringCase(as: other.path)
    }

    /// Returns a domain in lower case and without its leading dot (RFC 6265 §5.2.3).
    static func canonicalDomain(_ domain: String) -> String {
        let domain = domain.utf8.first == 0x2e ? String(domain.dropFirst()) : domain
        return domain.lowercased()
    }
}

extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name and where the cookie is sent, without its value.
    public var description: String {
        let host = includesSubdomains ? "*.\(domain)" : domain
        return "Cookie(\(name)=\(Redaction.placeholder) for \(host)\(path)\(isSecure ? ", secure" : ""))"
    }

    /// The ``description``.
    public var debugDescription: String { description }

    /// A mirror without the value.
    public var customMirror: Mirror {
        Mirror(self, children: ["name": name, "domain": domain, "path": path], displayStyle: .struct)
    }
}
