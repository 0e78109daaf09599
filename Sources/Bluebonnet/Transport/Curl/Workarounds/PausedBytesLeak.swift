import CCurl

/// Frees the bytes of a held-back body that libcurl before 8.1.0 would leak.
///
/// Such a handle keeps the bytes that came in meanwhile, up to 32 MiB with HTTP/2. When its transfer ends while others
/// use the connection, `multi_done` returns before it frees them: they leak.
enum PausedBytesLeak {
    /// Whether this libcurl has the fault.
    static let leak = Libcurl.version < 0x08_01_00
}

extension Transfer {
    /// Whether libcurl may keep bytes of the answer, since it was not to hand them over.
    var mayHoldBytes: Bool { wasSent && (responseBuffer.state.isSuspended || responseBuffer.state.isReceivingPaused) }
}

// Safety: the handle is its owner's alone, and in no multi handle.
extension EasyHandle {
    /// Frees those bytes by an empty transfer, which needs `/dev/null`.
    ///
    /// To be called when the handle is in no multi handle and will not be used again.
    func freePausedBytes() {
        guard PausedBytesLeak.leak else { return }
        unsafe curl_easy_reset(pointer)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROTOCOLS_STR, "file")
        set(CURLOPT_URL, "file:///dev/null")
        unsafe curl_easy_perform(pointer)
    }
}
