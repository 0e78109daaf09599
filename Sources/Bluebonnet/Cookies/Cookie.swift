public import FoundationEssentials

/// A cookie, which a server sets and the client sends back (RFC 6265).
///
/// The description of a cookie does not contain the value, because the value may be a secret.
public struct Cookie: Hashable, Sendable {
    /// The name of the cookie, which is case-sensitive.
    public var name: String

    /// The value of the cookie.
    public var value: String

    /// The domain of the cookie, in lower case and without a leading dot.
    ///
    /// An international domain name must be in its ASCII form (`xn--…`).
    public var domain: String {
        didSet { domain = Self.canonicalDomain(domain) }
    }

    /// Whether the cookie is also sent to subdomains of its domain.
    ///
    /// The value is `true` for a cookie that was set with a `Domain` attribute.
    public var includesSubdomains: Bool

    /// The path of the cookie.
    ///
    /// The cookie is sent to this path and to the paths below this path.
    public var path: String

    /// Whether the cookie is sent only over `https`.
    ///
    /// A secure cookie is also sent over `http` to `localhost`, `127.0.0.1` and `::1`.
    public var isSecure: Bool

    /// Whether the cookie has the `HttpOnly` attribute, which hides the cookie from page scripts.
    ///
    /// The attribute is stored, but Bluebonnet does not use it.
    public var isHTTPOnly: Bool

    /// The expiry date; `nil` for a session cookie.
    public var expires: Date?

    /// Creates a cookie.
    ///
    /// The initializer does not validate the cookie. A session validates the cookie when you add it to the session.
    ///
    /// - Parameters:
    ///   - name: The name of the cookie.
    ///   - value: The value of the cookie.
    ///   - domain: The domain of the cookie. An international domain name must be in its ASCII form (`xn--…`).
    ///   - includesSubdomains: Whether the cookie is also sent to subdomains of the domain; `false` by default.
    ///   - path: The path of the cookie; `/` by default.
    ///   - isSecure: Whether the cookie is sent only over `https` or to the local machine; `false` by default.
    ///   - isHTTPOnly: Whether the cookie is hidden from page scripts; `false` by default.
    ///   - expires: The expiry date; `nil`, the default, for a session cookie.
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

    /// Whether the cookie is sent only to the host that set it.
    package var isHostOnly: Bool { !includesSubdomains }

    /// Whether the cookie is a session cookie, which has no expiry date.
    public var isSessionCookie: Bool { expires == nil }

    /// Returns whether the cookie has expired.
    ///
    /// - Parameter date: The time to check; the current time by default.
    /// - Returns: Whether the cookie has expired at this time.
    package func isExpired(at date: Date = Date()) -> Bool {
        expires.map { $0 <= date } ?? false
    }

    /// Returns a domain in lower case and without its leading dot (RFC 6265 §5.2.3).
    static func canonicalDomain(_ domain: String) -> String {
        let domain = domain.utf8.first == 0x2e ? String(domain.dropFirst()) : domain
        return domain.lowercased()
    }
}

extension Cookie: SecretKeeping {
    /// The name and the destination of the cookie, without its value.
    package var text: String {
        let host = includesSubdomains ? "*.\(domain)" : domain
        return "Cookie(\(name)=\(Redaction.placeholder) for \(host)\(path)\(isSecure ? ", secure" : ""))"
    }

    package var shownParts: KeyValuePairs<String, Any> { ["name": name, "domain": domain, "path": path] }
}

extension Cookie {
    /// Checks that a session can store the cookie and send it unchanged.
    ///
    /// The name may contain spaces, as that of a received cookie (RFC 6265 §5.2), although servers must not send them
    /// (§4.1).
    package func validate() throws(RequestError) {
        if let refusal { throw RequestError(.cookies(refusal)) }
    }

