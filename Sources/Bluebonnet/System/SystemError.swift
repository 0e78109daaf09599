import CSystem
import Glibc

/// Holds the number with which a system call failed.
package struct SystemError: Error, Hashable {
    package let code: Int32

    package init(_ code: Int32) {
        self.code = code
    }

    /// Whether the error is that there is nothing at the path.
    var isAbsence: Bool { code == ENOENT || code == ENOTDIR }

    /// Whether there is such a file already.
    var fileExists: Bool { code == EEXIST }

    /// Whether there is no such file, or it may not be reached.
    var isUnreachable: Bool { isAbsence || [EACCES, ELOOP, ENAMETOOLONG].contains(code) }

    /// The system's message for the error.
    // Safety: the text is the calling thread's own until the next call; it is copied at once.
    package var message: String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}

/// The stream for a program's messages that are not its output.
enum StandardError {
    /// Writes a text as a whole, as far as that is possible.
    // Safety: the bytes are read within the call, up to their number.
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
