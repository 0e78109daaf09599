public import FoundationEssentials
import Glibc

/// Splits pieces of bytes into lines.
public struct LineSplitter: Sendable {
    /// The beginning of an incomplete line.
    private var rest = Data()

    /// Creates a splitter that has seen nothing.
    public init() {}

    /// Calls a closure with each line that is complete, without its line feed.
    ///
    /// - Parameters:
    ///   - piece: The next bytes.
    ///   - body: Is called with the lines.
    /// - Throws: Any error of the closure.
    public mutating func append(_ piece: Data, _ body: (Data) throws -> Void) rethrows {
        var start = piece.startIndex
        while let feed = Self.lineFeed(in: piece, from: start) {
            if rest.isEmpty {
                try body(piece[start..<feed])
            } else {
                rest.append(piece[start..<feed])
                try body(rest)
                rest = Data()
            }
            start = feed + 1
        }
        if start < piece.endIndex { rest.append(piece[start...]) }
    }

    private static func lineFeed(in piece: Data, from start: Int) -> Int? {
        // Safety: the pointer is within the buffer that `memchr` searches, and both are used within the closure alone.
        unsafe piece[start...].withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let feed = unsafe memchr(base, 10, bytes.count) else { return nil }
            return unsafe start + (UnsafeRawPointer(feed) - base)
        }
    }
}
