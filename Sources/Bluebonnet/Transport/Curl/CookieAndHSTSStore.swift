import CCurl
import FoundationEssentials

/// Keeps a session's memory between exchanges, in libcurl: cookies, and hosts that demand TLS (HSTS).
///
/// Belongs to the engine; never leaves the loop's thread.
// Safety: the handle that performs is this object's own, and no callback of libcurl's is running.
final class CookieAndHSTSStore {
    private let keepsCookies: Bool
    private let keepsHSTS: Bool
    private let hstsFile: String?
    private var made: CurlShare?
    /// The handle that writes the file of hosts that want TLS when it ends.
    private var hstsWriter: EasyHandle?

    /// Makes the memory of a session; `nil` when it is to remember nothing.
    init?(_ configuration: Session.Configuration) {
        keepsCookies = configuration.cookies.policy != .never
        keepsHSTS = configuration.hsts != .off
        if case .file(let path) = configuration.hsts { hstsFile = path } else { hstsFile = nil }
        guard keepsCookies || keepsHSTS else { return nil }
    }

    deinit {
        // The file is written now.
        if let hstsFile, hstsWriter != nil { Self.makePrivate(hstsFile) }
    }

    /// Sees to it that a file is there, and its owner's only: libcurl gives the mode of the old file to the new one,
    /// and makes one that is missing as the process makes all files.
    private static func makePrivate(_ path: String) {
        let path = FileSystem.realPath(path)
        do throws(SystemError) {
            if FileSystem.status(path, followingLinks: false) == nil {
                try OpenFile.creating(path, mode: 0o600).close()
            } else {
                let file = try OpenFile.writing(path)
                if try file.status().isOwn { try file.setMode(0o600) }
            }
        } catch {
            // Libcurl will not be able to write it either, and reports nothing then.
        }
    }

    /// The share of a handle with others, if it has one: cookies, or hosts that demand TLS.
    func share(withCookies usesCookies: Bool) -> CurlShare? { usesCookies || keepsHSTS ? share : nil }

    /// The share of the handles, made when it is first needed.
    var share: CurlShare? {
        if let made { return made }
        made = CurlShare(cookies: keepsCookies, hsts: keepsHSTS)
        if let hstsFile, let made { hstsWriter = EasyHandle(keeping: hstsFile, in: made) }
        return made
    }
}

extension EasyHandle {
    /// Makes a handle that reads a file of hosts that want TLS into a share.
    ///
    /// Libcurl reads it when a transfer begins: one that fails at once, since its scheme is not allowed.
    fileprivate convenience init?(keeping file: String, in share: CurlShare) {
        self.init()
        keepsShare = true
        use(share, withCookies: false)
        set(CURLOPT_HSTS, file)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_URL, "file:///")
        unsafe curl_easy_perform(pointer)
    }
}

/// Owns the handle by which libcurl's easy handles have cookies in common, and the hosts that want TLS (RFC 6797).
///
/// Belongs to the engine; all handles that use it are on the loop's thread, which is why nothing is locked.
// Safety: an easy handle keeps the share that it uses, and so lets it go after itself.
@safe
final class CurlShare {
    fileprivate let pointer: UnsafeMutableRawPointer
    fileprivate let hasHSTS: Bool

    init?(cookies: Bool, hsts: Bool) {
        guard Libcurl.isReady, let pointer = unsafe bb_curl_make_share(cookies, hsts) else { return nil }
        unsafe self.pointer = unsafe pointer
        hasHSTS = hsts
    }

    /// Whether libcurl would use TLS for an `http` URL, since its host demands it (HSTS, RFC 6797).
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
    func isUsing(_ share: CurlShare?, withCookies usesCookies: Bool) -> Bool {
        self.share === share && self.usesCookies == usesCookies
    }

    /// Uses a share, with or without its cookies, or none.
    ///
    /// Libcurl keeps the share when a handle is reset, but no longer uses it. A handle that has used cookies continues
    /// to use those of its share, however.
    func use(_ share: CurlShare?, withCookies usesCookies: Bool) {
        if share == nil || self.share !== share { leaveShare() }
        if usesCookies, !hasUsedCookies { turnCookiesOn() }
        self.usesCookies = usesCookies
        guard let share else { return }
        if self.share == nil {
            unsafe set(CURLOPT_SHARE, pointer: share.pointer)
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
        unsafe set(CURLOPT_SHARE, pointer: nil)
        share = nil
        usesCookies = false
    }
}
