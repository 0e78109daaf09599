/// Knows what may be the boundary of a multipart body, and how it is written (RFC 2046 §5.1.1).
struct MultipartBoundary {
    let text: String

    /// How many bytes a boundary has at most.
    static let lengthLimit = 70

    /// Whether this is one: 1 to 70 of the allowed characters, no space at the end.
    var isValid: Bool {
        let bytes = text.utf8
        return 1...Self.lengthLimit ~= bytes.count && bytes.allSatisfy(Self.isAllowed) && bytes.last != 0x20
    }

    /// The boundary as the value of a parameter: between quotes unless it is a token (RFC 9110 §5.6.6).
    ///
    /// A boundary holds nothing that would need a backslash.
    var parameterValue: String { text.utf8.isToken ? text : "\"\(text)\"" }

    /// What stands before each part but the first.
    var delimiter: String { "\r\n\(opening)" }

    /// What stands before the first part.
    var opening: String { "--\(text)\r\n" }

    /// What stands after the last part, or alone when there are none.
    func closing(hasParts: Bool) -> String { "\(hasParts ? "\r\n" : "")--\(text)--\r\n" }

    /// Returns a boundary that no part holds, as far as chance can tell: 128 random bits.
    static func random() -> MultipartBoundary {
        var random = SystemRandomNumberGenerator()
        let digits = (0..<4).map { _ in
            let word = String(UInt32.random(in: .min ... .max, using: &random), radix: 16)
            return String(repeating: "0", count: 8 - word.utf8.count) + word
        }
        return MultipartBoundary(text: "bluebonnet-\(digits.joined())")
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        FieldSyntax.isAlphanumeric(byte) || "'()+_,-./:=? ".utf8.contains(byte)
    }
}
