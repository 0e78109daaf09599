import Bluebonnet
import FoundationEssentials
import Testing

struct ParameterEncoderTests {
    private struct Refusing: Encodable {
        struct Odd: Error {}

        func encode(to encoder: any Encoder) throws { throw Odd() }
    }

    /// Encodes as a user of the protocol does.
    private static func encode(
        _ parameters: (some Encodable & Sendable)?, _ encoder: any ParameterEncoder, into request: HTTPRequest
    ) throws -> HTTPRequest {
        try encoder.encode(parameters, into: request)
    }

    private static func request(
        _ method: HTTPMethod = .get, _ url: String = "http://h/p", headers: HTTPHeaders = [:]
    ) throws -> HTTPRequest {
        try HTTPRequest(url: url, method: method, headers: headers)
    }

    private static func text(_ request: HTTPRequest) -> String? {
        request.body?.data.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [HTTPMethod.get, .head, .delete])
    func `pairs go into the query of a method without body`(method: HTTPMethod) throws {
        let request = try Self.encode(["a": "b c"], .urlEncodedForm, into: Self.request(method))
        #expect(request.url.absoluteString == "http://h/p?a=b%20c")
        #expect(request.body == nil)
        #expect(request.headers.isEmpty)
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch, .query, .options, HTTPMethod(rawValue: "get")])
    func `pairs go into the body of any other method`(method: HTTPMethod) throws {
        let request = try Self.encode(["a": "b c"], .urlEncodedForm, into: Self.request(method))
        #expect(request.url.absoluteString == "http://h/p")
        #expect(Self.text(request) == "a=b%20c")
        #expect(request.headers == ["Content-Type": "application/x-www-form-urlencoded; charset=utf-8"])
    }

    @Test func `a destination can be chosen for any method`() throws {
        let query = try Self.encode(["a": 1], .urlEncodedForm(destination: .queryString), into: Self.request(.post))
        #expect(query.url.absoluteString == "http://h/p?a=1")
        #expect(query.body == nil)
        #expect(query.headers.isEmpty)
        let body = try Self.encode(["a": 1], .urlEncodedForm(destination: .httpBody), into: Self.request(.delete))
        #expect(body.url.absoluteString == "http://h/p")
        #expect(Self.text(body) == "a=1")
    }

    @Test(arguments: [
        ("http://h", "http://h?a=b"), ("http://h/", "http://h/?a=b"), ("http://h/?", "http://h/?a=b"),
        ("http://h/?x=y", "http://h/?x=y&a=b"), ("http://h/?x=y&", "http://h/?x=y&&a=b"),
        ("http://h/#f", "http://h/?a=b#f"), ("http://h/?x=%20%26#f?g", "http://h/?x=%20%26&a=b#f?g"),
        ("http://u:p@h:80/m%C3%BC;v?x=y+z", "http://u:p@h:80/m%C3%BC;v?x=y+z&a=b"),
        ("http://h/?x?", "http://h/?x?&a=b"),
    ])
    func `pairs are appended to an existing query`(url: String, expected: String) throws {
        let request = try Self.encode(["a": "b"], .urlEncodedForm, into: Self.request(.get, url))
        #expect(request.url.absoluteString == expected)
    }

    @Test func `parameters without pairs do not change the URL`() throws {
        let request = try Self.encode([String: String](), .urlEncodedForm, into: Self.request())
        #expect(request.url.absoluteString == "http://h/p")
    }

    @Test func `pairs that a URL cannot contain are an error`() throws {
        let encoder = URLEncodedFormEncoder(allowedCharacters: .init("\u{0}"))
        let error = #expect(throws: RequestError.self) {
            try Self.encode(["a": "\u{0}"], .urlEncodedForm(encoder: encoder), into: Self.request())
        }
        #expect(error?.kind == .invalidURL)
        #expect(error?.url == "http://h/p?%61=<redacted>")
    }

    @Test(
        arguments: [
            (JSONParameterEncoder.json as any ParameterEncoder, "{\"a\":1}"),
            (JSONParameterEncoder.sortedKeys, "{\"a\":1}"),
            (JSONParameterEncoder.prettyPrinted, "{\n  \"a\" : 1\n}"),
        ] as [(any ParameterEncoder, String)])
    func `JSON goes into the body`(encoder: any ParameterEncoder, expected: String) throws {
        let request = try Self.encode(["a": 1], encoder, into: Self.request(.post))
        #expect(Self.text(request) == expected)
        #expect(request.headers == ["Content-Type": "application/json"])
    }

    @Test func `a custom JSON encoder is used`() throws {
        let json = JSONEncoder()
        json.dateEncodingStrategy = .secondsSince1970
        let parameters = ["a": Date(timeIntervalSince1970: 5)]
        let request = try Self.encode(parameters, .json(encoder: json), into: Self.request(.post))
        #expect(Self.text(request) == "{\"a\":5}")
    }

    @Test func `keys are sorted on request`() throws {
        let parameters = ["c": 1, "a": 2, "b": 3]
        let request = try Self.encode(parameters, JSONParameterEncoder.sortedKeys, into: Self.request(.post))
        #expect(Self.text(request) == "{\"a\":2,\"b\":3,\"c\":1}")
    }

    @Test func `a property list goes into the body`() throws {
        let binary = PropertyListEncoder()
        binary.outputFormat = .binary
        let encoders: [(any ParameterEncoder, String)] = [
            (.propertyList, "<?xml"), (.propertyList(encoder: binary), "bplist00"),
            (PropertyListParameterEncoder.binary, "bplist00"),
        ]
        for (encoder, prefix) in encoders {
            let request = try Self.encode(["a": 1], encoder, into: Self.request(.post))
            let body = try #require(request.body?.data)
            #expect(body.starts(with: Data(prefix.utf8)))
            #expect(try PropertyListDecoder().decode([String: Int].self, from: body) == ["a": 1])
            #expect(request.headers == ["Content-Type": "application/x-plist"])
        }
    }

    @Test(arguments: [.urlEncodedForm, .json, .propertyList] as [any ParameterEncoder])
    func `an existing content type is kept`(encoder: any ParameterEncoder) throws {
        let request = try Self.encode(
            ["a": 1], encoder, into: Self.request(.post, headers: ["content-type": "text/x-odd"]))
        #expect(request.headers == ["content-type": "text/x-odd"])
        #expect(request.body != nil)
    }

    @Test(arguments: [.urlEncodedForm, .json, .propertyList] as [any ParameterEncoder])
    func `nil parameters do not change the request`(encoder: any ParameterEncoder) throws {
        let request = try Self.encode(Optional<[String: Int]>.none, encoder, into: Self.request(.post))
        #expect(request.body == nil)
        #expect(request.headers.isEmpty)
        #expect(request.url.absoluteString == "http://h/p")
    }

    @Test(arguments: [.urlEncodedForm, .json] as [any ParameterEncoder])
    func `an error that a value throws is the underlying error`(encoder: any ParameterEncoder) {
        let error = #expect(throws: RequestError.self) {
            try Self.encode(["a": Refusing()], encoder, into: Self.request(.post))
        }
        #expect(error?.kind == .parameterEncoding(.encoderFailed))
        #expect(error?.underlying is Refusing.Odd)
    }

    @Test func `a value that is not a property list is an encoder failure`() {
        let error = #expect(throws: RequestError.self) { try Self.encode(1, .propertyList, into: Self.request(.post)) }
        #expect(error?.kind == .parameterEncoding(.encoderFailed))
        #expect(error?.underlying is EncodingError)
    }

    @Test func `an error that an option throws is the underlying error`() {
        let encoder = URLEncodedFormEncoder(
            dataEncoding: .custom { _ in throw Refusing.Odd() }, dateEncoding: .custom { _ in throw Refusing.Odd() })
        for parameters in [["a": Data()], ["a": Date()]] as [any Encodable & Sendable] {
            let error = #expect(throws: RequestError.self) {
                try Self.encode(parameters, .urlEncodedForm(encoder: encoder), into: Self.request())
            }
            #expect(error?.underlying is Refusing.Odd)
        }
    }

    @Test func `an array has no keys for a form`() {
        let error = #expect(throws: RequestError.self) { try Self.encode([1], .urlEncodedForm, into: Self.request()) }
        #expect(error?.underlying as? URLEncodedFormEncoder.Error == .invalidRootObject("an array"))
    }

    @Test func `encoders can be used by many tasks at the same time`() async throws {
        let encoders: [any ParameterEncoder] = [.urlEncodedForm, .json, .propertyList]
        try await withThrowingTaskGroup { group in
            for index in 0..<300 {
                group.addTask {
                    let request = try Self.encode(["a": index], encoders[index % 3], into: Self.request(.post))
                    return Self.text(request)?.contains("\(index)") == true
                }
            }
            for try await isRight in group {
                #expect(isRight)
            }
        }
    }
}
