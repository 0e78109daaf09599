import Synchronization

/// The head of a response as it was received; the fields are parsed when they are first read.
///
/// Most fields of a response are never read. The head therefore keeps a single buffer. ``value(for:)`` scans the buffer
/// for a single value. The first access to ``headers`` parses all fields. Lines may end in CRLF or a bare LF. A folded
/// line (RFC 9112 §5.2) continues the value of the line before it.
package final class ReceivedHead: Sendable {
    /// The status code, which has three digits.
    package let statusCode: Int

    /// The version in the status line.
    package let httpVersion: HTTPVersion

    /// The whole head as it was received; only the status line, or nothing, of a head that was made from fields.
    private let bytes: [UInt8]
    private let parsed = LazyReference<ParsedFields>()

    /// Parses the status line; `nil` if it is malformed.
    ///
    /// - Parameter bytes: The status line and the field lines, with or without the empty line at the end.
    package init?(bytes: [UInt8]) {
        guard let (httpVersion, statusCode) = StatusLine.parse(bytes.span) else { return nil }
        self.httpVersion = httpVersion
        self.statusCode = statusCode
        self.bytes = bytes
    }

    /// Creates a head from its parts; `statusLine` is that of the head whose fields are replaced, if there is one.
    package init(statusCode: Int, httpVersion: HTTPVersion, headers: HTTPHeaders, statusLine: [UInt8] = []) {
        self.statusCode = statusCode
        self.httpVersion = httpVersion
        bytes = statusLine
        _ = parsed.storeIfNil(ParsedFields(headers))
    }

    /// Returns this head with other fields.
    func with(_ headers: HTTPHeaders) -> ReceivedHead {
        ReceivedHead(
            statusCode: statusCode, httpVersion: httpVersion, headers: headers,
            statusLine: Array(bytes.prefix { $0 != 0x0a }))
    }

    /// The text after the status code; `nil` if there is none, as with HTTP/2.
    package var reasonPhrase: String? {
        let line = bytes.prefix { $0 != 0x0a }
        guard let phrase = line.split(separator: 0x20, maxSplits: 2).dropFirst(2).first else { return nil }
        let text = FieldLine.text(phrase)
        return text.isEmpty ? nil : text
    }

    /// The fields in the order received; the first access parses them.
    package var headers: HTTPHeaders {
        (parsed.load() ?? parsed.storeIfNil(ParsedFields(Self.fields(of: bytes)))).headers
    }

    /// Returns the values of all fields of a name, joined with `, `.
    package func value(for name: String) -> String? {
        if let parsed = parsed.load() {
            return parsed.headers.value(for: name)
        }
        let bytes = self.bytes
        let span = bytes.span
        let name = name.utf8.span
        var value: String?
        var scanner = FieldScanner(span)
        while let line = scanner.next(in: span) {
            guard line.isNamed(name, in: span) else { continue }
            let text = line.value(in: bytes)
            value = value.map { "\($0), \(text)" } ?? text
        }
        return value
    }

    /// Returns the bytes of the values of all received fields of a name, each without line breaks.
    func rawValues(of name: String) -> [[UInt8]] {
        let bytes = self.bytes
        let span = bytes.span
        let name = name.utf8.span
        var values: [[UInt8]] = []
        var scanner = FieldScanner(span)
        while let line = scanner.next(in: span) {
            if line.isNamed(name, in: span) { values.append(line.rawValue(in: bytes)) }
        }
        return values
    }

    /// Parses the field lines after a first line, which is ignored.
    static func fields(of bytes: [UInt8]) -> HTTPHeaders {
        let span = bytes.span
        var fields: [HTTPHeader] = []
        fields.reserveCapacity(16)
        var scanner = FieldScanner(span)
        while let line = scanner.next(in: span) {
            fields.append(HTTPHeader(name: FieldLine.text(bytes[line.name]), value: line.value(in: bytes)))
        }
        return HTTPHeaders(fields)
    }
}

/// Keeps parsed fields in an object that an atomic reference can point to.
private final class ParsedFields: Sendable {
    let headers: HTTPHeaders

    init(_ headers: HTTPHeaders) {
        self.headers = headers
    }
}

extension ReceivedHead {
    /// The number of bytes in the body, or `nil` if the head has no valid length or the body has a coding.
    package var contentLength: Int64? { isUncoded ? statedLength : nil }

    /// The number of bytes in the body with its content coding, or `nil` if the head has no valid length.
    package var statedLength: Int64? {
        guard let text = value(for: "Content-Length"), let length = Self.length(text) else { return nil }
        return value(for: "Transfer-Encoding") == nil ? length : nil
    }

    /// Whether the body is the representation itself, without a content coding.
    var isUncoded: Bool {
        guard let coding = value(for: "Content-Encoding") else { return true }
        return coding.isEmpty || coding.isSameIgnoringCase(as: "identity")
    }

