package import FoundationEssentials
import Glibc

/// Splits the bytes of a body into lines, whatever the chunks are that they come in.
///
/// Feed it with ``append(_:)``, then call ``advance()`` until it says that there is no line yet; after the last chunk and
/// ``finish()`` it hands out what is left without a line end. A line that lies within one chunk is not copied; one that
/// does not is put together in a buffer of its own, which never holds more than the limit.
package struct LineFramer {
    /// How long a line may be unless its user says otherwise, in bytes: 16 MiB.
    package static let defaultLimit = 16 * 1024 * 1024

    /// Says what ends a line.
    package enum LineTerminator: Hashable, Sendable {
        /// LF and CRLF; a CR alone is part of the line.
        case lineFeed
        /// LF, CRLF and CR alone, as in event streams. A line that a CR ends is handed out before the next byte is seen.
        case any
    }

    /// Where the bytes of the current line are.
    private enum CurrentLine {
        case empty
        /// Offsets into the chunk.
        case chunk(Range<Int>)
        /// The first bytes of what was carried over.
        case carry(Int)
    }

    private static let carriageReturn = UInt8(ascii: "\r")

    private let limit: Int
    private let lineEnd: LineTerminator

    private var chunk = Data()
    /// How many bytes of the chunk are done with.
    private var cursor = 0
    /// The offset of the first LF from the cursor on, or the chunk's size; found out again once the cursor has passed it.
    private var nextLineFeed = -1
    /// Whether the last line ended with a CR, so that an LF right after it belongs to the same line end.
    private var isAfterReturn = false
    /// The beginning of a line whose end is in a later chunk.
    private var carry = Data()
    private var current = CurrentLine.empty
    private var isFinished = false
    private var failure: RequestError?

    /// Creates a framer.
    ///
    /// - Parameters:
    ///   - limit: How many bytes a line may have, its end not counted.
    ///   - lineEnd: What ends a line.
    package init(limit: Int = LineFramer.defaultLimit, lineEnd: LineTerminator = .lineFeed) {
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
        var scan = LineScan(start: cursor, nextLineFeed: nextLineFeed, isAfterReturn: isAfterReturn)
        scan.run(chunk.span, endsAtReturn: lineEnd == .any)
        nextLineFeed = scan.nextLineFeed
        isAfterReturn = scan.isAfterReturn
        guard let end = scan.end else {
            cursor = scan.start
            return try keepRest(endsWithReturn: scan.hasReturnBeforeEnd)
        }
        cursor = end + 1
        return try take(scan.start..<end, endsWithReturn: scan.hasReturnBeforeEnd)
    }

    /// The current line without its end.
    ///
    /// Not a copy: its indices need not begin at 0, and it keeps the whole chunk alive.
    package var line: Data {
        switch current {
        case .empty: Data()
        case .chunk(let range): slice(range)
        case .carry(let length): carry.prefix(length)
        }
    }

    /// The current line as UTF-8 text, with U+FFFD for what is malformed.
    package var text: String {
        withLine { String(repairing: $0) }
    }

    /// Calls a closure with the bytes of the current line, which are not copied.
    package func withLine<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch current {
        case .empty: try body(Span())
        case .chunk(let range): try body(chunk.span.extracting(range))
        case .carry(let length): try body(carry.span.extracting(first: length))
        }
    }

    /// Moves to the next line and returns it as text, if there is one.
    package mutating func nextText() throws(RequestError) -> String? {
        try advance() ? text : nil
    }
}

extension LineFramer {
    private mutating func dropLine() {
        if case .carry = current { carry = Data() }
        current = .empty
    }

    /// Makes the bytes up to a line end, with what was carried over before them, the current line.
    private mutating func take(_ range: Range<Int>, endsWithReturn: Bool) throws(RequestError) -> Bool {
        var length = range.count
        if carry.isEmpty {
            if lineEnd == .lineFeed, endsWithReturn { length -= 1 }
            try checkLength(length)
            current = .chunk(range.lowerBound..<(range.lowerBound + length))
        } else {
            length += carry.count
            if lineEnd == .lineFeed, range.isEmpty ? carry.last == Self.carriageReturn : endsWithReturn { length -= 1 }
            try checkLength(length)
            carry.append(slice(range))
            current = .carry(length)
        }
        count += 1
        return true
    }

    /// Carries over the rest of the chunk, which is the beginning of a line, or the whole of the last one.
    private mutating func keepRest(endsWithReturn: Bool) throws(RequestError) -> Bool {
        let rest = cursor..<chunk.count
        let length = carry.count + rest.count
        // The CR may turn out to be the first byte of the line's end.
        let mayEnd =
            !isFinished && lineEnd == .lineFeed
            && (rest.isEmpty ? carry.last == Self.carriageReturn : endsWithReturn)
        try checkLength(mayEnd ? length - 1 : length)
        if carry.isEmpty, isFinished {
            current = .chunk(rest)
            cursor = rest.upperBound
        } else {
            carry.append(slice(rest))
            chunk = Data()
            cursor = 0
            nextLineFeed = -1
            if isFinished { current = .carry(length) }
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

/// Looks for the end of the line that begins at an offset of a chunk; what ``LineFramer`` does with one span of the bytes.
private struct LineScan {
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

/// Searches bytes with the C library's `memchr`, which looks at 16 or 32 of them at once.
///
/// A loop over a span takes about a nanosecond a byte, which is most of the work of splitting a body into long lines.
enum ByteSearch {
    /// Returns the offset of the first such byte in a range of offsets.
    ///
    /// Out of bounds is a trap, as with every other access to a span.
    static func firstOffset(of byte: UInt8, in range: Range<Int>, of bytes: Span<UInt8>) -> Int? {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "a search outside of the bytes")
        guard !range.isEmpty else { return nil }
        // Safety: the range was checked above, and no pointer leaves the closure.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return nil }
            let start = unsafe UnsafeRawPointer(base + range.lowerBound)
            guard let found = unsafe memchr(start, Int32(byte), range.count) else { return nil }
            return unsafe range.lowerBound + (UnsafeRawPointer(found) - start)
        }
    }
}
