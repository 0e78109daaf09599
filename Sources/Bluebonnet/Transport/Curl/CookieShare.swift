import CCurl

/// Owns the handle by which libcurl's easy handles share cookies.
///
/// Belongs to the engine; all handles that use it are on the loop's thread, which is why nothing is locked.
// Safety: an easy handle keeps the share that it uses, and so lets it go after itself.
@safe
final class CookieShare {
    fileprivate let pointer: UnsafeMutableRawPointer

    init?() {
        guard Libcurl.isReady, let pointer = unsafe bb_curl_share_cookies() else { return nil }
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe curl_share_cleanup(pointer)
    }
}

/// A handle's part in the sharing of cookies.
extension EasyHandle {
    /// Uses the cookies of a share, or none.
    ///
    /// Libcurl keeps the share when a handle is reset, and forgets that it is to do something with it.
    func use(_ share: CookieShare?) {
        if cookieShare !== share {
            unsafe setShare(share?.pointer)
            cookieShare = share
        }
        // The name of no file: this turns the cookies on.
        if share != nil { set(CURLOPT_COOKIEFILE, "") }
    }
}
