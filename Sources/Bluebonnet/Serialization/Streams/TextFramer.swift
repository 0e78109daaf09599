package import FoundationEssentials

/// Decodes the bytes of a body to text piece by piece, wherever the chunks end.
///
/// The bytes of a scalar that is not complete at a chunk's end wait for the next one: never more than three, or four
/// before the charset is settled, or eight where the system's tables are used. What is malformed is U+FFFD, as the
/// Encoding Standard has it; a body that ends within a scalar ends with one. The charset is that of ``StreamCharset``.
package struct TextFramer {
    private let choice: StreamCharset
    private let keepsByteOrderMark: Bool
    /// Nothing before the first bytes are seen.
    private var charset: Charset?
    private var pending = Data()
    /// What decodes a charset of the system's, once its first bytes are there.
    private var decoder: SystemTextDecoder?
    private var isAtStart = true

    /// Creates a decoder.
    ///
    /// - Parameters:
    ///   - encoding: The encoding that the text is in, whatever the response and the text itself say.
    ///   - charset: The charset that the response names; with one that is not known the text has to be UTF-8.
    ///   - keepsByteOrderMark: Whether a byte order mark at the beginning is part of the text.
    package init(encoding: String.Encoding? = nil, charset: String? = nil, keepsByteOrderMark: Bool = false) {
        choice = StreamCharset(encoding: encoding, charset: charset)
        self.keepsByteOrderMark = keepsByteOrderMark
    }

    /// Returns the text that the next bytes complete, which may be none.
    ///
    /// - Parameter bytes: The next bytes of the body.
    /// - Returns: The text.
    /// - Throws: `.serialization(.stringSerializationFailed(encoding:))` when the charset is not known here and the text
    ///   is not well-formed UTF-8, or when Foundation alone knows it and the text is malformed in it.
    package mutating func decode(_ bytes: Data) throws(RequestError) -> String {
        try decode(bytes, isLast: false)
    }

    /// Returns what is left to decode: U+FFFD for a scalar that was not completed.
    ///
    /// - Returns: The text, seldom any.
    /// - Throws: As ``decode(_:)`` does.
    package mutating func finish() throws(RequestError) -> String {
        try decode(Data(), isLast: true)
    }

    /// Whether the bytes to come are UTF-8 that needs nothing of what came before.
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
            if first == "\u{FEFF}", charset.isUnicode, !keepsByteOrderMark { text.unicodeScalars.removeFirst() }
        }
        return text
    }
}

extension TextFramer {
    private static func decodeUTF16(_ data: Data, isBig: Bool, isLast: Bool) -> (text: String, rest: Int) {
        let bytes = data.span
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count / 2 + 1)
        for index in stride(from: 0, to: bytes.count - 1, by: 2) {
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            units.append(isBig ? first << 8 | second : second << 8 | first)
        }
        var rest = bytes.count % 2
        if isLast {
            // Half a unit; together with a surrogate before it, it is one mistake.
            if rest > 0, units.last.map(UTF16.isLeadSurrogate) != true { units.append(0xD800) }
            rest = 0
        } else if let last = units.last, UTF16.isLeadSurrogate(last) {
            units.removeLast()
            rest += 2
        }
        return (String(decoding: units, as: UTF16.self), rest)
    }

    private static func decodeUTF32(_ data: Data, isBig: Bool, isLast: Bool) -> (text: String, rest: Int) {
        let bytes = data.span
        let rest = bytes.count % 4
        var scalars = String.UnicodeScalarView()
        for index in stride(from: 0, to: bytes.count - 3, by: 4) {
            var unit: UInt32 = 0
            for offset in 0..<4 { unit = unit << 8 | UInt32(bytes[index + (isBig ? offset : 3 - offset)]) }
            scalars.append(Unicode.Scalar(unit) ?? "\u{FFFD}")
        }
        if isLast, rest > 0 { scalars.append("\u{FFFD}") }
        return (String(scalars), isLast ? 0 : rest)
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

    /// Decodes by Foundation's tables, whose charsets take at most four bytes for a character.
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
    /// Whether a byte order mark can begin its texts.
    fileprivate var isUnicode: Bool {
        switch self {
        case .utf8, .utf16, .utf32: true
        default: false
        }
    }
}
