import FoundationEssentials

/// A character encoding that Bluebonnet can decode.
enum Charset: Hashable, Sendable {
    case utf8
    /// UTF-16 with this byte order, or `nil` for the byte order of the byte order mark.
    ///
    /// If there is no mark either, the byte order is little-endian, as in the WHATWG's Encoding Standard.
    case utf16(ByteOrder?)
    case utf32(ByteOrder?)
    /// ISO-8859-1, if the caller requires it; a response that names it means windows-1252, as in the Encoding Standard.
    case latin1
    /// Text that is declared as ASCII, but usually uses a superset of ASCII.
    case looseASCII
    case windows1252
    case system(SystemCharset)
    /// An encoding that Foundation decodes.
    ///
    /// Most of these encodings require Foundation instead of FoundationEssentials.
    case other(String.Encoding)
    /// An unknown name, or a charset for which the system has no module.
    ///
    /// Text that is well-formed UTF-8 is decoded as UTF-8, because it is almost certainly UTF-8. Other text cannot be
    /// decoded.
    case unknown(String)

    enum ByteOrder: Hashable, Sendable { case big, little }

    /// Creates the charset with this name from the IANA registry or the Encoding Standard, regardless of case.
    init(name: String) {
        let label = name.lowercased()
        self = Self.names[label] ?? SystemCharset.named(label).map { Charset($0) } ?? .unknown(label)
    }

    /// Creates a charset of the system, or an unknown charset if the system does not have its module.
    init(_ charset: SystemCharset) {
        self = charset.isAvailable ? .system(charset) : .unknown(charset.name)
    }

    /// Creates the charset that corresponds to a Foundation encoding.
    init(_ encoding: String.Encoding) {
        guard encoding != .isoLatin1 else {
            self = .latin1
            return
        }
        let name = Self.encodingNames[encoding] ?? ""
        self = Self.names[name] ?? SystemCharset.named(name).map { .system($0) } ?? .other(encoding)
    }

    private static let encodingNames: [String.Encoding: String] = [
        .utf8: "utf-8", .utf16: "utf-16", .utf16BigEndian: "utf-16be", .utf16LittleEndian: "utf-16le",
        .utf32: "utf-32", .utf32BigEndian: "utf-32be", .utf32LittleEndian: "utf-32le",
        .isoLatin2: "iso-8859-2", .windowsCP1250: "windows-1250", .windowsCP1251: "windows-1251",
        .windowsCP1252: "windows-1252", .windowsCP1253: "windows-1253", .windowsCP1254: "windows-1254",
        .shiftJIS: "shift_jis", .japaneseEUC: "euc-jp", .iso2022JP: "iso-2022-jp", .macOSRoman: "macintosh",
    ]

    /// Creates the charset of the byte order mark at the start of the text, or returns `nil` if there is no mark.
    init?(byteOrderMarkOf data: Data) {
        let start = Array(data.prefix(4))
        if start.starts(with: [0xEF, 0xBB, 0xBF]) {
            self = .utf8
        } else if start == [0xFF, 0xFE, 0, 0], data.count.isMultiple(of: 4) {
            // The text could also be UTF-16 that begins with U+0000, but such text does not occur in practice.
            self = .utf32(.little)
        } else if start == [0, 0, 0xFE, 0xFF] {
            self = .utf32(.big)
        } else if start.starts(with: [0xFF, 0xFE]) {
            self = .utf16(.little)
        } else if start.starts(with: [0xFE, 0xFF]) {
            self = .utf16(.big)
        } else {
            return nil
        }
    }

    /// The preferred name in the IANA registry.
    var name: String {
        switch self {
        case .utf8: "utf-8"
        case .utf16(nil): "utf-16"
        case .utf16(.big): "utf-16be"
        case .utf16(.little): "utf-16le"
        case .utf32(nil): "utf-32"
        case .utf32(.big): "utf-32be"
        case .utf32(.little): "utf-32le"
        case .latin1: "iso-8859-1"
        case .looseASCII, .other(.ascii): "us-ascii"
        case .windows1252: "windows-1252"
        case .system(let charset): charset.name
        case .other(let encoding): encoding.description
        case .unknown(let name): name
        }
    }

