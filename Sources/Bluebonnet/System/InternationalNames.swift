import BluebonnetLibc
import CSystem

/// Converts international names to ASCII with libidn2, because libcurl before 7.88.0 has no function for it.
///
/// These versions convert the names only when they look them up. Distributions build them with libidn2, which is
/// therefore loaded.
// Safety: the text belongs to this function, which frees it.
enum InternationalNames {
    /// Whether the installed libcurl lacks the function.
    static let areUnconverted = Libcurl.version < 0x07_58_00

    /// Returns the name as in a lookup (RFC 5891); `nil` if it is invalid, or if libidn2 is not loaded.
    static func ascii(_ name: String) -> String? {
        guard areUnconverted, !name.utf8.allSatisfy({ $0 < 0x80 }) else { return name }
        guard let text = unsafe bb_idn_ascii(name) else { return nil }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }
}
