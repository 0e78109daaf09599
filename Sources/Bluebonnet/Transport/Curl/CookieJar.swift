import CCurl
import FoundationEssentials

/// Keeps the cookies of an engine, in libcurl, and reads and changes them there.
///
/// Belongs to the engine; never leaves the loop's thread. Libcurl's callbacks report cookies that came and requests
/// that are about to be sent: the handle by which it reads and changes the cookies belongs to no transfer, and libcurl
/// does nothing with cookies while it calls back.
final class CookieJar {
    private let store: CookieAndHSTSStore?
    private var easy: EasyHandle?
    private var initial: [Cookie]
    private let decision: CookieDecision
    private var quota = CookieQuota()
    private var isOverQuota = false
    /// Whether the cookies have been corrected.
    private var isSettled = true
    private var paths = CookiePaths()
    private var suffixes = PublicSuffixCookies()
    /// The fields that libcurl may have parsed as other cookies than they are.
    private var doubtful: [(field: String, url: URL)] = []
    /// The cookies that must not go with the request that was begun last; see ``CookiePaths``.
    private var hidden: [Cookie] = []
    /// The host that has set a cookie last.
    private var latestHost: (name: String, site: String, isPublicSuffix: Bool)?

    /// Makes the jar of a session; `nil` when the session keeps no cookies.
    init?(_ configuration: Session.Configuration.Cookies, _ store: CookieAndHSTSStore?) {
        guard configuration.policy != .never else { return nil }
        self.store = store
        initial = configuration.initial
        decision = CookieDecision(policy: configuration.policy)
    }

    /// Whether cookies are sent with a request, and those of the response kept.
    func isUsed(by request: HTTPRequest) -> Bool {
        decision.includesCookies(in: request) && opened != nil
    }

    /// An idle handle that uses the cookies: made when they are first needed.
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

    /// Puts an expired cookie in the place of one, which ends both.
    private func expire(_ cookie: Cookie, with easy: EasyHandle) {
        var cookie = cookie
        cookie.value = ""
        cookie.expires = Date(timeIntervalSince1970: 1)
        easy.set(CURLOPT_COOKIELIST, cookie.netscapeLine)
    }

    /// The cookies as libcurl has them; those of other domains are not looked at.
    private func kept(by easy: EasyHandle, ofDomains isWanted: (String) -> Bool = { _ in true }) -> [Cookie] {
        var cookies: [Cookie] = []
        CookieLines(of: easy).forEach { line in
            guard isWanted(line.domain), let cookie = line.cookie else { return }
            cookies.append(cookie)
        }
        return cookies
    }

    // MARK: What responses set

    /// Takes note of a `Set-Cookie` field that libcurl has just read.
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

    /// Sees to it that a request that libcurl is about to send has the right cookies.
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

    /// Corrects the cookies, after those that came in; called before a request and before the loop waits.
    func settle() {
        guard !isSettled, let easy = opened else { return }
        isSettled = true
        if !suffixes.isEmpty { confineCookies(with: easy) }
        if !doubtful.isEmpty { correctCookies(with: easy) }
        for cookie in hidden { keep(cookie, with: easy) }
        hidden = []
        if isOverQuota { enforceQuota(with: easy) }
    }

    /// Gives cookies back to the hosts that set them for all hosts below them, where those are public suffixes
    /// themselves.
    private func confineCookies(with easy: EasyHandle) {
        for (taken, confined) in suffixes.confined(kept(by: easy, ofDomains: suffixes.hosts.contains)) {
            expire(taken, with: easy)
            easy.set(CURLOPT_COOKIELIST, confined.netscapeLine)
        }
    }

    /// Corrects the cookies that libcurl has parsed otherwise than the standard; see ``CookiePaths`` and
    /// ``CookieNames``.
    private func correctCookies(with easy: EasyHandle) {
        let fields = doubtful.compactMap { field, url in CookieTarget(url).map { (field, url, $0) } }
        doubtful = []
        let hosts = Set(fields.map(\.2.host))
        let kept = kept(by: easy) { domain in hosts.contains { $0.hasSuffix(domain) } }
        var refused = kept.filter(\.name.isEmpty)
        for (field, url, target) in fields {
            guard let parsed = Cookie(parsing: field, for: target) else { continue }
            // It has taken the place of the other, or has ended it.
            hidden.removeAll { CookiePaths.areSameInLibcurl($0, parsed) }
            // Libcurl does not take every field: one that it has refused must not end a cookie of others.
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

    /// Removes cookies that libcurl may not let be replaced, as it does not take such names from a list.
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

    /// Removes the oldest cookies where there are too many.
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
    /// Whether two cookies have one name and one domain, so that libcurl could mistake one for the other.
    fileprivate func overlaps(_ other: Cookie) -> Bool {
        domain == other.domain && name.isSameIgnoringCase(as: other.name)
    }
}

/// The cookies that a handle knows, as lines of a Netscape cookie file: those of each host in the order of their
/// coming.
// Safety: the list is this value's own until it goes, and the lines are copied where they are looked at.
@safe
private struct CookieLines: ~Copyable {
    /// One of the lines, which is there as long as the list.
    @safe
    struct Line {
        fileprivate let bytes: UnsafePointer<CChar>

        var text: String { unsafe String(cString: bytes) }

        var cookie: Cookie? {
            let text = text
            return Cookie(netscapeLine: text).map { CookieNames.restoring($0, from: text) }
        }

        /// Has a handle know the cookie, byte for byte.
        func set(with easy: EasyHandle) {
            unsafe easy.set(CURLOPT_COOKIELIST, pointer: UnsafeMutableRawPointer(mutating: bytes))
        }

        /// The first field, without the mark and the dot that may be in front, and without making a text of the rest.
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

/// Decides when a jar is to be counted, and how many of its cookies go then, as a value.
///
/// The numbers are those of browsers: 180 cookies for a site, the domain that is registered under a public suffix, and
/// 3,300 in all. When there are more, so many go that there is room again. To count costs time, so it is not done more
/// often than every 30 cookies of a site, or 300 in all; that many more there may be meanwhile.
struct CookieQuota: Equatable {
    /// A limit, and the number of cookies to which an excess is reduced.
    struct Limit: Equatable {
        let most: Int
        let kept: Int
    }

    static let site = Limit(most: 180, kept: 150)
    static let jar = Limit(most: 3300, kept: 3000)

    /// How many cookies there are at most, and at how many it is time to count.
    private struct CountEstimate: Equatable {
        var most = 0
        var due: Int
        /// When a cookie was last set, counted in cookies.
        var lastSet = 0

        init(_ limit: Limit) { due = limit.most }

        mutating func counted(_ count: Int, _ limit: Limit) {
            most = count
            due = max(limit.most, count + limit.most - limit.kept)
        }
    }

    private var jar = CountEstimate(Self.jar)
    private var sites: [String: CountEstimate] = [:]

    /// A cookie was set, or one was replaced; returns whether the jar is to be counted.
    mutating func cookieSet(for site: String) -> Bool {
        jar.lastSet += 1
        jar.most += 1
        var estimate = sites[site] ?? CountEstimate(Self.site)
        estimate.most += 1
        estimate.lastSet = jar.lastSet
        sites[site] = estimate
        return estimate.most > estimate.due || jar.most > jar.due
    }

    /// The jar was counted, by site; returns how many go of which sites, the oldest of each.
    ///
    /// If there are too many in all, those sites lose theirs that have set none for the longest time.
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
