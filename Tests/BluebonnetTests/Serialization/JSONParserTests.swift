import Bluebonnet
import FoundationEssentials
import Testing

/// A text and its parsed value.
struct ParsedJSON: Sendable {
    let text: String
    let value: JSONValue

    init(_ text: String, _ value: JSONValue) {
        self.text = text
        self.value = value
    }
}

/// A text that is not JSON, and where and why.
struct NotJSON: Sendable {
    let bytes: [UInt8]
    let reason: JSONParsingError.Reason
    let offset: Int

    init(_ text: String, _ reason: JSONParsingError.Reason, at offset: Int) {
        self.init(bytes: Array(text.utf8), reason, at: offset)
    }

    init(bytes: [UInt8], _ reason: JSONParsingError.Reason, at offset: Int) {
        self.bytes = bytes
        self.reason = reason
        self.offset = offset
    }
}

@Suite struct JSONParserTests {
    static let large = JSONNumber("18446744073709551616").map { JSONValue.number($0) } ?? .null

    @Test(arguments: [
        ParsedJSON("null", .null), ParsedJSON("true", true), ParsedJSON("false", false), ParsedJSON(" \t\r\n1 \n", 1),
        ParsedJSON("\u{FEFF}1", 1), ParsedJSON("[]", []), ParsedJSON("[ ]", []), ParsedJSON("{}", [:]),
        ParsedJSON("{ }", [:]), ParsedJSON("[1,2 , 3]", [1, 2, 3]), ParsedJSON("[[],[[]]]", [[], [[]]]),
        ParsedJSON(#"{"a":1,"b":{"c":[null]}}"#, ["a": 1, "b": ["c": [nil]]]),
        ParsedJSON(#"{"a":1,"a":2}"#, ["a": 2]), ParsedJSON(#"{"":0}"#, ["": 0]),
        ParsedJSON(#"{"é":1,"é":2}"#, ["é": 2]),
    ])
    func `values are parsed`(_ example: ParsedJSON) throws {
        #expect(try JSONValue(parsing: example.text) == example.value)
    }

    @Test(arguments: [
        ParsedJSON("0", 0), ParsedJSON("-1", -1), ParsedJSON("10", 10),
        ParsedJSON("9223372036854775807", .integer(.max)), ParsedJSON("-9223372036854775808", .integer(.min)),
        ParsedJSON("18446744073709551616", large), ParsedJSON("0.0", 0.0), ParsedJSON("1.0", 1.0),
        ParsedJSON("1e2", 100.0), ParsedJSON("1E+2", 100.0), ParsedJSON("25e-1", 2.5), ParsedJSON("-0.5", -0.5),
        ParsedJSON("0.1", 0.1), ParsedJSON("3.141592653589793", 3.141592653589793),
        ParsedJSON("123456789012345678.9", 123456789012345678.9), ParsedJSON("1e22", 1e22), ParsedJSON("1e23", 1e23),
        ParsedJSON("8.98846567431158e307", 8.98846567431158e307), ParsedJSON("5e-324", .double(.leastNonzeroMagnitude)),
        ParsedJSON("2.2250738585072014e-308", .double(.leastNormalMagnitude)), ParsedJSON("1e-400", 0.0),
        ParsedJSON("9007199254740993.0", 9007199254740992.0),
        ParsedJSON("1e00000000000000000000000000000000002", 100.0), ParsedJSON("0e99999999999999999999", 0.0),
        ParsedJSON("0." + String(repeating: "0", count: 400) + "1e401", 1.0),
    ])
    func `numbers are parsed`(_ example: ParsedJSON) throws {
        #expect(try JSONValue(parsing: example.text) == example.value)
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "18446744073709551615",
        "123456789012345678901234567890123456789012345678901234567890", "1e400", "-1.5e999999999999999999999",
    ])
    func `a number beyond the range of its type keeps its digits`(_ text: String) throws {
        let value = try JSONValue(parsing: text)
        #expect(value == JSONNumber(text).map { .number($0) })
        #expect(value.description == text)
    }

    @Test func `minus zero keeps its sign`() throws {
        let zero = try #require(try JSONValue(parsing: "-0").double)
        #expect(zero == 0 && zero.sign == .minus)
        #expect(try JSONValue(parsing: "-0.0").description == "-0.0")
    }

    @Test func `any double reads back as itself`() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let value = Double(bitPattern: generator.next())
            guard value.isFinite else { continue }
            let parsed = try JSONValue(parsing: JSONValue.double(value).description)
            #expect(parsed.double == value)
        }
    }

