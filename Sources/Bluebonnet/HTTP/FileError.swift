import CSystem

/// Says why a file cannot be used, before it is known what the file was for.
package enum FileError: Error, Hashable {
    /// A call of the system failed, with its `errno`.
    case system(code: Int32)
    /// The path is that of a directory.
    case isDirectory
    /// The path is that of something else than a file of bytes: a pipe, a socket, a device.
    case isNotRegular
    /// The file was not as long any more as when it was opened.
    case lengthChanged(expected: Int64, actual: Int64)

    /// Whether there is no such file, or it may not be reached.
    package var isUnreachable: Bool {
        guard case .system(let code) = self else { return false }
        return [ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG].contains(code)
    }

    /// Whether there is such a file already.
    package var isAlreadyThere: Bool { self == .system(code: EEXIST) }

    /// What went wrong, in the system's words where it was the system that refused.
    package var words: String {
        switch self {
        case .system(let code): FileDescriptor.words(for: code)
        case .isDirectory: FileDescriptor.words(for: EISDIR)
        case .isNotRegular: "Not a regular file"
        case .lengthChanged(let expected, let actual): "\(actual) bytes instead of \(expected)"
        }
    }
}
