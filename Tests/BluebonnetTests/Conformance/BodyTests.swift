import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Bodies of requests, as a server reads them.
@Suite(.timeLimit(.minutes(10)))
struct `Conformance of request bodies` {
    struct Plant: Codable, Hashable, Sendable {
        var name = "Lupinus texensis"
        var names = ["Bluebonnet", "Texaslupine", "日本語 🌼"]
        var height = 0.5
        var isPerennial = false
        var count = 12
        var spread: [String: Int] = ["TX": 254, "LA": 1]
    }

    static let methods: [HTTPMethod] = [.post, .put, .patch]

    @Test(arguments: TestServers.httpbins, methods)
    func `a form arrives as a form`(server: TestServers, method: HTTPMethod) async throws {
        let answer = try await server.answer(
            Session.conformance.request(
                try server.url("/anything"), method: method,
                parameters: ["name": "Blue bonnet & co", "text": "ü=+%", "empty": ""]))
        let echo = try answer.json()
        #expect(echo["form"] == ["name": "Blue bonnet & co", "text": "ü=+%", "empty": ""])
        #expect(echo["args"] == [:])
        #expect(
            try answer.echoedField("Content-Type") == "application/x-www-form-urlencoded; charset=utf-8")
    }

    @Test(arguments: TestServers.httpbins, methods)
    func `JSON arrives as JSON`(server: TestServers, method: HTTPMethod) async throws {
        let answer = try await server.answer(
            Session.conformance.request(
                try server.url("/anything"), method: method, parameters: Plant(), encoder: .json))
        #expect(
            try answer.json()["json"] == [
                "name": "Lupinus texensis", "names": ["Bluebonnet", "Texaslupine", "日本語 🌼"], "height": 0.5,
                "isPerennial": false, "count": 12, "spread": ["TX": 254, "LA": 1],
            ])
        #expect(try answer.echoedField("Content-Type") == "application/json")
    }

    @Test(arguments: TestServers.httpbins)
    func `JSON arrives in the encoder's format`(server: TestServers) async throws {
        let formats: [(JSONParameterEncoder, String)] = [
            (.sortedKeys, "{\"a\":1,\"b\":2}"), (.prettyPrinted, "{\n  \"a\" : 1\n}"),
        ]
        for (encoder, text) in formats {
            let parameters = text.contains("b") ? ["b": 2, "a": 1] : ["a": 1]
            let answer = try await server.answer(
                Session.conformance.request(
                    try server.url("/post"), method: .post, parameters: parameters, encoder: encoder))
            #expect(try answer.json()["data"]?.string == text)
        }
    }

    @Test(arguments: TestServers.httpbins, [true, false])
    func `a property list arrives and decodes to the same value`(server: TestServers, isBinary: Bool) async throws {
        let encoder: PropertyListParameterEncoder = isBinary ? .binary : .default
        let answer = try await server.answer(
            Session.conformance.request(
                try server.url("/post"), method: .post, parameters: Plant(), encoder: encoder))
        let body = try answer.echoedBody()
        #expect(body.starts(with: Data((isBinary ? "bplist00" : "<?xml").utf8)))
        #expect(try PropertyListDecoder().decode(Plant.self, from: body) == Plant())
        #expect(try answer.echoedField("Content-Type") == "application/x-plist")
    }

    @Test(arguments: TestServers.httpbins)
    func `the request's content type replaces the encoder's content type`(server: TestServers) async throws {
        let answer = try await server.answer(
            Session.conformance.request(
                try server.url("/post"), method: .post, parameters: Plant(), encoder: .json,
                headers: [.contentType("application/vnd.plant+json; v=2")]))
        #expect(try answer.echoedField("Content-Type") == "application/vnd.plant+json; v=2")
        #expect(try JSONDecoder().decode(Plant.self, from: answer.echoedBody()) == Plant())
    }

    @Test(arguments: TestServers.httpbins, methods)
    func `all byte values arrive`(server: TestServers, method: HTTPMethod) async throws {
        let bytes = Data((0...255) + (0...255).reversed())
        let answer = try await server.answer("/anything", method: method, body: bytes)
        expectSame(try answer.echoedBody(), bytes)
        #expect(try answer.echoedField("Content-Length") == "512")
        #expect(try answer.echoedField("Content-Type") ?? "" == "")
    }

    /// The sizes at which the ways of sending change: libcurl's buffers, a body sent with the head, a streamed one.
    static let sizes = [
        0, 1, 1023, 16_384, 16_385, 65_535, 65_536, 65_537, 1 << 20 - 1, 1 << 20, 1 << 20 + 1, 3 << 20 + 7,
    ]

    @Test(arguments: sizes)
    func `a body of any size comes back over HTTP/2`(size: Int) async throws {
        let body = Data.pattern(count: size)
        let answer = try await TestServers.nghttpd.answer("/echo", method: .post, body: body)
        #expect(answer.status == 200)
        expectSame(answer.body, body)
        // 8.1 to 8.6 count what was sent over HTTP/2 later, at times after the response.
        #expect(answer.metrics.bytesSent >= size || (0x08_01_00..<0x08_07_00).contains(Libcurl.version))
        #expect(answer.metrics.bytesReceived >= size)
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS], sizes)
    func `a file of any size is stored, fetched and deleted`(server: TestServers, size: Int) async throws {
        let body = Data.pattern(count: size)
        let path = "/stored/\(UUID().uuidString)"
        #expect(try await server.answer(path, method: .put, body: body).status == 201)
        let stored = try await server.answer(path)
        #expect(stored.status == 200)
        expectSame(stored.body, body)
        #expect(stored.metrics.bytesReceived >= size)
        #expect(try await server.answer(path, method: .put, body: Data("other".utf8)).status == 204)
        #expect(try await server.answer(path).text == "other")
        #expect(try await server.answer(path, method: .delete).status == 204)
        #expect(try await server.answer(path).status == 404)
    }
}

extension Data {
    /// Returns bytes in which each part of 64 KiB differs from the previous part; byte `i` is `i % 251`.
    static func pattern(count: Int) -> Data {
        let period = Data((0..<251).map { UInt8($0) })
        var data = Data(capacity: count)
        while data.count + period.count <= count { data.append(period) }
        data.append(period.prefix(count - data.count))
        return data
    }
}
