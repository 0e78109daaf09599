import CCurl
import FoundationEssentials

/// Stores the cookies of an engine in libcurl.
///
/// An instance belongs to the engine and never leaves the loop's thread. Libcurl's callbacks report received cookies
/// and requests that are about to be sent. The cookies are read and changed with a handle that no transfer uses.
/// Libcurl does not use the cookies during its callbacks.
final class CookieJar {
    private let store: CookieAndHSTSStore?
    private var easy: EasyHandle?
    private var initial: [Cookie]
    private let decision: CookieDecision
    private var quota = CookieQuota()
    private var isOverQuota = false
    /// Whether all corrections to the cookies have been made.
    private var isSettled = true
    private var paths = CookiePaths()
    private var suffixes = PublicSuffixCookies()
    /// The fields that libcurl may have parsed differently from the standard.
    private var doubtful: [(field: String, url: URL)] = []
    /// The cookies that must not be sent with the last request; see ``CookiePaths``.
    private var hidden: [Cookie] = []
    /// The host that last set a cookie.
    private var latestHost: (name: String, site: String, isPublicSuffix: Bool)?

    /// Creates the jar of a session; `nil` if the session does not store cookies.
    init?(_ configuration: Session.Configuration.Cookies, _ store: CookieAndHSTSStore?) {
        guard configuration.policy != .never else { return nil }
        self.store = store
        initial = configuration.initial
        decision = CookieDecision(policy: configuration.policy)
    }

    /// Whether cookies are sent with a request, and stored from its response.
    func isUsed(by request: HTTPRequest) -> Bool {
        decision.includesCookies(in: request) && opened != nil
    }

    /// An idle handle that uses the cookies, created when it is first needed.
    private var opened: EasyHandle? {
        if let easy { return easy }
        guard let share = store?.share, let easy = EasyHandle() else { return nil }
        easy.use(share, withCookies: true)
        self.easy = easy
        let cookies = initial
        initial = []
        set(cookies, with: easy)
        return easy
    }

    // MARK: Reading and changing

    /// The cookies that have not expired.
    func cookies(now: Date = Date()) -> [Cookie] {
        guard let easy = opened else { return [] }
        settle()
        return kept(by: easy).compactMap { $0.isExpired(at: now) ? nil : paths.restoring($0) }
    }

    func change(_ change: CookieChange) {
        guard let easy = opened else { return }
        settle()
        switch change {
        case .set(let cookies): set(cookies, with: easy)
        case .delete(let cookies): for cookie in cookies { expire(cookie, with: easy) }
        case .deleteDomain(let domain):
            let domain = Cookie(name: "", value: "", domain: domain, includesSubdomains: true)
            for cookie in cookies() where domain.matches(host: cookie.domain) { expire(cookie, with: easy) }
        case .deleteSessionCookies: easy.set(CURLOPT_COOKIELIST, "SESS")
        case .deleteAll: easy.set(CURLOPT_COOKIELIST, "ALL")
        }
    }

    private func set(_ cookies: [Cookie], with easy: EasyHandle) {
        for cookie in cookies {
            keep(cookie, with: easy)
            isOverQuota = quota.cookieSet(for: PublicSuffixes.site(of: cookie.domain)) || isOverQuota
        }
        if isOverQuota { enforceQuota(with: easy) }
    }

    private func keep(_ cookie: Cookie, with easy: EasyHandle) {
        easy.set(CURLOPT_COOKIELIST, cookie.netscapeLine)
        paths.cookieSet(cookie)
    }

    /// Replaces a cookie with an expired one, which removes both.
    private func expire(_ cookie: Cookie, with easy: EasyHandle) {
        var cookie = cookie
        cookie.value = ""
        cookie.expires = Date(timeIntervalSince1970: 1)
        easy.set(CURLOPT_COOKIELIST, cookie.netscapeLine)
    }

    /// Returns libcurl's cookies, without the cookies of unwanted domains.
    private func kept(by easy: EasyHandle, ofDomains isWanted: (String) -> Bool = { _ in true }) -> [Cookie] {
        var cookies: [Cookie] = []
        CookieLines(of: easy).forEach { line in
            guard isWanted(line.domain), let cookie = line.cookie else { return }
            cookies.append(cookie)
        }
        return cookies
    }

    // MARK: Cookies from responses

    /// Records a `Set-Cookie` field that libcurl has just read.
    func received(_ field: String, from url: URL) {
        guard let target = CookieTarget(url) else { return }
        let isKnown = latestHost?.name == target.host
        let site = isKnown ? latestHost?.site ?? "" : PublicSuffixes.site(of: target.host)
        let isSuffix = isKnown ? latestHost?.isPublicSuffix ?? false : PublicSuffixes.isPublicSuffix(target.host)
        if !isKnown { latestHost = (target.host, site, isSuffix) }
        if isSuffix { suffixes.received(field, from: target.host) }
        let isRead = CookiePaths.isRead(field) && !CookieNames.isDoubtful(field)
        if !paths.isEmpty || !isRead { doubtful.append((field, url)) }
        isOverQuota = quota.cookieSet(for: site) || isOverQuota
        isSettled = !isOverQuota && suffixes.isEmpty && doubtful.isEmpty && hidden.isEmpty
    }

