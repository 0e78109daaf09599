import CCurl

/// Keeps the TLS sessions of all handles of a loop in one place.
///
/// Before 8.12.0, each handle of libcurl has its own sessions. Of several connections that are opened at the same time,
/// only one then resumes a session. One store for the loop is shared by all of its handles. In these versions, it has
/// room for eight sessions. Later versions keep the sessions with the multi handle.
// Safety: the store is freed after all handles that use it, because they retain it. Only the loop's thread uses it, so
// libcurl needs no lock.
@safe
final class SharedTLSSessions {
    static let areNeeded = Libcurl.version < 0x08_0c_00

    let pointer: UnsafeMutableRawPointer

    /// Creates a store; `nil` if libcurl needs none, or if there is no memory for it.
    init?() {
        guard Self.areNeeded, Libcurl.isReady, let pointer = unsafe curl_share_init() else { return nil }
        unsafe self.pointer = unsafe pointer
        guard unsafe bb_curl_share_sessions(pointer) == CURLSHE_OK else { return nil }
    }

    deinit { unsafe curl_share_cleanup(pointer) }
}
