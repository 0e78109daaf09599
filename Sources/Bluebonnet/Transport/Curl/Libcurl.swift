import CCurl
import CSystem

/// What the libcurl at hand can do, found out at run time.
// Safety: what libcurl says of its version is constant.
enum Libcurl {
    /// Makes libcurl ready, once for the process.
    static let isReady: Bool = ExitGate.isSet && curl_global_init(bb_curl_global_default) == CURLE_OK

    /// The version as one number, `0xMMmmpp`.
    static let version: UInt32 = unsafe bb_curl_version()?.pointee.version_num ?? 0

    /// Has libcurl take host names that it is given on this thread for UTF-8 from now on, whatever the program's locale.
    ///
    /// For the loop's thread, where libcurl reads a transfer's name some time later.
    static func useUTF8() {
        _ = unsafe bb_use_locale(UnsafeMutableRawPointer(bitPattern: utf8Locale))
    }

    /// Has libcurl take host names that `body` gives it for UTF-8; the thread, which may be anybody's, keeps its locale.
    static func withUTF8<Result>(_ body: () -> Result) -> Result {
        let previous = unsafe bb_use_locale(UnsafeMutableRawPointer(bitPattern: utf8Locale))
        defer { _ = unsafe bb_use_locale(previous) }
        return body()
    }

    /// The address of the locale, which is made when the first international host name comes up, and kept.
    private static let utf8Locale = UInt(bitPattern: unsafe bb_make_utf8_locale())

    /// The file with the authorities that libcurl trusts if it is not told otherwise; `nil` if it knows none.
    static let authorityFile: String? = unsafe bb_curl_version()?.pointee.cainfo.map { unsafe String(cString: $0) }

    /// The directory in which it looks for more.
    static let authorityDirectory: String? = unsafe bb_curl_version()?.pointee.capath.map {
        unsafe String(cString: $0)
    }
}
