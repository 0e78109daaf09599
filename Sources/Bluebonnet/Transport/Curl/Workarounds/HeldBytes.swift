import CCurl

/// Frees what libcurl has kept of a body that was held back, where it would not: before 8.1.0.
///
/// Such a handle keeps the bytes that came in meanwhile, up to 32 MiB with HTTP/2. When its transfer ends while others use
/// the connection, `multi_done` returns before it frees them: they leak.
enum HeldBytes {
    /// Whether this libcurl has the fault.
    static let areLost = Libcurl.version < 0x08_01_00
}

// Safety: the handle is its owner's alone, and in no multi handle.
extension EasyHandle {
    /// Has libcurl free what it has kept, at the end of a transfer that has a connection to itself; to be called when the
    /// handle is in no multi handle, and of no use any more.
    func dropHeldBytes() {
        guard HeldBytes.areLost else { return }
        unsafe curl_easy_reset(pointer)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROTOCOLS_STR, "file")
        set(CURLOPT_URL, "file:///dev/null")
        unsafe curl_easy_perform(pointer)
    }
}
