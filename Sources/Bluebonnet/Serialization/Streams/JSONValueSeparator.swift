import FoundationEssentials

/// Adds a line ending after each JSON object and array that has none, in the incomplete line at the end of a chunk.
///
/// Some servers send one value after another without line endings. Such a value is complete when its last bracket
/// arrives. A line ending always ends a value, so that a malformed line does not affect the next line. Complete lines
/// usually contain one value, so they are not examined: ``values(of:)`` divides a line that cannot be decoded.
struct JSONValueSeparator {
    private enum Position {
        /// Before the first byte of a line, other than blanks.
        case lineStart
        /// In a line that does not start with a bracket. The line is not divided.
        case otherLine
        case inValue(depth: Int)
        case inString(depth: Int)
        case afterBackslash(depth: Int)
        /// After the last bracket of a value.
        case afterValue
        /// After a line ending that was added at the end of a chunk. The server's own line ending is skipped if it
        /// follows.
        case afterAddedEnding
    }

    private static let lineFeed = UInt8(ascii: "\n")

    private var position = Position.lineStart

    /// Returns the values of a line.
    static func values(of line: Data) -> [Data] {
        var separator = JSONValueSeparator()
        return separator.separate(line).split(separator: lineFeed)
    }

    /// Returns a chunk with the missing line endings.
    ///
    /// The chunk is not copied if no line ending is missing.
    mutating func separate(_ chunk: Data) -> Data {
        let bytes = chunk.span
        let examined = examinedRange(of: bytes)
        // The offsets of bytes that start a value in the same line as the value before them.
        var starts: [Int] = []
        var blanks = 0
        for offset in examined {
            let byte = bytes[offset]
            if case .afterAddedEnding = position, Self.isBlank(byte) || byte == Self.lineFeed { blanks = offset + 1 }
            if case .afterValue = position, !Self.isBlank(byte), byte != Self.lineFeed { starts.append(offset) }
            position = Self.position(after: byte, from: position)
        }
        let endsWithValue = if case .afterValue = position { true } else { false }
        guard endsWithValue || !starts.isEmpty || blanks > 0 else { return chunk }
        var result = Data()
        for start in starts {
            result.append(chunk.dropFirst(blanks).prefix(start - blanks))
            result.append(Self.lineFeed)
            blanks = start
        }
        result.append(chunk.dropFirst(blanks))
        if endsWithValue {
            result.append(Self.lineFeed)
            position = .afterAddedEnding
        }
        return result
    }

    /// The range of the incomplete line, which ends the chunk; the whole chunk after an added line ending.
    private mutating func examinedRange(of bytes: Span<UInt8>) -> Range<Int> {
        if case .afterAddedEnding = position { return bytes.indices }
        var start = bytes.count
        while start > 0, bytes[start - 1] != Self.lineFeed { start -= 1 }
        if start > 0 { position = .lineStart }
        return start..<bytes.count
    }

    private static func position(after byte: UInt8, from position: Position) -> Position {
        if byte == lineFeed { return .lineStart }
        switch position {
        case .lineStart, .afterValue, .afterAddedEnding:
            if isBlank(byte) { return position }
            return isOpening(byte) ? .inValue(depth: 1) : .otherLine
        case .otherLine: return .otherLine
        case .inValue(let depth):
            if byte == UInt8(ascii: "\"") { return .inString(depth: depth) }
            if isOpening(byte) { return .inValue(depth: depth + 1) }
            guard byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") else { return position }
            return depth == 1 ? .afterValue : .inValue(depth: depth - 1)
        case .inString(let depth):
            if byte == UInt8(ascii: "\\") { return .afterBackslash(depth: depth) }
            return byte == UInt8(ascii: "\"") ? .inValue(depth: depth) : position
        case .afterBackslash(let depth): return .inString(depth: depth)
        }
    }

    private static func isOpening(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") }

    /// Whether a byte is a space, a tab, a CR or a part of a byte order mark.
    private static func isBlank(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), 0xEF, 0xBB, 0xBF: true
        default: false
        }
    }
}