    private static let names: [String: Charset] = [
        "utf-8": .utf8, "utf8": .utf8, "unicode-1-1-utf-8": .utf8, "utf8mb4": .utf8,
        "unicode11utf8": .utf8, "unicode20utf8": .utf8, "x-unicode20utf8": .utf8,
        "csunicode": .utf16(nil), "unicode": .utf16(nil), "unicodefeff": .utf16(nil), "unicodefffe": .utf16(.big),
        "utf-16": .utf16(nil), "utf16": .utf16(nil), "unicode-1-1": .utf16(nil), "iso-10646-ucs-2": .utf16(nil),
        "ucs-2": .utf16(nil), "utf-16be": .utf16(.big), "utf-16le": .utf16(.little),
        "utf-32": .utf32(nil), "utf32": .utf32(nil), "iso-10646-ucs-4": .utf32(nil), "ucs-4": .utf32(nil),
        "utf-32be": .utf32(.big), "utf-32le": .utf32(.little),
        "iso-8859-1": .windows1252, "iso8859-1": .windows1252, "iso88591": .windows1252, "iso_8859-1": .windows1252,
        "latin1": .windows1252, "iso_8859-1:1987": .windows1252, "iso-ir-100": .windows1252,
        "csisolatin1": .windows1252, "l1": .windows1252, "ibm819": .windows1252, "cp819": .windows1252,
        "us-ascii": .looseASCII, "ascii": .looseASCII, "ansi_x3.4-1968": .looseASCII, "iso-ir-6": .looseASCII,
        "windows-1252": .windows1252, "cp1252": .windows1252, "x-cp1252": .windows1252, "cp-1252": .windows1252,
    ]
}

extension Charset {
    /// Returns the decoded text without its byte order mark, or `nil` if the bytes are malformed.
    func decode(_ data: Data) -> String? {
        switch self {
        case .utf8:
            String(validating: data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data, as: UTF8.self)
        case .utf16(let order): Self.decode(data, as: UTF16.self, order)
        case .utf32(let order): Self.decode(data, as: UTF32.self, order)
        case .latin1: Self.decodeLatin1(data)
        case .looseASCII: TextDecoder.detect(data)
        case .windows1252: Self.decodeWindows1252(data)
        case .system(let charset):
            SystemTextDecoder(charset)?.decode(data, isLast: true, repairs: false)
        case .other(let encoding): String(data: data, encoding: encoding)
        case .unknown: Self.utf8.decode(data)
        }
    }

    /// Decodes UTF-16 or UTF-32.
    ///
    /// The byte order is the declared order, the order of the byte order mark, or little-endian.
    private static func decode<Encoding: Unicode.Encoding>(
        _ data: Data, as encoding: Encoding.Type, _ declared: ByteOrder?
    ) -> String? where Encoding.CodeUnit: FixedWidthInteger {
        let size = MemoryLayout<Encoding.CodeUnit>.size
        guard data.count.isMultiple(of: size) else { return nil }
        let bigMark: [UInt8] = [0, 0, 0xFE, 0xFF].suffix(size)
        let isBig = declared == .big || declared == nil && data.starts(with: bigMark)
        let units = units(of: data, as: Encoding.CodeUnit.self, isBig: isBig)
        return String(validating: units.first == 0xFEFF ? units.dropFirst() : units[...], as: encoding)
    }

    /// Returns the code units of UTF-16 or UTF-32, without an incomplete unit at the end.
    static func units<Unit: FixedWidthInteger>(of data: Data, as type: Unit.Type, isBig: Bool) -> [Unit] {
        let bytes = data.span
        let size = MemoryLayout<Unit>.size
        var units: [Unit] = []
        units.reserveCapacity(bytes.count / size + 1)
        for index in stride(from: 0, through: bytes.count - size, by: size) {
            var unit: Unit = 0
            for offset in 0..<size { unit = unit << 8 | Unit(bytes[index + (isBig ? offset : size - 1 - offset)]) }
            units.append(unit)
        }
        return units
    }

