import Bluebonnet
import FoundationEssentials
import Testing

@Suite struct LineFramerTests {
    private static func lines(
        _ chunks: [Data], limit: Int = LineFramer.defaultLimit, lineEnd: LineFramer.LineTerminator = .lineFeed
    ) throws -> [String] {
        var framer = LineFramer(limit: limit, lineEnd: lineEnd)
        var lines: [String] = []
        for chunk in chunks {
            framer.append(chunk)
            while let line = try framer.nextText() { lines.append(line) }
        }
        framer.finish()
        while let line = try framer.nextText() { lines.append(line) }
        #expect(framer.count == lines.count)
        return lines
    }

    @Test(
        arguments: [
            ("", []), ("\n", [""]), ("\r\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\r\n", ["a"]),
            ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]), ("a\n\nb\n", ["a", "", "b"]),
            ("\n\n\n", ["", "", ""]), ("a\rb\n", ["a\rb"]), ("a\r\r\nb", ["a\r", "b"]), ("\r\r\n", ["\r"]),
            ("a\r", ["a\r"]), ("\r", ["\r"]), ("a\n\r", ["a", "\r"]), ("\n\r\n", ["", ""]),
            ("é\n€\n😀", ["é", "€", "😀"]),
            (
                "a long line that fits into no small value\r\nanother one of the same kind, and longer\n",
                [
                    "a long line that fits into no small value", "another one of the same kind, and longer",
                ]
            ),
        ] as [(String, [String])])
    func `lines end with LF and CRLF, wherever the pieces end`(_ text: String, expected: [String]) throws {
        for chunks in Chunking.everyWay(text) {
            #expect(try Self.lines(chunks) == expected, "\(chunks.map { Array($0) })")
        }
    }

    @Test(
        arguments: [
            ("", []), ("\n", [""]), ("\r\n", [""]), ("\r", [""]), ("\r\r", ["", ""]), ("\n\r", ["", ""]),
            ("\r\n\r\n", ["", ""]), ("\r\r\n", ["", ""]), ("\n\n\r\n\r\r", ["", "", "", "", ""]),
            ("a\rb\nc\r\nd", ["a", "b", "c", "d"]),
            ("a\r\n\nb", ["a", "", "b"]), ("a\r", ["a"]), ("a", ["a"]),
            ("aa\rbb\rcc\rdd\nee\r", ["aa", "bb", "cc", "dd", "ee"]),
        ] as [(String, [String])])
    func `lines of event streams also end with CR, wherever the pieces end`(_ text: String, expected: [String]) throws {
        for chunks in Chunking.everyWay(text) {
            #expect(try Self.lines(chunks, lineEnd: .any) == expected, "\(chunks.map { Array($0) })")
        }
    }

    @Test func `A line that ends with CR does not wait for the next byte`() throws {
        var framer = LineFramer(lineEnd: .any)
        framer.append(Data("a\r".utf8))
        #expect(try framer.nextText() == "a")
        framer.append(Data("\nb\r".utf8))
        #expect(try framer.nextText() == "b")
        #expect(try framer.nextText() == nil)
    }

    @Test func `The current line can be read as bytes, as a span and as text`() throws {
        for chunks in Chunking.everyWay("\n0123456789abcdefghij\r\nrest") {
            var framer = LineFramer()
            var found: [[UInt8]] = []
            for index in 0...chunks.count {
                if index < chunks.count { framer.append(chunks[index]) } else { framer.finish() }
                while try framer.advance() {
                    let copied = framer.withLine { span in span.indices.map { span[$0] } }
                    #expect(Array(framer.line) == copied)
                    #expect(framer.text == String(decoding: copied, as: UTF8.self))
                    found.append(copied)
                }
                #expect(framer.line.isEmpty && framer.withLine { $0.isEmpty })
            }
            #expect(found == [[], Array("0123456789abcdefghij".utf8), Array("rest".utf8)])
        }
    }

    @Test func `A stored line does not change when more bytes are added`() throws {
        var framer = LineFramer()
        var kept: [Data] = []
        for chunk in Chunking.everyWay("first line of them\nsecond line of them\n")[1] {
            framer.append(chunk)
            if try framer.advance() { kept.append(framer.line) }
        }
        #expect(kept.map { String(decoding: $0, as: UTF8.self) } == ["first line of them", "second line of them"])
    }

    @Test func `Pieces can be added before the lines of earlier pieces were read`() throws {
        var framer = LineFramer()
        framer.append(Data("a\nb".utf8))
        #expect(try framer.nextText() == "a")
        framer.append(Data("c\nd".utf8))
        framer.append(Data("e\n".utf8))
        framer.finish()
        #expect(try framer.nextText() == "bc")
        #expect(try framer.nextText() == "de")
        #expect(try framer.nextText() == nil)
    }

    @Test(arguments: ["12345\n", "12345\r\n", "12345", "\n12345\r\n12345", "12345\r\n\r\n"])
    func `A line of the maximum length is returned`(_ text: String) throws {
        for chunks in Chunking.everyWay(text) {
            #expect(try Self.lines(chunks, limit: 5).contains("12345"))
            #expect(try Self.lines(chunks, limit: 5, lineEnd: .any).contains("12345"))
        }
    }

    @Test(arguments: ["123456\n", "123456\r\n", "123456", "12345\n123456", "12345\r6\n", "12345\r\r\n", "12345\r"])
    func `A longer line is an error, wherever the pieces end`(_ text: String) throws {
        for chunks in Chunking.everyWay(text) {
            let error = try #require(throws: RequestError.self) { try Self.lines(chunks, limit: 5) }
            #expect(error.kind == .invalidResponse(.bodyTooLarge(limit: 5)))
            #expect(error.detail?.contains("a line") == true)
        }
    }

    @Test func `A line without an end fails permanently as soon as it is too long`() throws {
        var framer = LineFramer(limit: 1000)
        let chunk = Data(repeating: 0x78, count: 300)
        for _ in 0..<3 {
            framer.append(chunk)
            #expect(try !framer.advance())
        }
        framer.append(chunk)
        #expect(throws: RequestError.self) { try framer.advance() }
        framer.append(Data("\nnext\n".utf8))
        #expect(throws: RequestError.self) { try framer.advance() }
    }

    @Test(arguments: [LineFramer.LineTerminator.lineFeed, .any])
    func `the time for many lines is proportional to their number`(_ lineEnd: LineFramer.LineTerminator)
        throws
    {
        // Quadratic work would take minutes.
        let text = String(repeating: lineEnd == .any ? "x\r" : "x\n", count: 200_000)
        let data = Data(text.utf8)
        #expect(try Self.lines([data], lineEnd: lineEnd).count == 200_000)
        #expect(try Self.lines(data.map { Data([$0]) }, lineEnd: lineEnd).count == 200_000)
        let long = [Data](repeating: Data(repeating: 0x78, count: 64), count: 50_000)
        #expect(try Self.lines(long, lineEnd: lineEnd).map(\.utf8.count) == [3_200_000])
    }
}
