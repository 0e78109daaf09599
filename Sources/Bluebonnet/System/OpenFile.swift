import BluebonnetLibc
import CSystem
import FoundationEssentials
import Synchronization

/// Owns a file descriptor, and closes it when the last reference is released.
///
/// The calls block, so they must run on the global executor, not on the event loop. Only ``readResident(_:into:at:)``
/// does not wait for the disk.
// Safety: every pointer below is used only within its call, with the size of its memory.
final class OpenFile: Sendable {
    private let descriptor: Int32
    /// Whether ``close()`` has returned the descriptor to the system.
    private let isClosed = Atomic(false)

    private init(_ path: String, _ flags: Int32, mode: mode_t = 0) throws(SystemError) {
        // In C, the NUL would end the path.
        guard !path.utf8.contains(0) else { throw SystemError(EINVAL) }
        descriptor = try OpenFile.retrying {
            // A program that this process starts must not inherit the file and its lock.
            unsafe open(path, flags | O_CLOEXEC | O_NOCTTY, mode)
        }
    }

    deinit {
        try? close()
    }

    /// Creates a file; fails with `EEXIST` if it already exists.
    static func creating(_ path: String, mode: mode_t) throws(SystemError) -> OpenFile {
        try OpenFile(path, O_RDWR | O_CREAT | O_EXCL, mode: mode)
    }

    /// Opens a file for reading and writing; the last component of the path must not be a link.
    static func writing(_ path: String) throws(SystemError) -> OpenFile {
        // Without O_NONBLOCK, opening a pipe would wait for its other end.
        try OpenFile(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW)
    }

    /// Opens a file for reading; unless `followingLinks` is `true`, the last component of the path must not be a link.
    static func reading(_ path: String, followingLinks: Bool = false) throws(SystemError) -> OpenFile {
        try OpenFile(path, O_RDONLY | O_NONBLOCK | (followingLinks ? 0 : O_NOFOLLOW))
    }

    /// Replaces the content of a file atomically, and makes the file accessible only to its owner.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - data: The new content.
    ///   - unfinished: The path of the new file while it is written.
    /// - Throws: The system's error; the old file then still exists.
    static func replace(_ path: String, with data: Data, by unfinished: String) throws(SystemError) {
        do throws(SystemError) {
            let file = try creating(unfinished, mode: 0o600)
            var position: Int64 = 0
            try file.write(data, at: &position)
            try file.close()
            try FileSystem.rename(unfinished, to: path)
        } catch {
            FileSystem.remove(unfinished)
            throw error
        }
    }

    /// Closes the file, which must not be used afterwards.
    ///
    /// - Throws: The system's error, for example that a network file system has not written the data.
    func close() throws(SystemError) {
        guard !isClosed.exchange(true, ordering: .relaxed), BluebonnetLibc.close(descriptor) != 0 else { return }
        // On Linux, the descriptor is closed even if the call was interrupted.
        guard errno == EINTR else { throw SystemError(errno) }
    }

    /// Returns the current status of the file.
    func status() throws(SystemError) -> FileStatus {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw SystemError(errno) }
        return FileStatus(status)
    }

    /// The result of an attempt to take the lock.
    enum Lock {
        case taken
        /// Another descriptor, of this process or another process, holds the lock.
        case busy
        /// The file system does not support locks.
        case unsupported
    }

    /// Takes the lock, which only one descriptor of the file can hold at a time.
    ///
    /// The lock is released when the file is closed.
    func lock() -> Lock {
        do throws(SystemError) {
            _ = try Self.retrying { flock(descriptor, LOCK_EX | LOCK_NB) }
            return .taken
        } catch {
            return error.code == EWOULDBLOCK ? .busy : .unsupported
        }
    }

    /// Releases the lock, and keeps the file open.
    func unlock() {
        _ = flock(descriptor, LOCK_UN)
    }

    // MARK: Reading

    /// Returns the content of the file from a position, up to a number of bytes.
    func read(upTo limit: Int, from position: Int64 = 0) throws(SystemError) -> Data {
        var data = Data(count: limit)
        var count = 0
        while count < limit {
            let taken = try Self.retrying {
                unsafe data.withUnsafeMutableBytes { bytes in
                    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
                    return unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(position) + off_t(count))
                }
            }
            if taken == 0 { break }
            count += taken
        }
        return data.prefix(count)
    }

    /// Reads at most the given number of bytes from a position, into reused memory.
    ///
    /// The size of this memory is also a limit. At the end of the file, the method returns no bytes.
    func readPiece(_ count: Int, at position: Int64) throws(SystemError) -> Data {
        let buffer = RecycledBuffers.files.take()
        unsafe try buffer.fill(upTo: count) { memory throws(SystemError) in
            try Self.retrying { unsafe pread(descriptor, memory.baseAddress, memory.count, off_t(position)) }
        }
        return RecycledBuffers.files.piece(of: buffer)
    }

    /// Reads at most the given number of bytes, but only bytes that the system has in memory; returns their number.
    ///
    /// The method never waits. It returns 0 if no bytes are in memory, at the end of the file, or after an error. A
    /// read with another method then shows the reason.
    func readResident(_ count: Int, into memory: inout MutableRawSpan, at position: Int64) -> Int {
        unsafe memory.withUnsafeMutableBytes { memory in
            max(0, unsafe bb_read_resident(descriptor, memory.baseAddress, min(count, memory.count), off_t(position)))
        }
    }

    // MARK: Writing

    /// Writes all of the data at a position.
    ///
    /// The position advances by the number of written bytes, even if the method throws.
    func write(_ data: Data, at position: inout Int64) throws(SystemError) {
        var done = 0
        while done < data.count {
            let count = try Self.retrying {
                unsafe data.withUnsafeBytes { bytes in
                    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
                    return unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(position))
                }
            }
            guard count > 0 else { throw SystemError(EIO) }
            position += Int64(count)
            done += count
        }
    }

    /// Copies the whole content to another file, which must be empty.
    func copy(to other: OpenFile) throws(SystemError) {
        // Another process may append to the file.
        let size = try status().size
        var position: Int64 = 0
        while position < size {
            let part = try read(upTo: Int(min(1 << 20, size - position)), from: position)
            if part.isEmpty { return }
            try other.write(part, at: &position)
        }
    }

    /// Waits until the bytes of the file are on the disk.
    func synchronize() throws(SystemError) {
        _ = try Self.retrying { fdatasync(descriptor) }
    }

    /// Sets the size of the file; added bytes are zero.
    func truncate(to size: Int64) throws(SystemError) {
        _ = try Self.retrying { ftruncate(descriptor, off_t(size)) }
    }

    /// Sets the file's access time to the current time.
    func touch() { bb_mark_accessed(descriptor) }

    /// Sets the permission bits.
    func setMode(_ mode: mode_t) throws(SystemError) {
        guard fchmod(descriptor, mode) == 0 else { throw SystemError(errno) }
    }

    /// Repeats a system call until it is not interrupted.
    private static func retrying<Result: BinaryInteger>(_ call: () -> Result) throws(SystemError) -> Result {
        while true {
            let result = call()
            if result >= 0 { return result }
            guard errno == EINTR else { throw SystemError(errno) }
        }
    }
}
