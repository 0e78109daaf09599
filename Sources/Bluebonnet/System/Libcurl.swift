import CCurl
import CSystem

/// The features of the installed libcurl, determined at run time.
// Safety: libcurl's version information is constant.
enum Libcurl {
    /// Initializes libcurl, once for the process.
    static var isReady: Bool { initialization.isReady }

    /// Whether libcurl traces the streams of connections; see ``RefusedStreams``.
    static var tracesStreams: Bool { initialization.tracesStreams }

    /// The trace is selected before other threads use libcurl, because its settings are not synchronized.
    private static let initialization: (isReady: Bool, tracesStreams: Bool) = {
        guard ExitGate.isSet, curl_global_init(bb_curl_global_default) == CURLE_OK else { return (false, false) }
        return (true, unsafe bb_curl_global_trace("http/2,http/3") == CURLE_OK)
    }()

    /// The version as one number, `0xMMmmpp`.
    static let version: UInt32 = unsafe bb_curl_version()?.pointee.version_num ?? 0

    /// The version as text, such as `8.14.1`.
    static var versionText: String { "\(version >> 16).\(version >> 8 & 0xff).\(version & 0xff)" }

    /// Whether libcurl supports HTTP/3; before 8.13.0, it may answer a request for HTTP/3 only with HTTP/2.
    static let hasHTTP3 = version >= 0x08_0d_00 && hasFeature(CURL_VERSION_HTTP3)

    private static func hasFeature(_ feature: Int32) -> Bool {
        unsafe bb_curl_version().map { unsafe $0.pointee.features & feature != 0 } ?? false
    }

    /// Makes libcurl treat host names on this thread as UTF-8, regardless of the program's locale.
    ///
    /// This is for the loop's thread, because libcurl reads the host name of a transfer later.
    static func useUTF8() {
        _ = unsafe bb_use_locale(UnsafeMutableRawPointer(bitPattern: utf8Locale))
    }

    /// Makes libcurl treat the host names that `body` passes to it as UTF-8.
    ///
    /// The method may be called on any thread, and restores the thread's locale.
    static func withUTF8<Result>(_ body: () -> Result) -> Result {
        let previous = unsafe bb_use_locale(UnsafeMutableRawPointer(bitPattern: utf8Locale))
        defer { _ = unsafe bb_use_locale(previous) }
        return body()
    }

    /// The address of the locale, which is created for the first international host name and never freed.
    private static let utf8Locale = UInt(bitPattern: unsafe bb_make_utf8_locale())

    /// The file with the default authorities of libcurl; `nil` if there is none.
    static let authorityFile: String? = unsafe bb_curl_version()?.pointee.cainfo.map { unsafe String(cString: $0) }

    /// The directory with the default authorities of libcurl; `nil` if there is none.
    static let authorityDirectory: String? = unsafe bb_curl_version()?.pointee.capath.map {
        unsafe String(cString: $0)
    }
}

/// Owns a URL in libcurl's parsed form.
// Safety: a handle that uses the URL also retains its owner, and libcurl copies the URL for each transfer.
@safe
final class URLParts {
    /// The parsed URL; `nil` if libcurl does not accept the text as a URL.
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

    /// Returns a part in lower case; a host is also converted to ASCII.
    fileprivate func lowercased(_ part: CURLUPart) -> String? {
        guard let pointer = unsafe pointer else { return nil }
        var value: UnsafeMutablePointer<CChar>?
        let flags = part == CURLUPART_HOST ? bb_curlu_punycode : 0
        guard unsafe curl_url_get(pointer, part, &value, flags) == CURLUE_OK, let value = unsafe value else {
            return nil
        }
        defer { unsafe curl_free(value) }
        let text = unsafe String(cString: value)
        return (part == CURLUPART_HOST ? InternationalNames.ascii(text) : text)?.lowercased()
    }
}

extension HostName {
    /// Converts an international name to ASCII as for a lookup (RFC 5891).
    ///
    /// The result contains no percent signs. It is `nil` if the name is invalid.
    static func internationalASCII(_ name: String) -> String? {
        // In a URL, these characters would end the host or precede it.
        guard !name.utf8.contains(where: ":/?#@\\".utf8.contains) else { return nil }
        return Libcurl.withUTF8 { URLParts("https://\(name)/", flags: 0).lowercased(CURLUPART_HOST) }
    }
}

extension ProxyRoute {
    /// Returns the scheme and the canonical host of a proxy's URL; `nil` if libcurl cannot parse the URL.
    ///
    /// The scheme may be missing, or may be followed by one slash or three slashes.
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