    /// Prepares the cookies for a request that libcurl is about to send.
    func requestBegins(to url: URL) {
        settle()
        guard !paths.isEmpty, let target = CookieTarget(url), paths.concerns(target.path), let easy = opened else {
            return
        }
        let kept = kept(by: easy) { target.host.hasSuffix($0) }
        hidden = kept.map(paths.restoring).filter { cookie in
            cookie.path == target.path + "/" && cookie.matches(host: target.host)
        }
        for cookie in hidden { expire(cookie, with: easy) }
        isSettled = hidden.isEmpty
    }

    /// Corrects the cookies after some were received; called before a request and before the loop waits.
    func settle() {
        guard !isSettled, let easy = opened else { return }
        isSettled = true
        if !suffixes.isEmpty { confineCookies(with: easy) }
        if !doubtful.isEmpty { correctCookies(with: easy) }
        for cookie in hidden { keep(cookie, with: easy) }
        hidden = []
        if isOverQuota { enforceQuota(with: easy) }
    }

    /// Limits cookies to their host if the host is a public suffix and has set them for all its subdomains.
    private func confineCookies(with easy: EasyHandle) {
        for (taken, confined) in suffixes.confined(kept(by: easy, ofDomains: suffixes.hosts.contains)) {
            expire(taken, with: easy)
            easy.set(CURLOPT_COOKIELIST, confined.netscapeLine)
        }
    }

    /// Corrects the cookies that libcurl has not parsed by the standard; see ``CookiePaths`` and ``CookieNames``.
    private func correctCookies(with easy: EasyHandle) {
        let fields = doubtful.compactMap { field, url in CookieTarget(url).map { (field, url, $0) } }
        doubtful = []
        let hosts = Set(fields.map(\.2.host))
        let kept = kept(by: easy) { domain in hosts.contains { $0.hasSuffix(domain) } }
        var refused = kept.filter(\.name.isEmpty)
        for (field, url, target) in fields {
            guard let parsed = Cookie(parsing: field, for: target) else { continue }
            // The field has replaced or removed the other cookie.
            hidden.removeAll { CookiePaths.areSameInLibcurl($0, parsed) }
            // Libcurl does not accept every field; a refused field must not remove another cookie.
            guard target.isSecure || !parsed.isSecure,
                let taken = CookiePaths.taken(from: field, as: parsed, among: kept)
            else { continue }
            let cookie = try? Cookie(setCookie: field, for: url)
            if let cookie, CookiePaths.areSameInLibcurl(taken, cookie) {
                paths.cookieSet(cookie)
                continue
            }
            if cookie == nil, CookieNames.isDoubtful(field) {
                refused.append(taken)
                continue
            }
            expire(taken, with: easy)
            if let cookie, target.isSecure || !kept.contains(where: { $0.isSecure && $0.overlaps(cookie) }) {
                keep(cookie, with: easy)
            }
        }
        if !refused.isEmpty { remove(refused, with: easy) }
    }

    /// Removes cookies that libcurl may not replace, because it does not accept their names from a list.
    private func remove(_ refused: [Cookie], with easy: EasyHandle) {
        for var cookie in refused {
            cookie.isSecure = true
            expire(cookie, with: easy)
        }
        let lines = CookieLines(of: easy)
        func isRefused(_ line: CookieLines.Line) -> Bool { line.cookie.map(refused.contains) ?? false }
        var isThere = false
        lines.forEach { isThere = isThere || isRefused($0) }
        guard isThere else { return }
        easy.set(CURLOPT_COOKIELIST, "ALL")
        lines.forEach { if !isRefused($0) { $0.set(with: easy) } }
    }

    // MARK: Limits

    /// Removes the oldest cookies if there are too many.
    private func enforceQuota(with easy: EasyHandle) {
        isOverQuota = false
        let lines = CookieLines(of: easy)
        var sites: [String: String] = [:]
        func site(of line: CookieLines.Line) -> String {
            let domain = line.domain
            if let site = sites[domain] { return site }
            let site = PublicSuffixes.site(of: domain)
            sites[domain] = site
            return site
        }
        var counts: [String: Int] = [:]
        lines.forEach { counts[site(of: $0), default: 0] += 1 }
        var excess = quota.counted(counts)
        guard !excess.isEmpty else { return }
        var gone: [Cookie] = []
        lines.forEach { line in
            let site = site(of: line)
            guard let count = excess[site], count > 0, let cookie = Cookie(netscapeLine: line.text) else { return }
            excess[site] = count - 1
            gone.append(cookie)
        }
        for cookie in gone { expire(cookie, with: easy) }
        if !paths.isEmpty { paths.keep(kept(by: easy)) }
    }
}

