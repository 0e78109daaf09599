import BluebonnetLibc
package import FoundationEssentials

/// Splits the bytes of a body into lines; a line may span several chunks.
///
/// Add a chunk with ``append(_:)``, and then call ``advance()`` until it returns `false`. After the last chunk, call
/// ``finish()``. The remaining bytes then become the last line. The framer does not copy a line within one chunk. The
/// framer copies a line that spans several chunks to a buffer. The size of the buffer does not exceed the limit.
package struct LineFramer {
    /// The default maximum length of a line in bytes, which is 16 MiB.
    package static let defaultLimit = 16 * 1024 * 1024

    /// The line endings to recognize.
    package enum LineTerminator: Hashable, Sendable {
        /// LF and CRLF.
        ///
        /// A CR alone is part of the line.
        case lineFeed
        /// LF, CRLF and a CR alone, as in event streams.
        ///
        /// If a line ends with CR, the framer returns the line before the next byte arrives.
        case any
    }

    /// The location of the current line.
    private enum CurrentLine {
        case empty
        /// The line is a range of offsets in the chunk.
        case chunk(Range<Int>)
        /// The line is the start of `carry`, with this length.
        case carry(Int)
    }

    private static let carriageReturn = UInt8(ascii: "\r")

    private let limit: Int
    private let lineEnd: LineTerminator

    private var chunk = Data()
    /// The number of processed bytes of the chunk.
    private var cursor = 0
    /// The offset of the first LF at or after the cursor, or the size of the chunk if there is no LF.
    ///
    /// It is searched again when the cursor has passed it.
    private var nextLineFeed = -1
    /// Whether the last line ended with a CR, so that an LF directly after the CR belongs to the same line ending.
    private var isAfterReturn = false
    /// The start of a line that continues in a later chunk.
    private var carry = Data()
    private var current = CurrentLine.empty
    private var isFinished = false
    /// Whether the line may be blank; `false` if its first byte is neither a space nor a control character.
    private(set) var mayBeBlank = true
    private var failure: RequestError?

    /// Creates a framer.
    ///
    /// - Parameters:
    ///   - limit: The maximum length of a line in bytes, without its line ending; 16 MiB by default.
    ///   - lineEnd: The line endings to recognize; `.lineFeed` by default.
    package init(limit: Int = LineFramer.defaultLimit, lineEnd: LineTerminator = .lineFeed) {
        self.limit = limit
        self.lineEnd = lineEnd
    }

    /// The number of the current line, counted from 1; also the number of lines so far.
    package private(set) var count = 0

    /// Adds the next bytes of the body.
    ///
    /// Call this method after ``advance()`` has returned `false`. If you call it earlier, the framer copies the
    /// unprocessed bytes.
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

    /// Marks the body as complete.
    ///
    /// If bytes remain, they become the last line.
    package mutating func finish() {
        isFinished = true
    }

    /// Moves to the next line.
    ///
    /// The properties ``line`` and ``text`` contain the line until the next call of a mutating method.
    ///
    /// - Returns: Whether there is a line. If the result is `false`, more bytes are needed or the body has ended.
    /// - Throws: `.invalidResponse(.bodyTooLarge(limit:))` if the line is longer than the limit, even if its end has
    ///   not arrived. Later calls throw this error again.
    package mutating func advance() throws(RequestError) -> Bool {
        if let failure { throw failure }
        dropLine()
        var scan = LineScan(start: cursor, nextLineFeed: nextLineFeed, isAfterReturn: isAfterReturn)
        scan.run(chunk.span, endsAtReturn: lineEnd == .any)
        mayBeBlank = !carry.isEmpty || scan.mayBeBlank
        nextLineFeed = scan.nextLineFeed
        isAfterReturn = scan.isAfterReturn
        guard let end = scan.end else {
            cursor = scan.start
            return try keepRest(endsWithReturn: scan.hasReturnBeforeEnd)
        }
        cursor = end + 1
        return try take(scan.start..<end, endsWithReturn: scan.hasReturnBeforeEnd)
    }

    /// The current line without its line ending.
    ///
    /// The data can be a slice whose first index is not 0. It retains the memory of the whole chunk.
    package var line: Data {
        switch current {
        case .empty: Data()
        case .chunk(let range): slice(range)
        case .carry(let length): carry.prefix(length)
        }
    }

    /// The current line as UTF-8 text, with U+FFFD in place of malformed bytes.
    package var text: String {
        withLine { String(repairing: $0) }
    }

    /// Calls a closure with the bytes of the current line, without copying them.
    package func withLine<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch current {
        case .empty: try body(Span())
        case .chunk(let range): try body(chunk.span.extracting(range))
        case .carry(let length): try body(carry.span.extracting(first: length))
        }
    }

    /// Moves to the next line and returns the line as text, or `nil` if there is no complete line.
    package mutating func nextText() throws(RequestError) -> String? {
        try advance() ? text : nil
    }
}

extension LineFramer {
    private mutating func dropLine() {
        if case .carry = current { carry = Data() }
        current = .empty
    }

    /// Sets the current line, which consists of the carried-over bytes and the bytes before the line ending.
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

    /// Keeps the rest of the chunk, which is the start of a line or the entire last line.
    private mutating func keepRest(endsWithReturn: Bool) throws(RequestError) -> Bool {
        let rest = cursor..<chunk.count
        let length = carry.count + rest.count
        // The CR may be the first byte of the line ending.
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

/// Finds the end of the line that starts at an offset of a chunk.
private struct LineScan {
    /// The start of the line.
    ///
    /// An LF that follows the CR of the previous line is skipped.
    private(set) var start: Int
    /// The offset of the first LF at or after the start, or the size of the chunk if there is no LF.
    ///
    /// The offset is unknown if the value is smaller than the start.
    ///
    /// The value is kept for the next line. Otherwise, if all lines ended with CR, the rest of the chunk would be
    /// searched for each line.
    private(set) var nextLineFeed: Int
    /// Whether the previous line ended with a CR, or after the scan, whether this line ended with a CR.
    ///
    /// An LF directly after the CR belongs to the same line ending.
    private(set) var isAfterReturn: Bool
    /// The offset of the byte that ends the line, or `nil` if the chunk does not contain it.
    private(set) var end: Int?
    /// Whether the last byte before the line ending, or before the end of the chunk, is a CR.
    private(set) var hasReturnBeforeEnd = false
    /// Whether the line is empty or begins with a space or a control character.
    private(set) var mayBeBlank = true

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

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
        mayBeBlank = last < start || bytes[start] <= UInt8(ascii: " ")
    }
}

/// Searches bytes with the C function `memchr`, which checks 16 or 32 bytes at once.
///
/// A loop over a span takes about a nanosecond per byte. For a body with long lines, this would be most of the run
/// time.
enum ByteSearch {
    /// Returns the offset of the first occurrence of a byte in a range of offsets.
    ///
    /// A range that is out of bounds traps, like every access to a span.
    static func firstOffset(of byte: UInt8, in range: Range<Int>, of bytes: Span<UInt8>) -> Int? {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "a search outside of the bytes")
        guard !range.isEmpty else { return nil }
        // Safety: The range was checked above, and no pointer leaves the closure.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return nil }
            let start = unsafe UnsafeRawPointer(base + range.lowerBound)
            guard let found = unsafe memchr(start, Int32(byte), range.count) else { return nil }
            return unsafe range.lowerBound + (UnsafeRawPointer(found) - start)
        }
    }
}
