extension Substring.UTF8View {
    /// Takes the value of a parameter from the front: a token, or a quoted string (RFC 9110 §5.6.4, §5.6.6).
    ///
    /// - Parameter ends: The bytes that end a value without quotes.
    /// - Returns: The value, without quotes and without white space around it.
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
