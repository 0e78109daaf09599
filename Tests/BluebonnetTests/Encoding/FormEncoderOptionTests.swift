import Bluebonnet
import FoundationEssentials
import Testing

/// The output of each option of the form encoder for its values.
struct FormEncoderOptionTests {
    typealias Encoder = URLEncodedFormEncoder

    @Test(arguments: [
        (Encoder.ArrayEncoding.brackets, "a%5B%5D=1&a%5B%5D=2"),
        (.noBrackets, "a=1&a=2"),
        (.indexInBrackets, "a%5B0%5D=1&a%5B1%5D=2"),
        (.custom { key, index in "\(key)-\(index + 1)" }, "a-1=1&a-2=2"),
    ])
    func `arrays have keys`(option: Encoder.ArrayEncoding, expected: String) throws {
        #expect(try Encoder(arrayEncoding: option).encode(["a": [1, 2]]) == expected)
    }

    @Test(arguments: [
        (Encoder.ArrayEncoding.brackets, "a%5B%5D%5B%5D=1&a%5B%5D%5B%5D=2&a%5B%5D%5B%5D=3"),
        (.noBrackets, "a=1&a=2&a=3"),
        (.indexInBrackets, "a%5B0%5D%5B0%5D=1&a%5B0%5D%5B1%5D=2&a%5B1%5D%5B0%5D=3"),
        (.custom { key, index in "\(key).\(index)" }, "a.0.0=1&a.0.1=2&a.1.0=3"),
    ])
    func `arrays of arrays have keys of keys`(option: Encoder.ArrayEncoding, expected: String) throws {
        #expect(try Encoder(arrayEncoding: option).encode(["a": [[1, 2], [3]]]) == expected)
    }

    @Test(arguments: [(Encoder.BoolEncoding.numeric, "f=0&t=1"), (.literal, "f=false&t=true")])
    func `Bool values are numbers or words`(option: Encoder.BoolEncoding, expected: String) throws {
        #expect(try Encoder(boolEncoding: option).encode(["t": true, "f": false]) == expected)
    }

    @Test(arguments: [
        (Encoder.DataEncoding.base64, "d=ZGF0YQ%3D%3D"),
        (.deferredToData, "d%5B%5D=100&d%5B%5D=97&d%5B%5D=116&d%5B%5D=97"),
        (.custom { "\($0.count) bytes" }, "d=4%20bytes"),
    ])
    func `bytes are Base64 or a custom text`(option: Encoder.DataEncoding, expected: String) throws {
        let encoder = Encoder(alphabetizeKeyValuePairs: false, dataEncoding: option)
        #expect(try encoder.encode(["d": Data("data".utf8)]) == expected)
    }

