package import FoundationEssentials

/// Splits the bytes of a body into lines, whatever the chunks are that they come in.
///
/// Feed it with ``append(_:)``, then call ``advance()`` until it says that there is no line yet; after the last chunk and
/// ``finish()`` it hands out what is left without a line end. A line that lies within one chunk is not copied; one that
/// does not is put together in a buffer of its own, which never holds more than the limit.
package struct LineFramer {
    /// How long a line may be unless its user says otherwise, in bytes: 16 MiB.
    package static let defaultLimit = 16 * 1024 * 1024

    /// Says what ends a line.
    package enum LineEnd: Hashable, Sendable {
        /// LF and CRLF; a CR alone is part of the line.
        case lineFeed
        /// LF, CRLF and CR alone, as in event streams. A line that a CR ends is handed out before the next byte is seen.
        case any
    }

    /// Where the bytes of the current line are.
    private enum Place {
        case nowhere
        /// Offsets into the chunk.
        case chunk(Range<Int>)
        /// The first bytes of what was carried over.
        case carry(Int)
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private let limit: Int
    private let lineEnd: LineEnd

    private var chunk = Data()
    /// How many bytes of the chunk are done with.
    private var cursor = 0
    /// The offset of the first LF from the cursor on, or the chunk's size; found out again once the cursor has passed it.
    private var nextLineFeed = -1
    /// Whether the last line ended with a CR, so that an LF right after it belongs to that one.
    private var isAfterReturn = false
    /// The beginning of a line whose end is in a later chunk.
    private var carry = Data()
    private var place = Place.nowhere
    private var isFinished = false
    private var failure: RequestError?

    /// Creates a framer.
    ///
    /// - Parameters:
    ///   - limit: How many bytes a line may have, its end not counted.
    ///   - lineEnd: What ends a line.
    package init(limit: Int = LineFramer.defaultLimit, lineEnd: LineEnd = .lineFeed) {
        self.limit = limit
        self.lineEnd = lineEnd
    }

    /// How many lines were handed out; the number of the current one, counted from 1.
    package private(set) var count = 0

    /// Adds the next bytes of the body.
    ///
    /// Best called once ``advance()`` has returned false: bytes that were not looked at yet are copied together.
    package mutating func append(_ bytes: Data) {
        dropLine()
        guard failure == nil, !bytes.isEmpty else { return }
        if cursor == chunk.count {
            chunk = bytes
        } else {
            if cursor > 0 { chunk = Data(chunk.dropFirst(cursor)) }
            chunk.append(bytes)
        }
        cursor = 0
        nextLineFeed = -1
    }

    /// Says that no more bytes are to come: what is left is the last line, if it is not empty.
    package mutating func finish() {
        isFinished = true
    }

    /// Moves to the next line, which is there until anything else is asked of the framer.
    ///
    /// - Returns: Whether there is one; if not, more bytes are needed or this was the end.
    /// - Throws: `.invalidResponse(.bodyTooLarge(limit:))` when the line is longer than the limit, also before its end
    ///   was seen; then again for each further call.
    package mutating func advance() throws(RequestError) -> Bool {
        if let failure { throw failure }
        dropLine()
        skipRestOfLineEnd()
        guard let end = findEnd() else { return try keepRest() }
        if lineEnd == .any { isAfterReturn = byte(at: end) == Self.carriageReturn }
        let start = cursor
        cursor = end + 1
        return try take(start..<end)
    }

    /// The current line without its end.
    ///
    /// Not a copy: its indices need not begin at 0, and it keeps the whole chunk alive.
    package var line: Data {
        switch place {
        case .nowhere: Data()
        case .chunk(let range): chunk[(chunk.startIndex + range.lowerBound)..<(chunk.startIndex + range.upperBound)]
        case .carry(let length): carry.prefix(length)
        }
    }

    /// The current line as UTF-8 text, with U+FFFD for what is malformed.
    package var text: String {
        String(repairing: line)
    }

    /// Calls a closure with the bytes of the current line, which are not copied.
    package func withLine<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch place {
        case .nowhere: try body(Span())
        case .chunk(let range): try body(chunk.span.extracting(range))
        case .carry(let length): try body(carry.span.extracting(first: length))
        }
    }

    /// Moves to the next line and returns its bytes, if there is one.
    package mutating func next() throws(RequestError) -> Data? {
        try advance() ? line : nil
    }

    /// Moves to the next line and returns it as text, if there is one.
    package mutating func nextText() throws(RequestError) -> String? {
        try advance() ? text : nil
    }
}

