/// Reads and writes percent-encoded text (RFC 3986 §2.1).
enum PercentEncoding {
    /// Returns the bytes that the text stands for, or nil when a percent sign is not followed by two digits.
    static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
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

    /// Appends `%` and two digits in upper case.
    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(0x25)
        bytes.append(hexadecimal(byte >> 4))
        bytes.append(hexadecimal(byte & 15))
    }

    private static func hexadecimal(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x37 + value
    }

    /// Returns the value of a hexadecimal digit, in either case.
    static func digit(_ byte: UInt8) -> UInt8? {
        let decimal = byte &- 0x30
        let letter = FieldSyntax.lowercased(byte) &- 0x61
        return decimal < 10 ? decimal : letter < 6 ? letter + 10 : nil
    }
}
