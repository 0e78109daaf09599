import CCurl

/// Prevents libcurl, and therefore the loop, from waiting for threads that look up names.
///
/// All tested versions, 7.81 to 8.23, wait for the thread of a cancelled lookup. The option that prevents this is new
/// in 7.87.0. Since 8.20.0, a multi handle waits for the threads of all lookups when it is freed.
// Safety: the pointer is the caller's multi handle.
enum BlockingLookups {
    static func avoid(on easy: EasyHandle) {
        if Libcurl.version >= 0x07_57_00 { easy.set(bb_curlopt_quick_exit, 1) }
    }

    static func avoid(on multi: UnsafeMutableRawPointer) {
        if Libcurl.version >= 0x08_14_00 { unsafe bb_curl_multi_set_quick_exit(multi) }
    }
}
