import BluebonnetLibc
import CCurl
import CSystem

/// Prevents child processes from inheriting the descriptors of multi handles.
///
/// Libcurl before 8.8.0 creates a pipe or a socket pair for each multi handle, and does not close its ends when the
/// process executes a program. Libcurl does not say which descriptors these are. They are expected to have the lowest
/// free numbers, and are recognized by a byte that libcurl writes to one of them. Bluebonnet does not use the pair.
// Safety: the pointer is the new multi handle; the path is a constant.
enum InheritedDescriptors {
    /// Whether the installed libcurl has the defect.
    static let isGuarded = Libcurl.version < 0x08_08_00

    /// Creates a multi handle; returns `nil` if there is no memory.
    static func makeMulti() -> UnsafeMutableRawPointer? {
        guard isGuarded, let (reading, writing) = lowestFreePair() else { return unsafe curl_multi_init() }
        guard let multi = unsafe curl_multi_init() else { return nil }
        // Another thread may have used the numbers in the meantime.
        guard bb_unread_bytes(reading) == 0, unsafe curl_multi_wakeup(multi) == CURLM_OK,
            bb_one_byte_waits(reading, writing)
        else { return unsafe multi }
        for descriptor in [reading, writing] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return unsafe multi
    }

    private static func lowestFreePair() -> (Int32, Int32)? {
        let pair = unsafe (open("/", O_RDONLY | O_CLOEXEC), open("/", O_RDONLY | O_CLOEXEC))
        for descriptor in [pair.0, pair.1] where descriptor >= 0 { _ = BluebonnetLibc.close(descriptor) }
        return pair.0 >= 0 && pair.1 >= 0 ? pair : nil
    }
}
