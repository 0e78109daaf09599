import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Bytes with a content type, and the text in them.
struct EncodedText: Sendable {
    let contentType: String?
    let bytes: [UInt8]
    let text: String

    init(_ contentType: String?, _ bytes: [UInt8], _ text: String) {
        self.contentType = contentType
        self.bytes = bytes
        self.text = text
    }
}

@Suite struct TextEncodingTests {
    @Test(arguments: [
        EncodedText("text/plain; charset=utf-8", Array("é€".utf8), "é€"),
        EncodedText("text/plain; charset=\"UTF-8\"", Array("é€".utf8), "é€"),
        EncodedText("text/plain;CHARSET=utf8", Array("é€".utf8), "é€"),
        EncodedText("text/plain; charset=iso-8859-1", [0x41, 0xE9, 0x80, 0x93, 0x81], "Aé€“\u{81}"),
        EncodedText("text/plain; charset=latin1", [0x94], "”"),
        EncodedText("text/plain; charset=ISO-8859-1", Array("é".utf8), "Ã©"),
        EncodedText("text/plain; charset=windows-1252", [0x80, 0x93, 0x41, 0x94, 0xE9, 0x81], "€“A”é\u{81}"),
        EncodedText("text/plain; charset=us-ascii", Array("abc".utf8), "abc"),
        EncodedText("text/plain; charset=us-ascii", Array("é".utf8), "é"),
        EncodedText("text/plain; charset=us-ascii", [0xE9, 0x92], "é’"),
        EncodedText("text/plain; charset=utf-16", [0xFE, 0xFF, 0x00, 0x41, 0x20, 0xAC], "A€"),
        EncodedText("text/plain; charset=utf-16", [0xFF, 0xFE, 0x41, 0x00, 0xAC, 0x20], "A€"),
        EncodedText("text/plain; charset=utf-16", [0x41, 0x00], "A"),
        EncodedText("text/plain; charset=utf-16be", [0x00, 0x41, 0xD8, 0x3D, 0xDE, 0x00], "A😀"),
        EncodedText("text/plain; charset=utf-16le", [0x41, 0x00, 0x3D, 0xD8, 0x00, 0xDE], "A😀"),
        EncodedText("text/plain; charset=iso-10646-ucs-2", [0xFE, 0xFF, 0x00, 0x41], "A"),
        EncodedText("text/plain; charset=utf-32", [0x00, 0x00, 0xFE, 0xFF, 0x00, 0x01, 0xF6, 0x00], "😀"),
        EncodedText("text/plain; charset=utf-32", [0xFF, 0xFE, 0x00, 0x00, 0x00, 0xF6, 0x01, 0x00], "😀"),
        EncodedText("text/plain; charset=utf-32", [0x41, 0x00, 0x00, 0x00], "A"),
        EncodedText("text/plain; charset=utf-32be", [0x00, 0x00, 0x00, 0x41], "A"),
        EncodedText("text/plain; charset=utf-32le", [0x41, 0x00, 0x00, 0x00], "A"),
    ])
    func `the response's charset is used`(_ example: EncodedText) throws {
        #expect(try decode(example.bytes, contentType: example.contentType) == example.text)
    }

    @Test(arguments: [
        EncodedText(nil, Array("é€😀".utf8), "é€😀"), EncodedText("text/plain", Array("é".utf8), "é"),
        EncodedText(nil, [0x41, 0xE9], "Aé"), EncodedText("text/html", [0xC3, 0xA9, 0xFF], "Ã©ÿ"),
        EncodedText("text/plain; charset=", Array("é".utf8), "é"),
    ])
    func `without a charset, the encoding is UTF-8 if valid, otherwise ISO-8859-1`(_ example: EncodedText) throws {
        #expect(try decode(example.bytes, contentType: example.contentType) == example.text)
    }