    /// Decodes each byte to the Unicode scalar with the same number.
    static func decodeLatin1(_ data: Data) -> String {
        decode(data) { Unicode.Scalar($0) }
    }

    static func decodeWindows1252(_ data: Data) -> String {
        decode(data) { byte in
            byte < 0xA0 ? windows1252Scalars[Int(byte) - 0x80] : Unicode.Scalar(byte)
        }
    }

    /// Decodes bytes below 0x80 as ASCII, and other bytes with a closure.
    private static func decode(_ data: Data, _ scalar: (UInt8) -> Unicode.Scalar) -> String {
        let upper = (0x80...0xFF).map { Array(String(Character(scalar($0))).utf8) }
        let bytes = data.span
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + bytes.count / 8)
        for index in bytes.indices {
            let byte = bytes[index]
            if byte < 0x80 {
                text.append(byte)
            } else {
                text.append(contentsOf: upper[Int(byte) - 0x80])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The scalars of the bytes 0x80 to 0x9F.
    ///
    /// The five unassigned bytes are decoded to the scalars with the same number, as in the Encoding Standard.
    private static let windows1252Scalars: [Unicode.Scalar] = [
        "\u{20AC}", "\u{81}", "\u{201A}", "\u{192}", "\u{201E}", "\u{2026}", "\u{2020}", "\u{2021}",
        "\u{2C6}", "\u{2030}", "\u{160}", "\u{2039}", "\u{152}", "\u{8D}", "\u{17D}", "\u{8F}",
        "\u{90}", "\u{2018}", "\u{2019}", "\u{201C}", "\u{201D}", "\u{2022}", "\u{2013}", "\u{2014}",
        "\u{2DC}", "\u{2122}", "\u{161}", "\u{203A}", "\u{153}", "\u{9D}", "\u{17E}", "\u{178}",
    ]
}

/// Decodes text according to the rules of ``StringResponseSerializer``.
enum TextDecoder {
    /// Decodes text in a fixed encoding, or in the encoding of the byte order mark or of the response.
    ///
    /// If `repairs` is `true`, U+FFFD replaces malformed bytes.
    static func decode(
        _ data: Data, encoding: String.Encoding?, charset: String?, repairs: Bool = false
    ) throws(RequestError) -> String {
        do throws(RequestError) {
            return try decodeWellFormed(data, encoding: encoding, charset: charset)
        } catch {
            guard repairs else { throw error }
            var framer = TextFramer(encoding: encoding, charset: charset)
            let text = (try? framer.decode(data)).flatMap { start in (try? framer.finish()).map { start + $0 } }
            // Text in a charset that cannot be decoded is most likely UTF-8.
            return text ?? String(repairing: data.span)
        }
    }

    private static func decodeWellFormed(
        _ data: Data, encoding: String.Encoding?, charset: String?
    ) throws(RequestError) -> String {
        if let encoding { return try decode(data, Charset(encoding), name: nil) }
        if let marked = Charset(byteOrderMarkOf: data) { return try decode(data, marked, name: nil) }
        // An empty charset is ignored.
        guard let charset, !charset.isEmpty else { return detect(data) }
        return try decode(data, Charset(name: charset), name: charset)
    }

    private static func decode(_ data: Data, _ charset: Charset, name: String?) throws(RequestError) -> String {
        guard let text = charset.decode(data) else {
            throw RequestError(.serialization(.stringSerializationFailed(encoding: name ?? charset.name)))
        }
        return text
    }

    /// Decodes text without a declared charset.
    static func detect(_ data: Data) -> String {
        Charset.utf8.decode(data) ?? Charset.decodeWindows1252(data)
    }
}
