/// Checks what a head says about the length of its body, line by line (RFC 9112 §6.3).
///
/// Libcurl reads a length as far as it is a number, and believes the last of several. Who guesses where a body ends can be
/// made to take a part of it for the next response, so a length that is none, or that another contradicts, is refused.
struct LengthCheck: Equatable {
    private var length: Int64?

    /// Returns whether the line leaves no doubt; lines of other fields do not matter.
    mutating func accepts(_ line: Span<UInt8>) -> Bool {
        Self.isContentLength(line) ? acceptsLength(in: line) : true
    }

    private mutating func acceptsLength(in line: Span<UInt8>) -> Bool {
        var index = Self.nameCount + 1
        while true {
            Self.skip(in: line, from: &index) { FieldSyntax.isWhitespace($0) }
            guard let number = Self.number(in: line, from: &index), length == nil || length == number else {
                return false
            }
            length = number
            Self.skip(in: line, from: &index) { FieldSyntax.isWhitespace($0) }
            // Several equal lengths may have become a list on their way.
            guard index < line.count, line[index] == 0x2c else { break }
            index += 1
        }
        Self.skip(in: line, from: &index) { $0 == 0x0d || $0 == 0x0a }
        return index == line.count
    }

    private static let nameCount = 14

    private static func isContentLength(_ line: Span<UInt8>) -> Bool {
        guard line.count > nameCount, line[nameCount] == 0x3a, FieldSyntax.lowercased(line[0]) == 0x63 else {
            return false
        }
        return FieldSyntax.isSame(line.extracting(..<nameCount), "content-length".utf8.span)
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
