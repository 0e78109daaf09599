/// Checks the lines of a head that determine the ends of its fields and of its body (RFC 9112 §5.2, §6.1, §6.3).
///
/// All tested versions of libcurl, 7.88 to 8.23, ignore the text after a number in `Content-Length`, and use the last
/// of several fields. With a wrong length, a part of the body looks like the next response. The following are therefore
/// refused:
///
/// - an invalid length, and two different lengths;
/// - a transfer coding that was not requested (RFC 9112 §7.4);
/// - a folded line without a field before it;
/// - a line that only libcurl treats as the end of the head.
struct FramingCheck: Equatable {
    /// The description of a folded line without a field before it.
    static let foldedFirstField = "the first field begins with white space"

    private var length: Int64?
    private var previous = PreviousLine.statusLine
    /// Whether the body is sent in chunks or in another transfer coding.
    private(set) var hasTransferCoding = false

    /// The kind of the previous line.
    private enum PreviousLine {
        case statusLine
        /// A field that determines the end of the body.
        case framing
        case other
    }

    /// Returns the flaw of a line after the status line; lines of other fields are accepted.
    mutating func flaw(in line: Span<UInt8>) -> String? {
        let before = previous
        previous = .other
        guard let first = line.isEmpty ? nil : line[0] else { return nil }
        // Libcurl treats such a line as the end of the head.
        if first == 0x0d { return "a field line begins with a carriage return" }
        if FieldSyntax.isWhitespace(first) {
            // Libcurl reads only the first line of a folded field.
            guard before == .other else {
                return before == .framing ? "the length or the transfer coding is folded" : Self.foldedFirstField
            }
            return nil
        }
        if Self.isField(line, named: "content-length") {
            previous = .framing
            return acceptsLength(in: line) ? nil : "the Content-Length is invalid, or two of them differ"
        }
        guard Self.isField(line, named: "transfer-encoding") else { return nil }
        previous = .framing
        hasTransferCoding = true
        guard Self.isColon(line, at: "transfer-encoding".utf8.count) else { return "white space before a colon" }
        return Self.hasKnownCodings(line) ? nil : "the transfer coding is unknown"
    }

    /// Whether a line is a field with the given name, even with white space before the colon, which libcurl ignores.
    @inline(__always)
    private static func isField(_ line: Span<UInt8>, named name: String) -> Bool {
        let count = name.utf8.count
        guard line.count > count, line[count] == 0x3a || FieldSyntax.isWhitespace(line[count]) else { return false }
        return FieldSyntax.isSame(line.extracting(..<count), name.utf8.span)
    }

    private static func isColon(_ line: Span<UInt8>, at index: Int) -> Bool { line[index] == 0x3a }

    private mutating func acceptsLength(in line: Span<UInt8>) -> Bool {
        guard Self.isColon(line, at: Self.lengthNameCount) else { return false }
        var index = Self.lengthNameCount + 1
        while true {
            Self.skip(in: line, from: &index) { FieldSyntax.isWhitespace($0) }
            guard let number = Self.number(in: line, from: &index), length == nil || length == number else {
                return false
            }
            length = number
            Self.skip(in: line, from: &index) { FieldSyntax.isWhitespace($0) }
            // An intermediary may have combined several equal lengths into a list.
            guard index < line.count, line[index] == 0x2c else { break }
            index += 1
        }
        Self.skip(in: line, from: &index) { $0 == 0x0d || $0 == 0x0a }
        return index == line.count
    }

    private static let lengthNameCount = 14

    /// The transfer codings that every client must support; they have no parameters.
    private static let codings = ["chunked", "identity"]

    private static func hasKnownCodings(_ line: Span<UInt8>) -> Bool {
        let value = String(repairing: line).drop { $0 != ":" }.dropFirst()
        return value.split { $0 == "," || $0.isNewline }.map { String($0.trimmed) }.allSatisfy { coding in
            coding.isEmpty || codings.contains { $0.isSameIgnoringCase(as: coding) }
        }
    }

    private static func number(in line: Span<UInt8>, from index: inout Int) -> Int64? {
        var number: Int64?
        while index < line.count, line[index] &- 0x30 < 10 {
            let (shifted, overflows) = (number ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = shifted.addingReportingOverflow(Int64(line[index] &- 0x30))
            guard !overflows, !overflowsToo else { return nil }
            number = sum
            index += 1
        }
        return number
    }

    private static func skip(in line: Span<UInt8>, from index: inout Int, _ isSkipped: (UInt8) -> Bool) {
        while index < line.count, isSkipped(line[index]) {
            index += 1
        }
    }
}
