/// The characters of HTTP's grammar, as bytes.
extension UInt8 {
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let colon = UInt8(ascii: ":")
    static let semicolon = UInt8(ascii: ";")

    /// Whether it may be part of a token (RFC 9110 §5.6.2).
    var isTokenCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Whether it is optional white space (RFC 9110 §5.6.3).
    var isWhitespace: Bool { self == .space || self == .tab }

    /// Whether it may be part of a field's value (RFC 9110 §5.5); bytes beyond ASCII may.
    var isFieldCharacter: Bool { self >= 0x20 && self != 0x7F || self == .tab }

    /// Its value as a hexadecimal digit.
    var hexadecimalDigit: Int? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(self) - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(self) - 0x61 + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(self) - 0x41 + 10
        default: nil
        }
    }

    fileprivate var lowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }
}

extension String {
    /// Whether it is the same but for the case of ASCII letters.
    func isEqualIgnoringCase(to other: String) -> Bool {
        utf8.count == other.utf8.count && zip(utf8, other.utf8).allSatisfy { $0.lowercased == $1.lowercased }
    }

    /// Decodes bytes as UTF-8, or as ISO-8859-1 when they are not UTF-8.
    init(fieldBytes bytes: ArraySlice<UInt8>) {
        self =
            String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.lazy.map { Unicode.Scalar($0) }))
    }
}

extension StringProtocol {
    /// The text with `%XX` decoded, malformed ones left as they are; `+` becomes a space if asked for.
    func percentDecoded(plusIsSpace: Bool = false) -> String {
        guard utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else { return String(self) }
        let bytes = Array(utf8)
        var decoded: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let high = bytes[index + 1].hexadecimalDigit, let low = bytes[index + 2].hexadecimalDigit
            {
                decoded.append(UInt8(high * 16 + low))
                index += 3
                continue
            }
            decoded.append(plusIsSpace && bytes[index] == UInt8(ascii: "+") ? .space : bytes[index])
            index += 1
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
