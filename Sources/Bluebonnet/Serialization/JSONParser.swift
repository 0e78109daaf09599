/// Parses JSON text by RFC 8259's grammar, from bytes straight to values.
///
/// It recurses once for each level of nesting, ``JSONValue/maximumDepth`` levels at most.
struct JSONParser {
    var index = 0
    var depth = 0

    /// Returns the value of a whole text.
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

    /// Moves past the byte if it is the next one, and says whether it was.
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
    /// Parses a string; the index is at the opening quotation mark.
    mutating func parseString(_ bytes: Span<UInt8>) throws(JSONParsingError) -> String {
        index += 1
        let start = index
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                let text = try text(bytes.extracting(start..<index), offset: start)
                index += 1
                return text
            case UInt8(ascii: "\\"): return try parseEscapedString(bytes, from: start)
            case 0..<0x20: throw error(.controlCharacter)
            default: index += 1
            }
        }
        throw error(.unexpectedEnd)
    }

    /// Parses a string that holds escapes; the index is at the first one.
    private mutating func parseEscapedString(
        _ bytes: Span<UInt8>, from start: Int
    ) throws(JSONParsingError) -> String {
        var plainStart = start
        var decoded: [UInt8] = []
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                for position in plainStart..<index { decoded.append(bytes[position]) }
                index += 1
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

    /// Appends what an escape stands for; the index is at the backslash.
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

    /// Parses `\uXXXX`, or two of them where they are a surrogate pair.
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
    /// What the digits of a number add up to while they are scanned.
    private struct Digits {
        /// All digits as one integer, while it fits.
        var significand: UInt64 = 0
        var overflows = false
        /// How many of the digits are after the point.
        var fractionCount = 0

        mutating func append(_ digit: UInt8) {
            let (product, overflowed) = significand.multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(UInt64(digit))
            overflows = overflows || overflowed || carried
            significand = sum
        }
    }

    mutating func parseNumber(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONValue {
        let start = index
        let isNegative = skip(UInt8(ascii: "-"), bytes)
        var digits = Digits()
        var isInteger = true
        if skip(UInt8(ascii: "0"), bytes) {
            if index < bytes.count, isDigit(bytes[index]) { throw error(.malformedNumber) }
        } else {
            try parseDigits(bytes, into: &digits)
        }
        if skip(UInt8(ascii: "."), bytes) {
            isInteger = false
            let first = index
            try parseDigits(bytes, into: &digits)
            digits.fractionCount = index - first
        }
        var exponent = 0
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            exponent = try parseExponent(bytes)
        }
        if isInteger {
            if let value = integer(digits, isNegative: isNegative) { return value }
        } else if let value = simpleDouble(digits, exponent: exponent, isNegative: isNegative) {
            return .double(value)
        }
        return try number(bytes, start..<index, isInteger: isInteger)
    }

    private func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    private mutating func parseDigits(
        _ bytes: Span<UInt8>, into digits: inout Digits
    ) throws(JSONParsingError) {
        let start = index
        while index < bytes.count, isDigit(bytes[index]) {
            digits.append(bytes[index] - UInt8(ascii: "0"))
            index += 1
        }
        guard index > start else { throw error(index == bytes.count ? .unexpectedEnd : .malformedNumber) }
    }

    private mutating func parseExponent(_ bytes: Span<UInt8>) throws(JSONParsingError) -> Int {
        index += 1
        let isNegative = skip(UInt8(ascii: "-"), bytes)
        if !isNegative { _ = skip(UInt8(ascii: "+"), bytes) }
        var digits = Digits()
        try parseDigits(bytes, into: &digits)
        // Beyond this, the number is not simple anyway.
        let magnitude = digits.overflows ? 1_000_000 : Int(min(digits.significand, 1_000_000))
        return isNegative ? -magnitude : magnitude
    }

    private func integer(_ digits: Digits, isNegative: Bool) -> JSONValue? {
        guard !digits.overflows else { return nil }
        guard isNegative else { return Int64(exactly: digits.significand).map { .integer($0) } }
        if digits.significand == 0 { return .double(-0.0) }
        guard digits.significand <= UInt64(Int64.max) + 1 else { return nil }
        return .integer(Int64(truncatingIfNeeded: 0 &- digits.significand))
    }

    /// Returns the value if one exact division or multiplication makes it, so that it is rounded once (Clinger).
    private func simpleDouble(_ digits: Digits, exponent: Int, isNegative: Bool) -> Double? {
        let power = exponent - digits.fractionCount
        guard !digits.overflows, digits.significand < 1 << 53, abs(power) < Self.powersOfTen.count else { return nil }
        let significand = Double(isNegative ? -1 : 1) * Double(digits.significand)
        return power < 0 ? significand / Self.powersOfTen[-power] : significand * Self.powersOfTen[power]
    }

    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    private func number(
        _ bytes: Span<UInt8>, _ range: Range<Int>, isInteger: Bool
    ) throws(JSONParsingError) -> JSONValue {
        let text = try text(bytes.extracting(range), offset: range.lowerBound)
        guard !isInteger, let value = Double(text), value.isFinite else { return .number(JSONNumber(checked: text)) }
        return .double(value)
    }
}

/// Says where a text stops being JSON, and why.
public struct JSONParsingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Names what is wrong.
    @nonexhaustive
    public enum Reason: Hashable, Sendable {
        /// The text ends before the value does.
        case unexpectedEnd
        /// A byte cannot stand where it does.
        case unexpectedByte(UInt8)
        /// Something follows the value.
        case trailingBytes
        /// A number does not have the form of RFC 8259 §6, such as `01` or `1.`.
        case malformedNumber
        /// A string holds a backslash before a character that is not escaped so, or half a surrogate pair.
        case malformedEscape
        /// A string holds a control character that is not escaped.
        case controlCharacter
        /// A string is not well-formed UTF-8.
        case malformedUTF8
        /// Arrays and objects are nested deeper than 512.
        case tooDeep
    }

    /// What is wrong.
    public let reason: Reason

    /// How many bytes of the text come before the place.
    public let offset: Int

    /// What is wrong and where, in one line; nothing of the text itself is in it.
    public var description: String {
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
