import CSystem
import FoundationEssentials
import Glibc

/// Owns the descriptor of a file; all calls block. With ``FileSystem``, the only code of downloads that touches C.
// Safety: every pointer below lives for the call that it is handed to, with the length of the memory behind it.
struct OpenFile: ~Copyable {
    private let descriptor: Int32

    private init(_ path: String, _ flags: Int32, mode: mode_t = 0) throws(SystemError) {
        while true {
            // No program that this one starts keeps the file, and its lock, open.
            let descriptor = unsafe open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode)
            if descriptor >= 0 {
                self.descriptor = descriptor
                return
            }
            guard errno == EINTR else { throw SystemError(errno) }
        }
    }

    /// Makes a file that is not there yet; fails with `EEXIST` when it is.
    static func creating(_ path: String, mode: mode_t) throws(SystemError) -> OpenFile {
        try OpenFile(path, O_RDWR | O_CREAT | O_EXCL, mode: mode)
    }

    /// Opens a file for reading and writing; links are not followed.
    static func writing(_ path: String) throws(SystemError) -> OpenFile {
        // Without O_NONBLOCK, what is no regular file might keep us waiting.
        try OpenFile(path, O_RDWR | O_NONBLOCK)
    }

    /// Opens a file for reading; links are not followed.
    static func reading(_ path: String) throws(SystemError) -> OpenFile {
        try OpenFile(path, O_RDONLY | O_NONBLOCK)
    }

    deinit {
        _ = Glibc.close(descriptor)
    }

    /// Closes the file, and throws what the system says only now: that on a network's disk what was written is not there.
    consuming func close() throws(SystemError) {
        let descriptor = descriptor
        discard self
        // Linux has closed it, also when it was interrupted.
        guard Glibc.close(descriptor) == 0 || errno == EINTR else { throw SystemError(errno) }
    }

    /// What the file is now.
    borrowing func status() throws(SystemError) -> FileStatus {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw SystemError(errno) }
        return FileStatus(status)
    }

    /// What asking for a lock came to.
    enum Lock {
        case taken
        /// Another descriptor, of this process or another, has it.
        case busy
        /// The file system knows no locks.
        case unsupported
    }

    /// Takes the lock that one descriptor of the file can have at a time; it is given back when the file is closed.
    borrowing func lock() -> Lock {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EINTR else { return errno == EWOULDBLOCK ? .busy : .unsupported }
        }
        return .taken
    }

    /// Gives the lock back while the file stays open.
    borrowing func unlock() {
        _ = flock(descriptor, LOCK_UN)
    }

    /// Writes all of the data at a position and moves it on by as much as was written, even when it throws.
    borrowing func write(_ data: Data, at position: inout Int64) throws(SystemError) {
        let failure: Int32? = unsafe data.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
                let count = unsafe pwrite(descriptor, part.baseAddress, part.count, off_t(position))
                if count > 0 {
                    position += Int64(count)
                    done += count
                } else if count == 0 {
                    return EIO
                } else if errno != EINTR {
                    return errno
                }
            }
            return nil
        }
        if let failure { throw SystemError(failure) }
    }

    /// Returns what is in the file, up to a number of bytes.
    borrowing func read(upTo limit: Int, from position: Int64 = 0) throws(SystemError) -> Data {
        var data = Data(count: limit)
        var count = 0
        while count < limit {
            let taken = unsafe data.withUnsafeMutableBytes { bytes in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
                return unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(position) + off_t(count))
            }
            if taken < 0, errno != EINTR { throw SystemError(errno) }
            if taken == 0 { break }
            count += max(taken, 0)
        }
        return data.prefix(count)
    }

    /// Copies everything to another file, which is empty.
    borrowing func copy(to other: borrowing OpenFile) throws(SystemError) {
        var position: Int64 = 0
        while true {
            let part = try read(upTo: 1 << 20, from: position)
            if part.isEmpty { return }
            try other.write(part, at: &position)
        }
    }

    /// Cuts the file.
    borrowing func truncate(to size: Int64) throws(SystemError) {
        while ftruncate(descriptor, off_t(size)) != 0 {
            guard errno == EINTR else { throw SystemError(errno) }
        }
    }

    /// Notes that the file was used just now.
    borrowing func touch() {
        _ = futimens(descriptor, nil)
    }

    /// Sets the permission bits.
    borrowing func setMode(_ mode: mode_t) throws(SystemError) {
        guard fchmod(descriptor, mode) == 0 else { throw SystemError(errno) }
    }
}
