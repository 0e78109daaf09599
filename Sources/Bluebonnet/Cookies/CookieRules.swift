public import FoundationEssentials

extension Cookie {
    /// Returns whether the cookie is sent with requests to a URL (RFC 6265 §5.4).
    ///
    /// - Parameters:
    ///   - url: The URL of a request.
    ///   - date: The time of the request; the current time by default.
    /// - Returns: Whether the host and the path match the cookie and the cookie has not expired. A secure cookie also
    ///   requires `https` or the local machine.
    package func isSent(to url: URL, at date: Date = Date()) -> Bool {
        CookieTarget(url).map { isSent(to: $0, at: date) } ?? false
    }

    func isSent(to target: CookieTarget, at date: Date) -> Bool {
        matches(path: target.path) && matches(host: target.host) && (!isSecure || target.isSecure)
            && !isExpired(at: date)
    }

    /// Whether the cookie is sent before another one; `nil` if the older one is sent first (RFC 6265 §5.4).
    func isSent(before other: Cookie) -> Bool? {
        let (length, otherLength) = (path.utf8.count, other.path.utf8.count)
        return length == otherLength ? nil : length > otherLength
    }

    /// Whether another cookie takes the place of this one when it is set (RFC 6265 §5.3).
    func isReplaced(by other: Cookie) -> Bool {
        name == other.name && path == other.path && domain == other.domain
            && includesSubdomains == other.includesSubdomains
    }

    /// Whether the host is the cookie's domain, or a subdomain if the cookie includes subdomains (RFC 6265 §5.1.3).
    func matches(host: String) -> Bool {
        host == domain || includesSubdomains && isDomain(above: host)
    }

    /// Whether a host is the cookie's domain or below it, even if the cookie is not sent to it.
    func isDomain(above host: String) -> Bool {
        host == domain || !HostName.hasNoDomains(host) && host.hasSuffix(".\(domain)")
    }

    /// Whether the path is the cookie's path or below it (RFC 6265 §5.1.4).
    func matches(path requested: String) -> Bool {
        guard requested.hasPrefix(path) else { return false }
        return requested.utf8.count == path.utf8.count || path.hasSuffix("/")
            || requested.utf8.dropFirst(path.utf8.count).first == 0x2f
    }
}

extension [Cookie] {
    /// The cookies in the order in which they are sent; the array must be in the order in which they were set.
    var inOrderOfSending: [Cookie] {
        enumerated()
            .sorted { $0.element.isSent(before: $1.element) ?? ($0.offset < $1.offset) }
            .map(\.element)
    }
}

/// The properties of a request's URL that its cookies depend on.
struct CookieTarget {
    /// The host in lower case and in ASCII; an IPv6 address has no brackets.
    let host: String
    /// The path in the form in which it is sent.
    let path: String
    /// Whether secure cookies may be sent to the target: over `https`, or to the local machine as in libcurl.
    let isSecure: Bool

    /// Creates the target of a URL; a caller may remember the ASCII form of a host.
    init?(_ url: URL, ascii: (String) -> String = HostName.ascii) {
        guard let (host, path) = Self.plainParts(of: url.absoluteString) ?? Self.parts(of: url) else { return nil }
        self.host = ascii(host)
        self.path = path.isEmpty ? "/" : path
        isSecure = url.isSecure || Self.localNames.contains(self.host)
    }

    private static let localNames = ["localhost", "127.0.0.1", "::1"]

    private static func parts(of url: URL) -> (host: String, path: String)? {
        guard let host = url.host(percentEncoded: false), !host.isEmpty else { return nil }
        return (host, url.path(percentEncoded: true))
    }

    /// Returns the parts of an ASCII URL without escapes; URL's properties would take 8,000 instructions.
    private static func plainParts(of text: String) -> (host: String, path: String)? {
        guard text.utf8.allSatisfy({ $0 < 0x80 && $0 != 0x25 && $0 != 0x5b }) else { return nil }
        let syntax = URLSyntax(text.utf8.span)
        guard !syntax.host.isEmpty else { return nil }
        func slice(_ part: Substring.UTF8View) -> String { String(Substring(part)) }
        let rest = Substring(text).utf8
        return (
            slice(rest.dropFirst(syntax.host.lowerBound).prefix(syntax.host.count)),
            slice(rest.dropFirst(syntax.authority.upperBound).prefix { $0 != 0x3f && $0 != 0x23 })
        )
    }

    /// The path of a cookie without a `Path` attribute (RFC 6265 §5.1.4).
    var defaultPath: String {
        guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}

extension Cookie {
    /// Creates a cookie from the value of a `Set-Cookie` field (RFC 6265 §5.2, §5.3).
    ///
    /// - Parameters:
    ///   - field: The value of the field.
    ///   - url: The URL of the request whose response contains the field.
    /// - Throws: A ``RequestError`` of the kind ``RequestError/Kind-swift.enum/cookies(_:)`` if the field is not a
    ///   valid cookie, or if the host must not set the cookie.
    public init(setCookie field: String, for url: URL) throws(RequestError) {
        guard let target = CookieTarget(url), let cookie = Cookie(parsing: field, for: target) else {
            throw RequestError(.cookies(.malformed))
        }
        self = cookie
        try checkSetting(by: target)
    }

