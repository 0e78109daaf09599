import Bluebonnet
import FoundationEssentials
import Testing

@Suite struct NewlineDelimitedJSONTests {
    private struct Point: Codable, Hashable {
        var x: Int
    }

    /// Looks at its first byte, which traps in a slice.
    private struct FirstByteDecoder: DataDecoder {
        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            try JSONDecoder().decode(type, from: Data("{\"x\": \(data[0])}".utf8))
        }
    }

    private static func values(_ chunks: [Data], decoder: any DataDecoder = JSONDecoder()) throws -> [Point] {
        var lines = NewlineDelimitedJSON(of: Point.self, decoder: decoder)
        var values: [Point] = []
        for chunk in chunks {
            lines.append(chunk)
            while let value = try lines.next() { values.append(value) }
        }
        lines.finish()
        while let value = try lines.next() { values.append(value) }
        return values
    }

    @Test(
        arguments: [
            ("", []), ("{\"x\":1}", [1]), ("{\"x\":1}\n{\"x\":2}\n", [1, 2]), ("{\"x\":1}\r\n{\"x\":2}\r\n", [1, 2]),
            ("\n \t\r\n{\"x\":1}\n\n\n{\"x\":2}\n \n", [1, 2]), ("\u{FEFF}{\"x\":1}\n{\"x\":2}", [1, 2]),
            (" { \"x\" : 1 } \r\n\t{\"x\":2}\t", [1, 2]), ("\u{FEFF}\n{\"x\":1}", [1]),
        ] as [(String, [Int])])
    func `each line that is not blank is a value`(_ text: String, expected: [Int]) throws {
        for chunks in Chunking.everyWay(text) {
            #expect(try Self.values(chunks) == expected.map { Point(x: $0) })
        }
    }

    /// Decodes the first value, and ignores all other bytes.
    private struct LenientDecoder: DataDecoder {
        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            let end = data.firstIndex(of: UInt8(ascii: "}")) ?? data.startIndex
            return try JSONDecoder().decode(type, from: data[...end])
        }
    }

    @Test func `a decoder that ignores further values loses none`() throws {
        for chunks in Chunking.everyWay("{\"x\":1} {\"x\":2}\n{\"x\":3}\n") {
            #expect(try Self.values(chunks, decoder: LenientDecoder()) == [1, 2, 3].map { Point(x: $0) })
        }
    }

    @Test func `the number of a line does not depend on the chunks`() throws {
        for chunks in Chunking.everyWay("{\"x\":1}{\"x\":2}\nx\n") {
            let error = #expect(throws: RequestError.self) { try Self.values(chunks) }
            #expect(error?.detail == "line 3")
        }
    }

    @Test(
        arguments: [
            ("{\"x\":1}{\"x\":2}", [1, 2]), ("{\"x\":1} {\"x\":2}\n\n{\"x\":3}", [1, 2, 3]),
            ("{\"x\":1,\"s\":\"}{\\\"}{\\\\\"}{\"x\":2,\"a\":[{},[{}]]}\r\n{\"x\":3}", [1, 2, 3]),
            ("\u{FEFF}{\"x\":1}\t{\"x\":2}\r\n", [1, 2]),
        ] as [(String, [Int])])
    func `objects need no line ending between them`(_ text: String, expected: [Int]) throws {
        for chunks in Chunking.everyWay(text) {
            #expect(try Self.values(chunks) == expected.map { Point(x: $0) })
        }
    }

    @Test func `An object is a value when its last bracket arrives`() throws {
        var lines = NewlineDelimitedJSON(of: Point.self)
        lines.append(Data("{\"x\":1".utf8))
        #expect(try lines.next() == nil)
        lines.append(Data("}".utf8))
        #expect(try lines.next()?.x == 1)
        lines.append(Data("\n{\"x\":2}{\"x\":3}\r".utf8))
        #expect(try lines.next()?.x == 2)
        #expect(try lines.next()?.x == 3)
        lines.append(Data("\nnonsense\n".utf8))
        let error = try #require(throws: RequestError.self) { try lines.next() }
        #expect(error.detail == "line 4")
    }

    @Test func `Any decoder can be used, even if it requires an index of 0`() throws {
        for chunks in Chunking.everyWay("Abc, which is a line of some length\nBcd\n") {
            #expect(try Self.values(chunks, decoder: FirstByteDecoder()) == [Point(x: 65), Point(x: 66)])
        }
    }

    @Test(
        arguments: [
            ("{\"x\":1}\n{\"y\":1}\n{\"x\":3}", 2), ("nonsense\n{\"x\":3}\n", 1), ("\n\r\n\n{\"x\":3}\n{\"x\":", 5),
        ] as [(String, Int)])
    func `a line that cannot be decoded is an error with its number, and other lines are values`(
        _ text: String, number: Int
    ) throws {
        for chunks in Chunking.everyWay(text) {
            var lines = NewlineDelimitedJSON(of: Point.self)
            for chunk in chunks { lines.append(chunk) }
            lines.finish()
            var errors: [RequestError] = []
            var values: [Int] = []
            while true {
                do {
                    guard let value = try lines.next() else { break }
                    values.append(value.x)
                } catch {
                    errors.append(error)
                }
            }
            #expect(errors.map(\.kind) == [.serialization(.decodingFailed)])
            #expect(errors.map(\.detail) == ["line \(number)"])
            #expect(errors.first?.underlying is DecodingError)
            #expect(values.last == 3)
        }
    }

    @Test func `A line that is too long is an error`() throws {
        var lines = NewlineDelimitedJSON(of: Point.self, limit: 8)
        lines.append(Data("{\"x\":1}\n{\"x\":10}\n{\"x\":100}".utf8))
        #expect(try lines.next()?.x == 1)
        #expect(try lines.next()?.x == 10)
        for _ in 0..<2 {
            let error = try #require(throws: RequestError.self) { try lines.next() }
            #expect(error.kind == .invalidResponse(.bodyTooLarge(limit: 8)))
        }
    }
}
