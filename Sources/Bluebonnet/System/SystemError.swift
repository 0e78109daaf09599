import BluebonnetLibc
import CSystem

/// The error number of a failed system call.
package struct SystemError: Error, Hashable {
    package let code: Int32

    package init(_ code: Int32) {
        self.code = code
    }

    /// Whether no file exists at the path.
    var isAbsence: Bool { code == ENOENT || code == ENOTDIR }

    /// Whether the disk, or the user's part of it, is full.
    var isFullDisk: Bool { code == ENOSPC || code == EDQUOT }

    /// Whether the file already exists.
    var fileExists: Bool { code == EEXIST }

    /// Whether the file does not exist or is not accessible.
    var isUnreachable: Bool { isAbsence || [EACCES, ELOOP, ENAMETOOLONG].contains(code) }

    /// The system's message for the error.
    // Safety: the text belongs to the calling thread until the next call; it is copied at once.
    package var message: String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}

/// The standard error stream of the process.
enum StandardError {
    /// Writes a text with a single call, and ignores errors.
    // Safety: the bytes are read only within the call, and at most their number.
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe BluebonnetLibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
