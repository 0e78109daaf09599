import CCurl

/// Frees the bytes of a held-back body that libcurl before 8.1.0 would leak.
///
/// The handle of a paused transfer keeps the bytes that arrive during the pause, up to 32 MiB with HTTP/2. If the
/// transfer ends while other transfers use the connection, `multi_done` returns before it frees the bytes.
enum PausedBytesLeak {
    /// Whether the installed libcurl has the defect.
    static let leak = Libcurl.version < 0x08_01_00
}

extension Transfer {
    /// Whether libcurl may hold bytes of the response because of a pause.
    var mayHoldBytes: Bool { wasSent && (life.isSuspended || responseBuffer.state.isReceivingPaused) }
}

// Safety: only its owner uses the handle, which is in no multi handle.
extension EasyHandle {
    /// Frees the bytes with an empty transfer, which requires `/dev/null`.
    ///
    /// The handle must not be in a multi handle, and must not be used again.
    func freePausedBytes() {
        guard PausedBytesLeak.leak else { return }
        unsafe curl_easy_reset(pointer)
        set(CURLOPT_NOSIGNAL, 1)
        allow(files: true)
        set(CURLOPT_URL, "file:///dev/null")
        unsafe curl_easy_perform(pointer)
    }
}
