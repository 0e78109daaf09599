package import FoundationEssentials

/// Decodes the chunks of a body to text; a character may span several chunks.
///
/// If a chunk ends with an incomplete scalar, the framer keeps its bytes for the next chunk. It keeps at most three
/// bytes, or eight bytes for a system charset. Before the charset is known, it keeps at most four bytes. Malformed
/// bytes become U+FFFD, as in the Encoding Standard. An incomplete scalar at the end of the body also becomes U+FFFD.
/// ``StreamCharset`` chooses the charset.
package struct TextFramer {
    private let choice: StreamCharset
    /// The chosen charset, or `nil` before the first bytes arrive.
    private var charset: Charset?
    private var pending = Data()
    /// The decoder for a system charset, which is created when the first bytes arrive.
    private var decoder: SystemTextDecoder?
    private var isAtStart = true

    /// Creates a decoder.
    ///
    /// - Parameters:
    ///   - encoding: The encoding to use, regardless of the response and the text; `nil` by default.
    ///   - charset: The charset of the response. If Bluebonnet does not know this charset, the text must be UTF-8.
    package init(encoding: String.Encoding? = nil, charset: String? = nil) {
        choice = StreamCharset(encoding: encoding, charset: charset)
    }

    /// Decodes the next bytes.
    ///
    /// - Parameter bytes: The next bytes of the body.
    /// - Returns: The decoded text, which may be empty.
    /// - Throws: `.serialization(.stringSerializationFailed(encoding:))` if the charset is unknown and the text is not
    ///   well-formed UTF-8. The method also throws this error if Foundation decodes the charset and the text is
    ///   malformed.
    package mutating func decode(_ bytes: Data) throws(RequestError) -> String {
        try decode(bytes, isLast: false)
    }

    /// Returns the rest of the text, which is U+FFFD if a scalar is incomplete.
    ///
    /// - Returns: The rest of the text, usually empty.
    /// - Throws: The same errors as ``decode(_:)``.
    package mutating func finish() throws(RequestError) -> String {
        try decode(Data(), isLast: true)
    }

    /// Whether later bytes are UTF-8 that can be decoded without earlier bytes.
    var isPlainUTF8: Bool { charset == .utf8 && !isAtStart && pending.isEmpty }

    private mutating func decode(_ bytes: Data, isLast: Bool) throws(RequestError) -> String {
        let bytes = pending.isEmpty ? bytes : pending + bytes
        guard let charset = charset ?? choice.resolved(by: bytes, isWhole: isLast) else {
            pending = Data(bytes)
            return ""
        }
        self.charset = charset
        var text: String
        let rest: Int
        switch charset {
        case .utf8, .looseASCII:
            rest = isLast ? 0 : UTF8Tail.length(of: bytes)
            text = String(repairing: bytes.span.extracting(droppingLast: rest))
        case .utf16(let order):
            (text, rest) = Self.decodeUTF16(bytes, isBig: order == .big, isLast: isLast)
        case .utf32(let order):
            (text, rest) = Self.decodeUTF32(bytes, isBig: order == .big, isLast: isLast)
        case .latin1, .windows1252:
            (text, rest) = (charset.decode(bytes) ?? "", 0)
        case .system(let system):
            (text, rest) = (try decode(bytes, system, isLast: isLast), 0)
        case .other:
            (text, rest) = try decode(bytes, charset, isLast: isLast)
        case .unknown(let name):
            rest = isLast ? 0 : UTF8Tail.length(of: bytes)
            guard let known = String(validating: bytes.dropLast(rest), as: UTF8.self) else {
                throw RequestError(.serialization(.stringSerializationFailed(encoding: name)))
            }
            text = known
        }
        pending = Data(bytes.suffix(rest))
        if isAtStart, let first = text.unicodeScalars.first {
            isAtStart = false
            if first == "\u{FEFF}", charset.isUnicode { text.unicodeScalars.removeFirst() }
        }
        return text
    }
}

extension TextFramer {
    private static func decodeUTF16(_ bytes: Data, isBig: Bool, isLast: Bool) -> (text: String, rest: Int) {
        var units = Charset.units(of: bytes, as: UInt16.self, isBig: isBig)
        var rest = bytes.count % 2
        if isLast {
            // An incomplete unit is one error, also together with a lead surrogate before it.
            if rest > 0, units.last.map(UTF16.isLeadSurrogate) != true { units.append(0xD800) }
            rest = 0
        } else if let last = units.last, UTF16.isLeadSurrogate(last) {
            units.removeLast()
            rest += 2
        }
        return (String(decoding: units, as: UTF16.self), rest)
    }

    private static func decodeUTF32(_ bytes: Data, isBig: Bool, isLast: Bool) -> (text: String, rest: Int) {
        let rest = bytes.count % 4
        let text = String(decoding: Charset.units(of: bytes, as: UInt32.self, isBig: isBig), as: UTF32.self)
        return isLast && rest > 0 ? (text + "\u{FFFD}", 0) : (text, rest)
    }