extension Cookie {
    /// Whether two cookies have the same name and domain, so that libcurl could confuse them.
    fileprivate func overlaps(_ other: Cookie) -> Bool {
        domain == other.domain && name.isSameIgnoringCase(as: other.name)
    }
}

/// The cookies of a handle as lines of a Netscape cookie file; the cookies of each host are in the order of arrival.
// Safety: this value owns the list, and the lines are copied when they are read.
@safe
private struct CookieLines: ~Copyable {
    /// One of the lines, which is valid as long as the list.
    @safe
    struct Line {
        fileprivate let bytes: UnsafePointer<CChar>

        var text: String { unsafe String(cString: bytes) }

        var cookie: Cookie? {
            let text = text
            return Cookie(netscapeLine: text).map { CookieNames.restoring($0, from: text) }
        }

        /// Adds the cookie to a handle, byte for byte.
        func set(with easy: EasyHandle) {
            unsafe easy.set(CURLOPT_COOKIELIST, pointer: UnsafeMutableRawPointer(mutating: bytes))
        }

        /// The first field without its prefix and leading dot; the rest of the line is not converted to text.
        var domain: String {
            var count = 0
            while unsafe bytes[count] != 0, unsafe bytes[count] != 0x09 { count += 1 }
            var domain = unsafe Substring(
                decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
            if domain.hasPrefix(Cookie.httpOnlyMark) { domain = domain.dropFirst(Cookie.httpOnlyMark.count) }
            return Cookie.canonicalDomain(String(domain))
        }
    }

    private let list: UnsafeMutablePointer<curl_slist>?

    init(of easy: EasyHandle) {
        unsafe list = unsafe bb_curl_copy_cookies(easy.pointer)
    }

    deinit {
        unsafe curl_slist_free_all(list)
    }

    borrowing func forEach(_ body: (Line) -> Void) {
        var next = unsafe list
        while let node = unsafe next {
            if let text = unsafe node.pointee.data { body(unsafe Line(bytes: text)) }
            unsafe next = node.pointee.next
        }
    }
}

/// Decides when the cookies of a jar must be counted, and how many cookies to remove.
///
/// This is a value type without I/O and without a clock.
///
/// The limits are like those of browsers: 180 cookies per site, and 3,300 in total. A site is the domain that is
/// registered under a public suffix. If a limit is exceeded, the number is reduced to 150 per site, or 3,000 in total.
/// Counting takes time, so the cookies are counted at most once per 30 new cookies of a site, or 300 in total. Until
/// then, the limits may be exceeded by these numbers.
struct CookieQuota: Equatable {
    /// A limit, and the number of cookies to which an excess is reduced.
    struct Limit: Equatable {
        let most: Int
        let kept: Int
    }

    static let site = Limit(most: 180, kept: 150)
    static let jar = Limit(most: 3300, kept: 3000)

    /// The highest possible number of cookies, and the number at which they must be counted.
    private struct CountEstimate: Equatable {
        var most = 0
        var due: Int
        /// The number of cookies that had been set in the jar when the last cookie of the site was set.
        var lastSet = 0

        init(_ limit: Limit) { due = limit.most }

        mutating func counted(_ count: Int, _ limit: Limit) {
            most = count
            due = max(limit.most, count + limit.most - limit.kept)
        }
    }

    private var jar = CountEstimate(Self.jar)
    private var sites: [String: CountEstimate] = [:]

    /// Called when a cookie was set or replaced; returns whether the jar must be counted.
    mutating func cookieSet(for site: String) -> Bool {
        jar.lastSet += 1
        jar.most += 1
        var estimate = sites[site] ?? CountEstimate(Self.site)
        estimate.most += 1
        estimate.lastSet = jar.lastSet
        sites[site] = estimate
        return estimate.most > estimate.due || jar.most > jar.due
    }

    /// Called with the number of cookies per site; returns how many of the oldest cookies of each site to remove.
    ///
    /// If there are too many cookies in total, the sites that have not set a cookie for the longest time lose their
    /// cookies first.
    mutating func counted(_ counts: [String: Int]) -> [String: Int] {
        var left = counts
        for (site, count) in counts where count > Self.site.most { left[site] = Self.site.kept }
        var total = left.values.reduce(0, +)
        if total > Self.jar.most {
            let byAge = left.keys.sorted { lastSet($0) < lastSet($1) }
            for site in byAge where total > Self.jar.kept {
                let number = min(left[site] ?? 0, total - Self.jar.kept)
                left[site]? -= number
                total -= number
            }
        }
        let earlier = sites
        sites = [:]
        for (site, count) in left where count > 0 {
            var estimate = earlier[site] ?? CountEstimate(Self.site)
            estimate.counted(count, Self.site)
            sites[site] = estimate
        }
        jar.counted(total, Self.jar)
        return counts.merging(left) { $0 - $1 }.filter { $0.value > 0 }
    }

    private func lastSet(_ site: String) -> Int { sites[site]?.lastSet ?? 0 }
}
