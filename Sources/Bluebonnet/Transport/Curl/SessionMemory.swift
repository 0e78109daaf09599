import CCurl

/// Keeps what a session remembers between exchanges, in libcurl: cookies, and hosts that want TLS.
///
/// Belongs to the engine; never leaves the loop's thread.
// Safety: the handle that performs is this object's own, and no callback of libcurl's is running.
final class SessionMemory {
    private let keepsCookies: Bool
    private let keepsHSTS: Bool
    private let hstsFile: String?
    private var made: SessionShare?
    /// The handle that writes the file of hosts that want TLS when it ends.
    private var keeper: EasyHandle?

    /// Makes the memory of a session; `nil` when it is to remember nothing.
    init?(_ configuration: Session.Configuration) {
        keepsCookies = configuration.cookies.policy != .never
        keepsHSTS = configuration.hsts != .off
        if case .file(let path) = configuration.hsts { hstsFile = path } else { hstsFile = nil }
        guard keepsCookies || keepsHSTS else { return nil }
    }

    deinit {
        // The file is written now.
        if let hstsFile, keeper != nil { Self.makePrivate(hstsFile) }
    }

    /// Sees to it that a file is there, and its owner's only: libcurl gives the mode of the old file to the new one, and
    /// makes one that is missing as the process makes all files.
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
            // Libcurl will not be able to write it either, and says nothing then.
        }
    }

    /// What a handle has in common with others, if it has anything: cookies, or hosts that want TLS.
    func share(withCookies usesCookies: Bool) -> SessionShare? { usesCookies || keepsHSTS ? share : nil }

    /// What handles have in common, made when it is first needed.
    var share: SessionShare? {
        if let made { return made }
        made = SessionShare(cookies: keepsCookies, hsts: keepsHSTS)
        if let hstsFile, let made { keeper = EasyHandle(keeping: hstsFile, in: made) }
        return made
    }
}

extension EasyHandle {
    /// Makes a handle that reads a file of hosts that want TLS into a share.
    ///
    /// Libcurl reads it when a transfer begins: one that fails at once, since its scheme is not allowed.
    fileprivate convenience init?(keeping file: String, in share: SessionShare) {
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
