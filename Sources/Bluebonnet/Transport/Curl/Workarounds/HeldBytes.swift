import CCurl

/// Frees what libcurl has kept of a body that was held back, where it would not: before 8.1.0.
///
/// Such a handle keeps the bytes that came in meanwhile, up to 32 MiB with HTTP/2. When its transfer ends while others use
/// the connection, `multi_done` returns before it frees them, and nobody does later.
enum HeldBytes {
    /// Whether this libcurl has the fault.
    static let areLost = Libcurl.version < 0x08_01_00
}

extension EasyHandle {
    /// Has libcurl hand over what it has kept, which its callbacks refuse; to be called before a transfer that was held up
    /// is taken out of its multi handle.
    func dropHeldBytes() {
        guard HeldBytes.areLost else { return }
        transfer = nil
        unsafe curl_easy_pause(pointer, bb_curl_pause_none)
    }
}
