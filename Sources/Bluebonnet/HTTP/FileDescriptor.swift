import CSystem
package import FoundationEssentials
import Glibc
import Synchronization

/// Owns an open file, and closes it when the last reference goes.
///
/// Its calls block for as long as the disk takes: but for ``readResident(_:into:at:)``, they belong on the global pool, never
/// on the loop.
// Safety: C sees only pointers to memory that is alive for the call, together with its size.
package final class FileDescriptor: Sendable {
    private let number: Int32
    /// Whether ``close()`` has given the number back to the system.
    private let isClosed = Atomic(false)

    private init(number: Int32) {
        self.number = number
    }

    deinit {
        try? close()
    }

    /// Opens a regular file to be read.
    package static func reading(_ path: String) throws(FileError) -> FileDescriptor {
        // A pipe without a writer would keep the call waiting; of regular files the flag asks nothing.
        try open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
    }

    /// Makes a file to be written; one that is there already is an error.
    package static func creating(_ path: String) throws(FileError) -> FileDescriptor {
        try open(path, O_WRONLY | O_CREAT | O_EXCL)
    }

    private static func open(_ path: String, _ flags: Int32) throws(FileError) -> FileDescriptor {
        // C would take the path to end there.
        guard !path.utf8.contains(0) else { throw .system(code: EINVAL) }
        while true {
            let number = unsafe Glibc.open(path, flags | O_CLOEXEC, 0o666)
            if number >= 0 { return FileDescriptor(number: number) }
            let code = bb_errno()
            guard code == EINTR else { throw .system(code: code) }
        }
    }

    /// Gives the file back to the system, which may say only now that it could not write; it is not used after that.
    package func close() throws(FileError) {
        guard !isClosed.exchange(true, ordering: .relaxed), Glibc.close(number) != 0 else { return }
        // Linux has closed it even when it was interrupted.
        let code = bb_errno()
        guard code == EINTR else { throw .system(code: code) }
    }

    /// Returns how many bytes the file has; only a regular file has a length.
    package func length() throws(FileError) -> Int64 {
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { throw .system(code: bb_errno()) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return Int64(status.st_size)
        case S_IFDIR: throw .isDirectory
        default: throw .isNotRegular
        }
    }

    /// Reads at most so many bytes from an offset on, and no more than a buffer holds; none at the end of the file.
    package func read(_ count: Int, at offset: Int64) throws(FileError) -> Data {
        let buffer = RecycledBuffers.files.take()
        unsafe try buffer.fill(upTo: count) { memory throws(FileError) in
            while true {
                let received = unsafe pread(number, memory.baseAddress, memory.count, off_t(offset))
                if received >= 0 { return received }
                let code = bb_errno()
                guard code == EINTR else { throw FileError.system(code: code) }
            }
        }
        return RecycledBuffers.files.piece(of: buffer)
    }

    /// Reads at most so many bytes that the system has in memory, and never waits for the disk; returns how many.
    ///
    /// None also at the end of the file, and where the system cannot tell: to read in the other way shows which it is.
    package func readResident(_ count: Int, into memory: inout MutableRawSpan, at offset: Int64) -> Int {
        unsafe memory.withUnsafeMutableBytes { memory in
            max(0, unsafe bb_read_resident(number, memory.baseAddress, min(count, memory.count), off_t(offset)))
        }
    }

    /// Writes all of the bytes where the last ones ended.
    package func write(_ bytes: Data) throws(FileError) {
        var offset = 0
        while offset < bytes.count {
            let written = unsafe bytes.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset...])
                return unsafe Glibc.write(number, rest.baseAddress, rest.count)
            }
            if written >= 0 {
                offset += written
            } else {
                let code = bb_errno()
                guard code == EINTR else { throw .system(code: code) }
            }
        }
    }

    /// Removes a file's name, if it is there.
    package static func remove(_ path: String) {
        _ = unsafe unlink(path)
    }

    /// The system's words for an error.
    package static func words(for code: Int32) -> String {
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
