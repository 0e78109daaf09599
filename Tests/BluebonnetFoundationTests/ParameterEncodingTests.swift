import BluebonnetFoundation
import BluebonnetTesting
import Foundation
import Testing

/// Untyped parameters, and their encodings.
struct ParameterEncodingTests {
    private static let url = "http://example.com/a"

    private static func query(_ parameters: Parameters, _ encoding: URLEncoding = .queryString) throws -> String? {
        let request = try URLRequest(url: url, method: .get)
        return try encoding.encode(request, with: parameters).url?.query(percentEncoded: true)
    }

    private static func body(_ request: URLRequest) -> String {
        String(decoding: request.httpBody ?? Data(), as: UTF8.self)
    }

    // MARK: URLEncoding

    static let pairs: [(Parameters, String?)] = [
        ([:], nil), (["a": "b"], "a=b"), (["b": 1, "a": 2], "a=2&b=1"), (["a": -1.5], "a=-1.5"),
        (["a": true, "b": false], "a=1&b=0"), (["a": [1, 2]], "a%5B%5D=1&a%5B%5D=2"),
        (["a": ["x": 1, "y": "z"] as [String: any Sendable]], "a%5Bx%5D=1&a%5By%5D=z"),
        (["a": ["b": ["c": [true]]]], "a%5Bb%5D%5Bc%5D%5B%5D=1"),
        (["a": ["a", 1, true] as [any Sendable]], "a%5B%5D=a&a%5B%5D=1&a%5B%5D=1"),
        (["a b": "c&d=e+f"], "a%20b=c%26d%3De%2Bf"), (["ü": "日本"], "%C3%BC=%E6%97%A5%E6%9C%AC"),
        (["a": ":#[]@!$&'()*+,;=?/"], "a=%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D?/"),
        (["a": NSNull()], nil), (["a": Int?.none], nil), (["a": Int?.some(3)], "a=3"), (["a": ""], "a="),
        (["a": NSNumber(value: true), "b": NSNumber(value: 1), "c": NSNumber(value: 1.5)], "a=1&b=1&c=1.5"),
        (["a": UInt64.max, "b": Int64.min], "a=18446744073709551615&b=-9223372036854775808"),
        (["a": NSNumber(value: UInt64.max)], "a=18446744073709551615"),
        (["a": URL(string: "http://b/c?d")], "a=http%3A//b/c?d"), (["a": Decimal(string: "1.10")], "a=1.1"),
        (["a": Data([1, 2, 3])], "a=AQID"), (["a": UInt8(200), "b": Int16(-3), "c": Float(0.5)], "a=200&b=-3&c=0.5"),
    ]

    @Test(arguments: pairs)
    func `parameters are encoded as names and values`(parameters: Parameters, expected: String?) throws {
        #expect(try Self.query(parameters) == expected)
        let request = try URLRequest(url: Self.url, method: .post)
        #expect(try Self.body(URLEncoding.default.encode(request, with: parameters)) == expected ?? "")
    }

    private struct Typed: Encodable, Sendable {
        let flag: Bool
        let list: [Int]
        let map: [String: String]
        let name: String
        let when: Date
        let data: Data
        let number: Double
    }

    @Test func `URLEncoding has the format of URLEncodedFormEncoder`() throws {
        let when = Date(timeIntervalSince1970: 1_000_000.5)
        let data = Data([0, 255, 62])
        let typed = Typed(
            flag: true, list: [1, 3], map: ["x y": "z", "b": "c"], name: "Ω&", when: when, data: data, number: 1e21)
        let untyped: Parameters = [
            "flag": true, "list": [1, 3], "map": ["x y": "z", "b": "c"], "name": "Ω&", "when": when, "data": data,
            "number": 1e21,
        ]
        let expected: String = try URLEncodedFormEncoder().encode(typed)
        #expect(try Self.query(untyped) == expected)
    }

