package import FoundationEssentials

/// Reads a regular file in pieces, as long as it is what it was when it was opened.
///
/// It never gives more bytes than ``length``. A file that has grown or shrunk meanwhile is an error instead of its last
/// piece: what was announced is then not sent to its end. Copies read on from where they were made, each for itself.
package struct FileReader: BodyReader {
    /// How many bytes the file had when it was opened.
    package let length: Int64

    private let file: FileDescriptor
    private var offset: Int64 = 0

    /// How many bytes a piece has, but for the last.
    package static let pieceSize = 256 * 1024

    /// Opens a file; the system's work, which may take a while.
    package init(path: String) throws(FileError) {
        file = try FileDescriptor.reading(path)
        length = try file.length()
    }

    package mutating func next() throws(FileError) -> Data? {
        guard offset < length else {
            if length == 0 { try checkEnd() }
            return nil
        }
        let piece = try file.read(Int(min(Int64(Self.pieceSize), length - offset)), at: offset)
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
        let excess = try file.read(1, at: length)
        guard !excess.isEmpty else { return }
        throw .lengthChanged(expected: length, actual: max(try file.length(), length + 1))
    }
}
