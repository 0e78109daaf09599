import Bluebonnet
import FoundationEssentials
import Testing

@Suite struct JSONValueTests {
    let json: JSONValue = [
        "name": "Ada", "age": 36, "height": 1.65, "admin": true, "tags": ["a", "b"], "address": ["city": "London"],
        "none": nil,
    ]

    @Test func `members and elements are reached by name and index`() {
        #expect(json["name"]?.string == "Ada")
        #expect(json["tags"]?[1]?.string == "b")
        #expect(json["address"]?["city"] == "London")
        #expect(json["none"]?.isNull == true)
    }

    @Test func `a missing member or element is nil`() {
        #expect(json["missing"] == nil)
        #expect(json["tags"]?[2] == nil)
        #expect(json["tags"]?[-1] == nil)
        #expect(json["tags"]?["name"] == nil)
        #expect(json[0] == nil)
        #expect(json["name"]?[0] == nil)
    }

    @Test func `accessors are nil for other kinds`() {
        #expect(json["name"]?.int == nil && json["name"]?.double == nil && json["name"]?.bool == nil)
        #expect(json["name"]?.array == nil && json["name"]?.object == nil && json["name"]?.decimal == nil)
        #expect(json["age"]?.string == nil && json["admin"]?.int == nil)
        #expect(json["tags"]?.array == ["a", "b"] && json["address"]?.object == ["city": "London"])
        #expect(json["admin"]?.bool == true)
    }

    @Test(arguments: [
        ("5", 5, 5.0, "5"), ("5.0", 5, 5.0, "5"), ("5.5", nil, 5.5, "5.5"), ("1e3", 1000, 1000.0, "1000"),
        ("-7", -7, -7.0, "-7"), ("9223372036854775808", nil, 9.223372036854775808e18, "9223372036854775808"),
        ("1e400", nil, nil, nil), ("1e30", nil, 1e30, "1000000000000000000000000000000"),
        ("123456789012345678901234567890", nil, 1.2345678901234568e29, "123456789012345678901234567890"),
    ])
    func `numbers convert to types that can represent them`(
        _ text: String, int: Int?, double: Double?, decimal: String?
    ) throws {
        let value = try JSONValue(parsing: text)
        #expect(value.int == int)
        #expect(value.double == double)
        #expect(value.decimal?.description == decimal)
    }

    @Test func `an integer beyond Int64 is read as UInt64`() throws {
        #expect(try JSONValue(parsing: "18446744073709551615").uint64 == .max)
        #expect(try JSONValue(parsing: "18446744073709551616").uint64 == nil)
        #expect(try JSONValue(parsing: "-1").uint64 == nil)
    }

    @Test func `integers and doubles differ`() {
        #expect(JSONValue.integer(1) != .double(1))
        #expect(Set<JSONValue>([1, 1.0, 1]).count == 2)
    }

    @Test(arguments: ["", "01", "1.", "-", "1e", "+1", "0x1", "1 ", " 1", "NaN", "1,0", "--1", "1e5.0", "１"])
    func `a malformed number is not a JSONNumber`(_ text: String) {
        #expect(JSONNumber(text) == nil)
    }

    @Test(arguments: ["0", "-0", "12", "0.5", "-1.5e-10", "1E+5", "123456789012345678901234567890"])
    func `a well-formed number is a JSONNumber with the same text`(_ text: String) {
        #expect(JSONNumber(text)?.description == text)
    }

    @Test func `a repeated name in a literal does not trap`() {
        let json: JSONValue = ["a": 1, "a": 2]
        #expect(json == ["a": 2])
    }

    @Test(
        arguments: [
            (JSONValue.null, "null"), (true, "true"), (-1, "-1"), (1.0, "1.0"), (1e100, "1e+100"), (0.1, "0.1"),
            (.double(.nan), "null"), (.double(-.infinity), "null"), ("", #""""#), (.array([]), "[]"),
            (.object([:]), "{}"),
            (["b": 1, "a": [nil, "x"]], #"{"a":[null,"x"],"b":1}"#),
            ("\"\\/\u{8}\u{C}\n\r\t\u{1F}\u{7F}é😀", #""\"\\/\u0008\u000c\n\r\t\u001f\u007fé😀""#),
        ] as [(JSONValue, String)])
    func `a description is JSON with sorted names`(_ value: JSONValue, text: String) {
        #expect(value.description == text)
        #expect(value.encode() == Data(text.utf8))
    }

    @Test func `the pretty form is indented`() {
        let json: JSONValue = ["b": [1, [], [:]], "a": ["c": nil]]
        #expect(
            json.prettyDescription == """
                {
                  "a": {
                    "c": null
                  },
                  "b": [
                    1,
                    [],
                    {}
                  ]
                }
                """)
    }

    @Test(arguments: [
        #"{"a":[1,2.5,"x",null,true,{"b":[]}]}"#, "null", "[]", #""text""#, "18446744073709551615",
        "123456789012345678901234567890", "-5", "0.25", "true",
    ])
    func `JSONDecoder and JSONEncoder round-trip the value`(_ text: String) throws {
        let value = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        #expect(try value == JSONValue(parsing: text))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(try String(decoding: encoder.encode(value), as: UTF8.self) == text)
    }

    @Test func `a member of any shape is decoded inside another type`() throws {
        struct Event: Codable, Equatable {
            var name: String
            var payload: JSONValue
            var extra: JSONValue?
        }
        let text = #"{"name":"n","payload":{"deep":[1,"2"]}}"#
        let event = try JSONDecoder().decode(Event.self, from: Data(text.utf8))
        #expect(event == Event(name: "n", payload: ["deep": [1, "2"]], extra: nil))
    }

    @Test func `a property list decodes as a JSONValue`() throws {
        let data = try PropertyListEncoder().encode(["a": [1, 2]])
        #expect(try PropertyListDecoder().decode(JSONValue.self, from: data) == ["a": [1, 2]])
    }
}