    @Test(arguments: [
        ParsedJSON(#""""#, ""), ParsedJSON(#""a b""#, "a b"), ParsedJSON(#""é€😀""#, "é€😀"),
        ParsedJSON(#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), ParsedJSON(#""a\nb""#, "a\nb"),
        ParsedJSON(#""\u0041\u00e9\u20AC""#, "Aé€"), ParsedJSON(#""\ud83d\ude00""#, "😀"),
        ParsedJSON(#""x\uD83D\uDE00y""#, "x😀y"), ParsedJSON(#""\u0000""#, "\0"), ParsedJSON(#""\uffff""#, "\u{FFFF}"),
        ParsedJSON(#""\udbff\udfff""#, "\u{10FFFF}"), ParsedJSON(#""é\u00e9é""#, "ééé"),
        ParsedJSON("\"\u{7F}\u{2028}\"", "\u{7F}\u{2028}"),
    ])
    func `strings are parsed`(_ example: ParsedJSON) throws {
        #expect(try JSONValue(parsing: example.text) == example.value)
    }

    @Test(arguments: [
        NotJSON("", .unexpectedEnd, at: 0), NotJSON("  ", .unexpectedEnd, at: 2), NotJSON("nul", .unexpectedEnd, at: 3),
        NotJSON("nulL", .unexpectedByte(0x4C), at: 3), NotJSON("True", .unexpectedByte(0x54), at: 0),
        NotJSON("NaN", .unexpectedByte(0x4E), at: 0), NotJSON("1 2", .trailingBytes, at: 2),
        NotJSON("{} x", .trailingBytes, at: 3), NotJSON("[1,]", .unexpectedByte(0x5D), at: 3),
        NotJSON("[1 2]", .unexpectedByte(0x32), at: 3), NotJSON("[,1]", .unexpectedByte(0x2C), at: 1),
        NotJSON("[1", .unexpectedEnd, at: 2), NotJSON("[", .unexpectedEnd, at: 1),
        NotJSON("]", .unexpectedByte(0x5D), at: 0),
        NotJSON("[1}", .unexpectedByte(0x7D), at: 2), NotJSON("{", .unexpectedEnd, at: 1),
        NotJSON("{1:2}", .unexpectedByte(0x31), at: 1), NotJSON(#"{"a"}"#, .unexpectedByte(0x7D), at: 4),
        NotJSON(#"{"a":}"#, .unexpectedByte(0x7D), at: 5), NotJSON(#"{"a":1,}"#, .unexpectedByte(0x7D), at: 7),
        NotJSON("{'a':1}", .unexpectedByte(0x27), at: 1), NotJSON("// a\n1", .unexpectedByte(0x2F), at: 0),
        NotJSON("1\u{A0}", .trailingBytes, at: 1),
    ])
    func `text that is not JSON is refused with the position`(_ example: NotJSON) {
        #expect(throws: JSONParsingError.self) { try JSONValue(parsing: Data(example.bytes)) }
        expect(example)
    }

    @Test(arguments: [
        NotJSON("01", .malformedNumber, at: 1), NotJSON("-", .unexpectedEnd, at: 1),
        NotJSON("-a", .malformedNumber, at: 1),
        NotJSON("1.", .unexpectedEnd, at: 2), NotJSON("1.e1", .malformedNumber, at: 2),
        NotJSON("1e", .unexpectedEnd, at: 2), NotJSON("1e+", .unexpectedEnd, at: 3),
        NotJSON("[1e]", .malformedNumber, at: 3),
        NotJSON(".5", .unexpectedByte(0x2E), at: 0), NotJSON("+1", .unexpectedByte(0x2B), at: 0),
        NotJSON("0x10", .trailingBytes, at: 1), NotJSON("-01", .malformedNumber, at: 2),
        NotJSON("Infinity", .unexpectedByte(0x49), at: 0), NotJSON("-Infinity", .malformedNumber, at: 1),
    ])
    func `malformed numbers are refused`(_ example: NotJSON) {
        expect(example)
    }

    @Test(arguments: [
        NotJSON(#"""#, .unexpectedEnd, at: 1), NotJSON(#""a"#, .unexpectedEnd, at: 2),
        NotJSON(#""\"#, .unexpectedEnd, at: 2), NotJSON(#""\""#, .unexpectedEnd, at: 3),
        NotJSON(#""\x""#, .malformedEscape, at: 1), NotJSON(#""\u12"#, .unexpectedEnd, at: 5),
        NotJSON(#""\u12G4""#, .malformedEscape, at: 1), NotJSON(#""\ud800""#, .malformedEscape, at: 1),
        NotJSON(#""\udc00""#, .malformedEscape, at: 1), NotJSON(#""\ud800\u0041""#, .malformedEscape, at: 1),
        NotJSON(#""\ud800\ud800""#, .malformedEscape, at: 1), NotJSON(#""\ud800x""#, .malformedEscape, at: 1),
        NotJSON("\"a\nb\"", .controlCharacter, at: 2), NotJSON("\"\\n\t\"", .controlCharacter, at: 3),
        NotJSON("\"\0\"", .controlCharacter, at: 1),
        NotJSON(bytes: [0x22, 0xFF, 0x22], .malformedUTF8, at: 1),
        NotJSON(bytes: [0x22, 0xC0, 0xAF, 0x22], .malformedUTF8, at: 1),
        NotJSON(bytes: [0x22, 0xED, 0xA0, 0x80, 0x22], .malformedUTF8, at: 1),
        NotJSON(bytes: [0x22, 0x5C, 0x6E, 0xE2, 0x82, 0x22], .malformedUTF8, at: 1),
    ])
    func `malformed strings are refused`(_ example: NotJSON) {
        expect(example)
    }

    @Test(arguments: [("[", "]"), (#"{"a":"#, "}")])
    func `values may be nested 512 deep and no deeper`(_ bracket: (open: String, close: String)) throws {
        func text(_ depth: Int) -> String {
            String(repeating: bracket.open, count: depth - 1) + (bracket.open == "[" ? "[" : "{")
                + String(repeating: bracket.close, count: depth)
        }
        var value = try JSONValue(parsing: text(512))
        var depth = 1
        while let inner = value[0] ?? value["a"] {
            value = inner
            depth += 1
        }
        #expect(depth == 512)
        let error = #expect(throws: JSONParsingError.self) { try JSONValue(parsing: text(513)) }
        #expect(error?.reason == .tooDeep)
    }

    @Test func `a million opening brackets are refused`() {
        let error = #expect(throws: JSONParsingError.self) {
            try JSONValue(parsing: Data(repeating: UInt8(ascii: "["), count: 1_000_000))
        }
        #expect(error?.reason == .tooDeep)
    }

    @Test func `random bytes do not trap`() {
        let alphabet =
            Array(#"[]{},:"\u0123456789dDeE+-.tfn alse ru"#.utf8) + [0x00, 0x0A, 0x80, 0xC3, 0xED, 0xF0, 0xFF]
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let count = Int.random(in: 0..<40, using: &generator)
            let bytes = (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] }
            guard let value = try? JSONValue(parsing: Data(bytes)) else { continue }
            #expect((try? JSONValue(parsing: value.encode())) == value)
        }
    }

    @Test func `the parser and the system's decoder read the same values`() {
        let alphabet = [
            "[", "]", "{", "}", ",", ":", "\"a\"", "\"\\u00e9\"", "1", "-2.5", "true", "null", " ", "\"\\ud800\"", "01",
        ]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1..<9)).compactMap { _ in alphabet.randomElement() }.joined()
            let system = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
            let own = try? JSONValue(parsing: text)
            // The system's reads a comma before a closing bracket or brace.
            let dense = text.filter { $0 != " " }
            if own == nil, dense.contains(",]") || dense.contains(",}") { continue }
            #expect(system == own, "\(text)")
        }
    }

    @Test func `a slice of data that does not begin at 0 is parsed`() throws {
        let data = Data("xx[1]yy".utf8)
        #expect(try JSONValue(parsing: data[2..<5]) == [1])
    }

    @Test func `an error contains the position and no part of the text`() {
        let error = #expect(throws: JSONParsingError.self) { try JSONValue(parsing: #"{"password":"hunter2",}"#) }
        #expect(error.map { "\($0)" } == "an unexpected byte, at byte 22")
    }

    private func expect(_ example: NotJSON, sourceLocation: SourceLocation = #_sourceLocation) {
        do throws(JSONParsingError) {
            let value = try JSONValue(parsing: Data(example.bytes))
            Issue.record("parsed as \(value)", sourceLocation: sourceLocation)
        } catch {
            #expect(error.reason == example.reason, sourceLocation: sourceLocation)
            #expect(error.offset == example.offset, sourceLocation: sourceLocation)
        }
    }
}
