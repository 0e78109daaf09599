import FoundationEssentials

/// The stored cookies of a session, by the rules of RFC 6265 §5.3 and §5.4.
///
/// This is a value type without I/O and without a clock.
struct CookieJar {
    private struct Entry {
        let cookie: Cookie
        /// The positions at which the cookie was created and last set, among all cookies of the jar.
        let created: Int
        let lastSet: Int
        /// The name and the value as received, if they are not UTF-8.
        let receivedPair: [UInt8]?
    }

    /// The cookies by site, in the order in which they were created; a site is the domain below a public suffix.
    private var sites: [String: [Entry]] = [:]
    private var quota = CookieQuota()
    private var latest = 0
    /// The host of the last request, as written and in ASCII, because the conversion takes 5,000 instructions.
    private var latestName = (written: "", ascii: "")
    /// The host whose site was last looked up.
    private var latestHost = (name: "", site: "")

    /// The limits for the `Cookie` field of a request, as in libcurl.
    private static let maximumSent = (cookies: 150, bytes: 8190)

    // MARK: Sending

    /// Returns the value of a request's `Cookie` field; empty if no cookie is sent (RFC 6265 §5.4).
    mutating func field(for url: URL, now: @autoclosure () -> Date) -> [UInt8] {
        guard !sites.isEmpty, let target = target(of: url), let stored = sites[site(of: target.host)] else {
            return []
        }
        let now = now()
        var entries = stored.filter { $0.cookie.isSent(to: target, at: now) }
        entries.sort { $0.cookie.isSent(before: $1.cookie) ?? ($0.created < $1.created) }
        var field: [UInt8] = []
        for entry in entries.prefix(Self.maximumSent.cookies) {
            let pair = entry.receivedPair ?? Array("\(entry.cookie.name)=\(entry.cookie.value)".utf8)
            guard field.count + pair.count + 2 <= Self.maximumSent.bytes else { continue }
            if !field.isEmpty { field += [0x3b, 0x20] }
            field += pair
        }
        return field
    }

    private mutating func target(of url: URL) -> CookieTarget? {
        CookieTarget(url) { written in
            if latestName.written != written { latestName = (written, HostName.ascii(written)) }
            return latestName.ascii
        }
    }

    // MARK: Storing

    /// Stores the cookie of a `Set-Cookie` field, unless its host must not set it (RFC 6265 §5.3).
    mutating func received(_ field: [UInt8], from url: URL, now: Date) {
        // Bytes that are not UTF-8 are decoded as ISO-8859-1, so that different names stay different.
        let text =
            String(validating: field, as: UTF8.self)
            ?? String(String.UnicodeScalarView(field.map { Unicode.Scalar($0) }))
        guard let cookie = try? Cookie(setCookie: text, for: url), let target = CookieTarget(url),
            cookie.isSecure || target.isSecure || !isSecured(cookie)
        else { return }
        set(cookie, as: String(validating: field, as: UTF8.self) == nil ? Self.pair(of: field) : nil, now: now)
    }

    /// Whether a secure cookie exists that a server without TLS must not replace or hide (RFC 6265bis §5.7).
    private mutating func isSecured(_ cookie: Cookie) -> Bool {
        (sites[site(of: cookie.domain)] ?? []).contains { entry in
            let stored = entry.cookie
            return stored.isSecure && stored.name == cookie.name && stored.matches(path: cookie.path)
                && (stored.isDomain(above: cookie.domain) || cookie.isDomain(above: stored.domain))
        }
    }

    mutating func set(_ cookie: Cookie, as receivedPair: [UInt8]? = nil, now: Date) {
        if let site = store(cookie, as: receivedPair, now: now), quota.cookieSet(for: site) { enforceQuota(now) }
    }

    /// Stores many cookies, and counts all cookies only once.
    private mutating func set(_ cookies: [Cookie], now: Date) {
        var isDue = false
        for cookie in cookies {
            guard let site = store(cookie, now: now) else { continue }
            if quota.cookieSet(for: site) { isDue = true }
            // The search for a cookie to replace takes longer with each cookie of the site.
            let count = sites[site]?.count ?? 0
            if count > CookieQuota.site.most { removeOldest(count - CookieQuota.site.kept, of: site) }
        }
        if isDue { enforceQuota(now) }
    }

    /// Stores or removes a cookie; returns its site if it was stored.
    private mutating func store(_ cookie: Cookie, as receivedPair: [UInt8]? = nil, now: Date) -> String? {
        let site = site(of: cookie.domain)
        // The cookies are removed from the dictionary during the change, so that they are not copied.
        var entries = sites.removeValue(forKey: site) ?? []
        let index = entries.firstIndex { $0.cookie.isReplaced(by: cookie) }
        latest += 1
        let entry = Entry(
            cookie: cookie, created: index.map { entries[$0].created } ?? latest, lastSet: latest,
            receivedPair: receivedPair)
        let isExpired = cookie.isExpired(at: now)
        switch (index, isExpired) {
        case (let index?, true): entries.remove(at: index)
        case (let index?, false): entries[index] = entry
        case (nil, false): entries.append(entry)
        case (nil, true): break
        }
        if !entries.isEmpty { sites[site] = entries }
        return isExpired ? nil : site
    }

    private mutating func site(of host: String) -> String {
        if latestHost.name != host { latestHost = (host, PublicSuffixes.site(of: host)) }
        return latestHost.site
    }

    /// The name and the value at the beginning of a field, without white space around them.
    private static func pair(of field: [UInt8]) -> [UInt8] {
        let parts = field.prefix { $0 != 0x3b }.split(separator: 0x3d, maxSplits: 1, omittingEmptySubsequences: false)
        return Array(parts.map { URLText.stripped($0, where: FieldSyntax.isWhitespace) }.joined(separator: [0x3d]))
    }

    // MARK: Reading and changing

    /// The cookies that have not expired; those of each site are in the order in which they were created.
    func cookies(at now: Date) -> [Cookie] {
        sites.values.joined().map(\.cookie).filter { !$0.isExpired(at: now) }
    }

    mutating func change(_ change: CookieChange, now: Date) {
        switch change {
        case .set(let cookies): set(cookies, now: now)
        case .delete(let cookies):
            for cookie in cookies { removeAll { $0.cookie.isReplaced(by: cookie) } }
        case .deleteDomain(let domain):
            let domain = Cookie(name: "", value: "", domain: domain, includesSubdomains: true)
            removeAll { domain.matches(host: $0.cookie.domain) }
        case .deleteSessionCookies: removeAll { $0.cookie.isSessionCookie }
        case .deleteAll: sites = [:]
        }
    }

    private mutating func removeAll(where isRemoved: (Entry) -> Bool) {
        sites = sites.compactMapValues { entries in
            let kept = entries.filter { !isRemoved($0) }
            return kept.isEmpty ? nil : kept
        }
    }

    /// Removes the expired cookies, and the oldest cookies if there are still too many.
    private mutating func enforceQuota(_ now: Date) {
        removeAll { $0.cookie.isExpired(at: now) }
        for (site, excess) in quota.counted(sites.mapValues(\.count)) { removeOldest(excess, of: site) }
    }

    private mutating func removeOldest(_ number: Int, of site: String) {
        let oldest = Set((sites[site] ?? []).map(\.lastSet).sorted().prefix(number))
        sites[site]?.removeAll { oldest.contains($0.lastSet) }
        if sites[site]?.isEmpty == true { sites[site] = nil }
    }
}
