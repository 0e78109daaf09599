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
        let text = try text(bytes, range)
        guard !isInteger, let value = Double(text), value.isFinite else { return .number(JSONNumber(checked: text)) }
        return .double(value)
    }
}