extension LineFramer {
    private func byte(at offset: Int) -> UInt8 { chunk.span[offset] }

    private mutating func dropLine() {
        // An emptied buffer keeps its memory, which pays for small ones only.
        if case .carry = place { carry = Data() }
        place = .nowhere
    }

    private mutating func skipRestOfLineEnd() {
        guard isAfterReturn, cursor < chunk.count else { return }
        if byte(at: cursor) == Self.lineFeed { cursor += 1 }
        isAfterReturn = false
    }

    /// Returns where the line at the cursor ends, if it does so in the chunk.
    private mutating func findEnd() -> Int? {
        let size = chunk.count
        // Kept, because a chunk full of lines that end with a CR would be searched to its end for each of them.
        if nextLineFeed < cursor {
            nextLineFeed = ByteSearch.firstOffset(of: Self.lineFeed, in: cursor..<size, of: chunk.span) ?? size
        }
        if lineEnd == .any,
            let offset = ByteSearch.firstOffset(of: Self.carriageReturn, in: cursor..<nextLineFeed, of: chunk.span)
        {
            return offset
        }
        return nextLineFeed < size ? nextLineFeed : nil
    }

    /// Makes the bytes up to a line end, with what was carried over before them, the current line.
    private mutating func take(_ range: Range<Int>) throws(RequestError) -> Bool {
        var length = range.count
        if carry.isEmpty {
            if lineEnd == .lineFeed, length > 0, byte(at: range.upperBound - 1) == Self.carriageReturn { length -= 1 }
            try checkLength(length)
            place = .chunk(range.lowerBound..<(range.lowerBound + length))
        } else {
            let last = range.isEmpty ? carry.last : byte(at: range.upperBound - 1)
            length += carry.count
            if lineEnd == .lineFeed, last == Self.carriageReturn { length -= 1 }
            try checkLength(length)
            carry.append(slice(range))
            place = .carry(length)
        }
        count += 1
        return true
    }

    /// Carries over the rest of the chunk, which is the beginning of a line, or the whole of the last one.
    private mutating func keepRest() throws(RequestError) -> Bool {
        let rest = cursor..<chunk.count
        let length = carry.count + rest.count
        // The last byte may turn out to be the first one of the line's end.
        let mayEnd = !isFinished && lineEnd == .lineFeed && length > 0
        let last = mayEnd ? (rest.isEmpty ? carry.last : byte(at: rest.upperBound - 1)) : nil
        try checkLength(last == Self.carriageReturn ? length - 1 : length)
        if carry.isEmpty, isFinished {
            place = .chunk(rest)
            cursor = rest.upperBound
        } else {
            carry.append(slice(rest))
            chunk = Data()
            cursor = 0
            nextLineFeed = -1
            if isFinished { place = .carry(length) }
        }
        guard isFinished, length > 0 else { return false }
        count += 1
        return true
    }

    private func slice(_ range: Range<Int>) -> Data {
        chunk[(chunk.startIndex + range.lowerBound)..<(chunk.startIndex + range.upperBound)]
    }

    private mutating func checkLength(_ length: Int) throws(RequestError) {
        guard length > limit else { return }
        let error = RequestError(
            .invalidResponse(.bodyTooLarge(limit: Int64(limit))), detail: "a line of it is longer than the limit")
        failure = error
        carry = Data()
        chunk = Data()
        cursor = 0
        throw error
    }
}
