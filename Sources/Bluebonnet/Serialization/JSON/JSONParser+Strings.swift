/// Strings (RFC 8259 §7).
extension JSONParser {
    /// Parses a string; the index is at the opening quotation mark.
    mutating func parseString(_ bytes: Span<UInt8>) throws(JSONParsingError) -> String {
        index += 1
        let start = index
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                let text = try text(bytes, start..<index)
                index += 1
                return text
            case UInt8(ascii: "\\"): return try parseEscapedString(bytes, from: start)
            case 0..<0x20: throw error(.controlCharacter)
            default: index += 1
            }
        }
        throw error(.unexpectedEnd)
    }

    func text(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(JSONParsingError) -> String {
        do {
            return String(copying: try UTF8Span(validating: bytes.extracting(range)))
        } catch {
            throw JSONParsingError(reason: .malformedUTF8, offset: range.lowerBound)
        }
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
            let digit = bytes[position]
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(digit - UInt8(ascii: "A") + 10)
            default: throw error(.malformedEscape)
            }
        }
        return value
    }
}
