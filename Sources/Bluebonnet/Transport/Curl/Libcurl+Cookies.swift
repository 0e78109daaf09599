import CCurl
import FoundationEssentials

/// What of libcurl the rules of cookies need.
// Safety: libcurl copies the text within the call, and what it returns is copied before it is freed.
extension Libcurl {
    /// Returns the time that the text of an `Expires` attribute names, as leniently as libcurl reads it.
    static func date(_ text: String) -> Date? {
        guard !text.utf8.contains(0) else { return nil }
        let seconds = unsafe curl_getdate(text, nil)
        // The first second is no time to libcurl: it would mean that the cookie has none.
        return seconds < 0 ? nil : Date(timeIntervalSince1970: Double(max(1, seconds)))
    }

    /// Returns an international host name in the ASCII form in which it is looked up, or as it is when it has none.
    static func asciiHost(_ host: String) -> String {
        withUTF8 {
            guard let handle = unsafe curl_url() else { return host }
            defer { unsafe curl_url_cleanup(handle) }
            var text: UnsafeMutablePointer<CChar>?
            guard unsafe curl_url_set(handle, CURLUPART_URL, "http://\(host)/", 0) == CURLUE_OK,
                unsafe curl_url_get(handle, CURLUPART_HOST, &text, bb_curlu_punycode) == CURLUE_OK,
                let ascii = unsafe text
            else { return host }
            defer { unsafe curl_free(ascii) }
            return unsafe String(cString: ascii).lowercased()
        }
    }
}