    /// The reason why the cookie cannot be stored, if there is one.
    private var refusal: RequestError.CookieReason? {
        guard !name.isEmpty, name.trimmed == name,
            name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f && $0 != 0x3b && $0 != 0x3d })
        else {
            return .invalidName
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f && $0 != 0x3b }), value.trimmed == value else {
            return .invalidValue(name: name)
        }
        guard name.utf8.count + value.utf8.count <= Self.sizeLimit else { return .tooLarge(name: name) }
        guard path.utf8.first == 0x2f, path.utf8.count <= Self.sizeLimit,
            path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f && $0 != 0x3b })
        else { return .invalidPath(name: name) }
        guard Self.isHost(domain) else { return .invalidDomain(name: name) }
        if includesSubdomains {
            guard !HostName.hasNoDomains(domain) else { return .invalidDomain(name: name) }
            guard !PublicSuffixes.isPublicSuffix(domain) else { return .publicSuffix(name: name, domain: domain) }
        }
        return prefixRefusal
    }

    /// The reason if the cookie violates the rules for the prefix of its name (RFC 6265bis §4.1.3).
    private var prefixRefusal: RequestError.CookieReason? {
        let prefix = name.lowercased()
        if prefix.hasPrefix("__secure-"), !isSecure { return .prefix(name: name) }
        if prefix.hasPrefix("__host-"), !isSecure || includesSubdomains || path != "/" { return .prefix(name: name) }
        return nil
    }

    /// The maximum size of a name and its value together in bytes, as in libcurl and browsers.
    private static let sizeLimit = 4096

    private static func isHost(_ domain: String) -> Bool {
        let bytes = domain.utf8
        guard let first = bytes.first, first != 0x2e, first != 0x23, bytes.count <= 253 else { return false }
        return bytes.allSatisfy { byte in
            FieldSyntax.isAlphanumeric(byte) || byte == 0x2d || byte == 0x2e || byte == 0x5f || byte == 0x3a
        }
    }
}

extension Cookie {
    /// Reads a line of a Netscape cookie file, as written by curl and browser tools.
    ///
    /// - Parameter line: Seven fields separated by tabs: the domain, whether subdomains are included, the path, whether
    ///   the cookie is secure, the expiry date in seconds since 1970 or 0, the name, and the value. The line may begin
    ///   with `#HttpOnly_`.
    package init?(netscapeLine line: some StringProtocol) {
        var line = Substring(line)
        while let last = line.utf8.last, last == 0x0a || last == 0x0d { line = Substring(line.utf8.dropLast()) }
        let isHTTPOnly = line.hasPrefix(Self.httpOnlyMark)
        if isHTTPOnly { line = line.dropFirst(Self.httpOnlyMark.count) }
        guard line.utf8.first != 0x23 else { return nil }
        // Curl treats consecutive tabs as one tab, so the value at the end can be empty. The path can be empty too,
        // because the type of the next field shows that the path is missing.
        var fields = line.split(separator: "\t")
        if fields.count > 2, ["TRUE", "FALSE"].contains(fields[2]) { fields.insert("/", at: 2) }
        if fields.count == 6 { fields.append("") }
        guard fields.count == 7, let seconds = Int64(fields[4]), seconds >= 0 else { return nil }
        self.init(
            name: String(fields[5]), value: String(fields[6]), domain: String(fields[0]),
            includesSubdomains: fields[1].isTrue, path: String(fields[2]), isSecure: fields[3].isTrue,
            isHTTPOnly: isHTTPOnly, expires: seconds == 0 ? nil : Date(timeIntervalSince1970: Double(seconds)))
    }

    /// The cookie as a line of a Netscape cookie file, without a line break.
    ///
    /// The line contains the value.
    package var netscapeLine: String {
        let fields = [
            (isHTTPOnly ? Self.httpOnlyMark : "") + (includesSubdomains ? "." : "") + domain,
            includesSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE", String(expirySeconds), name,
            value,
        ]
        return fields.joined(separator: "\t")
    }

    static let httpOnlyMark = "#HttpOnly_"

    /// The expiry date in seconds since 1970; 0 if there is no date.
    ///
    /// A date before 1970 becomes the first second of 1970.
    private var expirySeconds: Int64 {
        guard let seconds = expires?.timeIntervalSince1970 else { return 0 }
        // A date that is not a number is in the past.
        guard !seconds.isNaN else { return 1 }
        return Int64(min(max(seconds.rounded(.down), 1), 9e15))
    }
}

extension Substring {
    fileprivate var isTrue: Bool { String(self).isSameIgnoringCase(as: "TRUE") }
}