    private mutating func decode(
        _ bytes: Data, _ charset: SystemCharset, isLast: Bool
    ) throws(RequestError) -> String {
        if decoder == nil { decoder = SystemTextDecoder(charset) }
        guard let text = decoder?.decode(bytes, isLast: isLast, repairs: true) else {
            throw RequestError(.serialization(.stringSerializationFailed(encoding: charset.name)))
        }
        return text
    }

    /// Decodes with Foundation, whose charsets use at most four bytes for a character.
    private func decode(
        _ bytes: Data, _ charset: Charset, isLast: Bool
    ) throws(RequestError) -> (text: String, rest: Int) {
        for rest in 0...min(3, isLast ? 0 : bytes.count) {
            if let text = charset.decode(Data(bytes.dropLast(rest))) { return (text, rest) }
        }
        throw RequestError(.serialization(.stringSerializationFailed(encoding: charset.name)))
    }
}

extension Charset {
    /// Whether text in this charset can start with a byte order mark.
    fileprivate var isUnicode: Bool {
        switch self {
        case .utf8, .utf16, .utf32: true
        default: false
        }
    }
}

/// Chooses the charset of streamed text from the first bytes, the required encoding and the charset of the response.
///
/// The order is the same as for ``StringResponseSerializer``: the encoding that the caller requires, the byte order
/// mark, the charset of the response, and UTF-8. However, windows-1252 is never the fallback, because this would
/// require a check of the whole body. Streamed text without a charset is always decoded as UTF-8. Text that is declared
/// as ASCII is also decoded as UTF-8.
private struct StreamCharset {
    private let declared: Charset
    /// Whether the caller requires an encoding.
    let isExplicit: Bool

    init(encoding: String.Encoding?, charset: String?) {
        isExplicit = encoding != nil
        let named = charset.flatMap { $0.isEmpty ? nil : Charset(name: $0) }
        let known = encoding.map { Charset($0) } ?? named
        declared = known.flatMap { $0 == .looseASCII ? nil : $0 } ?? .utf8
    }

    /// Returns the charset for text with these first bytes, or `nil` if more bytes are needed.
    func resolved(by start: Data, isWhole: Bool) -> Charset? {
        switch declared {
        case .utf16(nil), .utf32(nil): break
        default: if isExplicit { return declared }
        }
        for (mark, charset) in marks {
            if start.starts(with: mark) { return charset }
            if !isWhole, mark.starts(with: start) { return nil }
        }
        switch declared {
        case .utf16(nil): return .utf16(.little)
        case .utf32(nil): return .utf32(.little)
        default: return declared
        }
    }

    /// The possible byte order marks.
    ///
    /// If a mark starts with another mark, the longer mark comes first.
    private var marks: [([UInt8], Charset)] {
        // FF FE 00 00 can also be UTF-16 that begins with U+0000, so it is a mark of UTF-32 only if UTF-32 is declared.
        var marks: [([UInt8], Charset)] = []
        if case .utf32 = declared {
            marks = [([0xFF, 0xFE, 0, 0], .utf32(.little)), ([0, 0, 0xFE, 0xFF], .utf32(.big))]
            if isExplicit { return marks }
        }
        if !isExplicit { marks.append(([0xEF, 0xBB, 0xBF], .utf8)) }
        return marks + [([0xFF, 0xFE], .utf16(.little)), ([0xFE, 0xFF], .utf16(.big))]
    }
}

/// Finds an incomplete scalar at the end of UTF-8 bytes.
enum UTF8Tail {
    /// Returns the number of bytes at the end that are a well-formed start of a scalar (Unicode §3.9, table 3-7).
    static func length(of data: Data) -> Int {
        let bytes = data.span
        for length in 1...3 where length <= bytes.count {
            let start = bytes.count - length
            let lead = bytes[start]
            // This is a continuation byte, so the start of the scalar is before it.
            if lead & 0xC0 == 0x80 { continue }
            guard length < width(of: lead) else { return 0 }
            return length == 1 || second(after: lead).contains(bytes[start + 1]) ? length : 0
        }
        return 0
    }

    /// Returns the length of a scalar that starts with this byte, or 0 if no scalar starts with it.
    private static func width(of lead: UInt8) -> Int {
        switch lead {
        case 0x00...0x7F: 1
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 0
        }
    }

    /// Returns the valid range of the second byte.
    ///
    /// It is narrower than for other continuation bytes if it excludes overlong forms, surrogates or values beyond
    /// U+10FFFF.
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

/// Finds the byte order mark at the start of UTF-8.
enum ByteOrderMark {
    /// Returns the length of the mark at the start, which is 3, or 0 if there is no mark.
    static func utf8Length(in bytes: Span<UInt8>) -> Int {
        bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF ? 3 : 0
    }
}
