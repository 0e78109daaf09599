import CCurl
import FoundationEssentials

/// Owns the handle by which libcurl's easy handles have cookies in common, and the hosts that want TLS (RFC 6797).
///
/// Belongs to the engine; all handles that use it are on the loop's thread, which is why nothing is locked.
// Safety: an easy handle keeps the share that it uses, and so lets it go after itself.
@safe
final class SessionShare {
    fileprivate let pointer: UnsafeMutableRawPointer
    fileprivate let hasHSTS: Bool

    init?(cookies: Bool, hsts: Bool) {
        guard Libcurl.isReady, let pointer = unsafe bb_curl_make_share(cookies, hsts) else { return nil }
        unsafe self.pointer = unsafe pointer
        hasHSTS = hsts
    }

    /// Whether libcurl would go to a URL with TLS although that does not say so, since its host wants it.
    ///
    /// Found out by a transfer that ends before it looks for a connection, since its scheme is not allowed.
    func upgrades(_ url: URL) -> Bool {
        guard hasHSTS, let probe = EasyHandle() else { return false }
        probe.use(self, withCookies: false)
        probe.set(CURLOPT_NOSIGNAL, 1)
        probe.set(CURLOPT_PROTOCOLS_STR, "file")
        probe.setURL(url)
        unsafe curl_easy_perform(probe.pointer)
        return probe.upgradedURL(of: url) != nil
    }

    deinit {
        unsafe curl_share_cleanup(pointer)
    }
}

/// A handle's part in the sharing.
extension EasyHandle {
    func isUsing(_ share: SessionShare?, withCookies usesCookies: Bool) -> Bool {
        self.share === share && self.usesCookies == usesCookies
    }

    /// Uses what is in a share, with or without its cookies, or nothing.
    ///
    /// Libcurl keeps the share when a handle is reset, and forgets that it is to do something with it. A handle that has
    /// used cookies goes on using those of its share, however.
    func use(_ share: SessionShare?, withCookies usesCookies: Bool) {
        if share == nil || self.share !== share { leaveShare() }
        if usesCookies, !hasUsedCookies { turnCookiesOn() }
        self.usesCookies = usesCookies
        guard let share else { return }
        if self.share == nil {
            unsafe setShare(share.pointer)
            self.share = share
            if share.hasHSTS { set(CURLOPT_HSTS_CTRL, bb_curl_hsts_enable) }
        }
    }

    /// Turns libcurl's cookies on, which stay on for the life of the handle.
    ///
    /// Only reading a list of cookie files does that, so the list holds one empty name. It is removed again, since
    /// `curl_easy_reset` loses its memory (7.88.1) or lets it grow. Removing it also drops the handle's cookies, hence
    /// without a share.
    private func turnCookiesOn() {
        leaveShare()
        hasUsedCookies = true
        set(CURLOPT_COOKIEFILE, "")
        set(CURLOPT_COOKIELIST, "RELOAD")
        unsafe set(CURLOPT_COOKIEFILE, pointer: nil)
    }

    /// The URL that libcurl went to instead, since its host wants TLS; `nil` when it took the one that it was given.
    func upgradedURL(of url: URL) -> URL? {
        guard share?.hasHSTS == true, url.scheme?.lowercased() == "http",
            let effective = string(CURLINFO_EFFECTIVE_URL), effective.hasPrefix("https:")
        else { return nil }
        return URL(string: effective)
    }

    /// Uses no share any more.
    func leaveShare() {
        guard share != nil else { return }
        unsafe setShare(nil)
        share = nil
        usesCookies = false
    }
}