    @Test(arguments: [
        (Encoder.DateEncoding.deferredToDate, "d=123.456"),
        (.secondsSince1970, "d=978307323.456"),
        (.millisecondsSince1970, "d=978307323456.0"),
        (.iso8601, "d=2001-01-01T00%3A02%3A03Z"),
        (.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)), "d=2001-01-01T00%3A02%3A03.456Z"),
        (.formatted(Date.ISO8601FormatStyle().year().month().day()), "d=2001-01-01"),
        (.custom { "\($0.timeIntervalSinceReferenceDate)s" }, "d=123.456s"),
    ])
    func `dates have the selected format`(option: Encoder.DateEncoding, expected: String) throws {
        let date = Date(timeIntervalSinceReferenceDate: 123.456)
        #expect(try Encoder(dateEncoding: option).encode(["d": date]) == expected)
        #expect(try Encoder(dateEncoding: option).encode(["d": Optional(date)]) == expected)
    }

    @Test(arguments: [
        (Encoder.KeyEncoding.useDefaultKeys, "oneTwoThree", "oneTwoThree"),
        (.convertToSnakeCase, "oneTwoThree", "one_two_three"),
        (.convertToSnakeCase, "myURLProperty", "my_url_property"),
        (.convertToSnakeCase, "myURL", "my_url"),
        (.convertToSnakeCase, "URLKey", "u_rl_key"),
        (.convertToSnakeCase, "One", "one"),
        (.convertToSnakeCase, "a", "a"),
        (.convertToSnakeCase, "A", "a"),
        (.convertToSnakeCase, "", ""),
        (.convertToSnakeCase, "oneÄndern", "one_%C3%A4ndern"),
        (.convertToSnakeCase, "one_two", "one_two"),
        (.convertToSnakeCase, "v2Beta", "v2_beta"),
        (.convertToSnakeCase, "aB", "a_b"),
        (.convertToSnakeCase, "aBCd", "a_b_cd"),
        (.convertToKebabCase, "oneTwoThree", "one-two-three"),
        (.convertToKebabCase, "myURLProperty", "my-url-property"),
        (.capitalized, "oneTwoThree", "OneTwoThree"),
        (.capitalized, "", ""),
        (.uppercased, "oneTwoThree", "ONETWOTHREE"),
        (.lowercased, "oneTwoThree", "onetwothree"),
        (.custom { _ in "A b" }, "oneTwoThree", "A%20b"),
    ])
    func `keys are converted, values are not`(option: Encoder.KeyEncoding, key: String, expected: String) throws {
        #expect(try Encoder(keyEncoding: option).encode([key: "oneTwoThree"]) == "\(expected)=oneTwoThree")
    }

    @Test(arguments: [
        (Encoder.KeyEncoding.convertToSnakeCase, "outer_key%5Binner_key%5D%5B%5D=1"),
        (.capitalized, "OuterKey%5BinnerKey%5D%5B%5D=1"),
        (.uppercased, "OUTERKEY%5BINNERKEY%5D%5B%5D=1"),
        (.custom { String($0.reversed()) }, "%5D%5B%5DyeKrenni%5ByeKretuo=1"),
    ])
    func `a key is converted as a whole, with the keys around it`(
        option: Encoder.KeyEncoding, expected: String
    ) throws {
        #expect(try Encoder(keyEncoding: option).encode(["outerKey": ["innerKey": [1]]]) == expected)
    }

    @Test(arguments: [
        (Encoder.KeyPathEncoding.brackets, "a%5Bb%5D%5Bc%5D=1"),
        (.dots, "a.b.c=1"),
        (Encoder.KeyPathEncoding { "/\($0)" }, "a/b/c=1"),
    ])
    func `nested keys follow the keys around them`(option: Encoder.KeyPathEncoding, expected: String) throws {
        #expect(try Encoder(keyPathEncoding: option).encode(["a": ["b": ["c": 1]]]) == expected)
    }

    @Test(arguments: [
        (Encoder.NilEncoding.dropKey, "b=1&list%5B%5D=1&list%5B%5D=2"),
        (.dropValue, "a=&b=1&list%5B%5D=&list%5B%5D=1&list%5B%5D=2"),
        (.null, "a=null&b=1&list%5B%5D=1&list%5B%5D=2&list%5B%5D=null"),
        (Encoder.NilEncoding { "no ne" }, "a=no%20ne&b=1&list%5B%5D=1&list%5B%5D=2&list%5B%5D=no%20ne"),
    ])
    func `nil values are left out, empty or written`(option: Encoder.NilEncoding, expected: String) throws {
        struct Value: Encodable {
            let a: Int?
            let b: Int?
            let list: [Int?]
        }
        #expect(try Encoder(nilEncoding: option).encode(Value(a: nil, b: 1, list: [1, nil, 2])) == expected)
    }

    @Test func `optional members of every type are handled alike`() throws {
        struct Value: Encodable {
            var a: Bool?, b: String?, c: Double?, d: Float?, e: Int?, f: Int8?, g: Int16?, h: Int32?, i: Int64?
            var j: UInt?, k: UInt8?, l: UInt16?, m: UInt32?, n: UInt64?, o: Date?, p: Data?, q: [Int]?, r: Decimal?
            var s: Int128?, t: UInt128?
        }
        let expected = "abcdefghijklmnopqrst".map { "\($0)=null" }.joined(separator: "&")
        #expect(try Encoder(nilEncoding: .null).encode(Value()) == expected)
        #expect(try Encoder().encode(Value()) == "")
    }

    @Test func `nil values of a dictionary are handled alike`() throws {
        let value: [String: Int?] = ["a": nil, "b": .some(1)]
        #expect(try Encoder().encode(value) == "b=1")
        #expect(try Encoder(nilEncoding: .dropValue).encode(value) == "a=&b=1")
        #expect(try Encoder(nilEncoding: .null).encode(value) == "a=null&b=1")
    }

    @Test func `a nil element that is left out has no index`() throws {
        let encoder = Encoder(arrayEncoding: .indexInBrackets)
        #expect(try encoder.encode(["a": [nil, 1, nil, 2]]) == "a%5B0%5D=1&a%5B1%5D=2")
    }

    @Test(arguments: [
        (Encoder.SpaceEncoding.percentEscaped, "a%20b=c%20d%20%20e"),
        (.plusReplaced, "a+b=c+d++e"),
    ])
    func `spaces are escaped or pluses`(option: Encoder.SpaceEncoding, expected: String) throws {
        #expect(try Encoder(spaceEncoding: option).encode(["a b": "c d  e"]) == expected)
    }

    @Test func `pluses are always escaped`() throws {
        #expect(try Encoder(spaceEncoding: .plusReplaced).encode(["+a+": "+ "]) == "%2Ba%2B=%2B+")
    }

    @Test func `pairs are sorted at each level, as text`() throws {
        struct Value: Encodable {
            let b = ["z": 1, "y": 2]
            let a = [10, 9, 8]
            let aa = 0
        }
        #expect(
            try Encoder().encode(Value())
                == "a%5B%5D=10&a%5B%5D=8&a%5B%5D=9&aa=0&b%5By%5D=2&b%5Bz%5D=1")
    }

    @Test func `pairs that are not sorted keep the order of encoding`() throws {
        struct Inner: Encodable {
            let z = 1
            let y = 2
        }
        struct Value: Encodable {
            let b = Inner()
            let a = [10, 9, 8]
            let aa = 0
        }
        #expect(
            try Encoder(alphabetizeKeyValuePairs: false).encode(Value())
                == "b%5Bz%5D=1&b%5By%5D=2&a%5B%5D=10&a%5B%5D=9&a%5B%5D=8&aa=0")
    }

    @Test(arguments: [
        ("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
        ("-._~/?", "-._~/?"),
        (":#[]@!$&'()*+,;=", "%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"),
        (" \"#%<>[]\\^`{}|", "%20%22%23%25%3C%3E%5B%5D%5C%5E%60%7B%7D%7C"),
        ("\u{0}\t\r\n\u{7f}", "%00%09%0D%0A%7F"),
        ("%25", "%2525"),
        ("français", "fran%C3%A7ais"),
        ("日本語", "%E6%97%A5%E6%9C%AC%E8%AA%9E"),
        ("العربية", "%D8%A7%D9%84%D8%B9%D8%B1%D8%A8%D9%8A%D8%A9"),
        ("😃", "%F0%9F%98%83"),
        ("", ""),
    ])
    func `keys and values are escaped`(text: String, expected: String) throws {
        #expect(try Encoder().encode(["k": text]) == "k=\(expected)")
        #expect(try Encoder().encode([text: "v"]) == "\(expected)=v")
    }

    @Test func `allowed characters can be changed`() throws {
        var allowed = Encoder.AllowedCharacters.queryParameters
        allowed.remove("?/a\u{e9}")
        #expect(try Encoder(allowedCharacters: allowed).encode(["b": "?/a-é"]) == "b=%3F%2F%61-%C3%A9")
        allowed.insert("?: é")
        #expect(try Encoder(allowedCharacters: allowed).encode(["b": "?: é"]) == "b=?:%20%C3%A9")
        #expect(Encoder.AllowedCharacters("ba") == Encoder.AllowedCharacters("abb"))
        #expect(Set([Encoder.AllowedCharacters("a"), Encoder.AllowedCharacters("~")]).count == 2)
    }

    @Test func `a long text is escaped completely`() throws {
        let text = String(repeating: "一二三", count: 20_000)
        let expected = String(repeating: "%E4%B8%80%E4%BA%8C%E4%B8%89", count: 20_000)
        #expect(try Encoder().encode(["a": text]) == "a=\(expected)")
    }

    @Test func `encoding to bytes and to text gives the same result`() throws {
        #expect(try Encoder().encode(["a": "b c"]) == Data("a=b%20c".utf8))
    }
}
