import Bluebonnet
import FoundationEssentials
import Testing

/// The form encoder with values of all shapes, usually with the default options.
struct FormEncoderValueTests {
    private static func encode(_ value: any Encodable, _ encoder: URLEncodedFormEncoder = .init()) throws -> String {
        try encoder.encode(value)
    }

    @Test(
        arguments: [
            (["a": Int.min], "a=-9223372036854775808"), (["a": Int8.min], "a=-128"), (["a": Int16.min], "a=-32768"),
            (["a": Int32.max], "a=2147483647"), (["a": Int64.max], "a=9223372036854775807"),
            (["a": UInt.max], "a=18446744073709551615"), (["a": UInt8.max], "a=255"), (["a": UInt16.max], "a=65535"),
            (["a": UInt32.max], "a=4294967295"), (["a": UInt64.max], "a=18446744073709551615"),
            (["a": Int128.min], "a=-170141183460469231731687303715884105728"),
            (["a": UInt128.max], "a=340282366920938463463374607431768211455"),
            (["a": 1.0], "a=1.0"), (["a": Float(0.1)], "a=0.1"), (["a": 1e100], "a=1e%2B100"), (["a": -0.0], "a=-0.0"),
            (["a": Double.infinity], "a=inf"), (["a": Double.nan], "a=nan"),
            (["a": true], "a=1"), (["a": "b"], "a=b"), (["a": ""], "a="),
            (["a": Decimal(string: "1234567890.0987654321")], "a=1234567890.0987654321"),
            (["a": [Decimal(string: "-0.5")]], "a%5B%5D=-0.5"),
            (
                ["a": UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))],
                "a=00010203-0405-0607-0809-0A0B0C0D0E0F"
            ),
            (["a": URL(string: "http://h/?b=c")], "a=http%3A//h/?b%3Dc"),
            (["a": Suit.hearts], "a=hearts"), (["a": Optional<Int>.some(1)], "a=1"),
            (["a": Optional<Optional<Int>>.some(.some(1))], "a=1"),
        ] as [(any Encodable & Sendable, String)])
    func `single values are written as their descriptions`(
        value: any Encodable & Sendable, expected: String
    ) throws {
        #expect(try Self.encode(value) == expected)
    }

    private enum Suit: String, Encodable {
        case hearts
    }

    @Test(
        arguments: [
            ([String: Int](), ""), ([1: "b", 2: "c"], "1=b&2=c"), (["a": ["b": "b"]], "a%5Bb%5D=b"),
            (["a": Set([3, 1, 2])], "a%5B%5D=1&a%5B%5D=2&a%5B%5D=3"), (["a": [Int]()], ""), (["a": ["b": [Int]()]], ""),
            (["a": [[Int](), [1]]], "a%5B%5D%5B%5D=1"), (["a": ["x": 1], "b": ["y": 2]], "a%5Bx%5D=1&b%5By%5D=2"),
            (["a": 1...2], "a%5B%5D=1&a%5B%5D=2"), (["": ["": 1]], "%5B%5D=1"),
            (["foo": [["bar": 2], ["qux": 3]]], "foo%5B%5D%5Bbar%5D=2&foo%5B%5D%5Bqux%5D=3"),
            (["foo&bar": "baz&qux", "foobar": "bazqux"], "foo%26bar=baz%26qux&foobar=bazqux"),
        ] as [(any Encodable & Sendable, String)])
    func `collections are encoded as keys`(value: any Encodable & Sendable, expected: String) throws {
        #expect(try Self.encode(value) == expected)
    }

    @Test(
        arguments: [
            ([1], "an array"), ([["a": 1]], "an array"), ("string", "a single value"), (1, "a single value"),
            (true, "a single value"), (Date(timeIntervalSince1970: 0), "a single value"), (Data(), "a single value"),
        ] as [(any Encodable & Sendable, String)])
    func `a value without keys is refused`(value: any Encodable & Sendable, shape: String) {
        let error = #expect(throws: URLEncodedFormEncoder.Error.self) { try Self.encode(value) }
        #expect(error == .invalidRootObject(shape))
    }

    private struct Structure: Encodable {
        let one = "one"
        let two = 2
        let three = true
        let four = [1, 2, 3]
        let five = ["a": "a"]
        let six = ["a": ["b": "b"]]
        let seven = Nested()

        struct Nested: Encodable {
            let a = "a"
        }
    }

    @Test func `a structure has its members as keys`() throws {
        #expect(
            try Self.encode(Structure())
                == "five%5Ba%5D=a&four%5B%5D=1&four%5B%5D=2&four%5B%5D=3&one=one&seven%5Ba%5D=a"
                + "&six%5Ba%5D%5Bb%5D=b&three=1&two=2")
        #expect(
            try Self.encode(Structure(), .init(alphabetizeKeyValuePairs: false))
                == "one=one&two=2&three=1&four%5B%5D=1&four%5B%5D=2&four%5B%5D=3&five%5Ba%5D=a"
                + "&six%5Ba%5D%5Bb%5D=b&seven%5Ba%5D=a")
        #expect(
            try Self.encode(["foo": [Structure.Nested()]], .init(arrayEncoding: .indexInBrackets))
                == "foo%5B0%5D%5Ba%5D=a")
    }

    private class Base: Encodable {
        let one = "one"
        let two = 2
    }

    private final class Derived: Base {
        let usesSuperEncoder: Bool
        let four = [1, 2]

        init(usesSuperEncoder: Bool) { self.usesSuperEncoder = usesSuperEncoder }

        enum CodingKeys: CodingKey {
            case four
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(four, forKey: .four)
            try super.encode(to: usesSuperEncoder ? container.superEncoder() : encoder)
        }
    }

    @Test(arguments: [true, false])
    func `members of a superclass are encoded next to members of its subclass`(usesSuperEncoder: Bool) throws {
        let value = Derived(usesSuperEncoder: usesSuperEncoder)
        #expect(try Self.encode(value) == "four%5B%5D=1&four%5B%5D=2&one=one&two=2")
    }

    @Test func `superEncoder keeps the coding path`() throws {
        struct Value: Encodable {
            enum CodingKeys: CodingKey {
                case four, five
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(["a": "a"], forKey: .five)
                try container.encode([1, 2, 3], forKey: .four)
                var own = container.superEncoder().container(keyedBy: CodingKeys.self)
                try own.encode("one", forKey: .four)
                var keyed = container.superEncoder(forKey: .four).container(keyedBy: CodingKeys.self)
                try keyed.encode(2, forKey: .five)
                var list = container.nestedUnkeyedContainer(forKey: .four)
                var ofList = list.superEncoder().container(keyedBy: CodingKeys.self)
                try ofList.encode("one", forKey: .four)
            }
        }
        #expect(try Self.encode(Value()) == "five%5Ba%5D=a&four%5Bfive%5D=2&four%5Bfour%5D=one")
    }

    private struct Mixed: Encodable {
        enum CodingKeys: CodingKey {
            case root, a
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            var replaced = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .root)
            try replaced.encode(1, forKey: .a)
            var list = container.nestedUnkeyedContainer(forKey: .root)
            try list.encode([1, 2])
            var keyed = list.nestedContainer(keyedBy: CodingKeys.self)
            try keyed.encode(["b": "c"], forKey: .a)
            var inner = list.nestedUnkeyedContainer()
            try inner.encode([3])
            try inner.encodeNil()
        }
    }

    @Test func `containers can be nested, and the last kind of container is used`() throws {
        #expect(
            try Self.encode(Mixed())
                == "root%5B%5D%5B%5D%5B%5D=3&root%5B%5D%5B%5D=1&root%5B%5D%5B%5D=2&root%5B%5D%5Ba%5D%5Bb%5D=c")
        #expect(
            try Self.encode(Mixed(), .init(arrayEncoding: .indexInBrackets, nilEncoding: .null))
                == "root%5B0%5D%5B0%5D=1&root%5B0%5D%5B1%5D=2&root%5B1%5D%5Ba%5D%5Bb%5D=c"
                + "&root%5B2%5D%5B0%5D%5B0%5D=3&root%5B2%5D%5B1%5D=null")
    }

    @Test func `an enumeration with associated values has its cases as keys`() throws {
        enum Shape: Encodable {
            case circle(radius: Int)
            case point
        }
        #expect(try Self.encode(["a": Shape.circle(radius: 2)]) == "a%5Bcircle%5D%5Bradius%5D=2")
        #expect(try Self.encode(["a": Shape.point]) == "")
    }

    @Test func `a key that is written twice keeps its position and the last value`() throws {
        struct Value: Encodable {
            enum CodingKeys: CodingKey {
                case a, b
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(1, forKey: .a)
                try container.encode(2, forKey: .b)
                try container.encode([3], forKey: .a)
            }
        }
        #expect(try Self.encode(Value(), .init(alphabetizeKeyValuePairs: false)) == "a%5B%5D=3&b=2")
    }

    @Test func `a value that requests every container in turn does not trap`() throws {
        struct Odd: Encodable {
            enum CodingKeys: CodingKey {}

            func encode(to encoder: any Encoder) throws {
                var single = encoder.singleValueContainer()
                try single.encode(1)
                try single.encode(2)
                var list = encoder.unkeyedContainer()
                try list.encode(3)
                _ = encoder.container(keyedBy: CodingKeys.self)
            }
        }
        #expect(try Self.encode(["a": Odd()]) == "a%5B%5D=3")
    }

    @Test func `a value that encodes nothing has no key`() throws {
        struct Nothing: Encodable {
            func encode(to encoder: any Encoder) {}
        }
        #expect(try Self.encode(Nothing()) == "")
        #expect(try Self.encode(["a": Nothing()]) == "")
    }

    @Test func `coding paths say where a value is`() {
        struct Refusing: Encodable {
            func encode(to encoder: any Encoder) throws {
                throw EncodingError.invalidValue(
                    0, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: ""))
            }
        }
        let error = #expect(throws: EncodingError.self) { try Self.encode(["a": ["b": [[Refusing()]]]]) }
        guard case .invalidValue(_, let context) = error else { return }
        #expect(context.codingPath.map(\.stringValue) == ["a", "b", "Index 0", "Index 0"])
        #expect(context.codingPath.map(\.intValue) == [nil, nil, 0, 0])
    }

    private final class Endless: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(self, forKey: .next)
        }

        enum CodingKeys: CodingKey {
            case next
        }
    }

    private struct Tower: Encodable {
        let height: Int

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            if height > 1 { try container.encode(Tower(height: height - 1)) } else { try container.encode(7) }
        }
    }

    private struct Wrapper: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self)
        }
    }

    @Test func `endlessly nested values are refused`() {
        let error = URLEncodedFormEncoder.Error.nestedTooDeeply(limit: 128)
        #expect(throws: error) { try Self.encode(Endless()) }
        #expect(throws: error) { try Self.encode(["a": Wrapper()]) }
        #expect(throws: error) { try Self.encode(["a": Tower(height: 100_000)]) }
    }

    @Test func `values are nested up to 128 deep`() throws {
        let encoder = URLEncodedFormEncoder(arrayEncoding: .custom { key, _ in key })
        #expect(try Self.encode(["a": Tower(height: 127)], encoder) == "a=7")
        #expect(throws: URLEncodedFormEncoder.Error.self) { try Self.encode(["a": Tower(height: 128)], encoder) }
    }

    @Test(.timeLimit(.minutes(10))) func `the time for many values is proportional to their number`() throws {
        let members = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("key\($0)", $0) })
        #expect(try Self.encode(members).utf8.count { $0 == UInt8(ascii: "&") } == 19_999)
        let list = try Self.encode(["a": Array(0..<20_000)])
        #expect(list.utf8.count { $0 == UInt8(ascii: "&") } == 19_999)
    }
}
