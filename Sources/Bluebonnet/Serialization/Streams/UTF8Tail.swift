import FoundationEssentials

/// Finds the bytes at the end of UTF-8 that more bytes could complete to a scalar.
enum UTF8Tail {
    /// Returns how many bytes at the end begin a scalar that is well-formed so far (Unicode §3.9, table 3-7).
    static func length(of data: Data) -> Int {
        let bytes = data.span
        for length in 1...3 where length <= bytes.count {
            let start = bytes.count - length
            let lead = bytes[start]
            // Continuation bytes: what they continue is further in front.
            if lead & 0xC0 == 0x80 { continue }
            guard length < width(of: lead) else { return 0 }
            return length == 1 || second(after: lead).contains(bytes[start + 1]) ? length : 0
        }
        return 0
    }

    /// How many bytes a scalar has that begins with the byte; 0 for none.
    private static func width(of lead: UInt8) -> Int {
        switch lead {
        case 0x00...0x7F: 1
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 0
        }
    }

    /// What the second byte may be: less than any continuation where the scalar would be overlong, a surrogate or too high.
    private static func second(after lead: UInt8) -> ClosedRange<UInt8> {
        switch lead {
        case 0xE0: 0xA0...0xBF
        case 0xED: 0x80...0x9F
        case 0xF0: 0x90...0xBF
        case 0xF4: 0x80...0x8F
        default: 0x80...0xBF
        }
    }
}
