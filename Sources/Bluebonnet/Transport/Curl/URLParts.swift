import CCurl

/// Owns a URL that libcurl has taken to pieces, as it would for a transfer.
// Safety: a handle that uses the URL keeps its owner, too, and libcurl copies it for each transfer.
@safe
final class URLParts {
    /// `nil` when libcurl takes the text for no URL.
    private(set) var pointer: OpaquePointer?

    init(_ text: String, flags: Int32 = CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS) {
        guard let parts = unsafe curl_url() else { return }
        if unsafe curl_url_set(parts, CURLUPART_URL, text, UInt32(flags)) == CURLUE_OK {
            unsafe pointer = parts
        } else {
            unsafe curl_url_cleanup(parts)
        }
    }

    deinit {
        unsafe curl_url_cleanup(pointer)
    }

    /// A part in lower case; that of a host is in ASCII.
    fileprivate func lowercased(_ part: CURLUPart) -> String? {
        guard let pointer = unsafe pointer else { return nil }
        var value: UnsafeMutablePointer<CChar>?
        let flags = part == CURLUPART_HOST ? UInt32(CURLU_PUNYCODE) : 0
        guard unsafe curl_url_get(pointer, part, &value, flags) == CURLUE_OK, let value = unsafe value else {
            return nil
        }
        defer { unsafe curl_free(value) }
        return unsafe String(cString: value).lowercased()
    }
}

/// International names of hosts, for which libcurl has a library (RFC 5891).
enum InternationalName {
    /// A name in the ASCII form in which it is looked up, and without percent signs; `nil` for what is none.
    static func ascii(_ name: String) -> String? {
        // In a URL these would end the host, or stand before it.
        guard !name.utf8.contains(where: "/?#@\\".utf8.contains) else { return nil }
        return Libcurl.withUTF8 { URLParts("https://\(name)/", flags: 0).lowercased(CURLUPART_HOST) }
    }
}

extension ProxyRoute {
    /// The scheme and the canonical form of the host of a proxy's URL, as libcurl reads it; `nil` if it cannot.
    ///
    /// There may be one slash behind the scheme, or three, or no scheme at all.
    static func parts(of url: String) -> (scheme: String, host: String)? {
        Libcurl.withUTF8 {
            let parts = URLParts(url, flags: CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME)
            guard let scheme = parts.lowercased(CURLUPART_SCHEME), let host = parts.lowercased(CURLUPART_HOST) else {
                return nil
            }
            return (scheme, HostName.canonical(host))
        }
    }
}
