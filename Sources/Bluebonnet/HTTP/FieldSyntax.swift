/// The syntax of field names and values, byte by byte (RFC 9110 §5).
package enum FieldSyntax {
    /// Whether the byte may be part of a token (RFC 9110 §5.6.2).
    @inline(__always)
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        // One bit for each of ! # $ % & ' * + - . 0-9 A-Z ^ _ ` a-z | ~
        switch byte {
        case 0..<64: 0x03ff_6cfa_0000_0000 as UInt64 >> UInt64(byte) & 1 == 1
        case 64..<128: 0x57ff_ffff_c7ff_fffe as UInt64 >> UInt64(byte &- 64) & 1 == 1
        default: false
        }
    }

    /// Whether the byte is CR, LF or NUL, which are invalid in values (RFC 9110 §5.5).
    ///
    /// CR and LF would end the line, and NUL would end a C string.
    @inline(__always)
    static func isForbiddenInValue(_ byte: UInt8) -> Bool {
        byte == 0x0a || byte == 0x0d || byte == 0x00
    }

    /// Whether the byte is a space or a tab.
    @inline(__always)
    package static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }

    /// Whether the byte is an ASCII letter or digit.
    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        lowercased(byte) &- 0x61 < 26 || byte &- 0x30 < 10
    }

    /// Returns whether two texts of the same length are equal without regard to ASCII case.
    static func isSame(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        for index in left.indices where lowercased(left[index]) != lowercased(right[index]) {
            return false
        }
        return true
    }

    /// Returns whether a line is a field with the given name, which is in lower case.
    // Inlined because callers pass a constant name and call this for each line of a head.
    @inline(__always)
    static func isField(_ line: Span<UInt8>, named name: String) -> Bool {
        // The position of the colon rules out nearly all other fields.
        let count = name.utf8.count
        guard line.count > count, line[count] == 0x3a else { return false }
        return isSame(line.extracting(..<count), name.utf8.span)
    }

    /// Returns the byte with an ASCII upper-case letter converted to lower case.
    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }
}

extension String.UTF8View {
    /// Whether this is a token: at least one byte, and only token bytes.
    var isToken: Bool {
        guard !isEmpty else { return false }
        let bytes = span
        for index in bytes.indices where !FieldSyntax.isTokenByte(bytes[index]) {
            return false
        }
        return true
    }

    /// Whether this is valid as the value of a field.
    var isFieldValue: Bool {
        let bytes = span
        for index in bytes.indices where FieldSyntax.isForbiddenInValue(bytes[index]) {
            return false
        }
        return true
    }
}

extension String {
    /// Whether two strings are equal without regard to ASCII case.
    package func isSameIgnoringCase(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return FieldSyntax.isSame(utf8.span, other.utf8.span)
    }
}

extension StringProtocol {
    /// The text without spaces and tabs at either end.
    var trimmed: Substring {
        let text = Substring(self)
        guard let first = text.utf8.firstIndex(where: { !FieldSyntax.isWhitespace($0) }),
            let last = text.utf8.lastIndex(where: { !FieldSyntax.isWhitespace($0) })
        else { return "" }
        return text[first...last]
    }
}

extension Substring.UTF8View {
    /// Drops spaces and tabs from the front.
    mutating func skipWhitespace() { self = drop { FieldSyntax.isWhitespace($0) } }

    /// Removes the token at the front and returns it in lower case; the result is empty if there is no token.
    mutating func takeToken() -> String {
        let token = prefix { FieldSyntax.isTokenByte($0) }
        self = self[token.endIndex...]
        return String(Substring(token)).lowercased()
    }

    /// Takes `=` and the value of a parameter from the front; returns `nil` if there is no `=`.
    ///
    /// White space around `=` is allowed.
    mutating func takeParameterValue(until ends: [UInt8]) -> String? {
        var rest = self
        rest.skipWhitespace()
        guard rest.popFirst() == 0x3d else { return nil }
        rest.skipWhitespace()
        self = rest
        return takeValue(until: ends)
    }

    /// Takes the next non-empty element of a list (RFC 9110 §5.6.1); commas in quotes are not separators.
    mutating func takeElement() -> Substring? {
        while !isEmpty {
            var isQuoted = false
            var isEscaped = false
            let element = prefix { byte in
                if byte == 0x2c, !isQuoted { return false }
                if byte == 0x22, !isEscaped { isQuoted.toggle() }
                isEscaped = isQuoted && byte == 0x5c && !isEscaped
                return true
            }
            self = self[element.endIndex...].dropFirst()
            let text = Substring(element).trimmed
            if !text.isEmpty { return text }
        }
        return nil
    }

    /// Takes the value of a parameter from the front: a token or a quoted string (RFC 9110 §5.6.4, §5.6.6).
    ///
    /// - Parameter ends: The bytes that end an unquoted value.
    /// - Returns: The value without quotes and surrounding white space.
    mutating func takeValue(until ends: [UInt8]) -> String {
        guard first == 0x22 else {
            let value = Substring(prefix { !ends.contains($0) })
            self = self[value.endIndex...]
            return String(value.trimmed)
        }
        var bytes: [UInt8] = []
        self = dropFirst()
        while let byte = popFirst(), byte != 0x22 {
            bytes.append(byte == 0x5c ? popFirst() ?? byte : byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Collection where SubSequence == Self, Element == UInt8 {
    /// Removes the text from the first occurrence of a byte on, and returns the part after the byte.
    mutating func takeSuffix(after byte: UInt8) -> Self? {
        guard let index = firstIndex(of: byte) else { return nil }
        defer { self = self[..<index] }
        return self[self.index(after: index)...]
    }
}

/// Reads and writes percent-encoded text (RFC 3986 §2.1).
package enum PercentEncoding {
    /// Decodes text; returns `nil` if a percent sign is not followed by two hexadecimal digits.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            guard byte == 0x25 else {
                bytes.append(byte)
                continue
            }
            guard let high = iterator.next().flatMap(digit), let low = iterator.next().flatMap(digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Returns text in which the bytes that fulfil a condition are percent-encoded.
    static func encode(_ text: some Collection<UInt8>, where isEncoded: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        for byte in text { if isEncoded(byte) { append(byte, to: &bytes) } else { bytes.append(byte) } }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends `%` and two upper-case hexadecimal digits.
    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(0x25)
        bytes.append(hexadecimal(byte >> 4))
        bytes.append(hexadecimal(byte & 15))
    }

    private static func hexadecimal(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x37 + value
    }

    /// The value of a hexadecimal digit.
    package static func digit(_ byte: UInt8) -> UInt8? {
        let decimal = byte &- 0x30
        let letter = FieldSyntax.lowercased(byte) &- 0x61
        return decimal < 10 ? decimal : letter < 6 ? letter + 10 : nil
    }
}

extension FixedWidthInteger {
    /// Parses text that consists only of digits; `nil` if the number is too large.
    init?(digits text: some StringProtocol) {
        guard text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        self.init(text)
    }
}
