import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// Parameters in the query, as a server reads them.
@Suite(.timeLimit(.minutes(10)))
struct `Conformance of queries` {
    struct ArrayCase: Sendable, CustomTestStringConvertible {
        let encoding: URLEncodedFormEncoder.ArrayEncoding
        var isSorted = false
        let arrives: JSONValue
        var testDescription: String { "\(arrives)" }
    }

    static let arrays = [
        // Sorted by the encoded text, since pairs are by default.
        ArrayCase(encoding: .brackets, isSorted: true, arrives: ["list[]": ["ü", "a", "b"]]),
        ArrayCase(encoding: .brackets, arrives: ["list[]": ["b", "a", "ü"]]),
        ArrayCase(encoding: .noBrackets, arrives: ["list": ["b", "a", "ü"]]),
        ArrayCase(encoding: .indexInBrackets, arrives: ["list[0]": "b", "list[1]": "a", "list[2]": "ü"]),
        ArrayCase(
            encoding: .custom { "\($0).\($1 + 1)" }, arrives: ["list.1": "b", "list.2": "a", "list.3": "ü"]),
    ]

    @Test(arguments: TestServers.httpbins, arrays)
    func `arrays arrive in the format of the option`(server: TestServers, array: ArrayCase) async throws {
        let encoder = URLEncodedFormEncoder(alphabetizeKeyValuePairs: array.isSorted, arrayEncoding: array.encoding)
        let answer = try await server.answer(
            Session.conformance.request(
                try server.url("/get"), parameters: ["list": ["b", "a", "ü"]],
                encoder: .urlEncodedForm(encoder: encoder)))
        #expect(try answer.json()["args"] == array.arrives)
    }

    static let texts = [
        "two words", " leading and trailing ", "a+b", "a&b=c", "50%", "%41", "#fragment", "?/:@", "[brackets]",
        "Grüße", "日本語", "🌼 e\u{301}", "\u{10FFFF}", "line\r\nline\ttab", "quote\"'`", "<>{}|\\^~", ";,$!*()",
        String(String.UnicodeScalarView((0...127).compactMap { UnicodeScalar($0) })),
    ]

    @Test(arguments: TestServers.httpbins, texts)
    func `any text arrives unchanged, as a name and as a value`(server: TestServers, text: String) async throws {
        for spaces in [URLEncodedFormEncoder.SpaceEncoding.percentEscaped, .plusReplaced] {
            let encoder = URLEncodedFormEncoder(spaceEncoding: spaces)
            let answer = try await server.answer(
                Session.conformance.request(
                    try server.url("/get"), parameters: ["value": text, text: "name"],
                    encoder: .urlEncodedForm(encoder: encoder)))
            #expect(try answer.json()["args"]?.object == ["value": .string(text), text: "name"])
        }
    }

    struct Everything: Encodable, Sendable {
        struct Inner: Encodable, Sendable {
            let city: String
            let zip: Int
        }
        let flag = true
        let count = -7
        let ratio = 1.5
        let missing: String? = nil
        let bytes = Data([1, 2, 3])
        let date = Date(timeIntervalSince1970: 0)
        let address = Inner(city: "Austin", zip: 78701)
        let empty = ""
    }

    @Test(arguments: TestServers.httpbins)
    func `values of all kinds arrive in the default format`(server: TestServers) async throws {
        let answer = try await server.answer(
            Session.conformance.request(try server.url("/get"), parameters: Everything()))
        #expect(
            try answer.json()["args"] == [
                "flag": "1", "count": "-7", "ratio": "1.5", "bytes": "AQID", "date": "-978307200.0",
                "address[city]": "Austin", "address[zip]": "78701", "empty": "",
            ])
    }

    @Test(arguments: TestServers.httpbins)
    func `values of all kinds arrive in other formats`(server: TestServers) async throws {
        let encoder = URLEncodedFormEncoder(
            boolEncoding: .literal, dataEncoding: .custom { "\($0.count) bytes" }, dateEncoding: .iso8601,
            keyEncoding: .uppercased, keyPathEncoding: .dots, nilEncoding: .dropValue)
        let answer = try await server.answer(
            Session.conformance.request(
                try server.url("/get"), parameters: Everything(), encoder: .urlEncodedForm(encoder: encoder)))
        let arguments = try #require(try answer.json()["args"])
        #expect(arguments["FLAG"] == "true")
        #expect(arguments["BYTES"] == "3 bytes")
        #expect(arguments["DATE"] == "1970-01-01T00:00:00Z")
        #expect(arguments["ADDRESS.CITY"] == "Austin")
    }

    @Test(arguments: TestServers.httpbins, [HTTPMethod.get, .delete])
    func `parameters are appended to an existing query`(server: TestServers, method: HTTPMethod) async throws {
        let answer = try await server.answer(
            Session.conformance.request(
                try server.url("/anything?kept=1&kept=2#fragment"), method: method, parameters: ["new": "3"]))
        let echo = try answer.json()
        #expect(echo["args"] == ["kept": ["1", "2"], "new": "3"])
        #expect(try echo["url"]?.string == server.url("/anything?kept=1&kept=2&new=3").absoluteString)
        #expect(echo["data"] == "")
    }

    @Test(arguments: TestServers.httpbins)
    func `a destination takes precedence over the method's default`(server: TestServers) async throws {
        let url = try server.url("/anything")
        let inQuery = try await server.answer(
            Session.conformance.request(
                url, method: .post, parameters: ["a": "1"], encoder: .urlEncodedForm(destination: .queryString)))
        #expect(try inQuery.json()["args"] == ["a": "1"])
        #expect(try inQuery.json()["form"] == [:])
        let inBody = try await server.answer(
            Session.conformance.request(
                url, method: .delete, parameters: ["a": "1"], encoder: .urlEncodedForm(destination: .httpBody)))
        #expect(try inBody.json()["args"] == [:])
        #expect(try inBody.json()["form"] == ["a": "1"])
    }

    @Test(arguments: TestServers.httpbins)
    func `a long query arrives completely`(server: TestServers) async throws {
        let value = String(repeating: "0123456789", count: 2_000)
        let answer = try await server.answer(
            Session.conformance.request(try server.url("/get"), parameters: ["value": value]))
        #expect(try answer.json()["args"]?["value"]?.string == value)
    }
}
