import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct SystemTextDecoderTests {
    /// Text in each of the system's charsets: what is ASCII in all of them is between what is not.
    static let texts: [(String, [UInt8], String)] = [
        ("iso-8859-15", [0xA4, 0x41, 0xBE], "€AŸ"), ("ISO-8859-2", [0xB9, 0xE8], "šč"), ("latin3", [0xFD], "ŭ"),
        ("iso-8859-4", [0xE0], "ā"), ("iso-8859-5", [0xB6, 0xD8], "Жи"), ("iso-8859-6", [0xC7, 0xC8], "اب"),
        ("greek", [0xE1, 0xF9], "αω"), ("iso-8859-8-i", [0xE0], "א"), ("iso-8859-9", [0xFD, 0xFE, 0x80], "ış€"),
        ("iso-8859-10", [0xE0], "ā"), ("iso-8859-13", [0xE0], "ą"), ("iso-8859-14", [0xA1], "Ḃ"),
        ("iso-8859-16", [0xA4, 0xBA], "€ș"), ("koi8-r", [0xF0, 0xD2, 0x41], "ПрA"), ("KOI8-U", [0xA4, 0xA6], "єі"),
        ("macintosh", [0x8E, 0xDB, 0xCA], "é€\u{A0}"), ("x-mac-cyrillic", [0x80, 0xE0], "Аа"),
        ("tis-620", [0xA1, 0x80], "ก€"), ("windows-1250", [0x8A, 0x9E], "Šž"), ("windows-1251", [0xC6, 0xE8], "Жи"),
        ("windows-1253", [0xE1], "α"), ("windows-1254", [0xDD], "İ"), ("windows-1255", [0xE0, 0xE9, 0xA4], "אי₪"),
        ("windows-1256", [0xC7], "ا"), ("windows-1257", [0xE0], "ą"), ("windows-1258", [0xFE, 0x41], "₫A"),
        ("ibm866", [0x80, 0xE0], "Ар"), ("cp437", [0x82, 0xE3], "éπ"), ("cp850", [0xD5], "ı"), ("cp852", [0xE7], "š"),
        ("gb2312", [0xC4, 0xE3, 0x41, 0xBA, 0xC3], "你A好"), ("gbk", [0x81, 0x40, 0xC4, 0xE3], "丂你"),
        ("gb18030", [0x81, 0x30, 0x89, 0x37, 0x94, 0x39, 0xDA, 0x33, 0x41], "Þ💩A"),
        ("big5", [0xA7, 0x41, 0x41, 0xA6, 0x6E], "你A好"), ("big5-hkscs", [0x88, 0x62, 0x41], "Ê̄A"),
        ("euc-kr", [0xC7, 0xD1, 0x41, 0x81, 0x41], "한A갂"), ("euc-jp", [0xA4, 0xA2, 0x41, 0x8F, 0xB0, 0xA1], "あA丂"),
        ("shift_jis", [0x41, 0x82, 0xA0, 0xB1, 0x87, 0x40], "Aあｱ①"),
        ("iso-2022-jp", [0x41, 0x1B, 0x24, 0x42, 0x24, 0x22, 0x1B, 0x28, 0x42, 0x41], "AあA"),
    ]

    @Test func `the system supports every name of the table`() {
        for charset in SystemCharset.all {
            #expect(charset.isAvailable, "\(charset)")
        }
    }

    @Test func `a charset without a table of the system is unknown`() throws {
        let missing = SystemCharset(name: "x-missing", systemName: "X-MISSING")
        #expect(!missing.isAvailable)
        #expect(Charset(missing) == .unknown("x-missing"))
        #expect(Charset.system(missing).decode(Data([0x41])) == nil)
    }

    @Test func `few bytes wait for the rest of a character`() throws {
        let charset = try #require(SystemCharset.named("gb18030"))
        let decoder = try #require(SystemTextDecoder(charset))
        for _ in 0..<100_000 {
            #expect(decoder.decode(Data([0x81]), isLast: false, repairs: true) != nil)
        }
        let end = try #require(decoder.decode(Data(), isLast: true, repairs: true))
        #expect(end.unicodeScalars.count <= 8)
    }

    @Test func `a megabyte of Japanese is decoded, whole and in pieces that split characters`() throws {
        let charset = try #require(SystemCharset.named("shift_jis"))
        let bytes = Data((0..<1 << 20).map { $0.isMultiple(of: 2) ? 0x82 : 0xA0 })
        let expected = String(repeating: "あ", count: 1 << 19)
        let decoder = try #require(SystemTextDecoder(charset))
        #expect(decoder.decode(bytes, isLast: true, repairs: false) == expected)
        var text = ""
        for start in stride(from: 0, to: bytes.count, by: 1021) {
            let piece = bytes[start..<min(start + 1021, bytes.count)]
            text += try #require(decoder.decode(piece, isLast: false, repairs: false))
        }
        text += try #require(decoder.decode(Data(), isLast: true, repairs: false))
        #expect(text == expected)
    }
}
