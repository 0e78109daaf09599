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
    package var isHostOnly: Bool { !includesSubdomains }

    /// Whether the cookie lasts as long as its session.
    public var isSessionCookie: Bool { expires == nil }

    /// Returns whether the cookie has expired.
    ///
    /// - Parameter date: The time in question; now by default.
    /// - Returns: Whether the cookie is not sent any more at that time.
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
    /// The name and where the cookie is sent, without its value.
    package var text: String {
        let host = includesSubdomains ? "*.\(domain)" : domain
        return "Cookie(\(name)=\(Redaction.placeholder) for \(host)\(path)\(isSecure ? ", secure" : ""))"
    }

    package var shownParts: KeyValuePairs<String, Any> { ["name": name, "domain": domain, "path": path] }
}

extension Cookie {
    /// Checks that a session can keep the cookie and send it as it is.
    ///
    /// The limits are those of libcurl, which silently drops a cookie that is beyond them.
    func validate() throws(RequestError) {
        if let reason = refusal { throw RequestError(.cookies(reason)) }
    }

    /// Why the cookie cannot be kept, if it cannot.
    private var refusal: RequestError.CookieReason? {
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != 0x3b && $0 != 0x3d }) else {
            return .invalidName
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f && $0 != 0x3b }), value.trimmed == value else {
            return .invalidValue(name: name)
        }
        guard name.utf8.count + value.utf8.count <= Self.sizeLimit else { return .tooLarge(name: name) }
        // Libcurl would treat two slashes as one, and so send the cookie everywhere.
        guard path.utf8.first == 0x2f, path != "//", path.utf8.count <= Self.sizeLimit,
            path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f && $0 != 0x3b })
        else { return .invalidPath(name: name) }
        guard Self.isHost(domain) else { return .invalidDomain(name: name) }
        if includesSubdomains {
            guard !HostName.hasNoDomains(domain) else { return .invalidDomain(name: name) }
            guard !PublicSuffixes.isPublicSuffix(domain) else { return .publicSuffix(name: name, domain: domain) }
        }
        return prefixRefusal
    }

    /// Which promise of the name's prefix the cookie does not keep (RFC 6265bis §4.1.3).
    private var prefixRefusal: RequestError.CookieReason? {
        let prefix = name.lowercased()
        if prefix.hasPrefix("__secure-"), !isSecure { return .prefix(name: name) }
        if prefix.hasPrefix("__host-"), !isSecure || includesSubdomains || path != "/" { return .prefix(name: name) }
        return nil
    }

    /// The most bytes that a name and its value have, as in libcurl and browsers.
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
    /// Reads a line of a Netscape cookie file, as libcurl and browsers' tools write them.
    ///
    /// - Parameter line: Seven fields that tabs separate: domain, whether subdomains are included, path, whether it is
    ///   secure, expiry in seconds since 1970 or 0, name, value. `#HttpOnly_` may stand in front.
    package init?(netscapeLine line: some StringProtocol) {
        var line = Substring(line)
        while let last = line.utf8.last, last == 0x0a || last == 0x0d { line = Substring(line.utf8.dropLast()) }
        let isHTTPOnly = line.hasPrefix(Self.httpOnlyMark)
        if isHTTPOnly { line = line.dropFirst(Self.httpOnlyMark.count) }
        guard line.utf8.first != 0x23 else { return nil }
        // Tabs in a row are one to libcurl: only the value, at the end, can be empty. So may the path, by its look.
        var fields = line.split(separator: "\t")
        if fields.count > 2, ["TRUE", "FALSE"].contains(fields[2]) { fields.insert("/", at: 2) }
        if fields.count == 6 { fields.append("") }
        guard fields.count == 7, let seconds = Int64(fields[4]), seconds >= 0 else { return nil }
        self.init(
            name: String(fields[5]), value: String(fields[6]), domain: String(fields[0]),
            includesSubdomains: fields[1].isTrue, path: String(fields[2]), isSecure: fields[3].isTrue,
            isHTTPOnly: isHTTPOnly, expires: seconds == 0 ? nil : Date(timeIntervalSince1970: Double(seconds)))
    }

    /// The cookie as a line of a Netscape cookie file, without a line end.
    ///
    /// It shows the value.
    package var netscapeLine: String {
        let fields = [
            (isHTTPOnly ? Self.httpOnlyMark : "") + (includesSubdomains ? "." : "") + domain,
            includesSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE", String(expirySeconds), name,
            value,
        ]
        return fields.joined(separator: "\t")
    }

    static let httpOnlyMark = "#HttpOnly_"

    /// The expiry in seconds since 1970; 0 stands for none, so an expiry in the far past becomes the first second.
    private var expirySeconds: Int64 {
        guard let seconds = expires?.timeIntervalSince1970 else { return 0 }
        // What is no time at all is past.
        guard !seconds.isNaN else { return 1 }
        return Int64(min(max(seconds.rounded(.down), 1), 9e15))
    }
}

extension Substring {
    fileprivate var isTrue: Bool { String(self).isSameIgnoringCase(as: "TRUE") }
}