    @Test(arguments: [
        EncodedText("text/plain; charset=iso-8859-1", [0xEF, 0xBB, 0xBF, 0xC3, 0xA9], "é"),
        EncodedText(nil, [0xEF, 0xBB, 0xBF, 0x41], "A"),
        EncodedText("text/plain; charset=utf-8", [0xEF, 0xBB, 0xBF], ""),
        EncodedText(nil, [0xFF, 0xFE, 0x41, 0x00], "A"), EncodedText(nil, [0xFE, 0xFF, 0x00, 0x41], "A"),
        EncodedText("text/plain; charset=utf-16be", [0xFF, 0xFE, 0x41, 0x00], "A"),
        EncodedText("text/plain; charset=utf-16le", [0xFF, 0xFE, 0x41, 0x00], "A"),
        EncodedText(nil, [0x00, 0x00, 0xFE, 0xFF, 0x00, 0x00, 0x00, 0x41], "A"),
        EncodedText(nil, [0xFF, 0xFE, 0x00, 0x00, 0x41, 0x00, 0x00, 0x00], "A"),
        EncodedText(nil, [0xFF, 0xFE, 0x00, 0x00, 0x41, 0x00], "\0A"),
    ])
    func `a byte order mark overrides the charset and is not part of the text`(_ example: EncodedText) throws {
        let text = try decode(example.bytes, contentType: example.contentType)
        #expect(Array(text.unicodeScalars) == Array(example.text.unicodeScalars))
    }

    @Test(
        arguments: [
            ("text/plain; charset=utf-8", [0x41, 0xFF], "utf-8"), ("text/plain; charset=UTF-8", [0xC3], "utf-8"),
            ("text/plain; charset=utf-8", [0xED, 0xA0, 0x80], "utf-8"),
            ("text/plain; charset=utf-16le", [0x00, 0xD8, 0x41, 0x00], "utf-16le"),
            ("text/plain; charset=utf-16be", [0x00], "utf-16be"),
            ("text/plain; charset=utf-32", [0x41, 0x00], "utf-32"),
            ("text/plain; charset=utf-32le", [0x00, 0x00, 0x11, 0x00], "utf-32le"),
            ("text/plain", [0xEF, 0xBB, 0xBF, 0xFF], "utf-8"),
        ] as [(String, [UInt8], String)])
    func `malformed text is an error with its charset`(
        _ contentType: String, bytes: [UInt8], charset: String
    ) throws {
        let error = try #require(throws: RequestError.self) { try decode(bytes, contentType: contentType) }
        #expect(error.kind == .serialization(.stringSerializationFailed(encoding: charset)))
    }

    @Test(arguments: SystemTextDecoderTests.texts)
    func `text in a charset of the system is decoded`(
        _ charset: String, bytes: [UInt8], text: String
    ) throws {
        #expect(try decode(bytes, contentType: "text/plain; charset=\(charset)") == text)
    }

