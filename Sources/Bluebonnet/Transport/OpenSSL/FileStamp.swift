import CSystem
import Glibc

/// What tells whether a file or a directory is still the one that was read.
// Safety: the system fills in the record that it is given, within the call.
struct FileStamp: Hashable, Sendable {
    private let path: String
    private var size: Int64 = -1
    private var inode: UInt64 = 0
    private var device: UInt64 = 0
    private var changed: [Int] = []

    /// Looks at a file; one that is not there has a stamp as well.
    init(_ path: String) {
        self.path = path
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return }
        size = Int64(status.st_size)
        inode = UInt64(status.st_ino)
        device = UInt64(status.st_dev)
        changed = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }
}
