import CSystem
import FoundationEssentials
import Glibc
import Synchronization

/// Owns the descriptor of a file, and closes it when the last reference goes.
///
/// Its calls wait for the disk, so they belong on the global pool, never on the loop. ``readResident(_:into:at:)``
/// alone does not wait.
// Safety: every pointer below lives for the call that it is handed to, with the length of the memory behind it.
final class OpenFile: Sendable {
    private let descriptor: Int32
    /// Whether ``close()`` has given the descriptor back to the system.
    private let isClosed = Atomic(false)

    private init(_ path: String, _ flags: Int32, mode: mode_t = 0) throws(SystemError) {
        // C would take the path to end there.
        guard !path.utf8.contains(0) else { throw SystemError(EINVAL) }
        descriptor = try OpenFile.retrying {
            // No program that this one starts keeps the file, and its lock, open.
            unsafe open(path, flags | O_CLOEXEC | O_NOCTTY, mode)
        }
    }

    deinit {
        try? close()
    }

    /// Makes a file that is not there yet; fails with `EEXIST` when it is.
    static func creating(_ path: String, mode: mode_t) throws(SystemError) -> OpenFile {
        try OpenFile(path, O_RDWR | O_CREAT | O_EXCL, mode: mode)
    }

    /// Opens a file for reading and writing; a link at the end of the path is not followed.
    static func writing(_ path: String) throws(SystemError) -> OpenFile {
        // Without O_NONBLOCK, opening a pipe would wait for its other end.
        try OpenFile(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW)
    }

    /// Opens a file for reading.
    static func reading(_ path: String, followingLinks: Bool = false) throws(SystemError) -> OpenFile {
        try OpenFile(path, O_RDONLY | O_NONBLOCK | (followingLinks ? 0 : O_NOFOLLOW))
    }

    /// Writes a file for its owner only, in place of the one that is there: a reader sees all of either.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - data: The content.
    ///   - unfinished: The path that the file has until it is complete.
    /// - Throws: The system's error; the old file at the path is still there.
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

    /// Closes the file, and throws an error that the system reports only now: that on a network's disk, the data was
    /// not written.
    ///
    /// The file is not used after that.
    func close() throws(SystemError) {
        guard !isClosed.exchange(true, ordering: .relaxed), Glibc.close(descriptor) != 0 else { return }
        // Linux has closed it, also when it was interrupted.
        guard errno == EINTR else { throw SystemError(errno) }
    }

    /// The current status of the file.
    func status() throws(SystemError) -> FileStatus {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw SystemError(errno) }
        return FileStatus(status)
    }

    /// The result of asking for a lock.
    enum Lock {
        case taken
        /// Another descriptor, of this process or another, has it.
        case busy
        /// The file system knows no locks.
        case unsupported
    }

    /// Takes the lock that only one descriptor of the file can have at a time; it is given back when the file is
    /// closed.
    func lock() -> Lock {
        do throws(SystemError) {
            _ = try Self.retrying { flock(descriptor, LOCK_EX | LOCK_NB) }
            return .taken
        } catch {
            return error.code == EWOULDBLOCK ? .busy : .unsupported
        }
    }

    /// Gives the lock back while the file stays open.
    func unlock() {
        _ = flock(descriptor, LOCK_UN)
    }

    // MARK: Reading

    /// Returns the content of the file, up to a number of bytes.
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

    /// Reads at most so many bytes from a position on, in reused memory, and no more than that has; none at the end of
    /// the file.
    func readPiece(_ count: Int, at position: Int64) throws(SystemError) -> Data {
        let buffer = RecycledBuffers.files.take()
        unsafe try buffer.fill(upTo: count) { memory throws(SystemError) in
            try Self.retrying { unsafe pread(descriptor, memory.baseAddress, memory.count, off_t(position)) }
        }
        return RecycledBuffers.files.piece(of: buffer)
    }

    /// Reads at most so many bytes that the system has in memory, and never waits for the disk; returns how many.
    ///
    /// None also at the end of the file, and where the system cannot tell: a read in the other way shows which it is.
    func readResident(_ count: Int, into memory: inout MutableRawSpan, at position: Int64) -> Int {
        unsafe memory.withUnsafeMutableBytes { memory in
            max(0, unsafe bb_read_resident(descriptor, memory.baseAddress, min(count, memory.count), off_t(position)))
        }
    }

    // MARK: Writing

    /// Writes all of the data at a position and moves it on by as much as was written, even when it throws.
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

    /// Copies everything to another file, which is empty.
    func copy(to other: OpenFile) throws(SystemError) {
        var position: Int64 = 0
        while true {
            let part = try read(upTo: 1 << 20, from: position)
            if part.isEmpty { return }
            try other.write(part, at: &position)
        }
    }

    /// Cuts the file.
    func truncate(to size: Int64) throws(SystemError) {
        _ = try Self.retrying { ftruncate(descriptor, off_t(size)) }
    }

    /// Notes that the file was used just now.
    func touch() {
        _ = futimens(descriptor, nil)
    }

    /// Sets the permission bits.
    func setMode(_ mode: mode_t) throws(SystemError) {
        guard fchmod(descriptor, mode) == 0 else { throw SystemError(errno) }
    }

    /// Calls the system, again as often as it is interrupted.
    private static func retrying<Result: BinaryInteger>(_ call: () -> Result) throws(SystemError) -> Result {
        while true {
            let result = call()
            if result >= 0 { return result }
            guard errno == EINTR else { throw SystemError(errno) }
        }
    }
}
