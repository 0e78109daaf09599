/// Looks for the end of the line that begins at an offset of a chunk; what ``LineFramer`` does with one span of the bytes.
struct LineScan {
    /// Where the line begins, after the LF of a CRLF whose CR ended the line before.
    private(set) var start: Int
    /// The offset of the first LF from there on, or the chunk's size; smaller than the start when it is not known yet.
    ///
    /// Kept from line to line: a chunk full of lines that end with a CR would be searched to its end for each of them.
    private(set) var nextLineFeed: Int
    /// Whether the line before ended with a CR, and then this one, so that an LF right after it belongs to that end.
    private(set) var isAfterReturn: Bool
    /// The offset of the byte that ends the line, if it is in the chunk.
    private(set) var end: Int?
    /// Whether the last byte before the end of the line, or else of the chunk, is a CR.
    private(set) var hasReturnBeforeEnd = false

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    init(start: Int, nextLineFeed: Int, isAfterReturn: Bool) {
        self.start = start
        self.nextLineFeed = nextLineFeed
        self.isAfterReturn = isAfterReturn
    }

    /// Searches the chunk.
    mutating func run(_ bytes: Span<UInt8>, endsAtReturn: Bool) {
        let size = bytes.count
        if isAfterReturn, start < size {
            if bytes[start] == Self.lineFeed { start += 1 }
            isAfterReturn = false
        }
        if nextLineFeed < start {
            nextLineFeed = ByteSearch.firstOffset(of: Self.lineFeed, in: start..<size, of: bytes) ?? size
        }
        let firstReturn =
            endsAtReturn ? ByteSearch.firstOffset(of: Self.carriageReturn, in: start..<nextLineFeed, of: bytes) : nil
        if let firstReturn {
            end = firstReturn
            isAfterReturn = true
        } else if nextLineFeed < size {
            end = nextLineFeed
        }
        let last = (end ?? size) - 1
        hasReturnBeforeEnd = last >= start && bytes[last] == Self.carriageReturn
    }
}
