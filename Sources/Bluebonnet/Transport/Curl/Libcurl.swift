import CCurl
import CSystem

/// The features of the installed libcurl, found out at run time.
// Safety: libcurl's version information is constant.
enum Libcurl {
    /// Makes libcurl ready, once for the process.
    static let isReady: Bool = ExitGate.isSet && curl_global_init(bb_curl_global_default) == CURLE_OK

    /// The version as one number, `0xMMmmpp`.
    static let version: UInt32 = unsafe bb_curl_version()?.pointee.version_num ?? 0

    /// Has libcurl treat host names that it is given on this thread as UTF-8 from now on, whatever the program's
    /// locale.
    ///
    /// For the loop's thread, where libcurl reads a transfer's name some time later.
    static func useUTF8() {
        _ = unsafe bb_use_locale(UnsafeMutableRawPointer(bitPattern: utf8Locale))
    }

    /// Has libcurl treat host names that `body` gives it as UTF-8; the thread, which may be any thread, keeps its
    /// locale.
    static func withUTF8<Result>(_ body: () -> Result) -> Result {
        let previous = unsafe bb_use_locale(UnsafeMutableRawPointer(bitPattern: utf8Locale))
        defer { _ = unsafe bb_use_locale(previous) }
        return body()
    }

    /// The address of the locale, which is made when the first international host name comes up, and kept.
    private static let utf8Locale = UInt(bitPattern: unsafe bb_make_utf8_locale())

    /// The file with the authorities that libcurl trusts by default; `nil` if it knows none.
    static let authorityFile: String? = unsafe bb_curl_version()?.pointee.cainfo.map { unsafe String(cString: $0) }

    /// The directory in which it looks for more.
    static let authorityDirectory: String? = unsafe bb_curl_version()?.pointee.capath.map {
        unsafe String(cString: $0)
    }
}

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

extension HostName {
    /// An international name in the ASCII form in which it is looked up (RFC 5891), without percent signs; `nil` if the
    /// name is not valid.
    static func internationalASCII(_ name: String) -> String? {
        // In a URL these would end the host, or stand before it.
        guard !name.utf8.contains(where: ":/?#@\\".utf8.contains) else { return nil }
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