    @Test func `the options select the format of arrays and Bool values`() throws {
        let parameters: Parameters = ["a": [true, false]]
        let list: [(URLEncoding, String)] = [
            (URLEncoding(arrayEncoding: .noBrackets), "a=1&a=0"),
            (URLEncoding(arrayEncoding: .indexInBrackets), "a%5B0%5D=1&a%5B1%5D=0"),
            (URLEncoding(arrayEncoding: .custom { "\($0).\($1)" }), "a.0=1&a.1=0"),
            (URLEncoding(boolEncoding: .literal), "a%5B%5D=true&a%5B%5D=false"),
        ]
        for (encoding, expected) in list { #expect(try Self.query(parameters, encoding) == expected) }
    }

    static let destinations: [(URLEncoding, HTTPMethod, Bool)] = [
        (.default, .get, true), (.default, .head, true), (.default, .delete, true), (.default, .post, false),
        (.default, .put, false), (.default, .patch, false), (.queryString, .post, true), (.httpBody, .get, false),
        (URLEncoding(destination: .methodDependent), .options, false),
    ]

    @Test(arguments: destinations)
    func `parameters go into the query or the body`(encoding: URLEncoding, method: HTTPMethod, isQuery: Bool) throws {
        let request = try URLRequest(url: Self.url + "?x=y", method: method)
        let encoded = try encoding.encode(request, with: ["a": 1])
        #expect(encoded.url?.query == (isQuery ? "x=y&a=1" : "x=y"))
        #expect(Self.body(encoded) == (isQuery ? "" : "a=1"))
        let type = isQuery ? nil : "application/x-www-form-urlencoded; charset=utf-8"
        #expect(encoded.value(forHTTPHeaderField: "Content-Type") == type)
        #expect(try encoding.encode(request, with: nil) == request)
    }

    @Test func `an existing content type is kept`() throws {
        let request = try URLRequest(url: Self.url, method: .post, headers: ["Content-Type": "a/b"])
        let encodings: [any ParameterEncoding] = [
            URLEncoding.default, JSONEncoding.default, PropertyListEncoding.default,
        ]
        for encoding in encodings {
            let encoded = try encoding.encode(request, with: ["a": 1])
            #expect(encoded.headers.dictionary == ["Content-Type": "a/b"])
        }
    }

    @Test func `components and escaping are available to custom encodings`() {
        let encoding = URLEncoding.default
        let components = encoding.queryComponents(fromKey: "a", value: ["b": [1, 2]])
        #expect(components.map { "\($0)=\($1)" } == ["a%5Bb%5D%5B%5D=1", "a%5Bb%5D%5B%5D=2"])
        #expect(encoding.escape("a b&c=ü/?~") == "a%20b%26c%3D%C3%BC/?~")
        #expect(encoding.escape("") == "")
    }

    // MARK: JSONEncoding

    static let objects: [(Parameters, String)] = [
        ([:], "{}"), (["a": [1, 2, 3]], #"{"a":[1,2,3]}"#), (["a": ["b": "c"]], #"{"a":{"b":"c"}}"#),
        (["a": true, "b": 1, "c": NSNull()], #"{"a":true,"b":1,"c":null}"#), (["a": "é/\""], #"{"a":"é\/\""}"#),
        (["a": NSNumber(value: false)], #"{"a":false}"#), (["a": 1.5], #"{"a":1.5}"#),
    ]

    @Test(arguments: objects)
    func `parameters are encoded as JSON`(parameters: Parameters, expected: String) throws {
        let request = try URLRequest(url: Self.url, method: .post)
        let encoded = try JSONEncoding(options: .sortedKeys).encode(request, with: parameters)
        #expect(Self.body(encoded) == expected)
        #expect(encoded.value(forHTTPHeaderField: "Content-Type") == "application/json")
        #expect(try JSONEncoding.default.encode(request, with: nil) == request)
    }

    @Test func `JSON can be pretty-printed and can be any value`() throws {
        let request = try URLRequest(url: Self.url, method: .post)
        #expect(Self.body(try JSONEncoding.prettyPrinted.encode(request, with: ["a": 1])).contains("\n"))
        #expect(Self.body(try JSONEncoding.default.encode(request, withJSONObject: ["a", "b"])) == #"["a","b"]"#)
    }

    @Test(arguments: [["a": Date.now], ["a": Data()], ["a": [Date.now]]] as [Parameters])
    func `a value that JSON cannot represent is an error`(parameters: Parameters) throws {
        let request = try URLRequest(url: Self.url, method: .post)
        let error = #expect(throws: RequestError.self) { try JSONEncoding.default.encode(request, with: parameters) }
        #expect(error?.kind == .parameterEncoding(.encoderFailed))
        #expect(error?.underlying as? JSONEncoding.Error == .invalidJSONObject)
    }

    @Test(arguments: [Double.nan, .infinity])
    func `a number that JSON cannot represent is an error`(number: Double) throws {
        let request = try URLRequest(url: Self.url, method: .post)
        let error = #expect(throws: RequestError.self) { try JSONEncoding.default.encode(request, with: ["a": number]) }
        #expect(error?.kind == .parameterEncoding(.encoderFailed))
    }

    // MARK: PropertyListEncoding

    @Test(arguments: [PropertyListEncoding.default, .xml, .binary])
    func `parameters are encoded as a property list`(encoding: PropertyListEncoding) throws {
        let request = try URLRequest(url: Self.url, method: .post)
        let parameters: Parameters = ["a": [1, 2], "b": true, "c": Date(timeIntervalSince1970: 0), "d": Data([1])]
        let encoded = try encoding.encode(request, with: parameters)
        #expect(encoded.value(forHTTPHeaderField: "Content-Type") == "application/x-plist")
        var format = PropertyListSerialization.PropertyListFormat.openStep
        let body = try #require(encoded.httpBody)
        let read = try unsafe PropertyListSerialization.propertyList(from: body, format: &format) as? [String: Any]
        #expect(format == encoding.format)
        #expect(read?["a"] as? [Int] == [1, 2] && read?["b"] as? Bool == true && read?["d"] as? Data == Data([1]))
        let error = #expect(throws: RequestError.self) { try encoding.encode(request, with: ["a": NSNull()]) }
        #expect(error?.underlying as? PropertyListEncoding.Error == .invalidPropertyList)
    }

    // MARK: Of any type

    @Test func `parameters of any type are copied`() throws {
        let object = try JSONSerialization.jsonObject(
            with: Data(#"{"a":[1,"x",true,null],"b":{"c":1.5},"d":12345678901234567890}"#.utf8))
        let parameters = try #require(object as? [String: Any])
        let request = try URLRequest(url: Self.url, method: .get)
        let query = try URLEncoding.default.encode(request, with: parameters).url?.query
        #expect(query == "a%5B%5D=1&a%5B%5D=x&a%5B%5D=1&b%5Bc%5D=1.5&d=12345678901234567890")
        let body = try JSONEncoding(options: .sortedKeys).encode(request, with: parameters)
        #expect(Self.body(body) == #"{"a":[1,"x",true,null],"b":{"c":1.5},"d":12345678901234567890}"#)
    }

    private final class Strange {}

    @Test func `a value that cannot be copied is an error with the value's key`() throws {
        let request = try URLRequest(url: Self.url, method: .get)
        let parameters: [String: Any] = ["a": ["b": [Strange()]]]
        let error = #expect(throws: RequestError.self) { try URLEncoding.default.encode(request, with: parameters) }
        #expect(error?.kind == .parameterEncoding(.encoderFailed))
        #expect(error?.description.contains(#""a[b][]" is a Strange"#) == true)
    }

    @Test func `repeated fields stay separate when parameters are encoded`() async throws {
        let session = Session(
            transport: StubTransport { .text($0.headers.values(for: "X-Bed").joined(separator: "|")) })
        var headers = HTTPHeaders()
        for bed in ["roses", "irises"] { headers.append(name: "X-Bed", value: bed) }
        let parameters: Parameters = ["a": NSNull()]
        let beds = try await session.request(
            "http://stub.test/", method: .post, parameters: parameters, encoding: JSONEncoding.default, headers: headers
        ).serializingString().value
        #expect(beds == "roses|irises")
    }
}