    /// Parses the value of a `Set-Cookie` field without validation; `nil` if the value is not a cookie.
    init?(parsing field: String, for target: CookieTarget) {
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
        let (name, value) = Self.pair(parts[0])
        guard !name.isEmpty, let value else { return nil }
        self.init(name: name, value: value, domain: target.host, path: target.defaultPath)
        var maximumAge: Date?
        for part in parts.dropFirst() {
            let (attribute, value) = Self.pair(part)
            switch (attribute.lowercased(), value ?? "") {
            case ("domain", let value) where !value.isEmpty:
                // Property observers do not run in an initializer.
                domain = Self.canonicalDomain(value)
                includesSubdomains = true
            case ("path", let value): path = value.hasPrefix("/") ? value : target.defaultPath
            case ("secure", _): isSecure = true
            case ("httponly", _): isHTTPOnly = true
            case ("max-age", let value): maximumAge = Self.expiry(after: value) ?? maximumAge
            case ("expires", let value): expires = Self.date(value) ?? expires
            default: break
            }
        }
        // `Max-Age` takes precedence over `Expires`.
        expires = maximumAge ?? expires
        if includesSubdomains, domain == target.host {
            // A host that is a public suffix or an IP address can set cookies only for itself (RFC 6265 §5.3).
            includesSubdomains = !HostName.hasNoDomains(domain) && !PublicSuffixes.isPublicSuffix(domain)
        }
    }

    /// Checks that the host may set the cookie (RFC 6265 §5.3, RFC 6265bis §5.7).
    private func checkSetting(by target: CookieTarget) throws(RequestError) {
        if !matches(host: target.host) {
            throw RequestError(.cookies(.foreignDomain(name: name, domain: domain)))
        }
        if isSecure, !target.isSecure { throw RequestError(.cookies(.insecure(name: name))) }
        try validate()
    }

    /// Returns the name and the value around the first equals sign, without white space.
    private static func pair(_ text: Substring) -> (String, String?) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0].trimmed), parts.count > 1 ? String(parts[1].trimmed) : nil)
    }

    /// Returns the time after a number of seconds (RFC 6265 §5.2.2); a time in the past for 0 or less.
    private static func expiry(after seconds: String) -> Date? {
        let digits = seconds.hasPrefix("-") ? seconds.dropFirst() : Substring(seconds)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        guard seconds.first != "-", let count = Double(digits), count > 0 else {
            return Date(timeIntervalSince1970: 1)
        }
        return Date(timeIntervalSince1970: min(Date().timeIntervalSince1970 + count, 9e15))
    }
    /// Returns the time of an `Expires` attribute, which is parsed leniently (RFC 6265 §5.1.1).
    private static func date(_ text: String) -> Date? {
        var (clock, day, month, year): (Int?, Int?, Int?, Int?)
        for token in text.utf8.split(whereSeparator: isDateDelimiter) {
            if clock == nil, let time = timeOfDay(token) {
                guard time.hour < 24, time.minute < 60, time.second < 60 else { return nil }
                clock = time.hour * 3600 + time.minute * 60 + time.second
            } else if day == nil, let number = number(token, digits: 1...2) {
                day = number
            } else if month == nil, let index = monthIndex(token) {
                month = index + 1
            } else if year == nil, let number = number(token, digits: 2...4) {
                year = number < 70 ? number + 2000 : number < 100 ? number + 1900 : number
            }
        }
        guard let clock, let day, let month, let year, year >= 1601 else { return nil }
        // A Netscape cookie file cannot express a time before the first second of 1970.
        return HTTPDate.date(year, month, day, clock).map { max($0, Date(timeIntervalSince1970: 1)) }
    }

    private static func isDateDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    /// Returns the parts of a time, which may be too large; `nil` if the token is not a time.
    private static func timeOfDay(_ token: Substring.UTF8View) -> (hour: Int, minute: Int, second: Int)? {
        let parts = token.split(separator: 0x3a, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts.dropLast().allSatisfy({ $0.allSatisfy { $0 &- 0x30 < 10 } }),
            let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func monthIndex(_ token: Substring.UTF8View) -> Int? {
        let name = String(decoding: token.prefix(3), as: UTF8.self)
        return HTTPDate.months.firstIndex { $0.isSameIgnoringCase(as: name) }
    }

    /// Returns the number at the beginning of a token, if its count of digits is in the range.
    private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
        let number = token.prefix { $0 &- 0x30 < 10 }
        return digits.contains(number.count) ? Int(String(decoding: number, as: UTF8.self)) : nil
    }
}

/// Decides whether an exchange sends and stores cookies.
struct CookieDecision: Sendable {
    let policy: Session.Configuration.Cookies.Policy
    /// Returns the site of a host: the domain directly below a public suffix.
    var site: @Sendable (String) -> String = { PublicSuffixes.site(of: $0) }

    /// Whether an exchange for the request sends and stores the session's cookies.
    func includesCookies(in request: HTTPRequest) -> Bool {
        guard request.handlesCookies else { return false }
        switch policy {
        case .always: return true
        case .never: return false
        case .firstPartyOnly:
            guard let first = request.firstPartyURL else { return true }
            guard let visited = CookieTarget(first), let asked = CookieTarget(request.url) else { return false }
            return visited.host == asked.host || site(visited.host) == site(asked.host)
        }
    }
}
