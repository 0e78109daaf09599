/// Parses JSON text (RFC 8259) directly from bytes to values.
///
/// The parser recurses for each nesting level, up to ``JSONValue/maximumDepth`` levels deep.
struct JSONParser {
    var index = 0
    var depth = 0

    /// Returns the value of the entire text.
    mutating func parse(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONValue {
        index = ByteOrderMark.utf8Length(in: bytes)
        skipSpace(bytes)
        let value = try parseValue(bytes)
        skipSpace(bytes)
        guard index == bytes.count else { throw error(.trailingBytes) }
        return value
    }

    func error(_ reason: JSONParsingError.Reason) -> JSONParsingError {
        JSONParsingError(reason: reason, offset: index)
    }

    func unexpected(_ bytes: Span<UInt8>) -> JSONParsingError {
        index < bytes.count ? error(.unexpectedByte(bytes[index])) : error(.unexpectedEnd)
    }

    private mutating func skipSpace(_ bytes: Span<UInt8>) {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }

    /// Skips the byte if it is the next byte, and returns whether the byte was skipped.
    mutating func skip(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private mutating func parseValue(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONValue {
        guard index < bytes.count else { throw error(.unexpectedEnd) }
        switch bytes[index] {
        case UInt8(ascii: "\""): return .string(try parseString(bytes))
        case UInt8(ascii: "{"): return try parseObject(bytes)
        case UInt8(ascii: "["): return try parseArray(bytes)
        case UInt8(ascii: "t"):
            try parseWord("true", bytes)
            return .bool(true)
        case UInt8(ascii: "f"):
            try parseWord("false", bytes)
            return .bool(false)
        case UInt8(ascii: "n"):
            try parseWord("null", bytes)
            return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try parseNumber(bytes)
        default: throw unexpected(bytes)
        }
    }

    private mutating func parseWord(_ word: StaticString, _ bytes: Span<UInt8>) throws(JSONParsingError) {
        for byte in word.description.utf8 {
            guard skip(byte, bytes) else { throw unexpected(bytes) }
        }
    }

    private mutating func enter() throws(JSONParsingError) {
        guard depth < JSONValue.maximumDepth else { throw error(.tooDeep) }
        depth += 1
        index += 1
    }

    private mutating func parseArray(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var elements: [JSONValue] = []
        skipSpace(bytes)
        if skip(UInt8(ascii: "]"), bytes) { return .array(elements) }
        while true {
            skipSpace(bytes)
            elements.append(try parseValue(bytes))
            skipSpace(bytes)
            if skip(UInt8(ascii: ","), bytes) { continue }
            guard skip(UInt8(ascii: "]"), bytes) else { throw unexpected(bytes) }
            return .array(elements)
        }
    }

    private mutating func parseObject(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var members: [String: JSONValue] = [:]
        skipSpace(bytes)
        if skip(UInt8(ascii: "}"), bytes) { return .object(members) }
        while true {
            skipSpace(bytes)
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { throw unexpected(bytes) }
            let name = try parseString(bytes)
            skipSpace(bytes)
            guard skip(UInt8(ascii: ":"), bytes) else { throw unexpected(bytes) }
            skipSpace(bytes)
            members[name] = try parseValue(bytes)
            skipSpace(bytes)
            if skip(UInt8(ascii: ","), bytes) { continue }
            guard skip(UInt8(ascii: "}"), bytes) else { throw unexpected(bytes) }
            return .object(members)
        }
    }
}

/// Strings (RFC 8259 §7).
extension JSONParser {
    /// Parses a string.
    ///
    /// The index is at the opening quotation mark.
    mutating func parseString(_ bytes: Span<UInt8>) throws(JSONParsingError) -> String {
        index += 1
        let start = index
        var plainStart = index
        /// The decoded text before the current unescaped part, which is empty if there were no escapes.
        var decoded: [UInt8] = []
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                let end = index
                index += 1
                if plainStart == start { return try text(bytes.extracting(start..<end), offset: start) }
                for position in plainStart..<end { decoded.append(bytes[position]) }
                return try text(decoded.span, offset: start)
            case UInt8(ascii: "\\"):
                for position in plainStart..<index { decoded.append(bytes[position]) }
                try parseEscape(bytes, into: &decoded)
                plainStart = index
            case 0..<0x20: throw error(.controlCharacter)
            default: index += 1
            }
        }
        throw error(.unexpectedEnd)
    }

    private func text(_ bytes: Span<UInt8>, offset: Int) throws(JSONParsingError) -> String {
        do {
            return String(copying: try UTF8Span(validating: bytes))
        } catch {
            throw JSONParsingError(reason: .malformedUTF8, offset: offset)
        }
    }

    /// Parses an escape sequence, and appends its character.
    ///
    /// The index is at the backslash.
    private mutating func parseEscape(
        _ bytes: Span<UInt8>, into decoded: inout [UInt8]
    ) throws(JSONParsingError) {
        guard index + 1 < bytes.count else {
            index = bytes.count
            throw error(.unexpectedEnd)
        }
        let byte: UInt8
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): byte = bytes[index + 1]
        case UInt8(ascii: "b"): byte = 0x08
        case UInt8(ascii: "f"): byte = 0x0C
        case UInt8(ascii: "n"): byte = 0x0A
        case UInt8(ascii: "r"): byte = 0x0D
        case UInt8(ascii: "t"): byte = 0x09
        case UInt8(ascii: "u"):
            decoded.append(contentsOf: String(Character(try parseScalar(bytes))).utf8)
            return
        default: throw error(.malformedEscape)
        }
        decoded.append(byte)
        index += 2
    }

    /// Parses the escape sequence `\uXXXX`, or two such sequences if they are a surrogate pair.
    private mutating func parseScalar(_ bytes: Span<UInt8>) throws(JSONParsingError) -> Unicode.Scalar {
        let first = try hexadecimal(bytes, at: index + 2)
        if let scalar = Unicode.Scalar(first) {
            index += 6
            return scalar
        }
        guard first < 0xDC00, index + 7 < bytes.count, bytes[index + 6] == UInt8(ascii: "\\"),
            bytes[index + 7] == UInt8(ascii: "u")
        else { throw error(.malformedEscape) }
        let second = try hexadecimal(bytes, at: index + 8)
        guard 0xDC00..<0xE000 ~= second,
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw error(.malformedEscape) }
        index += 12
        return scalar
    }

    private func hexadecimal(_ bytes: Span<UInt8>, at start: Int) throws(JSONParsingError) -> UInt32 {
        var value: UInt32 = 0
        for position in start..<start + 4 {
            guard position < bytes.count else {
                throw JSONParsingError(reason: .unexpectedEnd, offset: bytes.count)
            }
            guard let digit = PercentEncoding.digit(bytes[position]) else { throw error(.malformedEscape) }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}

/// Numbers (RFC 8259 §6).
extension JSONParser {
    mutating func parseNumber(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONValue {
        let start = index
        _ = skip(UInt8(ascii: "-"), bytes)
        if skip(UInt8(ascii: "0"), bytes) {
            if index < bytes.count, isDigit(bytes[index]) { throw error(.malformedNumber) }
        } else {
            try skipDigits(bytes)
        }
        let end = index
        if skip(UInt8(ascii: "."), bytes) { try skipDigits(bytes) }
        if skip(UInt8(ascii: "e"), bytes) || skip(UInt8(ascii: "E"), bytes) {
            if !skip(UInt8(ascii: "-"), bytes) { _ = skip(UInt8(ascii: "+"), bytes) }
            try skipDigits(bytes)
        }
        let text = try text(bytes.extracting(start..<index), offset: start)
        if index == end, text != "-0" {
            return Int64(text).map { .integer($0) } ?? .number(JSONNumber(checked: text))
        }
        guard let value = Double(text), value.isFinite else { return .number(JSONNumber(checked: text)) }
        return .double(value)
    }

    private func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    private mutating func skipDigits(_ bytes: Span<UInt8>) throws(JSONParsingError) {
        let start = index
        while index < bytes.count, isDigit(bytes[index]) { index += 1 }
        guard index > start else { throw error(index == bytes.count ? .unexpectedEnd : .malformedNumber) }
    }
}

/// A syntax error in JSON text.
public struct JSONParsingError: Error, Hashable, Sendable, Described {
    /// The kinds of syntax errors.
    package enum Reason: Hashable, Sendable {
        /// The text ends before the value is complete.
        case unexpectedEnd
        /// A byte is not allowed at its position.
        case unexpectedByte(UInt8)
        /// The text contains more bytes after the value.
        case trailingBytes
        /// A number is malformed, such as `01` or `1.` (RFC 8259 §6).
        case malformedNumber
        /// A string contains an invalid escape sequence or half a surrogate pair.
        case malformedEscape
        /// A string contains an unescaped control character.
        case controlCharacter
        /// A string is not well-formed UTF-8.
        case malformedUTF8
        /// Arrays and objects are nested more than 512 levels deep.
        case tooDeep
    }

    /// The kind of the syntax error.
    package let reason: Reason

    /// The byte offset of the error in the text.
    public let offset: Int

    /// The reason and the position of the error, without any part of the JSON text.
    package var text: String {
        let text =
            switch reason {
            case .unexpectedEnd: "the JSON text ends too early"
            case .unexpectedByte: "an unexpected byte"
            case .trailingBytes: "something follows the JSON value"
            case .malformedNumber: "a malformed number"
            case .malformedEscape: "a malformed escape"
            case .controlCharacter: "a control character that is not escaped"
            case .malformedUTF8: "bytes that are not UTF-8"
            case .tooDeep: "arrays and objects nested deeper than \(JSONValue.maximumDepth)"
            }
        return "\(text), at byte \(offset)"
    }
}
