import CCurl
import FoundationEssentials

/// Stores the data that a session keeps between exchanges, in libcurl: cookies, and hosts that require TLS (HSTS).
///
/// An instance belongs to the engine and never leaves the loop's thread.
// Safety: this object owns the handle that performs, and no callback of libcurl is running.
final class CookieAndHSTSStore {
    private let keepsCookies: Bool
    private let keepsHSTS: Bool
    private let hstsFile: String?
    private var made: CurlShare?
    /// The handle that writes the file of HSTS hosts when it is freed.
    private var hstsWriter: EasyHandle?

    /// Creates the storage of a session; `nil` if the session keeps no data.
    init?(_ configuration: Session.Configuration) {
        keepsCookies = configuration.cookies.policy != .never
        keepsHSTS = configuration.hsts != .off
        if case .file(let path) = configuration.hsts { hstsFile = path } else { hstsFile = nil }
        guard keepsCookies || keepsHSTS else { return nil }
    }

    deinit {
        // The handle writes the file afterwards.
        if let hstsFile, hstsWriter != nil { Self.makePrivate(hstsFile) }
    }

    /// Ensures that a file exists and is private to its owner.
    ///
    /// Libcurl gives the new file the mode of the old file. It creates a missing file with the process's usual mode.
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
            // Libcurl cannot write the file either, and does not report this.
        }
    }

    /// Returns the share for a handle, with or without cookies; `nil` if the handle needs none.
    func share(withCookies usesCookies: Bool) -> CurlShare? { usesCookies || keepsHSTS ? share : nil }

    /// The share of the handles, created when it is first needed.
    var share: CurlShare? {
        if let made { return made }
        made = CurlShare(cookies: keepsCookies, hsts: keepsHSTS)
        if let hstsFile, let made { hstsWriter = EasyHandle(keeping: hstsFile, in: made) }
        return made
    }
}

extension EasyHandle {
    /// Creates a handle that reads a file of HSTS hosts into a share.
    ///
    /// Libcurl reads the file when a transfer begins. This transfer fails immediately, because its scheme is not
    /// allowed.
    fileprivate convenience init?(keeping file: String, in share: CurlShare) {
        self.init()
        keepsShare = true
        use(share, withCookies: false)
        set(CURLOPT_HSTS, file)
        set(CURLOPT_NOSIGNAL, 1)
        allow(files: false)
        set(CURLOPT_URL, "file:///")
        unsafe curl_easy_perform(pointer)
    }
}

/// Owns the handle through which libcurl's easy handles share cookies and HSTS hosts (RFC 6797).
///
/// An instance belongs to the engine. All handles with the share are on the loop's thread, so there is no lock.
// Safety: an easy handle retains its share, so the share is released after the handle.
@safe
final class CurlShare {
    fileprivate let pointer: UnsafeMutableRawPointer
    fileprivate let hasHSTS: Bool

    init?(cookies: Bool, hsts: Bool) {
        guard Libcurl.isReady, let pointer = unsafe bb_curl_make_share(cookies, hsts) else { return nil }
        unsafe self.pointer = unsafe pointer
        hasHSTS = hsts
    }

    /// Whether libcurl would use TLS for an `http` URL because its host requires it (HSTS, RFC 6797).
    ///
    /// This is determined with a transfer that ends before it needs a connection, because its scheme is not allowed.
    func upgrades(_ url: URL) -> Bool {
        guard hasHSTS, let probe = EasyHandle() else { return false }
        probe.use(self, withCookies: false)
        probe.set(CURLOPT_NOSIGNAL, 1)
        probe.allow(files: true)
        probe.setURL(url)
        unsafe curl_easy_perform(probe.pointer)
        return probe.upgradedURL(of: url) != nil
    }

    deinit {
        unsafe curl_share_cleanup(pointer)
    }
}

/// Manages a handle's use of a share.
extension EasyHandle {
    func isUsing(_ share: CurlShare?, withCookies usesCookies: Bool) -> Bool {
        self.share === share && self.usesCookies == usesCookies
    }

    /// Sets the share of a handle, with or without its cookies, or removes the share.
    ///
    /// After a reset, a handle still has its share, but libcurl does not use it. A handle that has ever used cookies
    /// continues to use the cookies of its share, however.
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

    /// Enables libcurl's cookies, which stay enabled until the handle is freed.
    ///
    /// They can only be enabled with a list of cookie files, so the list contains one empty name. The list is removed
    /// again, because `curl_easy_reset` leaks its memory (7.88.1) or lets the list grow. The removal also deletes the
    /// handle's cookies, so it is done without a share.
    private func turnCookiesOn() {
        leaveShare()
        hasUsedCookies = true
        set(CURLOPT_COOKIEFILE, "")
        set(CURLOPT_COOKIELIST, "RELOAD")
        unsafe set(CURLOPT_COOKIEFILE, pointer: nil)
    }

    /// The URL that libcurl used instead because the host requires TLS; `nil` if libcurl used the given URL.
    func upgradedURL(of url: URL) -> URL? {
        guard share?.hasHSTS == true, url.scheme?.lowercased() == "http",
            let effective = string(CURLINFO_EFFECTIVE_URL), effective.hasPrefix("https:")
        else { return nil }
        return URL(string: effective)
    }

    /// Stops using the share.
    func leaveShare() {
        guard share != nil else { return }
        unsafe set(CURLOPT_SHARE, pointer: nil)
        share = nil
        usesCookies = false
    }
}