    /// Returns the length in a field, which may repeat the same length (RFC 9110 §8.6).
    private static func length(_ text: String) -> Int64? {
        guard text.utf8.contains(0x2c) else { return Int64(digits: text) }
        let lengths = text.split(separator: ",", omittingEmptySubsequences: false).map { Int64(digits: $0.trimmed) }
        guard let first = lengths[0], lengths.allSatisfy({ $0 == first }) else { return nil }
        return first
    }
}

extension ReceivedHead {
    /// The head in the form of HTTP/1; fields that could not be sent are left out.
    var composed: [UInt8] {
        var text = "\(httpVersion) \(statusCode)"
        if let reasonPhrase { text += " \(reasonPhrase)" }
        text += "\r\n"
        for field in headers where (try? field.validate()) != nil { text += "\(field.name): \(field.value)\r\n" }
        return Array(text.utf8)
    }
}

/// Reads the version and the status code from a status line (RFC 9112 §4).
enum StatusLine {
    /// Returns the version and the status code, or `nil` if the line is not a status line.
    static func parse(_ line: Span<UInt8>) -> (HTTPVersion, Int)? {
        guard line.count >= 10, isBegun(by: line) else { return nil }
        var position = 6
        var minor: UInt8 = 0
        if line[6] == 0x2e {
            minor = line[7] &- 0x30
            position = 8
        }
        let version: HTTPVersion
        switch (line[5], minor) {
        case (0x31, 0) where position == 8: version = .http1_0
        // A higher minor version than 1.1 is treated as 1.1 (RFC 9110 §2.5).
        case (0x31, 1...9): version = .http1_1
        case (0x32, 0): version = .http2
        case (0x33, 0): version = .http3
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

    /// Whether a line begins with `HTTP/`, as a status line does; libcurl ignores the case.
    static func isBegun(by line: Span<UInt8>, inAnyCase: Bool = false) -> Bool {
        guard line.count > 4, line[4] == 0x2f else { return false }
        let mask: UInt8 = inAnyCase ? 0xdf : 0xff
        return line[0] & mask == 0x48 && line[1] & mask == 0x54 && line[2] & mask == 0x54 && line[3] & mask == 0x50
    }
}

/// Iterates over the field lines of a head without copying.
struct FieldScanner {
    private var position: Int

    /// Starts at the line after the status line.
    init(_ bytes: Span<UInt8>) {
        position = Self.endOfLine(in: bytes, from: 0) + 1
    }

    /// Returns the next field line with its folded lines; lines that are not valid fields are skipped.
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

    /// Returns the position of the line's LF, or the end of the bytes.
    private static func endOfLine(in bytes: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index] != 0x0a {
            index += 1
        }
        return index
    }
}

/// The positions of a field's name and value in a head.
package struct FieldLine {
    /// The bytes of the name.
    let name: Range<Int>
    /// The bytes between the colon and the last LF.
    let content: Range<Int>
    /// Whether the content spans several lines.
    let isFolded: Bool

    private static let location = Array("location".utf8)

    /// Returns whether the name equals another name without regard to case.
    func isNamed(_ other: Span<UInt8>, in bytes: Span<UInt8>) -> Bool {
        guard other.count == name.count else { return false }
        return FieldSyntax.isSame(other, bytes.extracting(name))
    }

    /// Returns the value: the content without surrounding white space, its lines joined by a space.
    ///
    /// In a `Location` that is not valid UTF-8, non-ASCII bytes are percent-encoded (URL standard).
    func value(in bytes: [UInt8]) -> String {
        func text(_ content: ArraySlice<UInt8>) -> String {
            Self.text(content, isURL: isNamed(Self.location.span, in: bytes.span))
        }
        guard isFolded else { return text(bytes[content]) }
        return bytes[content].split(separator: 0x0a).map(text).filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// Returns the bytes of the content, its lines joined by a space.
    func rawValue(in bytes: [UInt8]) -> [UInt8] {
        Array(bytes[content].split { $0 == 0x0a || $0 == 0x0d }.joined(separator: [0x20]))
    }

    /// Returns the bytes as text without white space at either end.
    ///
    /// Bytes that are not valid UTF-8 are decoded as ISO-8859-1, or percent-encoded in a URL.
    package static func text(_ bytes: ArraySlice<UInt8>, isURL: @autoclosure () -> Bool = false) -> String {
        var range = bytes.startIndex..<bytes.endIndex
        while let last = range.last, FieldSyntax.isWhitespace(bytes[last]) || bytes[last] == 0x0d {
            range = range.lowerBound..<last
        }
        while let first = range.first, FieldSyntax.isWhitespace(bytes[first]) {
            range = first + 1..<range.upperBound
        }
        // A bare CR must not count as the end of a line (RFC 9112 §2.2).
        let text = bytes[range].contains(0x0d) ? bytes[range].map { $0 == 0x0d ? 0x20 : $0 }[...] : bytes[range]
        if let valid = String(validating: text, as: UTF8.self) { return valid }
        guard isURL() else { return String(String.UnicodeScalarView(text.map { UnicodeScalar($0) })) }
        return PercentEncoding.encode(text) { $0 >= 0x80 }
    }
}
