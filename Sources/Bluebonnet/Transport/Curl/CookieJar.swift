import CCurl
import FoundationEssentials

/// Keeps the cookies of an engine, in libcurl, and reads and changes them there.
///
/// Belongs to the engine; never leaves the loop's thread, and is never used within a callback of libcurl's.
// Safety: the lines that libcurl hands out are copied before they are freed.
final class CookieJar {
    private let memory: SessionMemory?
    private var easy: EasyHandle?
    private var initial: [Cookie]
    private let decision: CookieDecision

    /// Makes the jar of a session; `nil` when it is to have none.
    init?(_ configuration: Session.Configuration.Cookies, _ memory: SessionMemory?) {
        guard configuration.policy != .never else { return nil }
        self.memory = memory
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
        guard let share = memory?.share, let easy = EasyHandle() else { return nil }
        easy.use(share, withCookies: true)
        self.easy = easy
        for cookie in initial { easy.set(CURLOPT_COOKIELIST, cookie.netscapeLine) }
        initial = []
        return easy
    }

    // MARK: Reading and changing

    /// The cookies that have not expired.
    func cookies(now: Date = Date()) -> [Cookie] {
        guard let easy = opened else { return [] }
        return easy.cookieLines().compactMap { line in
            Cookie(netscapeLine: line).flatMap { $0.isExpired(at: now) ? nil : $0 }
        }
    }

    func change(_ change: CookieChange) {
        guard let easy = opened else { return }
        switch change {
        case .set(let cookies): for cookie in cookies { keep(cookie, with: easy) }
        case .delete(let cookies): for cookie in cookies { expire(cookie, with: easy) }
        case .deleteDomain(let domain):
            let domain = Cookie(name: "", value: "", domain: domain, includesSubdomains: true)
            for cookie in cookies() where domain.matches(host: cookie.domain) { expire(cookie, with: easy) }
        case .deleteSessionCookies: easy.set(CURLOPT_COOKIELIST, "SESS")
        case .deleteAll: easy.set(CURLOPT_COOKIELIST, "ALL")
        }
    }

    /// Gives cookies back to the host that set them for all hosts below it, where that is a public suffix itself.
    ///
    /// RFC 6265 §5.3 says so in step 5; libcurl lets such a host set cookies for all of them.
    func confineCookies(of url: URL) {
        guard let host = CookieTarget(url)?.host, PublicSuffixes.isPublicSuffix(host), let easy = opened else {
            return
        }
        for cookie in cookies() where cookie.includesSubdomains && cookie.domain == host {
            expire(cookie, with: easy)
            var confined = cookie
            confined.includesSubdomains = false
            keep(confined, with: easy)
        }
    }

    private func keep(_ cookie: Cookie, with easy: EasyHandle) {
        easy.set(CURLOPT_COOKIELIST, cookie.netscapeLine)
    }

    /// Puts an expired cookie in the place of one, which ends both.
    private func expire(_ cookie: Cookie, with easy: EasyHandle) {
        var cookie = cookie
        cookie.value = ""
        cookie.expires = Date(timeIntervalSince1970: 1)
        keep(cookie, with: easy)
    }
}

extension EasyHandle {
    /// The cookies that the handle knows, as lines of a Netscape cookie file.
    fileprivate func cookieLines() -> [String] {
        let list = unsafe bb_curl_copy_cookies(pointer)
        defer { unsafe curl_slist_free_all(list) }
        var lines: [String] = []
        var next = unsafe list
        while let node = unsafe next {
            if let text = unsafe node.pointee.data { lines.append(unsafe String(cString: text)) }
            unsafe next = node.pointee.next
        }
        return lines
    }
}
