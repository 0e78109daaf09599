import FoundationEssentials

/// Decides in which charset the text of a stream is, from its first bytes and from what is known otherwise.
///
/// The order is that of ``StringResponseSerializer``: the encoding that the caller insists on, the byte order mark, the
/// response's charset, UTF-8. It differs in what only a whole body can tell: text for which nothing names a charset is
/// UTF-8, never ISO-8859-1, and so is what is declared to be ASCII.
struct StreamCharset {
    private let declared: Charset
    /// Whether the caller has said the encoding.
    let isInsistedOn: Bool

    init(encoding: String.Encoding?, charset: String?) {
        isInsistedOn = encoding != nil
        let named = charset.flatMap { $0.isEmpty ? nil : Charset(name: $0) }
        let known = encoding.map { Charset($0) } ?? named
        declared = known.flatMap { $0 == .looseASCII ? nil : $0 } ?? .utf8
    }

    /// Returns the charset by the first bytes of the text, or `nil` when it takes more of them to tell.
    func resolved(by start: Data, isWhole: Bool) -> Charset? {
        switch declared {
        case .utf16(nil), .utf32(nil): break
        default: if isInsistedOn { return declared }
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

    /// The byte order marks that are looked for, the longest first where one begins with another.
    private var marks: [([UInt8], Charset)] {
        // FF FE 00 00 is also UTF-16 that begins with U+0000: it is UTF-32 only where that was said.
        var marks: [([UInt8], Charset)] = []
        if case .utf32 = declared {
            marks = [([0xFF, 0xFE, 0, 0], .utf32(.little)), ([0, 0, 0xFE, 0xFF], .utf32(.big))]
            if isInsistedOn { return marks }
        }
        if !isInsistedOn { marks.append(([0xEF, 0xBB, 0xBF], .utf8)) }
        return marks + [([0xFF, 0xFE], .utf16(.little)), ([0xFE, 0xFF], .utf16(.big))]
    }
}
