package import FoundationEssentials
import Glibc

/// Says why a file cannot be read, before it is known what the file was for.
package enum FileError: Error, Hashable {
    /// A call of the system failed.
    case system(SystemError)
    /// The path is that of a directory.
    case isDirectory
    /// The path is that of something else than a file of bytes: a pipe, a socket, a device.
    case isNotRegular
    /// The file was not as long any more as when it was opened.
    case lengthChanged(expected: Int64, actual: Int64)

    /// Whether there is no such file, or it may not be reached.
    var isUnreachable: Bool { if case .system(let error) = self { error.isUnreachable } else { false } }

    /// What went wrong, in the system's words where it was the system that refused.
    package var words: String {
        switch self {
        case .system(let error): error.words
        case .isDirectory: SystemError(EISDIR).words
        case .isNotRegular: "Not a regular file"
        case .lengthChanged(let expected, let actual): "\(actual) bytes instead of \(expected)"
        }
    }
}

/// Reads a regular file in pieces, as long as it is what it was when it was opened.
///
/// It never gives more bytes than ``length``. A file that has grown or shrunk meanwhile is an error instead of its last
/// piece: what was announced is then not sent to its end. Copies read on from where they were made, each for itself.
package struct FileReader: BodyReader {
    /// How many bytes the file had when it was opened.
    package let length: Int64

    private let file: OpenFile
    private var offset: Int64 = 0

    /// The size of every piece but the last, in bytes.
    package static let pieceSize = RecycledBuffers.files.size

    /// Opens a file; the system's work, which may take a while.
    package init(path: String) throws(FileError) {
        file = try Self.asking { () throws(SystemError) in try OpenFile.reading(path, followingLinks: true) }
        length = try Self.length(of: file)
    }

    /// Returns all of a file, or nothing when there are more bytes than a limit.
    package static func contents(of path: String, limit: Int64) throws(FileError) -> Data? {
        var reader = try FileReader(path: path)
        guard reader.length <= limit else { return nil }
        var data = Data(capacity: Int(reader.length))
        while let piece = try reader.next() { data.append(piece) }
        return data
    }

    package mutating func next() throws(FileError) -> Data? {
        guard offset < length else {
            if length == 0 { try checkEnd() }
            return nil
        }
        let piece = try piece(Int(min(Int64(Self.pieceSize), length - offset)), at: offset)
        guard !piece.isEmpty else { throw .lengthChanged(expected: length, actual: offset) }
        offset += Int64(piece.count)
        if offset == length { try checkEnd() }
        return piece
    }

    /// Copies the next bytes if the system has them in memory, without ever waiting; returns how many.
    ///
    /// Of the last piece none: at the end, it is to be seen whether that is the end. None at all, and it is for ``next()``
    /// to go on, which may wait.
    package mutating func readResident(into memory: inout MutableRawSpan) -> Int {
        let limit = min(Int64(memory.byteCount), length - offset - Int64(Self.pieceSize))
        guard limit > 0 else { return 0 }
        let count = file.readResident(Int(limit), into: &memory, at: offset)
        offset += Int64(count)
        return count
    }

    /// Checks that nothing comes after the last byte.
    private func checkEnd() throws(FileError) {
        // Not by the length alone: files that the kernel makes up say that they have none.
        let excess = try piece(1, at: length)
        guard !excess.isEmpty else { return }
        throw .lengthChanged(expected: length, actual: max(try Self.length(of: file), length + 1))
    }

    private func piece(_ count: Int, at offset: Int64) throws(FileError) -> Data {
        try Self.asking { () throws(SystemError) in try file.readPiece(count, at: offset) }
    }

    /// How many bytes a file has; only a regular file has a length.
    private static func length(of file: OpenFile) throws(FileError) -> Int64 {
        let status = try asking { () throws(SystemError) in try file.status() }
        guard !status.isDirectory else { throw .isDirectory }
        guard status.isRegular else { throw .isNotRegular }
        return status.size
    }

    private static func asking<Value>(_ body: () throws(SystemError) -> Value) throws(FileError) -> Value {
        do { return try body() } catch { throw .system(error) }
    }
}
