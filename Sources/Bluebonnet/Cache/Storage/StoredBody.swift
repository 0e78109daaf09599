import BluebonnetLibc
import FoundationEssentials

/// The body of a stored response, in memory or in a file.
enum StoredBody: Sendable {
    case memory(Data)
    /// The first bytes of an open file, whose checksum was right when it was opened.
    ///
    /// The file remains readable after its removal from the directory.
    case file(OpenFile, count: Int)

    /// The number of bytes.
    var count: Int {
        switch self {
        case .memory(let data): data.count
        case .file(_, let count): count
        }
    }

    /// Returns the whole body; blocks if the body is in a file.
    func all() throws(SystemError) -> Data {
        if case .memory(let data) = self { data } else { try read(from: 0, upTo: count) }
    }

    /// Returns the bytes from an offset, up to a number of bytes; blocks if the body is in a file.
    ///
    /// - Throws: The system's error, or `EIO` if the file has become too short.
    func read(from offset: Int, upTo limit: Int) throws(SystemError) -> Data {
        let length = min(limit, count - offset)
        switch self {
        case .memory(let data): return length == data.count ? data : Data(data.dropFirst(offset).prefix(length))
        case .file(let file, _):
            let data = try file.read(upTo: length, from: Int64(offset))
            guard data.count == length else { throw SystemError(EIO) }
            return data
        }
    }

    /// Calls a closure with the pieces of the body in order, until it returns `false`; blocks.
    ///
    /// - Returns: Whether the closure received all pieces and returned `true`.
    func forEachPiece(_ body: (Data) -> Bool) throws(SystemError) -> Bool {
        if case .memory(let data) = self { return body(data) }
        for offset in stride(from: 0, to: count, by: Self.pieceSize) {
            guard try body(read(from: offset, upTo: Self.pieceSize)) else { return false }
        }
        return true
    }

    /// The number of bytes above which a body can remain in its file, and the size of its pieces.
    static let pieceSize = 256 * 1024
}