    @Test(
        arguments: [
            "x-unheard-of", "koi8-r//TRANSLIT", "koi8-r//IGNORE", "../../tmp/x", "utf-7", "iso-2022-kr",
            "x-user-defined", "internal", "cp1251,utf-8", String(repeating: "k", count: 100_000),
        ])
    func `an unknown charset is an error, except for UTF-8 text`(_ charset: String) throws {
        #expect(try decode(Array("abc é".utf8), contentType: "text/plain; charset=\"\(charset)\"") == "abc é")
        let error = try #require(throws: RequestError.self) {
            try decode([0x41, 0xE9], contentType: "text/plain; charset=\"\(charset)\"")
        }
        #expect(error.kind == .serialization(.stringSerializationFailed(encoding: charset.lowercased())))
    }

    @Test(
        arguments: [
            (String.Encoding.utf8, Array("é".utf8), "é"), (.isoLatin1, Array("é".utf8), "Ã©"),
            (.utf8, [0xEF, 0xBB, 0xBF, 0x41], "A"),
            (.windowsCP1252, [0x80], "€"), (.utf16, [0xFE, 0xFF, 0x00, 0x41], "A"),
            (.utf16BigEndian, [0x00, 0x41], "A"),
            (.utf16LittleEndian, [0x41, 0x00], "A"), (.utf32BigEndian, [0x00, 0x00, 0x00, 0x41], "A"),
            (.ascii, [0x41], "A"),
            (.isoLatin1, [0xFF, 0xFE], "ÿþ"), (.macOSRoman, [0x8E, 0xDB], "é€"), (.windowsCP1251, [0xC6], "Ж"),
        ] as [(String.Encoding, [UInt8], String)])
    func `a required encoding takes precedence over all other information`(
        _ encoding: String.Encoding, bytes: [UInt8], text: String
    ) throws {
        #expect(try decode(bytes, contentType: "text/plain; charset=utf-16", encoding: encoding) == text)
    }

    @Test(
        arguments: [
            (String.Encoding.ascii, [0x41, 0xE9], "us-ascii"), (.utf8, [0xE9], "utf-8"), (.utf16, [0x41], "utf-16"),
            (.shiftJIS, [0x82], "shift_jis"), (.iso2022JP, [0x1B, 0x24], "iso-2022-jp"),
        ] as [(String.Encoding, [UInt8], String)])
    func `bytes that are not valid in the required encoding are an error`(
        _ encoding: String.Encoding, bytes: [UInt8], name: String
    ) throws {
        let error = try #require(throws: RequestError.self) { try decode(bytes, contentType: nil, encoding: encoding) }
        #expect(error.kind == .serialization(.stringSerializationFailed(encoding: name)))
    }

    @Test func `a megabyte of each kind of bytes is decoded`() throws {
        let bytes = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0) }
        let text = try decode(bytes, contentType: nil, encoding: .isoLatin1)
        #expect(text.unicodeScalars.count == bytes.count)
        #expect(text.unicodeScalars.elementsEqual(bytes.lazy.map { Unicode.Scalar($0) }))
    }

    @Test(
        arguments: [
            ("text/plain; charset=utf-8", [0x41, 0xFF, 0x42], nil, "A\u{FFFD}B"),
            ("text/plain; charset=utf-8", [0x41, 0xE2, 0x82], nil, "A\u{FFFD}"),
            ("text/plain; charset=utf-16le", [0x41, 0x00, 0x00, 0xD8], nil, "A\u{FFFD}"),
            ("text/plain; charset=shift_jis", [0x41, 0x82, 0xA0, 0x82], nil, "Aあ\u{FFFD}"),
            ("text/plain; charset=x-none", [0x41, 0xFF], nil, "A\u{FFFD}"), (nil, [0x41, 0xFF], .utf8, "A\u{FFFD}"),
            (nil, [0x41, 0xE9], .ascii, "A\u{FFFD}"), (nil, [0x41, 0xE9], nil, "Aé"), (nil, [], nil, ""),
            ("text/plain; charset=iso-8859-1", [0xEF, 0xBB, 0xBF, 0xFF], nil, "\u{FFFD}"),
        ] as [(String?, [UInt8], String.Encoding?, String)])
    func `malformed bytes are replaced on demand`(
        _ contentType: String?, bytes: [UInt8], encoding: String.Encoding?, expected: String
    ) throws {
        let serializer = StringResponseSerializer(
            encoding: encoding, replacesMalformedBytes: true, emptyResponseCodes: [200])
        #expect(try serializer.serialize(serializerInput(Data(bytes), contentType: contentType)) == expected)
    }

    @Test func `a request replaces malformed bytes on demand`() async throws {
        let transport = StubTransport()
        let (bytes, headers) = (Data([0x41, 0xFF]), HTTPHeaders(["Content-Type": "text/plain; charset=utf-8"]))
        transport.stub(nil, "/", .response(headers: headers, body: bytes))
        let session = Session(transport: transport)
        func request() -> DataRequest { session.request("http://stub.test/") }
        #expect(try await request().serializingString(replacesMalformedBytes: true).value == "A\u{FFFD}")
        #expect(try await request().serializingResponse(using: .lossyString).value == "A\u{FFFD}")
        #expect(await request().serializingString().response.error != nil)
        await session.shutdown()
    }

    private func decode(_ bytes: [UInt8], contentType: String?, encoding: String.Encoding? = nil) throws -> String {
        try StringResponseSerializer(encoding: encoding)
            .serialize(serializerInput(Data(bytes), contentType: contentType))
    }
}
