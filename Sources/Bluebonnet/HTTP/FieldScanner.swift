/// Reads the version and the status code from a status line (RFC 9112 §4).
enum StatusLine {
    /// Returns what the line says, or nil when it is not a status line.
    static func parse(_ line: Span<UInt8>) -> (HTTPVersion, Int)? {
        // HTTP/
        guard line.count >= 10, line[0] == 0x48, line[1] == 0x54, line[2] == 0x54, line[3] == 0x50, line[4] == 0x2f
        else { return nil }
        var position = 6
        var minor: UInt8 = 0
        if line[6] == 0x2e {
            minor = line[7] &- 0x30
            position = 8
        }
        let version: HTTPVersion
        switch (line[5], minor) {
        case (0x31, 0) where position == 8: version = .http1_0
        // A higher minor version than ours is read as ours (RFC 9110 §2.5).
        case (0x31, 1...9): version = .http1_1
        case (0x32, 0): version = .http2
        default: return nil
        }
        guard line.count >= position + 4, line[position] == 0x20 else { return nil }
        var code = 0
        for index in position + 1...position + 3 {
            let digit = line[index] &- 0x30
            guard digit < 10 else { return nil }
            code = code * 10 + Int(digit)
        }
        guard code >= 100 else { return nil }
        guard line.count > position + 4 else { return (version, code) }
        switch line[position + 4] {
        case 0x20, 0x0d, 0x0a: return (version, code)
        default: return nil
        }
    }

    /// Whether a line begins with `HTTP/`, as a status line does; libcurl takes it for one in any case of letters.
    static func isBegun(by line: Span<UInt8>, inAnyCase: Bool = false) -> Bool {
        guard line.count > 4, line[4] == 0x2f else { return false }
        let mask: UInt8 = inAnyCase ? 0xdf : 0xff
        return line[0] & mask == 0x48 && line[1] & mask == 0x54 && line[2] & mask == 0x54 && line[3] & mask == 0x50
    }
}

/// Walks over the field lines of a head without copying any of it.
struct FieldScanner {
    private var position: Int

    /// Starts at the line after the status line.
    init(_ bytes: Span<UInt8>) {
        position = Self.endOfLine(in: bytes, from: 0) + 1
    }

    /// Returns the next field line, with the folded lines that belong to it; lines that are no fields are skipped.
    mutating func next(in bytes: Span<UInt8>) -> FieldLine? {
        while position < bytes.count {
            let start = position
            var end = Self.endOfLine(in: bytes, from: start)
            var isFolded = false
            while end + 1 < bytes.count, FieldSyntax.isWhitespace(bytes[end + 1]) {
                isFolded = true
                end = Self.endOfLine(in: bytes, from: end + 1)
            }
            position = end + 1
            if let line = Self.fieldLine(in: bytes, from: start, to: end, isFolded: isFolded) {
                return line
            }
        }
        return nil
    }

    private static func fieldLine(
        in bytes: Span<UInt8>, from start: Int, to end: Int, isFolded: Bool
    ) -> FieldLine? {
        var colon = start
        while colon < end, FieldSyntax.isTokenByte(bytes[colon]) {
            colon += 1
        }
        let nameEnd = colon
        while colon < end, FieldSyntax.isWhitespace(bytes[colon]) {
            colon += 1
        }
        guard colon < end, nameEnd > start, bytes[colon] == 0x3a else { return nil }
        return FieldLine(name: start..<nameEnd, content: (colon + 1)..<end, isFolded: isFolded)
    }

    /// Returns where the LF of the line is, or the end of the bytes.
    private static func endOfLine(in bytes: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index] != 0x0a {
            index += 1
        }
        return index
    }
}

/// Says where in a head a field's name and value are.
struct FieldLine {
    /// The bytes of the name.
    let name: Range<Int>
    /// The bytes between the colon and the last LF.
    let content: Range<Int>
    /// Whether the content goes over more than one line.
    let isFolded: Bool

    /// Returns whether the name is this one, whatever its case.
    func isNamed(_ other: Span<UInt8>, in bytes: Span<UInt8>) -> Bool {
        guard other.count == name.count else { return false }
        return FieldSyntax.isSame(other, bytes.extracting(name))
    }

    /// Returns the value: the content without white space around it, its lines joined by a space.
    func value(in bytes: [UInt8]) -> String {
        guard isFolded else { return Self.text(bytes[content]) }
        return bytes[content].split(separator: 0x0a).map { Self.text($0) }.filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// Returns the bytes as text without white space at the ends: UTF-8 where they are that, ISO-8859-1 otherwise.
    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        var range = bytes.startIndex..<bytes.endIndex
        while let last = range.last, FieldSyntax.isWhitespace(bytes[last]) || bytes[last] == 0x0d {
            range = range.lowerBound..<last
        }
        while let first = range.first, FieldSyntax.isWhitespace(bytes[first]) {
            range = first + 1..<range.upperBound
        }
        // A CR on its own must not be taken for the end of a line by anyone (RFC 9112 §2.2).
        let text = bytes[range].contains(0x0d) ? bytes[range].map { $0 == 0x0d ? 0x20 : $0 }[...] : bytes[range]
        return String(validating: text, as: UTF8.self)
            ?? String(String.UnicodeScalarView(text.map { UnicodeScalar($0) }))
    }
}
