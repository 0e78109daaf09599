import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct TextFramerTests {
    private static func text(
        _ chunks: [Data], encoding: String.Encoding? = nil, charset: String? = nil
    ) throws -> String {
        var framer = TextFramer(encoding: encoding, charset: charset)
        var text = String.UnicodeScalarView()
        for chunk in chunks { text += try framer.decode(chunk).unicodeScalars }
        text += try framer.finish().unicodeScalars
        return String(text)
    }

    /// Compares scalars: two strings can be equal with different ones.
    private static func expect(
        _ bytes: [UInt8], _ expected: String, encoding: String.Encoding? = nil, charset: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for chunks in Chunking.everyWay(bytes) {
            let text = try text(chunks, encoding: encoding, charset: charset)
            #expect(
                text.unicodeScalars.map(\.value) == expected.unicodeScalars.map(\.value),
                "\(chunks.map { Array($0) })", sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: ["", "plain", "é", "€uro", "😀", "aé€😀z", "e\u{301}", "\r\n", "a\0b", "\u{10FFFF}\u{FFFF}"])
    func `UTF-8 is decoded, wherever the pieces end`(_ text: String) throws {
        try Self.expect(Array(text.utf8), text)
        try Self.expect(Array(text.utf8), text, charset: "UTF-8")
        try Self.expect(Array(text.utf8), text, charset: "us-ascii")
        try Self.expect(Array(text.utf8), text, charset: "x-unheard-of")
        try Self.expect(Array(text.utf8), text, encoding: .utf8)
    }

    @Test(
        arguments: [
            ([0x41, 0xFF, 0x42], "A\u{FFFD}B"), ([0xC0, 0x80], "\u{FFFD}\u{FFFD}"), ([0x80, 0xBF], "\u{FFFD}\u{FFFD}"),
            ([0xC3], "\u{FFFD}"), ([0xE2, 0x82], "\u{FFFD}"), ([0xF0, 0x9F, 0x98], "\u{FFFD}"),
            ([0xE2, 0x82, 0x41], "\u{FFFD}A"), ([0xE2, 0x41, 0x82], "\u{FFFD}A\u{FFFD}"),
            ([0xE2, 0x82, 0xE2, 0x82, 0xAC], "\u{FFFD}€"), ([0xC3, 0xC3, 0xA9], "\u{FFFD}é"),
            ([0xE0, 0x80, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"), ([0xE0, 0x9F], "\u{FFFD}\u{FFFD}"),
            ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"), ([0xED, 0x9F, 0xBF], "\u{D7FF}"),
            ([0xF0, 0x80, 0x80, 0x41], "\u{FFFD}\u{FFFD}\u{FFFD}A"),
            ([0xF0, 0x8F, 0xBF, 0xBF], "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
            ([0xF4, 0x90, 0x80, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"), ([0xF4, 0x8F, 0xBF, 0xBF], "\u{10FFFF}"),
            ([0xF5, 0x80], "\u{FFFD}\u{FFFD}"), ([0xF8, 0x88, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ([0xF1, 0x80, 0x80, 0x41, 0xE1, 0x80, 0xC2, 0x62, 0x80, 0x63], "\u{FFFD}A\u{FFFD}\u{FFFD}b\u{FFFD}c"),
        ] as [([UInt8], String)])
    func `malformed UTF-8 is replaced, wherever the pieces end`(_ bytes: [UInt8], expected: String) throws {
        try Self.expect(bytes, expected)
        try Self.expect([0x78] + bytes, "x" + expected, encoding: .utf8)
    }

    @Test func `The first byte order mark is not part of the text, but a second byte order mark is`() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        try Self.expect(mark, "")
        try Self.expect(mark + [0x41], "A")
        try Self.expect(mark + mark + [0x41], "\u{FEFF}A")
        try Self.expect([0x41] + mark, "A\u{FEFF}")
        try Self.expect(mark + [0x41], "A", charset: "iso-8859-1")
        try Self.expect(mark + [0x41], "A", encoding: .utf8)
        try Self.expect([0xEF, 0xBB], "\u{FFFD}")
        try Self.expect([0xEF, 0xBB, 0x41], "\u{FFFD}A")
    }

    @Test(
        arguments: [
            ("utf-16", [0xFE, 0xFF, 0x00, 0x41, 0x20, 0xAC], "A€"), ("utf-16", [0xFF, 0xFE, 0x41, 0x00], "A"),
            ("utf-16", [0x41, 0x00, 0xAC, 0x20], "A€"), ("utf-16be", [0x00, 0x41, 0xD8, 0x3D, 0xDE, 0x00], "A😀"),
            ("utf-16le", [0x3D, 0xD8, 0x00, 0xDE, 0x41, 0x00], "😀A"), ("utf-16be", [0xFF, 0xFE, 0x41, 0x00], "A"),
            ("utf-16be", [0xD8, 0x3D, 0x00, 0x41], "\u{FFFD}A"), ("utf-16be", [0xDE, 0x00, 0x00, 0x41], "\u{FFFD}A"),
            ("utf-16be", [0x00, 0x41, 0xD8, 0x3D], "A\u{FFFD}"), ("utf-16be", [0x00, 0x41, 0x00], "A\u{FFFD}"),
            ("utf-16be", [0xD8, 0x3D, 0x00], "\u{FFFD}"), ("utf-16le", [0x41], "\u{FFFD}"),
            ("utf-16be", [0xD8, 0x3D, 0xD8, 0x3D, 0xDE, 0x00], "\u{FFFD}😀"),
            ("utf-32", [0xFF, 0xFE, 0x00, 0x00, 0x00, 0xF6, 0x01, 0x00], "😀"),
            ("utf-32", [0x00, 0x00, 0xFE, 0xFF, 0x00, 0x01, 0xF6, 0x00], "😀"), ("utf-32", [0x41, 0, 0, 0], "A"),
            ("utf-32be", [0, 0, 0, 0x41, 0, 0x11, 0, 0], "A\u{FFFD}"),
            ("utf-32le", [0x41, 0, 0, 0, 0x42], "A\u{FFFD}"),
            ("utf-32le", [0, 0xD8, 0, 0, 0x42, 0, 0, 0], "\u{FFFD}B"),
            (nil, [0xFF, 0xFE, 0x41, 0x00], "A"), (nil, [0xFE, 0xFF, 0x00, 0x41], "A"),
            (nil, [0xFF, 0xFE, 0x00, 0x00, 0x41, 0x00], "\0A"), (nil, [0xFF], "\u{FFFD}"),
            (nil, [0xFF, 0x41], "\u{FFFD}A"),
        ] as [(String?, [UInt8], String)])
    func `UTF-16 and UTF-32 are decoded, and a byte order mark takes precedence over the charset`(
        _ charset: String?, bytes: [UInt8], expected: String
    ) throws {
        try Self.expect(bytes, expected, charset: charset)
    }

    @Test(
        arguments: [
            ("iso-8859-1", [0x41, 0xE9, 0x80], "Aé€"), ("iso-8859-1", [0xFE], "þ"),
            ("latin1", [0xEF, 0xBB], "ï»"),
            ("windows-1252", [0x80, 0x93, 0xE9, 0x81], "€“é\u{81}"), ("windows-1251", [0xC6, 0xE8], "Жи"),
            ("shift_jis", [0x41, 0x82, 0xA0, 0x42], "AあB"),
        ] as [(String, [UInt8], String)])
    func `other charsets are decoded`(
        _ charset: String, bytes: [UInt8], expected: String
    ) throws {
        try Self.expect(bytes, expected, charset: charset)
    }

    @Test(
        arguments: [
            (String.Encoding.utf8, [0xFF, 0xFE, 0x41], "\u{FFFD}\u{FFFD}A"), (.isoLatin1, [0xFF, 0xFE], "ÿþ"),
            (.utf16LittleEndian, [0xFE, 0xFF, 0x41, 0x00], "\u{FFFE}A"), (.utf16, [0xFE, 0xFF, 0x00, 0x41], "A"),
            (.utf16BigEndian, [0x00, 0x41], "A"), (.utf32, [0x00, 0x00, 0xFE, 0xFF, 0x00, 0x00, 0x00, 0x41], "A"),
            (.utf32LittleEndian, [0x41, 0, 0, 0], "A"), (.ascii, [0x41], "A"),
        ] as [(String.Encoding, [UInt8], String)])
    func `a required encoding takes precedence over all other information`(
        _ encoding: String.Encoding, bytes: [UInt8], expected: String
    ) throws {
        try Self.expect(bytes, expected, encoding: encoding, charset: "utf-16")
    }

    @Test(
        arguments: [
            ("shift_jis", [0x82], "\u{FFFD}"), ("shift_jis", [0xFF, 0xFF, 0x41, 0x41], "\u{FFFD}\u{FFFD}AA"),
            ("gb18030", [0x41, 0x81, 0x30, 0x81], "A\u{FFFD}"), ("iso-8859-7", [0x41, 0xFF, 0x42], "A\u{FFFD}B"),
            ("windows-1255", [0xE9, 0xFF, 0x41], "י\u{FFFD}A"),
            ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x24, 0x22, 0xFF, 0x24, 0x22], "あ\u{FFFD}あ"),
        ] as [(String, [UInt8], String)])
    func `malformed bytes in a charset of the system are replaced, wherever the pieces end`(
        _ charset: String, bytes: [UInt8], expected: String
    ) throws {
        try Self.expect(bytes, expected, charset: charset)
    }

    @Test(
        arguments: [("x-unheard-of", [0x41, 0xE9]), ("utf-7", [0x80]), ("koi8-r//TRANSLIT", [0xC1])]
            as [(String, [UInt8])])
    func `text in an unknown charset is an error with its name, unless it is UTF-8`(
        _ charset: String, bytes: [UInt8]
    ) throws {
        try Self.expect(Array("a\u{FEFF}é€".utf8), "a\u{FEFF}é€", charset: charset)
        for chunks in Chunking.everyWay(bytes) {
            let error = try #require(throws: RequestError.self) { try Self.text(chunks, charset: charset) }
            #expect(error.kind == .serialization(.stringSerializationFailed(encoding: charset.lowercased())))
        }
    }

    @Test(arguments: SystemTextDecoderTests.texts)
    func `text in a charset of the system is decoded, wherever the pieces end`(
        _ charset: String, bytes: [UInt8], expected: String
    ) throws {
        var text = String.UnicodeScalarView()
        for chunks in Chunking.everyWay(bytes) {
            text = String.UnicodeScalarView(try Self.text(chunks, charset: charset).unicodeScalars)
            #expect(String(text) == expected, "\(chunks.map { Array($0) })")
        }
    }

    @Test func `Text is returned as soon as it is complete`() throws {
        var framer = TextFramer()
        #expect(try framer.decode(Data([0x41, 0xE2])) == "A")
        #expect(try framer.decode(Data([0x82])) == "")
        #expect(try framer.decode(Data([0xAC, 0x42])) == "€B")
        #expect(try framer.decode(Data([0xED])) == "")
        // It can no longer become a scalar.
        #expect(try framer.decode(Data([0xA0])) == "\u{FFFD}\u{FFFD}")
        #expect(try framer.finish() == "")
    }

    @Test(arguments: [
        ("a\r\nbé\n", "utf-8"), ("a\r\nbé\n", "utf-16"), ("a\r\nbé\nĊ\u{A00}\n", "utf-16"), ("é\nz\n", "utf-32"),
        ("a\r\nbé\n", "iso-8859-1"), ("\n\n", "utf-16"),
    ])
    func `lines are found in any charset`(_ text: String, charset: String) throws {
        let bytes: [UInt8] =
            switch charset {
            case "utf-16": text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            case "utf-32": text.unicodeScalars.flatMap { [UInt8($0.value & 0xFF), UInt8($0.value >> 8), 0, 0] }
            case "iso-8859-1": text.unicodeScalars.map { UInt8($0.value) }
            default: Array(text.utf8)
            }
        let expected = text.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
        for chunks in Chunking.everyWay(bytes) {
            var framer = TextLineFramer(charset: charset)
            var lines: [String] = []
            for chunk in chunks {
                try framer.append(chunk)
                while let line = try framer.next() { lines.append(line) }
            }
            try framer.finish()
            while let line = try framer.next() { lines.append(line) }
            #expect(lines == expected.dropLast().map { String($0) })
        }
    }

    @Test func `Lines contain replacements and later byte order marks, but not the first byte order mark`() throws {
        let bytes: [UInt8] = [0xEF, 0xBB, 0xBF, 0x41, 0x0A, 0xEF, 0xBB, 0xBF, 0x42, 0x0A, 0xC3, 0x0A, 0xE2, 0x82]
        for chunks in Chunking.everyWay(bytes) {
            var framer = TextLineFramer()
            for chunk in chunks { try framer.append(chunk) }
            try framer.finish()
            var lines: [[Unicode.Scalar]] = []
            while let line = try framer.next() { lines.append(Array(line.unicodeScalars)) }
            #expect(lines == [["A"], ["\u{FEFF}", "B"], ["\u{FFFD}"], ["\u{FFFD}"]])
        }
    }

    @Test func `A line of text that is too long is an error`() throws {
        var framer = TextLineFramer(charset: "iso-8859-1", limit: 3)
        try framer.append(Data([0xE9, 0xE9]))
        let error = try #require(throws: RequestError.self) { try framer.next() }
        #expect(error.kind == .invalidResponse(.bodyTooLarge(limit: 3)))
    }
}
