import CCurl

/// Owns a URL that libcurl has taken to pieces, as it would for a transfer.
// Safety: a handle that uses the URL keeps its owner, too, and libcurl copies it for each transfer.
@safe
final class URLParts {
    /// `nil` when libcurl takes the text for no URL.
    private(set) var pointer: OpaquePointer?

    init(_ text: String) {
        guard let parts = unsafe curl_url() else { return }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS)
        if unsafe curl_url_set(parts, CURLUPART_URL, text, flags) == CURLUE_OK {
            unsafe pointer = parts
        } else {
            unsafe curl_url_cleanup(parts)
        }
    }

    deinit {
        unsafe curl_url_cleanup(pointer)
    }
}
